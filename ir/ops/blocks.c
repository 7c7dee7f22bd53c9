// Rows for a dim that is several equal blocks. See blocks.h.
#include "ir/ops/blocks.h"

static void add(dp_rows *rows, dp_placement small, dp_placement large, dp_dim extent, bool long_operands) {
  if (!dp_rows_divides(small, extent)) return;
  const dp_node *node = rows->node;
  dp_placement *in = dp_alloc_n(rows->arena, (size_t)node->n_inputs, sizeof *in);
  dp_placement *out = dp_alloc_n(rows->arena, (size_t)node->n_outputs, sizeof *out);
  for (int i = 0; i < node->n_inputs; i++) in[i] = !node->inputs[i] ? dp_replicate() : long_operands ? large : small;
  for (int i = 0; i < node->n_outputs; i++) out[i] = !node->outputs[i] ? dp_replicate() : long_operands ? small : large;
  dp_rows_add_placed(rows, in, out);
}

void dp_blocks_rows(dp_rows *rows, int dim, dp_dim extent, int64_t count, bool long_operands) {
  for (int v = 0; v < rows->n_views && count > 0; v++) {
    int64_t outer = rows->views[v].outer, unit = rows->views[v].unit, blocks;
    if (!__builtin_mul_overflow(outer, count, &blocks))
      add(rows, dp_shard_in(dim, outer, unit), dp_shard_in(dim, blocks, unit), extent, long_operands);
    if (outer % count == 0)
      add(rows, dp_shard_in(dim, outer / count, unit), dp_shard_in(dim, outer, unit), extent, long_operands);
  }
}
