// Blocks of H and W to channels and back. See space_blocks.h.
#include "ir/ops/space_blocks.h"

dp_status dp_space_blocks_check(const dp_node *node, int64_t *block) {
  const dp_shape *x = dp_common_shape(node, 0);
  char text[256];
  *block = dp_node_int(node, "blocksize", 0);
  if (*block < 1 || *block > 1 << 15)
    return dp_fail(EX_DATAERR, "blocksize is %lld where 1 to %d is expected", (long long)*block, 1 << 15);
  bool fits = x->rank == 4;
  for (int d = 1; fits && d < 4; d++) fits = !dp_dim_is_symbolic(x->dims[d]) && x->dims[d].offset <= INT32_MAX;
  if (!fits)
    return dp_fail(EX_DATAERR, "the operand has shape %s; [N, C, H, W] is expected",
                   dp_shape_print(x, text, sizeof text));
  return DP_OK;
}

dp_value *dp_space_blocks_rearrange(dp_builder *b, dp_value *x, const dp_shape *wide, const int64_t perm[6],
                                    const dp_shape *y) {
  dp_attr attr = dp_attr_ints(b->graph->arena, "perm", perm, 6);
  dp_value *seen = dp_build_reshape(b, x, wide);
  return dp_build_reshape(b, dp_build(b, "Transpose", 1, &seen, 1, 1, &attr), y);
}
