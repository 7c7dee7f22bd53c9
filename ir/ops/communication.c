// The communication operators: conversions of where a value is, never of what it is. Result 0 has operand 0's value and
// type; from and to are the placements of the two. `axis` names the mesh axis that is converted.
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

// Devices to host: each part is written into its place; of equal copies coordinate 0's is.
const dp_op dp_op_dp_Gather = {
    .name = "Gather",
    .domain = "dp",
    SAME_VALUE,
};

// Partial to Replicate on one mesh axis.
const dp_op dp_op_AllReduce = {
    .name = "AllReduce",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS},
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

// Replicate to Shard on one mesh axis, without talking to anyone.
const dp_op dp_op_dp_Slice = {
    .name = "Slice",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS},
};

// To the devices at another coordinate of a mesh axis; each pair of Send and Recv has a channel of its own.
const dp_op dp_op_Send = {
    .name = "Send",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS, {.name = "channel", .kind = DP_ATTR_INT, .required = true}},
};

// What the Send of the same channel gives.
const dp_op dp_op_Recv = {
    .name = "Recv",
    .domain = "dp",
    SAME_VALUE,
    .attrs = {AXIS, {.name = "channel", .kind = DP_ATTR_INT, .required = true}},
};
