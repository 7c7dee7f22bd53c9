// autodiff: reverse-mode differentiation of "train". Appends the gradient nodes. Each parameter that a gradient reaches
// gets an output DP_GRADIENT_OUTPUT + its name.
//
// A value takes part when it depends on a trained parameter through floating-point values and the loss depends on it.
// Nodes are visited from the last to the first, and the gradients of a value used several times are added in that
// order, so that the sum is the same in every compilation; those that are terms of shared weights (shared_weights.h)
// come last.
#include <string.h>

#include "ir/graph/builder.h"
#include "passes/base/pass.h"
#include "passes/train/loss_scale.h"
#include "passes/train/shared_weights.h"

// Terms of a value's gradient that are to be one product.
typedef struct {
  int count;
  dp_value **values;
} terms;

typedef struct {
  dp_graph *graph;
  int64_t batch;
  int32_t n_values;     // in the forward graph
  int32_t *uses;        // by value: operands that it is
  bool *depends;        // by value: on a trained parameter
  dp_value **gradient;  // by value: the sum so far
  terms *apart;         // by value: what is still to be added to it
} differentiation;

static bool trains(const dp_graph *graph, const dp_value *v) {
  if (v->kind != DP_VALUE_VARIABLE || !dp_type_is_float(v->type->dtype)) return false;
  const dp_variable *p = &graph->model->variables[v->variable];
  return p->kind == DP_PARAMETER && !p->frozen;
}

static void mark_dependent(differentiation *d) {
  for (int32_t i = 0; i < d->n_values; i++) d->depends[i] = trains(d->graph, d->graph->values[i]);
  for (int32_t i = 0; i < d->graph->n_nodes; i++) {
    const dp_node *node = d->graph->nodes[i];
    bool any = false;
    for (int k = 0; k < node->n_inputs; k++) any |= node->inputs[k] && d->depends[node->inputs[k]->id];
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k]) d->uses[node->inputs[k]->id]++;
    for (int k = 0; k < node->n_outputs && any; k++)
      if (node->outputs[k] && dp_type_is_float(node->outputs[k]->type->dtype)) d->depends[node->outputs[k]->id] = true;
  }
}

static int stage_of(const dp_value *value) { return value->producer ? value->producer->stage : -1; }

// A value's gradients are summed on the way back to its producer: on the lower of the two stages, so that as few as
// possible are sent, but not before the producer's stage.
static void add_gradient(differentiation *d, dp_builder *builder, const dp_value *of, dp_value *gradient) {
  dp_value **sum = &d->gradient[of->id], *one = *sum, *other = gradient;
  if (one && (gradient = dp_build2(builder, "Add", one, other)) && gradient->producer && of->producer) {
    int decompose = stage_of(one) < stage_of(other) ? stage_of(one) : stage_of(other);
    gradient->producer->device = of->producer->device;
    gradient->producer->stage = decompose > of->producer->stage ? decompose : of->producer->stage;
  }
  *sum = gradient;
}

static void take_gradient(differentiation *d, dp_builder *builder, const dp_value *of, dp_value *gradient) {
  if (d->uses[of->id] < 2 || builder->status || !dp_shared_weights_is_term(gradient, d->batch)) {
    add_gradient(d, builder, of, gradient);
    return;
  }
  terms *t = &d->apart[of->id];
  if (!t->values) t->values = dp_alloc_n(d->graph->arena, (size_t)d->uses[of->id], sizeof *t->values);
  t->values[t->count++] = gradient;
}

// The gradient of a value whose uses have all been differentiated; NULL: none reaches it.
static dp_value *gradient_of(differentiation *d, dp_builder *builder, const dp_value *of) {
  terms *t = &d->apart[of->id];
  while (t->count) {
    // Those that agree with the first; the others stay.
    dp_value *first = t->values[0], **some = dp_alloc_n(d->graph->arena, (size_t)t->count, sizeof *some);
    int n_some = 0, n_left = 0;
    for (int i = 0; i < t->count; i++) {
      dp_value *term = t->values[i];
      if (dp_shared_weights_agree(first, term))
        some[n_some++] = term;
      else
        t->values[n_left++] = term;
    }
    t->count = n_left;
    add_gradient(d, builder, of, n_some == 1 ? some[0] : dp_shared_weights_sum(builder, some, n_some));
  }
  return d->gradient[of->id];
}

