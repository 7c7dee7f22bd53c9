// See clock.h.
#include "passes/clock.h"

// A core of today computes some 20 GFLOP/s and reads 10 GB/s. The link is a slow one, as of a 4 Gbit/s network: a collective
// that takes longer than was thought holds up computation, and one that is quicker does not.
const dp_clock_figures dp_clock = {
    .start_ns = 1e3, .flops_per_ns = 20, .bytes_per_ns = 10, .meet_ns = 20e3, .link_bytes_per_ns = 0.5};

int dp_clock_stream(const dp_node *node) {
  if (!dp_op_is(node->op, DP_OP_COMMUNICATION)) return DP_STREAM_COMPUTE;
  const dp_value *from = node->inputs[0], *to = node->outputs[0];
  if (from->space == DP_SPACE_HOST_INPUT || to->space == DP_SPACE_HOST_OUTPUT) return DP_STREAM_COPY;
  for (int a = 0; a < DP_MAX_MESH; a++)
    if (!dp_placement_equal(from->placements[a], to->placements[a]) && from->placements[a].kind != DP_REPLICATE)
      return DP_STREAM_COMM;
  return DP_STREAM_COMPUTE;  // a cut of what every device has: nobody is talked to
}

static double local_count(const dp_model *model, const dp_value *v) {
  return (double)dp_local_max_count(&v->type.shape, v->placements, &model->mesh, model->batch);
}

double dp_clock_bytes(const dp_model *model, const dp_value *v) {
  return local_count(model, v) * (double)dp_type_bytes(v->type.dtype);
}

double dp_clock_ns(const dp_graph *graph, const dp_node *node) {
  const dp_model *model = graph->model;
  double largest = 0, share = 0, of_operands = 0;  // share: of the largest tensor's whole that a device has
  for (int k = 0; k < node->n_inputs + node->n_outputs; k++) {
    const dp_value *v = k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
    double bytes = v ? dp_clock_bytes(model, v) : 0;
    if (k < node->n_inputs) of_operands += bytes;
    if (bytes <= largest) continue;
    double whole = (double)dp_shape_count(&v->type.shape, model->batch);
    largest = bytes;
    share = whole > 0 ? local_count(model, v) / whole : 0;
  }
  switch (dp_clock_stream(node)) {
    case DP_STREAM_COMM:
      return dp_clock_meet_ns(node->n_inputs > 1 ? of_operands : largest);
    case DP_STREAM_COPY:
      return dp_clock.start_ns + largest / dp_clock.bytes_per_ns;
    default:;
  }
  dp_cost cost = dp_op_cost(node, model->batch);
  return dp_clock.start_ns + share * (cost.flops / dp_clock.flops_per_ns + cost.bytes / dp_clock.bytes_per_ns);
}
