// DepthToSpace: turns blocks of channels into blocks of H and W: channel (by, bx, c), or (c, by, bx) in mode CRD, goes
// to (y * blocksize + by, x * blocksize + bx) of channel c. Specialized into Reshape and Transpose.
#include <string.h>

#include "ir/ops/space_blocks.h"

static dp_status infer(dp_node *node) {
  const char *mode = dp_node_string(node, "mode", "DCR");
  int64_t block;
  DP_TRY(dp_space_blocks_check(node, &block));
  if (strcmp(mode, "DCR") && strcmp(mode, "CRD"))
    return dp_fail(EX_DATAERR, "mode is '%s' where DCR or CRD is expected", mode);
  dp_shape y = *dp_common_shape(node, 0);
  if (y.dims[1].offset % (block * block))
    return dp_fail(EX_DATAERR, "%lld channels do not form blocks of %lld x %lld", (long long)y.dims[1].offset,
                   (long long)block, (long long)block);
  y.dims[1].offset /= block * block;
  for (int d = 2; d < 4; d++) y.dims[d].offset *= block;
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, 0), *y = &node->outputs[0]->type->shape;
  dp_dim block = dp_dim_of(dp_node_int(node, "blocksize", 1)), n = x->dims[0], h = x->dims[2], w = x->dims[3];
  if (!strcmp(dp_node_string(node, "mode", "DCR"), "DCR")) {
    dp_shape wide = {.rank = 6, .dims = {n, block, block, y->dims[1], h, w}};
    out[0] = dp_space_blocks_rearrange(b, in[0], &wide, (int64_t[]){0, 3, 4, 1, 5, 2}, y);
  } else {
    dp_shape wide = {.rank = 6, .dims = {n, y->dims[1], block, block, h, w}};
    out[0] = dp_space_blocks_rearrange(b, in[0], &wide, (int64_t[]){0, 1, 4, 2, 5, 3}, y);
  }
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,8,2,3]", .attrs = "blocksize=2", .n = 2},
    {.inputs = "float32[N,9,2,1]", .attrs = "blocksize=3, mode=\"CRD\"", .n = 2},
    {.inputs = "int32[N,4,1,2]", .attrs = "blocksize=2", .n = 2, .low = -9, .high = 9},
    {.inputs = "int64[1,4,1,2]", .attrs = "blocksize=2", .low = -9, .high = 9},
    {.inputs = "uint8[1,4,1,2]", .attrs = "blocksize=2", .low = 0, .high = 255},
    {.inputs = "bool[1,4,2,2]", .attrs = "blocksize=1", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_DepthToSpace = {
    .name = "DepthToSpace",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 'T')},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {{.name = "blocksize", .kind = DP_ATTR_INT, .required = true}, DP_STRING_ATTR("mode", "DCR")},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
