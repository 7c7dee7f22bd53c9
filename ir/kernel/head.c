// See head.h.
#include "ir/kernel/head.h"

#include <string.h>

static bool is(const dp_op *op, const char *domain, const char *name) {
  return !strcmp(op->domain, domain) && !strcmp(op->name, name);
}

static bool has(const dp_head_member *m, int i) { return i < m->n_inputs && m->rank[i] >= 0; }

// Notes what operand i has to be; false if it is known to be something else.
static bool want(dp_head_member *m, int i, dp_head_standing standing) {
  if (!has(m, i)) return true;
  const bool fits = m->inputs[i] == DP_HEAD_UNKNOWN || m->inputs[i] == standing;
  m->inputs[i] = standing;
  return fits;
}

// Rows times a matrix, with a bias or without: rows.
static bool takes_rows(dp_head_member *m) {
  m->output = DP_HEAD_ROWS;
  return m->rank[1] == 2 && (!has(m, 2) || m->rank[2] <= 1) && want(m, 0, DP_HEAD_ROWS) && want(m, 1, DP_HEAD_WHOLE) &&
         want(m, 2, DP_HEAD_WHOLE);
}

static bool takes_mat_mul(dp_head_member *m) { return m->rank[0] >= 2 && takes_rows(m); }

// The transpose of rows times rows is a sum over rows.
static bool takes_gemm(dp_head_member *m) {
  if (!dp_node_int(m->node, "transA", 0)) return takes_rows(m);
  m->output = DP_HEAD_SUM;
  return !has(m, 2) && !dp_node_int(m->node, "transB", 0) && dp_node_float(m->node, "beta", 1) == 1 &&
         want(m, 0, DP_HEAD_ROWS) && want(m, 1, DP_HEAD_ROWS);
}

static bool is_reduction(const dp_head_member *m, const char *name) {
  return !strcmp(dp_node_string(m->node, "reduction", "mean"), name);
}

// A mean over weighted labels divides by the weights of all rows, which no chunk knows.
static bool divides_by_labels(const dp_head_member *m, int weights) {
  return is_reduction(m, "mean") && (has(m, weights) || dp_node_attr(m->node, "ignore_index"));
}

static bool takes_loss(dp_head_member *m) {
  m->output = is_reduction(m, "none") ? DP_HEAD_ROWS : DP_HEAD_SUM;
  return m->rank[0] == 2 && !divides_by_labels(m, 2) && want(m, 0, DP_HEAD_ROWS) && want(m, 1, DP_HEAD_ROWS) &&
         want(m, 2, DP_HEAD_WHOLE);
}

static bool takes_loss_grad(dp_head_member *m) {
  m->output = DP_HEAD_ROWS;
  return m->rank[0] == 2 && !divides_by_labels(m, 3) && want(m, 0, DP_HEAD_ROWS) && want(m, 1, DP_HEAD_ROWS) &&
         want(m, 2, is_reduction(m, "none") ? DP_HEAD_ROWS : DP_HEAD_WHOLE) && want(m, 3, DP_HEAD_WHOLE);
}

// The gradient of a bias.
static bool takes_sum(dp_head_member *m) {
  size_t count = 0;
  const int64_t *axes = dp_node_ints(m->node, "axes", &count);
  uint32_t reduced = 0;
  for (size_t i = 0; i < count; i++) reduced |= 1u << (axes[i] < 0 ? axes[i] + m->rank[0] : axes[i]);
  m->output = DP_HEAD_SUM;
  return m->rank[0] >= 2 && !dp_node_int(m->node, "keepdims", 1) && reduced == (1u << (m->rank[0] - 1)) - 1 &&
         want(m, 0, DP_HEAD_ROWS);
}

// The class of the largest score.
static bool takes_arg_max(dp_head_member *m) {
  const int64_t axis = dp_node_int(m->node, "axis", 0);
  m->output = DP_HEAD_ROWS;
  return m->rank[0] == 2 && (axis == 1 || axis == -1) && want(m, 0, DP_HEAD_ROWS);
}

static bool takes_pointwise(dp_head_member *m) {
  bool rows = false;
  for (int i = 0; i < m->n_inputs; i++) {
    if (!has(m, i) || (m->inputs[i] == DP_HEAD_UNKNOWN && m->rank[i] > 1)) return false;
    if (m->inputs[i] != DP_HEAD_ROWS && !want(m, i, DP_HEAD_WHOLE)) return false;
    rows |= m->inputs[i] == DP_HEAD_ROWS;
  }
  m->output = DP_HEAD_ROWS;
  return rows;
}

bool dp_head_is_loss(const dp_op *op) {
  return is(op, "", "SoftmaxCrossEntropyLoss") || is(op, "dp", "SoftmaxCrossEntropyLossGrad");
}

bool dp_head_takes(dp_head_member *m) {
  static const struct {
    const char *domain, *name;
    bool (*takes)(dp_head_member *);
  } table[] = {{"", "MatMul", takes_mat_mul},
               {"", "Gemm", takes_gemm},
               {"", "SoftmaxCrossEntropyLoss", takes_loss},
               {"dp", "SoftmaxCrossEntropyLossGrad", takes_loss_grad},
               {"", "ReduceSum", takes_sum},
               {"", "ArgMax", takes_arg_max}};
  if (!has(m, 0)) return false;
  for (size_t i = 0; i < DP_COUNT(table); i++)
    if (is(m->op, table[i].domain, table[i].name)) return table[i].takes(m);
  if (dp_op_is(m->op, DP_OP_VIEW)) {
    m->output = DP_HEAD_ROWS;
    return want(m, 0, DP_HEAD_ROWS);
  }
  return dp_op_is_pointwise(m->op) && takes_pointwise(m);
}
