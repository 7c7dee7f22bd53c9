// Writing placement rows. See rows.h.
#include "ir/ops/rows.h"

#include <string.h>

bool dp_rows_divides(dp_placement view, dp_dim extent) {
  int64_t block;
  if (__builtin_mul_overflow(view.outer, view.unit, &block) || extent.scale % block || extent.offset % block)
    return false;
  return extent.scale || extent.offset / block > 1;
}

static dp_placement placed(const dp_value *value, int dim, dp_placement view) {
  if (!value || dim == DP_WHOLE) return dp_replicate();
  if (dim == DP_SUMMED) return dp_partial(DP_SUM);
  return dp_shard_in(dim, view.outer, view.unit);
}

void dp_rows_split(dp_rows *rows, dp_dim extent, const int *in, const int *out) {
  const dp_node *node = rows->node;
  for (int v = 0; v < rows->n_views; v++) {
    if (!dp_rows_divides(rows->views[v], extent)) continue;
    dp_row *row = dp_rows_add(rows);
    for (int i = 0; i < node->n_inputs; i++) row->in[i] = placed(node->inputs[i], in[i], rows->views[v]);
    for (int i = 0; i < node->n_outputs; i++) row->out[i] = placed(node->outputs[i], out[i], rows->views[v]);
  }
}

void dp_rows_split_but(dp_rows *rows, int except) {
  const dp_shape *shape = &rows->node->inputs[0]->type.shape;
  int in[DP_MAX_OPERANDS], out[DP_MAX_OPERANDS];
  for (int i = 0; i < DP_MAX_OPERANDS; i++) in[i] = out[i] = DP_WHOLE;
  for (int d = 0; d < shape->rank; d++) {
    if (d == except) continue;
    in[0] = out[0] = d;
    dp_rows_split(rows, shape->dims[d], in, out);
  }
}

void dp_rows_linear(dp_rows *rows, unsigned operands) {
  const dp_node *node = rows->node;
  for (int i = 0; i < 32; i++)
    if ((operands >> i & 1) && (i >= node->n_inputs || !node->inputs[i] || node->inputs[i]->type.dtype == DP_BOOL))
      return;
  dp_row *row = dp_rows_add(rows);
  for (int i = 0; i < node->n_inputs; i++)
    if (operands >> i & 1) row->in[i] = dp_partial(DP_SUM);
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]) row->out[i] = dp_partial(DP_SUM);
}

static bool equal(const dp_placement *a, const dp_placement *b, int count) {
  for (int i = 0; i < count; i++)
    if (!dp_placement_equal(a[i], b[i])) return false;
  return true;
}

void dp_rows_add_placed(dp_rows *rows, const dp_placement *in, const dp_placement *out) {
  const dp_node *node = rows->node;
  for (int r = 0; r < rows->count; r++)
    if (equal(rows->rows[r].in, in, node->n_inputs) && equal(rows->rows[r].out, out, node->n_outputs)) return;
  dp_row *row = dp_rows_add(rows);
  if (node->n_inputs) memcpy(row->in, in, (size_t)node->n_inputs * sizeof *in);
  memcpy(row->out, out, (size_t)node->n_outputs * sizeof *out);
}
