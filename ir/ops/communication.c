// The communication operators convert placements, never values. Result i has operand i's value and type; `from` and
// `to` are their placements. `axis` names the mesh axis that is converted. All have one operand except AllReduce, which
// takes several at once, and Accumulate.
#include "ir/ops/common.h"

#define SAME_VALUE                                                                \
  .n_inputs = 1, .n_outputs = 1, .inputs = {DP_OPERAND("input", DP_STORED, 'T')}, \
  .outputs = {DP_OPERAND("output", DP_STORED, 'T')}, .flags = DP_OP_COMMUNICATION, .infer = dp_common_infer_same

#define AXIS \
  { .name = "axis", .kind = DP_ATTR_STRING, .required = true }

// Host to devices: each device that shards the value gets its part.
const dp_op dp_op_Scatter = {
    .name = "Scatter",
    .domain = "dp",
    SAME_VALUE,
};

// Host to devices: every device gets the whole value.
const dp_op dp_op_Broadcast = {
    .name = "Broadcast",
    .domain = "dp",
    SAME_VALUE,
};

// Devices to host: each part is written to its position; of equal copies, the one at coordinate 0 is used.
const dp_op dp_op_dp_Gather = {
    .name = "Gather",
    .domain = "dp",
    SAME_VALUE,
};

static dp_status infer_each(dp_node *node) {
  if (node->n_outputs != node->n_inputs)
    return dp_fail(EX_DATAERR, "%d results are requested; each of the %d operands has one", node->n_outputs,
                   node->n_inputs);
  for (int i = 0; i < node->n_inputs; i++) {
    if (!node->outputs[i]) return dp_fail(EX_DATAERR, "result %d is required", i + 1);
    dp_common_set(node, i, node->inputs[i]->type->dtype, dp_common_shape(node, i));
  }
  return DP_OK;
}

// Partial to Replicate on one mesh axis: of one value, or in one rendezvous of a bucket of them with one element type
// and one reduction.
const dp_op dp_op_AllReduce = {
    .name = "AllReduce",
    .domain = "dp",
    .n_inputs = 1,
    .n_outputs = 1,
    .variadic = true,
    .variadic_results = true,
    .inputs = {DP_OPERAND("inputs", DP_ANY_TYPE, 'T')},
    .outputs = {DP_OPERAND("outputs", DP_ANY_TYPE, 'T')},
    .attrs = {AXIS},
    .flags = DP_OP_COMMUNICATION,
    .infer = infer_each,
};

// Partial to Shard on one mesh axis.
const dp_op dp_op_ReduceScatter = {
    .name = "ReduceScatter",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS},
};

// Shard to Replicate on one mesh axis.
const dp_op dp_op_AllGather = {
    .name = "AllGather",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS},
};

// Shard of one dim to Shard of another on one mesh axis.
const dp_op dp_op_AllToAll = {
    .name = "AllToAll",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS},
};

// Replicate to Shard on one mesh axis, without communication.
const dp_op dp_op_dp_Slice = {
    .name = "Slice",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS},
};

// From a device's memory to memory of the host that is the device's own, with the placement that it has.
const dp_op dp_op_Offload = {
    .name = "Offload",
    .domain = "dp",
    SAME_VALUE,
};

// The same way back.
const dp_op dp_op_Fetch = {
    .name = "Fetch",
    .domain = "dp",
    SAME_VALUE,
};

// Combines, on the device itself, partial results of two adjacent sets of micro-batches, or the parts of a tensor that
// two such sets have. Result and operands belong to one value.
const dp_op dp_op_Accumulate = {
    .name = "Accumulate",
    .domain = "dp",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("accumulated", DP_STORED, 'T'), DP_OPERAND("piece", DP_STORED, 'T')},
    .outputs = {DP_OPERAND("output", DP_STORED, 'T')},
    .attrs = {AXIS},
    .flags = DP_OP_COMMUNICATION,
    .infer = dp_common_infer_same,
};

// For a transfer between two stages: its number, and the coordinate of the other side.
#define CHANNEL \
  { .name = "channel", .kind = DP_ATTR_INT, .required = true }
#define PEER \
  { .name = "peer", .kind = DP_ATTR_INT, .required = true }

// To the devices at another coordinate of a mesh axis; each pair of Send and Recv has its own channel.
const dp_op dp_op_Send = {
    .name = "Send",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS, CHANNEL, PEER},
};

// Receives what the Send on the same channel gives.
const dp_op dp_op_Recv = {
    .name = "Recv",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS, CHANNEL, PEER},
};
