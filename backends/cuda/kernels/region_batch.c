// See region_batch.h.
#include "backends/cuda/kernels/region_batch.h"

#include <string.h>

#include "backends/cuda/kernels/member.h"
#include "backends/cuda/kernels/region_sum.h"

enum { X, DY = 4 };

static bool is_of_dp(const dp_kernel_member *member, const char *name) {
  return !strcmp(member->op->domain, "dp") && !strcmp(member->op->name, name);
}

static bool is_normalization(const dp_kernel_member *member) {
  return dp_member_is_named(member, "BatchNormalization") || is_of_dp(member, "GroupedBatchNormalization");
}

static bool is_gradient(const dp_kernel_member *member) {
  return is_of_dp(member, "BatchNormalizationGrad") || is_of_dp(member, "GroupedBatchNormalizationGrad");
}

// Whether all operands and the result of the member are like the value.
static bool is_like(const dp_kernel_region *r, const dp_kernel_member *member, int32_t value) {
  const dp_kernel_operand *as = &r->values[value];
  for (int i = 0; i <= member->n_inputs; i++) {
    const int32_t v = i < member->n_inputs ? member->inputs[i] : member->outputs[0];
    if (v < 0 || r->values[v].dtype != as->dtype || r->values[v].layout != as->layout ||
        !dp_cuda_region_alike(r, v, value))
      return false;
  }
  return true;
}

// What an Add adds to the value.
static int32_t other_of(const dp_kernel_member *add, int32_t value) { return add->inputs[add->inputs[0] == value]; }

// ---- behind ---------------------------------------------------------------------------------------------------------

// Whether member `next` has the operator and alone uses the value.
static bool follows(const dp_kernel_spec *region, int next, int32_t value, const char *op) {
  const dp_kernel_region *r = region->region;
  return next < r->n_members && dp_member_is_named(&r->members[next], op) && is_like(r, &r->members[next], value) &&
         dp_cuda_region_user(region, value) == next;
}

static bool makes(const dp_kernel_member *member, int32_t value) {
  for (int k = 0; k < member->n_outputs; k++)
    if (member->outputs[k] == value) return true;
  return false;
}

static void take_behind(const dp_kernel_spec *region, int m, dp_cuda_region_batch *b) {
  const dp_kernel_member *members = region->region->members;
  int next = m + 1;
  if (follows(region, next, b->made, "Add") && !makes(&members[m], other_of(&members[next], b->made))) {
    b->add = next;
    b->other = other_of(&members[next], b->made);
    b->made = members[next++].outputs[0];
  }
  if (!follows(region, next, b->made, "Relu")) return;
  b->relu = next;
  b->made = members[next].outputs[0];
}

// ---- before ---------------------------------------------------------------------------------------------------------

// The member right before m, if it has the operator, makes the value, and is like it; NULL: it is another.
static const dp_kernel_member *maker_before(const dp_kernel_region *r, int m, int32_t value, const char *domain,
                                            const char *op) {
  const dp_kernel_member *before = m > 0 ? &r->members[m - 1] : NULL;
  const bool named = before && !strcmp(before->op->domain, domain) && !strcmp(before->op->name, op);
  return named && before->outputs[0] == value && is_like(r, before, value) ? before : NULL;
}

// Whether the member takes the value as DY alone, which may then come to be while it is computed.
static bool takes_once(const dp_kernel_member *member, int32_t value) {
  for (int i = 0; i < member->n_inputs; i++)
    if (i != DY && member->inputs[i] == value) return false;
  return true;
}

static void take_before(const dp_kernel_spec *region, int m, dp_cuda_region_batch *b) {
  const dp_kernel_region *r = region->region;
  const dp_kernel_member *relu = maker_before(r, m, b->dy, "dp", "ReluGrad");
  if (!relu || !takes_once(&r->members[m], b->dy)) return;
  b->relu = m - 1;
  b->given = dp_cuda_region_user(region, b->dy) == m ? -1 : b->dy;
  b->dy = relu->inputs[0];
  b->z = relu->inputs[1];
  const dp_kernel_member *add = maker_before(r, m - 1, b->dy, "", "Add");
  if (!add || dp_cuda_region_user(region, b->dy) != m - 1) return;
  b->add = m - 2;
  b->dy = add->inputs[0];
  b->other = add->inputs[1];
}

// ---- all of it ------------------------------------------------------------------------------------------------------

bool dp_cuda_region_batch_of(const dp_kernel_spec *region, int m, dp_cuda_region_batch *b) {
  const dp_kernel_region *r = region->region;
  const dp_kernel_member *member = &r->members[m];
  *b = (dp_cuda_region_batch){-1, -1, -1, -1, -1, member->outputs[0], -1};
  if (is_normalization(member)) {
    take_behind(region, m, b);
  } else if (is_gradient(member)) {
    b->dy = member->inputs[DY];
    take_before(region, m, b);
  }
  if (b->add < 0 && b->relu < 0) return false;
  dp_member_spec made;
  dp_cuda_region_batch_spec(r, m, b, &made);
  return dp_cuda_member_kernel(&made) != NULL;
}

void dp_cuda_region_batch_values(const dp_kernel_region *r, int m, const dp_cuda_region_batch *b, int32_t *in,
                                 int32_t *out) {
  const dp_kernel_member *member = &r->members[m];
  for (int i = 0; i < DP_MAX_OPERANDS; i++) in[i] = i < member->n_inputs ? member->inputs[i] : -1;
  for (int k = 0; k < DP_MAX_OPERANDS; k++) out[k] = k < member->n_outputs ? member->outputs[k] : -1;
  in[DP_CUDA_BATCH_OTHER] = b->other;
  in[DP_CUDA_BATCH_Z] = b->z;
  out[0] = b->made;
  if (!is_gradient(member)) return;
  in[DY] = b->dy;
  out[DP_CUDA_BATCH_GIVEN] = b->given;
}

void dp_cuda_region_batch_spec(const dp_kernel_region *r, int m, const dp_cuda_region_batch *b, dp_member_spec *made) {
  int32_t in[DP_MAX_OPERANDS], out[DP_MAX_OPERANDS];
  dp_cuda_region_batch_values(r, m, b, in, out);
  dp_member_spec_make(r, m, r->values, made);
  made->spec.n_inputs = made->spec.n_outputs = DP_MAX_OPERANDS;
  for (int k = 0; k < DP_MAX_OPERANDS; k++) {
    made->inputs[k] = in[k] < 0 ? (dp_kernel_operand){0} : r->values[in[k]];
    made->outputs[k] = out[k] < 0 ? (dp_kernel_operand){0} : r->values[out[k]];
  }
  if (!is_gradient(&r->members[m]) && b->relu >= 0) made->spec.then = r->members[b->relu].node;
}
