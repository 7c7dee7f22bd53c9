// See loss_head.h.
#include <string.h>

#include "backends/cuda/blaslt/loss_head.h"
#include "ir/kernel/extents.h"

// What a value inside the region is.
typedef enum { OTHER, SCORES, GRADIENT } part;

typedef struct {
  const dp_kernel_spec *spec;
  const dp_kernel_region *r;
  dp_loss_head *head;
  dp_dtype dtype;  // of the products
  part parts[DP_HEAD_VALUES];
  int n_losses;
} reading;

static bool is(const dp_kernel_member *m, const char *domain, const char *name) {
  return !strcmp(m->op->domain, domain) && !strcmp(m->op->name, name);
}

static bool has(const dp_kernel_member *m, int i) { return i < m->n_inputs && m->inputs[i] >= 0; }

static part part_of(const reading *of, const dp_kernel_member *m, int i) {
  return has(m, i) ? of->parts[m->inputs[i]] : OTHER;
}

static bool is_operand(const reading *of, int32_t value) { return value < of->spec->n_inputs; }

static dp_dtype type_of(const reading *of, int32_t value) { return of->r->values[value].dtype; }

static bool is_plain_gemm(const dp_kernel_member *m) {
  return is(m, "", "Gemm") && !has(m, 2) && dp_node_float(m->node, "alpha", 1) == 1;
}

static bool reads_product(reading *of, const dp_kernel_member *m) {
  dp_loss_head *head = of->head;
  const bool mat_mul = is(m, "", "MatMul");
  if ((!mat_mul && !is_plain_gemm(m)) || !is_operand(of, m->inputs[0]) || !is_operand(of, m->inputs[1])) return false;
  const dp_local *w = &of->r->values[m->inputs[1]].local;
  if (w->rank != 2 || (!mat_mul && dp_node_int(m->node, "transA", 0))) return false;
  head->transposed = !mat_mul && dp_node_int(m->node, "transB", 0);
  head->h = m->inputs[0];
  head->w = m->inputs[1];
  head->features = w->extents[head->transposed ? 1 : 0];
  head->classes = w->extents[head->transposed ? 0 : 1];
  of->dtype = type_of(of, m->outputs[0]);
  of->parts[m->outputs[0]] = SCORES;
  return (of->dtype == DP_FLOAT32 || of->dtype == DP_FLOAT16 || of->dtype == DP_BFLOAT16) && head->features > 0 &&
         head->classes > 0;
}

// A view, or a cast between the type of products and float32: the value stays what it is.
static bool passes(reading *of, const dp_kernel_member *m) {
  const part from = part_of(of, m, 0);
  if (is(m, "", "Cast") && type_of(of, m->outputs[0]) != (from == SCORES ? DP_FLOAT32 : of->dtype)) return false;
  of->parts[m->outputs[0]] = from;
  return from != OTHER;
}

static const char *reduction_of(const dp_kernel_member *m) { return dp_node_string(m->node, "reduction", "mean"); }

// The loss and its gradient must be of the same labels and have the same attributes.
static bool agrees(reading *of, const dp_kernel_member *m, int number) {
  dp_loss_head *head = of->head;
  if (!of->n_losses++) {
    head->labels = m->inputs[1];
    head->of_loss = number;
    return true;
  }
  const dp_kernel_member *other = &of->r->members[head->of_loss];
  return m->inputs[1] == head->labels && !strcmp(reduction_of(m), reduction_of(other)) &&
         !dp_node_attr(m->node, "ignore_index") == !dp_node_attr(other->node, "ignore_index") &&
         dp_node_int(m->node, "ignore_index", 0) == dp_node_int(other->node, "ignore_index", 0);
}

static bool reads_loss(reading *of, const dp_kernel_member *m, int number, bool gradient) {
  if (part_of(of, m, 0) != SCORES || type_of(of, m->inputs[0]) != DP_FLOAT32 || has(m, gradient ? 3 : 2)) return false;
  if (!strcmp(reduction_of(m), "none") || !is_operand(of, m->inputs[1]) || !agrees(of, m, number)) return false;
  const dp_dtype labels = type_of(of, m->inputs[1]);
  if (labels != DP_INT32 && labels != DP_INT64) return false;
  if (!gradient) {
    of->head->loss = m->outputs[0];
    return true;
  }
  const bool another = of->head->dloss >= 0;
  of->head->dloss = m->inputs[2];
  of->parts[m->outputs[0]] = GRADIENT;
  return !another && is_operand(of, m->inputs[2]);
}

static bool reads_gradient_product(reading *of, const dp_kernel_member *m) {
  dp_loss_head *head = of->head;
  if (!is_plain_gemm(m) || type_of(of, m->outputs[0]) != of->dtype) return false;
  const bool trans_a = dp_node_int(m->node, "transA", 0), trans_b = dp_node_int(m->node, "transB", 0);
  const bool first = part_of(of, m, 0) == GRADIENT, second = part_of(of, m, 1) == GRADIENT;
  if (first == second || !is_operand(of, m->inputs[first ? 1 : 0])) return false;
  if (!trans_a) {
    head->dh = m->outputs[0];
    return first && m->inputs[1] == head->w && trans_b == !head->transposed;
  }
  head->dw = m->outputs[0];
  head->x = m->inputs[first ? 1 : 0];
  // Weights and their gradient lie alike, and so do the rows that make them.
  const dp_local *x = &of->r->values[head->x].local;
  return !trans_b && first == head->transposed && x->rank && x->extents[x->rank - 1] == head->features;
}

static bool reads(reading *of, int number) {
  const dp_kernel_member *m = &of->r->members[number];
  if (!number) return reads_product(of, m);
  if (dp_op_is(m->op, DP_OP_VIEW) || is(m, "", "Cast")) return passes(of, m);
  if (is(m, "", "SoftmaxCrossEntropyLoss")) return reads_loss(of, m, number, false);
  if (is(m, "dp", "SoftmaxCrossEntropyLossGrad")) return reads_loss(of, m, number, true);
  return reads_gradient_product(of, m);
}

bool dp_loss_head_of(const dp_kernel_spec *spec, dp_loss_head *head) {
  dp_head chunks;
  if (!dp_head_of(spec, 1, &chunks)) return false;
  *head = (dp_loss_head){.h = -1, .w = -1, .x = -1, .labels = -1, .dloss = -1, .loss = -1, .dh = -1, .dw = -1};
  reading of = {.spec = spec, .r = spec->region, .head = head};
  for (int m = 0; m < spec->region->n_members; m++)
    if (!reads(&of, m)) return false;
  for (int v = spec->n_inputs; v < spec->n_inputs + spec->n_outputs; v++)
    if (v != head->loss && v != head->dh && v != head->dw) return false;
  return of.n_losses > 0;
}
