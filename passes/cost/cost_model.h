// A rough clock for the passes that put nodes in order and divide communication: which stream a node of a device form is for,
// and how long it takes there. Only proportions matter, so one table of figures serves all machines.
#ifndef DP_PASSES_COST_COST_MODEL_H
#define DP_PASSES_COST_COST_MODEL_H

#include "ir/graph/op.h"

// The last two are of stages of a pipeline.
enum { DP_STREAM_COMPUTE, DP_STREAM_COMM, DP_STREAM_COPY, DP_STREAM_SEND, DP_STREAM_RECV, DP_STREAMS };

typedef struct {
  double start_ns;                       // of any node
  double flops_per_ns, bytes_per_ns;     // of computation; copies from and to the host go by bytes
  double latency_ns, link_bytes_per_ns;  // of collectives: until all are there, and then
} dp_cost_figures;

extern const dp_cost_figures dp_cost_model;

int dp_cost_model_stream(const dp_node *node);
// For a device's part, at the largest n.
double dp_cost_model_ns(const dp_graph *graph, const dp_node *node);
// For a collective of so many bytes on each device.
static inline double dp_cost_model_latency_ns(double bytes) {
  return dp_cost_model.latency_ns + bytes / dp_cost_model.link_bytes_per_ns;
}
// Bytes of a device's part of a value.
double dp_cost_model_bytes(const dp_model *model, const dp_value *value);

#endif
