// See region_sum.h.
#include "backends/cuda/kernels/region_sum.h"

#include <string.h>

#include "ir/kernel/extents.h"

static int64_t last(const dp_local *x) { return x->rank ? x->extents[x->rank - 1] : 1; }

static bool same_dim(const dp_local *a, int i, const dp_local *b, int k) {
  return a->extents[i] == b->extents[k] && a->whole[i] == b->whole[k] &&
         (a->symbolic >> i & 1) == (b->symbolic >> k & 1);
}

bool dp_cuda_region_same_extents(const dp_local *a, const dp_local *b) {
  bool same = a->rank == b->rank;
  for (int d = 0; same && d < a->rank; d++) same = same_dim(a, d, b, d);
  return same;
}

static bool same_last(const dp_local *a, const dp_local *b) {
  return a->rank && b->rank && same_dim(a, a->rank - 1, b, b->rank - 1);
}

// Whether all dims but the last have extent 1, for every number of samples.
static bool is_row(const dp_local *x) {
  bool row = x->rank > 0;
  for (int d = 0; d < x->rank - 1; d++) row &= x->whole[d] == 1 && !(x->symbolic >> d & 1);
  return row;
}

bool dp_cuda_region_is_row_of(const dp_local *row, const dp_local *x) { return same_last(row, x) && is_row(row); }

int dp_cuda_region_user(const dp_kernel_spec *region, int32_t value) {
  const dp_kernel_region *r = region->region;
  int user = -1, uses = 0;
  for (int m = 0; m < r->n_members; m++)
    for (int i = 0; i < r->members[m].n_inputs; i++)
      if (r->members[m].inputs[i] == value) user = m, uses++;
  return uses == 1 && value >= region->n_inputs + region->n_outputs ? user : -1;
}

// A product of matrices, the first of which may have its rows in several dims.
static bool is_product(const dp_kernel_region *r, const dp_kernel_member *m) {
  const dp_dtype type = r->values[m->outputs[0]].dtype;
  if (type != DP_FLOAT32 && type != DP_FLOAT64) return false;
  if (dp_member_is_named(m, "MatMul"))
    return r->values[m->inputs[0]].local.rank >= 2 && r->values[m->inputs[1]].local.rank == 2;
  return dp_member_is_named(m, "Gemm") && (m->n_inputs < 3 || m->inputs[2] < 0) &&
         dp_node_float(m->node, "beta", 1) == 1;
}

// One row, or the product's extents. Extents are those of the whole sum, which the product must have too.
static bool can_add(const dp_local *operand, const dp_local *sum, int64_t count) {
  if (dp_local_count(sum) != count) return false;
  return dp_cuda_region_same_extents(operand, sum) || dp_cuda_region_is_row_of(operand, sum);
}

bool dp_cuda_region_sum_of(const dp_kernel_spec *region, int m, dp_cuda_region_sum *sum) {
  const dp_kernel_region *r = region->region;
  if (!is_product(r, &r->members[m])) return false;
  int32_t value = r->members[m].outputs[0];
  const dp_local *made = &r->values[value].local;
  const int64_t count = dp_local_count(made);
  int user = dp_cuda_region_user(region, value);
  while (user >= 0 && dp_op_is(r->members[user].op, DP_OP_VIEW)) {
    value = r->members[user].outputs[0];
    user = dp_cuda_region_user(region, value);
  }
  if (user < 0 || !dp_member_is_named(&r->members[user], "Add")) return false;
  const dp_kernel_member *add = &r->members[user];
  const int32_t operand = add->inputs[0] == value ? add->inputs[1] : add->inputs[0];
  const dp_local *whole = &r->values[add->outputs[0]].local;
  if (operand >= region->n_inputs || !same_last(whole, made)) return false;
  if (!dp_cuda_region_same_extents(&r->values[value].local, whole)) return false;
  // The product is written as it lies, row by row.
  const dp_layout layouts[] = {r->values[value].layout, r->values[operand].layout, r->values[add->outputs[0]].layout};
  for (size_t i = 0; i < DP_COUNT(layouts); i++)
    if (layouts[i] != DP_LAYOUT_PLAIN) return false;
  if (r->values[operand].local.rank < 1 || !can_add(&r->values[operand].local, whole, count)) return false;
  *sum = (dp_cuda_region_sum){user, operand};
  return true;
}

// The value as a matrix, or as a row.
static dp_kernel_operand flat(const dp_kernel_operand *x, int rank) {
  dp_kernel_operand matrix = *x;
  const int64_t columns = last(&x->local);
  const int64_t extents[] = {rank == 1 ? columns : dp_product(x->local.extents, 0, x->local.rank - 1), columns};
  matrix.local = (dp_local){.rank = rank};
  for (int d = 0; d < rank; d++) {
    matrix.local.whole[d] = matrix.local.extents[d] = matrix.local.k[d] = matrix.local.hi[d] = extents[d];
    matrix.local.outer[d] = matrix.local.unit[d] = matrix.local.shards[d] = 1;
  }
  return matrix;
}

void dp_cuda_region_sum_spec(const dp_kernel_spec *region, int m, const dp_cuda_region_sum *sum, dp_member_spec *gemm) {
  const dp_kernel_region *r = region->region;
  const dp_kernel_member *product = &r->members[m], *add = &r->members[sum->add];
  const dp_local *c = &r->values[sum->operand].local;
  const bool row = !dp_cuda_region_same_extents(c, &r->values[add->outputs[0]].local);
  // Add has no attributes, and so describes a Gemm that has none either.
  const dp_node *node = dp_member_is_named(product, "Gemm") ? product->node : add->node;
  gemm->spec = (dp_kernel_spec){.op = dp_op_find("", "Gemm"),
                                .node = node,
                                .n_inputs = 3,
                                .n_outputs = 1,
                                .inputs = gemm->inputs,
                                .outputs = gemm->outputs,
                                .threads = 1};
  gemm->inputs[0] = flat(&r->values[product->inputs[0]], 2);
  gemm->inputs[1] = flat(&r->values[product->inputs[1]], 2);
  gemm->inputs[2] = flat(&r->values[sum->operand], row ? 1 : 2);
  gemm->outputs[0] = flat(&r->values[product->outputs[0]], 2);
}
