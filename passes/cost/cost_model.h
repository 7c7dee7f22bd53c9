// A rough cost model for the passes that order nodes and divide communication: the stream that a node of the device
// form runs on, and how long it takes there by the target's figures.
#ifndef DP_PASSES_COST_COST_MODEL_H
#define DP_PASSES_COST_COST_MODEL_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// Send and recv are for stages of a pipeline, upload for targets that get their inputs ahead.
enum {
  DP_STREAM_COMPUTE,
  DP_STREAM_COMM,
  DP_STREAM_COPY,
  DP_STREAM_SEND,
  DP_STREAM_RECV,
  DP_STREAM_UPLOAD,
  DP_STREAMS
};

int dp_cost_model_stream(const dp_node *node);
// For a device's part, at the largest n, in ns.
double dp_cost_model_ns(const dp_target_costs *costs, const dp_graph *graph, const dp_node *node);
// For computation, or a device's share of it, in ns.
static inline double dp_cost_model_compute_ns(const dp_target_costs *costs, dp_cost cost, double share) {
  return costs->start_ns + share * (cost.flops / costs->flops_per_ns + cost.bytes / costs->bytes_per_ns);
}
// For a collective with so many bytes on each device, in ns.
static inline double dp_cost_model_latency_ns(const dp_target_costs *costs, double bytes) {
  return costs->latency_ns + bytes / costs->link_bytes_per_ns;
}
// Bytes of a device's part of a value.
double dp_cost_model_bytes(const dp_model *model, const dp_value *value);

#ifdef __cplusplus
}
#endif

#endif
