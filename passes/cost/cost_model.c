// See cost_model.h.
#include "passes/cost/cost_model.h"

#include <string.h>

#include "passes/cost/largest_shard.h"

// Communication by operator: the streams it uses, and whom it involves if not the devices of an axis.
static const struct {
  const char *op;
  int stream;
} streams[] = {{"Scatter", DP_STREAM_COPY},  {"Broadcast", DP_STREAM_COPY},    {"Gather", DP_STREAM_COPY},
               {"Send", DP_STREAM_SEND},     {"Recv", DP_STREAM_RECV},            // the devices of two stages
               {"Offload", DP_STREAM_COPY},  {"Fetch", DP_STREAM_COPY},           // a device and its own
               {"Slice", DP_STREAM_COMPUTE}, {"Accumulate", DP_STREAM_COMPUTE}};  // no communication

int dp_cost_model_stream(const dp_node *node) {
  if (!dp_op_is(node->op, DP_OP_COMMUNICATION)) return DP_STREAM_COMPUTE;
  for (size_t i = 0; i < DP_COUNT(streams); i++)
    if (!strcmp(streams[i].op, node->op->name)) return streams[i].stream;
  return DP_STREAM_COMM;
}

double dp_cost_model_bytes(const dp_model *model, const dp_value *v) {
  return (double)dp_largest_shard_bytes(model, v);
}

double dp_cost_model_ns(const dp_target_costs *costs, const dp_graph *graph, const dp_node *node) {
  const dp_model *model = graph->model;
  double largest = 0, share = 0, of_operands = 0;  // share: the largest part of any tensor's whole that a device has
  for (int k = 0; k < node->n_inputs + node->n_outputs; k++) {
    const dp_value *v = k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
    double bytes = v ? dp_cost_model_bytes(model, v) : 0;
    if (k < node->n_inputs) of_operands += bytes;
    if (bytes <= largest) continue;
    double whole = (double)dp_shape_count(&v->type->shape, model->batch) * (double)dp_type_bytes(v->type->dtype);
    largest = bytes;
    share = whole > 0 ? bytes / whole : 0;
  }
  switch (dp_cost_model_stream(node)) {
    case DP_STREAM_COMM:
    case DP_STREAM_SEND:
    case DP_STREAM_RECV:
      return dp_cost_model_latency_ns(costs, node->n_inputs > 1 ? of_operands : largest);
    case DP_STREAM_COPY:
      return costs->start_ns + largest / costs->bytes_per_ns;
    default:;
  }
  return dp_cost_model_compute_ns(costs, dp_op_cost(node, model->batch), share);
}
