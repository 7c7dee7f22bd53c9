// SpaceToDepth: blocks of H and W become channels: (y * blocksize + by, x * blocksize + bx) of channel c goes to
// channel (by, bx, c), or (c, by, bx) in mode CRD. Every program holds Reshape and Transpose in its place.
#include <string.h>

#include "ir/ops/space_blocks.h"

static dp_status infer(dp_node *node) {
  const char *mode = dp_node_string(node, "mode", "DCR");
  int64_t block;
  DP_TRY(dp_space_blocks_check(node, &block));
  if (strcmp(mode, "DCR") && strcmp(mode, "CRD"))
    return dp_fail(EX_DATAERR, "mode is '%s' where DCR or CRD is expected", mode);
  dp_shape y = *dp_common_shape(node, 0);
  for (int d = 2; d < 4; d++) {
    if (y.dims[d].offset % block)
      return dp_fail(EX_DATAERR, "extent %lld of dim %d does not consist of blocks of %lld",
                     (long long)y.dims[d].offset, d, (long long)block);
    y.dims[d].offset /= block;
  }
  y.dims[1].offset *= block * block;
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, 0), *y = &node->outputs[0]->type->shape;
  dp_dim block = dp_dim_of(dp_node_int(node, "blocksize", 1));
  dp_shape wide = {.rank = 6, .dims = {x->dims[0], x->dims[1], y->dims[2], block, y->dims[3], block}};
  bool first = !strcmp(dp_node_string(node, "mode", "DCR"), "CRD");  // whether the channel is
  int64_t channel_last[] = {0, 3, 5, 1, 2, 4}, channel_first[] = {0, 1, 3, 5, 2, 4};
  out[0] = dp_space_blocks_rearrange(b, in[0], &wide, first ? channel_first : channel_last, y);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,4,6]", .attrs = "blocksize=2", .n = 2},
    {.inputs = "float32[N,2,4,2]", .attrs = "blocksize=2, mode=\"CRD\"", .n = 2},
    {.inputs = "int32[N,1,2,2]", .attrs = "blocksize=2", .n = 2, .low = -9, .high = 9},
    {.inputs = "int64[1,1,2,4]", .attrs = "blocksize=2", .low = -9, .high = 9},
    {.inputs = "uint8[1,2,2,2]", .attrs = "blocksize=2", .low = 0, .high = 255},
    {.inputs = "bool[1,4,2,2]", .attrs = "blocksize=1", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_SpaceToDepth = {
    .name = "SpaceToDepth",
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
