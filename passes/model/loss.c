// loss: builds the loss at the end of "main" and makes it an output, together with the number of labels in its mean
// and, where there are classes, how many are predicted correctly. The mean is over all labels present. The model's own
// outputs stay, under DP_MODEL_OUTPUT. A plan for inference has no loss.
//
// A loss may be a sum of several with factors, and a mean may divide by something else than the number of labels. Then
// each term and what its mean divides by are outputs too, from which the mean over several batches follows. What a mean
// divides by comes from labels alone, so that no pipeline waits for it.
//
//   loss_classes.c   losses of labels that are classes
//   loss_elements.c  means over elements
#include "passes/model/loss.h"

#include <string.h>

#include "ir/base/suggest.h"
#include "passes/base/pass.h"
#include "passes/model/metrics.h"

dp_value *dp_loss_find(const dp_graph *graph, const char *name) {
  for (int i = 0; i < graph->n_outputs; i++)
    if (!strcmp(graph->outputs[i].name, name)) return graph->outputs[i].value;
  return dp_graph_find_value(graph, name);
}

dp_value *dp_loss_reduce(dp_builder *b, const char *op, dp_value *value) {
  static const int64_t axes[DP_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  return dp_build_reduce(b, op, value, axes, (size_t)value->type->shape.rank, false);
}

dp_value *dp_loss_constant(dp_builder *b, const dp_spec_list *list, dp_dtype dtype, int rank, int axis) {
  dp_arena *arena = b->graph->arena;
  const size_t size = dp_type_bytes(dtype);
  dp_tensor *tensor = dp_alloc(arena, sizeof *tensor);
  char *data = dp_alloc_n(arena, (size_t)list->count, size);
  for (int i = 0; i < list->count; i++) dp_element_set(dtype, data + (size_t)i * size, list->numbers[i]);
  *tensor = (dp_tensor){.dtype = dtype, .rank = rank, .bytes = (size_t)list->count * size, .data = data};
  for (int d = 0; d < rank; d++) tensor->extents[d] = d == axis ? list->count : 1;
  return dp_graph_add_constant(b->graph, "loss/weights", tensor);
}

static dp_status find_prediction(const dp_graph *graph, const char *name, dp_value **value) {
  *value = dp_loss_find(graph, name);
  if (*value && dp_type_is_float((*value)->type->dtype)) return DP_OK;
  char text[256];
  if (*value)
    return dp_fail(EX_DATAERR, "the loss is taken of '%s', which is %s, but must be of a floating-point type", name,
                   dp_type_print((*value)->type, text, sizeof text));
  dp_suggest suggest = dp_suggest_begin(name);
  for (int i = 0; i < graph->n_outputs; i++) dp_suggest_offer(&suggest, graph->outputs[i].name);
  for (int32_t i = 0; i < graph->n_values; i++) dp_suggest_offer(&suggest, graph->values[i]->name);
  const char *outputs = "";
  for (int i = 0; i < graph->n_outputs; i++)
    outputs = dp_printf(graph->arena, "%s%s'%s'", outputs, i ? ", " : "", graph->outputs[i].name);
  return dp_fail(EX_DATAERR, "the loss is taken of '%s', but the model has no such value; its output%s: %s%s", name,
                 graph->n_outputs == 1 ? " is" : "s are", *outputs ? outputs : "none",
                 dp_suggest_print(&suggest, text, sizeof text));
}

// By dp_loss_kind.
static dp_loss_build *const builds[] = {
    [DP_LOSS_SOFTMAX_CROSS_ENTROPY] = dp_loss_softmax_cross_entropy,
    [DP_LOSS_NLL] = dp_loss_nll,
    [DP_LOSS_MSE] = dp_loss_mse,
    [DP_LOSS_L1] = dp_loss_l1,
    [DP_LOSS_SMOOTH_L1] = dp_loss_smooth_l1,
    [DP_LOSS_HUBER] = dp_loss_huber,
    [DP_LOSS_BCE_WITH_LOGITS] = dp_loss_bce_with_logits,
    [DP_LOSS_KL_DIV] = dp_loss_kl_div,
    [DP_LOSS_VALUE] = dp_loss_value,
};

// The loss times its factor.
static dp_status build_term(dp_builder *b, const dp_loss_term *term, dp_loss_measures *m) {
  dp_value *prediction;
  DP_TRY(find_prediction(b->graph, term->prediction, &prediction));
  DP_TRY(builds[term->kind](b, term, prediction, m));
  if (term->factor == 1) return DP_OK;
  m->loss = dp_build2(b, "Mul", m->loss, dp_build_fill(b, m->loss->type->dtype, term->factor));
  return DP_OK;
}

// The number of labels of a sum of losses is that of the first with classes, whose labels are counted as correct too.
static const dp_loss_measures *find_counted(const dp_loss_measures *m, int n) {
  for (int i = 0; i < n; i++)
    if (m[i].correct) return &m[i];
  return m;
}

static void add_outputs(dp_graph *main, dp_value *loss, const dp_loss_measures *m, int n) {
  const dp_loss_measures *counted = find_counted(m, n);
  dp_graph_add_output(main, DP_LOSS_OUTPUT, loss);
  dp_graph_add_output(main, DP_COUNT_OUTPUT, counted->count);
  if (counted->correct) dp_graph_add_output(main, DP_CORRECT_OUTPUT, counted->correct);
  for (int i = 0; i < n && (n > 1 || m->over); i++) {
    dp_graph_add_output(main, dp_printf(main->arena, DP_TERM_OUTPUT "%d", i), m[i].loss);
    dp_graph_add_output(main, dp_printf(main->arena, DP_OVER_OUTPUT "%d", i), m[i].over ? m[i].over : m[i].count);
  }
}

static dp_status add_loss(dp_model *model, const char *metrics, dp_graph *main) {
  dp_loss_spec spec;
  if (!model->loss) return dp_fail(EX_USAGE, "the model names no loss: give one with --loss=...");
  DP_TRY(dp_spec_loss(model->arena, (dp_spec_origin){"the loss", EX_DATAERR}, model->loss, &spec));
  dp_loss_measures *m = dp_alloc_n(model->arena, (size_t)spec.n_terms, sizeof *m);
  dp_builder builder = {.graph = main, .prefix = "loss"};
  dp_value *loss = NULL;
  for (int i = 0; i < spec.n_terms; i++) {
    DP_TRY(build_term(&builder, &spec.terms[i], &m[i]));
    loss = loss ? dp_build2(&builder, "Add", loss, m[i].loss) : m[i].loss;
  }
  if (builder.status) return dp_status_context(builder.status, "the loss %s", model->loss);
  add_outputs(main, loss, m, spec.n_terms);
  dp_builder beside = {.graph = main, .prefix = "metrics"};
  DP_TRY(dp_model_metrics_add(&beside, metrics, find_counted(m, spec.n_terms)));
  return dp_status_context(beside.status, "--metrics=%s", metrics);
}

static dp_status run(dp_compile *compile) {
  dp_graph *main = dp_model_find_graph(compile->model, "main");
  const int n_outputs = main->n_outputs;
  if (!dp_options_infers(compile->options)) DP_TRY(add_loss(compile->model, compile->options->metrics, main));
  dp_output *outputs = main->outputs;
  const int n_ours = main->n_outputs - n_outputs;
  main->n_outputs = 0;
  main->outputs = NULL;
  for (int i = 0; i < n_ours; i++) dp_graph_add_output(main, outputs[n_outputs + i].name, outputs[n_outputs + i].value);
  for (int i = 0; i < n_outputs; i++)
    dp_graph_add_output(main, dp_printf(main->arena, DP_MODEL_OUTPUT "%s", outputs[i].name), outputs[i].value);
  return DP_OK;
}

const dp_pass dp_pass_loss = {
    .name = "loss",
    .what = "makes the loss, the counts of all and of correct labels, and metrics outputs beside the model's own",
    .needs = DP_HAS_MESH | DP_HAS_BATCH,
    .gives = DP_HAS_LOSS,
    .run = run,
};