static dp_status differentiate_node(differentiation *d, dp_node *node) {
  dp_value *dy[DP_MAX_OPERANDS] = {0}, *dx[DP_MAX_OPERANDS] = {0};
  bool reached = false, wanted = false;
  dp_builder builder = {.graph = d->graph, .prefix = dp_printf(d->graph->arena, "%s/grad", node->name)};
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k]) reached |= (dy[k] = gradient_of(d, &builder, node->outputs[k])) != NULL;
  for (int k = 0; k < node->n_inputs; k++) wanted |= node->inputs[k] && d->depends[node->inputs[k]->id];
  if (!reached || !wanted) return DP_OK;
  if (!node->op->gradient)
    return dp_fail(
        EX_DATAERR,
        "node '%s' (%s%s%s) lies between a parameter and the loss, but has no gradient; freeze what lies before it",
        node->name, node->op->domain, *node->op->domain ? "." : "", node->op->name);
  int32_t first = d->graph->n_nodes;
  node->op->gradient(&builder, node, dy, dx);
  // Annotations also apply to the gradients of the annotated node.
  for (int32_t i = first; i < d->graph->n_nodes; i++) {
    d->graph->nodes[i]->device = node->device;
    d->graph->nodes[i]->stage = node->stage;
  }
  for (int k = 0; k < node->n_inputs && !builder.status; k++)
    if (dx[k] && node->inputs[k] && d->depends[node->inputs[k]->id]) take_gradient(d, &builder, node->inputs[k], dx[k]);
  return dp_status_context(builder.status, "the gradient of node '%s' (%s)", node->name, node->op->name);
}

// Outputs for the parameters that a gradient reached; a note for each of the others.
static dp_status give_gradients(const dp_compile *compile, differentiation *d) {
  dp_graph *graph = d->graph;
  bool any = false;
  for (int32_t i = 0; i < d->n_values; i++) {
    const dp_value *v = graph->values[i];
    if (!trains(graph, v)) continue;
    const char *name = graph->model->variables[v->variable].name;
    dp_builder builder = {.graph = graph, .prefix = dp_printf(graph->arena, "%s/grad", name)};
    dp_value *gradient = gradient_of(d, &builder, v);
    DP_TRY(dp_status_context(builder.status, "the gradient of parameter '%s'", name));
    if (!gradient) {
      dp_pass_note(compile, "parameter '%s' is not trained: no gradient reaches it", name);
      continue;
    }
    dp_graph_add_output(graph, dp_printf(graph->arena, DP_GRADIENT_OUTPUT "%s", name), gradient);
    any = true;
  }
  return any ? DP_OK : dp_fail(EX_DATAERR, "nothing to train: the loss depends on no parameter that is not frozen");
}

static dp_status run(dp_compile *compile) {
  dp_graph *graph = dp_pass_train(compile);
  if (!graph) return DP_OK;
  differentiation d = {.graph = graph, .batch = compile->model->batch, .n_values = graph->n_values};
  d.uses = dp_alloc_n(graph->arena, (size_t)d.n_values, sizeof *d.uses);
  d.apart = dp_alloc_n(graph->arena, (size_t)d.n_values, sizeof *d.apart);
  d.depends = dp_alloc_n(graph->arena, (size_t)d.n_values, sizeof *d.depends);
  d.gradient = dp_alloc_n(graph->arena, (size_t)d.n_values, sizeof(dp_value *));
  int32_t n_nodes = graph->n_nodes;
  mark_dependent(&d);
  for (int i = 0; i < graph->n_outputs; i++) {
    dp_value *loss = graph->outputs[i].value;
    if (strcmp(graph->outputs[i].name, DP_LOSS_OUTPUT) || !d.depends[loss->id]) continue;
    dp_builder builder = {.graph = graph, .prefix = "loss/grad"};
    const bool scaled = dp_loss_scale_is_on(compile->options);
    d.gradient[loss->id] =
        scaled ? dp_loss_scale_begin(&builder, loss->type->dtype) : dp_build_fill(&builder, loss->type->dtype, 1);
  }
  for (int32_t i = n_nodes; i-- > 0;) DP_TRY(differentiate_node(&d, graph->nodes[i]));
  return give_gradients(compile, &d);
}

const dp_pass dp_pass_autodiff = {
    .name = "autodiff",
    .what = "computes gradients of the loss for the parameters that it depends on",
    .needs = DP_HAS_PROGRAMS,
    .gives = DP_HAS_GRADIENTS,
    .run = run,
};
