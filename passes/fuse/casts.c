// casts: Casts of parameters to 16 bits become one region: a launch for all in place of one for each, of which many are
// small.
//
// They run where the first of them stands, as long as the program then never holds more than it holds at most anyhow.
// In training it holds the most when the forward pass is over, and until then they all are there; one that is made
// again in the backward pass stays where it is. Weights of convolutions stay alone, since each has a layout of its own.
#include "ir/base/limits.h"
#include "ir/graph/op.h"
#include "passes/base/pass.h"
#include "passes/cost/cost_model.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/held.h"
#include "passes/fuse/regions.h"

enum { MATRIX = 2 };

static bool narrows_parameter(const dp_node *node) {
  if (dp_op_widening(node) >= 0 || !node->logical || node->n_waits || node->signal >= 0) return false;
  const dp_value *x = node->inputs[0], *y = node->outputs[0];
  return x->kind == DP_VALUE_VARIABLE && x->space == DP_SPACE_PERSISTENT && x->type->dtype == DP_FLOAT32 &&
         x->type->shape.rank <= MATRIX && y->space == DP_SPACE_TRANSIENT;
}

// The Casts that have joined the one at hand so far.
typedef struct {
  int32_t group;    // where the first of them stands; -1: none yet
  int32_t last;     // where the last one does
  int32_t segment;  // the number of transfers between stages before them
  int n_members;
  double most;  // bytes held anywhere between these positions
} joining;

static double most_held(const double *held, int32_t from, int32_t to) {
  double most = 0;
  for (int32_t i = from; i < to; i++)
    if (held[i] > most) most = held[i];
  return most;
}

// The same with a Cast that stands at i and whose result takes so many bytes.
static double most_with(const joining *j, const double *held, int32_t i, double bytes) {
  const double since = most_held(held, j->last, i);
  return (j->most > since ? j->most : since) + bytes;
}

// Groups them. held: dp_held_bytes.
static void group_casts(const dp_graph *graph, const double *held, const int32_t *segment, int32_t *group_of) {
  const double limit = most_held(held, 0, graph->n_nodes);
  joining j = {.group = -1};
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    group_of[i] = i;
    if (!narrows_parameter(node)) continue;
    const double most = most_with(&j, held, i, dp_cost_model_bytes(graph->model, node->outputs[0]));
    if (j.group < 0 || segment[i] != j.segment || most > limit || j.n_members == DP_LIMIT_OUTPUTS) {
      j = (joining){.group = i, .last = i, .segment = segment[i], .n_members = 1, .most = held[i]};
      continue;
    }
    group_of[i] = j.group;
    j.n_members++;
    j.last = i;
    j.most = most;
  }
}

static dp_status join_casts(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  (void)compile;
  dp_regions_put_in_order(graph, scratch);
  int32_t *group_of = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *group_of);
  int32_t *begins = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *begins);
  for (int32_t i = 0; i < graph->n_nodes; i++) begins[i] = i;
  const int32_t *segment = dp_regions_segments(graph, scratch);
  group_casts(graph, dp_held_bytes(graph, scratch, begins), segment, group_of);
  dp_regions_make(graph, scratch, graph->n_nodes, group_of);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  const dp_options *options = compile->options;
  compile->unchanged = options->no_fuse || dp_options_infers(options) || !options->target->parameter_casts;
  return compile->unchanged ? DP_OK : dp_pass_each_graph(compile, join_casts);
}

const dp_pass dp_pass_casts = {
    .name = "casts",
    .what = "casts of parameters to 16 bits become one region",
    .needs = DP_HAS_ROLES,
    .run = run,
};
