// Rows for a dim that consists of several equal blocks. See blocks.h.
#include "ir/ops/blocks.h"

static void add_block_row(dp_sharding_rules *rules, dp_placement small, dp_placement large, dp_dim extent,
                          bool long_operands) {
  if (!dp_sharding_divides(small, extent)) return;
  const dp_node *node = rules->node;
  dp_placement *in = dp_alloc_n(rules->arena, (size_t)node->n_inputs, sizeof *in);
  dp_placement *out = dp_alloc_n(rules->arena, (size_t)node->n_outputs, sizeof *out);
  for (int i = 0; i < node->n_inputs; i++) in[i] = !node->inputs[i] ? dp_replicate() : long_operands ? large : small;
  for (int i = 0; i < node->n_outputs; i++) out[i] = !node->outputs[i] ? dp_replicate() : long_operands ? small : large;
  dp_sharding_add_placed(rules, in, out);
}

void dp_blocks_sharding(dp_sharding_rules *rules, int dim, dp_dim extent, int64_t count, bool long_operands) {
  for (int v = 0; v < rules->n_views && count > 0; v++) {
    int64_t outer = rules->views[v].outer, unit = rules->views[v].unit, blocks;
    if (!__builtin_mul_overflow(outer, count, &blocks))
      add_block_row(rules, dp_shard_in(dim, outer, unit), dp_shard_in(dim, blocks, unit), extent, long_operands);
    if (outer % count == 0)
      add_block_row(rules, dp_shard_in(dim, outer / count, unit), dp_shard_in(dim, outer, unit), extent, long_operands);
  }
}
