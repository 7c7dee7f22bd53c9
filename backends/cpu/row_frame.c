// See row_frame.h.
#include "backends/cpu/row_frame.h"

#include "ir/base/base.h"
#include "ir/kernel/member.h"

// Makes the frame cover a value of the same rank. Where only one of them has extent 1, the row begins there at the
// latest.
static bool cover(dp_row_frame *f, const dp_local *value) {
  if (value->rank != f->rank) return false;
  for (int i = 0; i < f->rank; i++) {
    const int64_t is = f->extents[i], other = value->extents[i];
    if (is == other) continue;
    if (is != 1 && other != 1) return false;
    if (is == 1) f->extents[i] = other;
    f->row = (int)dp_min_i64(f->row, i);
  }
  return true;
}

static bool fits(const dp_local *operand, const dp_row_frame *f) {
  const int missing = f->rank - operand->rank;
  for (int i = 0; i < operand->rank; i++)
    if (missing < 0 || (operand->extents[i] != 1 && operand->extents[i] != f->extents[i + missing])) return false;
  return true;
}

// A member's rows begin where its operator says, and the operand that they are rows of is in the frame.
static bool cover_member(dp_row_frame *f, const dp_kernel_spec *member) {
  if (dp_op_is_pointwise(member->op)) return true;
  if (!member->n_inputs || !member->inputs[0].present || !cover(f, &member->inputs[0].local)) return false;
  const int row = dp_op_row(member->node, f->rank);
  f->row = (int)dp_min_i64(f->row, row);
  return row > 0;
}

bool dp_row_frame_of(const dp_kernel_spec *spec, dp_row_frame *f) {
  const dp_kernel_region *r = spec->region;
  const dp_local *first = &spec->outputs[0].local;
  *f = (dp_row_frame){.rank = first->rank, .row = first->rank};
  for (int i = 0; i < first->rank; i++) f->extents[i] = first->extents[i];
  for (int v = spec->n_inputs; v < r->n_values; v++)
    if (!r->values[v].present || !cover(f, &r->values[v].local)) return false;
  for (int m = 0; m < r->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, r->values, &member);
    if (!cover_member(f, &member.spec)) return false;
  }
  for (int v = 0; v < spec->n_inputs; v++)
    if (r->values[v].present && !fits(&r->values[v].local, f)) return false;
  return f->row > 0 || !f->rank;
}

int64_t dp_row_frame_elements(const dp_row_frame *f, int first) {
  int64_t elements = 1;
  for (int i = first; i < f->rank; i++) elements *= dp_max_i64(1, f->extents[i]);
  return elements;
}

dp_row_division dp_row_frame_divide(const dp_row_frame *f) {
  dp_row_division d = {.dim = f->row, .step = 1, .along = 1, .count = 1};
  int64_t elements = dp_row_frame_elements(f, f->row);
  while (d.dim > 0 && elements * f->extents[d.dim - 1] <= DP_ROW_CHUNK) elements *= dp_max_i64(1, f->extents[--d.dim]);
  d.dim--;
  if (d.dim >= 0) {
    d.step = dp_max_i64(1, DP_ROW_CHUNK / elements);
    d.along = (f->extents[d.dim] + d.step - 1) / d.step;
  }
  d.count = d.along;
  for (int i = 0; i < d.dim; i++) d.count *= f->extents[i];
  return d;
}
