// loss: builds the loss at the end of "main" and makes it an output, together with the number of labels in its mean
// and, where there are classes, how many are predicted correctly. The mean is over all labels present. The model's own
// outputs stay, under DP_MODEL_OUTPUT. A plan for inference has no loss.
#include <string.h>

#include "ir/base/suggest.h"
#include "ir/graph/builder.h"
#include "passes/base/pass.h"
#include "passes/model/metrics.h"
#include "passes/spec/spec.h"

// The model's output with that name, or any value with it.
static dp_value *find_value(const dp_graph *graph, const char *name) {
  for (int i = 0; i < graph->n_outputs; i++)
    if (!strcmp(graph->outputs[i].name, name)) return graph->outputs[i].value;
  return dp_graph_find_value(graph, name);
}

static dp_status find_prediction(const dp_graph *graph, const char *name, dp_value **value) {
  *value = find_value(graph, name);
  if (*value && dp_type_is_float((*value)->type.dtype)) return DP_OK;
  char text[256];
  if (*value)
    return dp_fail(EX_DATAERR, "the loss is taken of '%s', which is %s, but must be of a floating-point type", name,
                   dp_type_print(&(*value)->type, text, sizeof text));
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

// The parts of a loss.
typedef struct {
  dp_value *over;  // has one element for each term of the mean
  dp_measured of;
} measures;

// ---- softmax_cross_entropy ------------------------------------------------------------------------------------------

static dp_shape without_axis(const dp_shape *shape, int axis) {
  dp_shape rest = {0};
  for (int d = 0; d < shape->rank; d++)
    if (d != axis) rest.dims[rest.rank++] = shape->dims[d];
  return rest;
}

// The labels, and the scores' axis of classes: the last one, or ONNX's axis 1.
static dp_status find_labels(dp_graph *graph, const dp_value *scores, const char *name, dp_value **labels, int *axis) {
  const dp_shape *s = &scores->type.shape;
  char a[256], b[256];
  if (s->rank < 2)
    return dp_fail(EX_DATAERR,
                   "softmax_cross_entropy: the scores '%s' have shape %s, but must have shape [%s, classes]",
                   scores->name, dp_shape_print(s, a, sizeof a), graph->model->symbol);
  dp_shape last = without_axis(s, s->rank - 1), first = without_axis(s, 1);
  *axis = s->rank - 1;
  *labels = find_value(graph, name);
  if (!*labels) {
    *labels = dp_graph_add_value(graph, DP_VALUE_INPUT, name, (dp_type){DP_INT64, last});
    return DP_OK;
  }
  const dp_type *type = &(*labels)->type;
  if (dp_type_is_float(type->dtype) || type->dtype == DP_BOOL)
    return dp_fail(EX_DATAERR,
                   "softmax_cross_entropy: the labels '%s' are %s, but must be integers, the numbers of classes", name,
                   dp_type_name(type->dtype));
  if (dp_shape_equal(&type->shape, &last)) return DP_OK;
  *axis = 1;
  if (dp_shape_equal(&type->shape, &first)) return DP_OK;
  return dp_fail(EX_DATAERR,
                 "softmax_cross_entropy: labels '%s' %s do not match scores '%s' %s: the labels must have the scores' "
                 "shape without the axis of the classes, the last one or axis 1",
                 name, dp_shape_print(&type->shape, a, sizeof a), scores->name, dp_shape_print(s, b, sizeof b));
}

// Puts the classes on axis 1, as the operator requires. If they are last, scores become [labels, classes] and labels
// [labels], which moves no byte; scores are transposed where these extents have no product.
static void put_classes_first(dp_builder *b, int axis, dp_value **scores, dp_value **labels) {
  dp_shape flat = {.rank = 2};
  const dp_shape *shape = &(*scores)->type.shape;
  if (axis == 1) return;
  if (dp_shape_product(shape, 0, axis, &flat.dims[0])) {
    flat.dims[1] = shape->dims[axis];
    *scores = dp_build_reshape(b, *scores, &flat);
    flat.rank = 1;
    *labels = dp_build_reshape(b, *labels, &flat);
    return;
  }
  int64_t perm[DP_MAX_RANK] = {0, axis};
  for (int d = 2; d < shape->rank; d++) perm[d] = d - 1;
  dp_attr attr = dp_attr_ints(b->graph->arena, "perm", perm, (size_t)shape->rank);
  *scores = dp_build(b, "Transpose", 1, scores, 1, 1, &attr);
}

static size_t all_axes(const dp_value *value, int64_t axes[DP_MAX_RANK]) {
  for (int d = 0; d < value->type.shape.rank; d++) axes[d] = d;
  return (size_t)value->type.shape.rank;
}

static dp_value *count_correct(dp_builder *b, dp_value *scores, dp_value *labels) {
  dp_attr attrs[] = {dp_attr_int("axis", 1), dp_attr_int("keepdims", 0)};
  dp_value *best = dp_build(b, "ArgMax", 1, &scores, 1, 2, attrs);
  dp_value *right = dp_build_cast(b, dp_build2(b, "Equal", best, labels), DP_INT64);
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = all_axes(right, axes);
  return dp_build_reduce(b, "ReduceSum", right, axes, n_axes, false);
}

static dp_status softmax_cross_entropy(dp_builder *b, dp_value *scores, const char *label, measures *m) {
  dp_value *labels = NULL;
  int axis = 1;
  DP_TRY(find_labels(b->graph, scores, label, &labels, &axis));
  labels = m->over = dp_build_cast(b, labels, DP_INT64);
  put_classes_first(b, axis, &scores, &labels);
  m->of = (dp_measured){.scores = scores, .labels = labels};
  m->of.loss = dp_build2(b, "SoftmaxCrossEntropyLoss", scores, labels);
  m->of.correct = count_correct(b, scores, labels);
  return DP_OK;
}

// ---- mse ------------------------------------------------------------------------------------------------------------

static dp_status mse(dp_builder *b, dp_value *prediction, const char *target, measures *m) {
  dp_value *wanted = find_value(b->graph, target);
  char p[256], t[256];
  if (!wanted) wanted = dp_graph_add_value(b->graph, DP_VALUE_INPUT, target, prediction->type);
  if (!dp_shape_equal(&wanted->type.shape, &prediction->type.shape))
    return dp_fail(EX_DATAERR, "mse: the target '%s' has shape %s where that of '%s', %s, is expected", target,
                   dp_shape_print(&wanted->type.shape, t, sizeof t), prediction->name,
                   dp_shape_print(&prediction->type.shape, p, sizeof p));
  dp_value *error = dp_build2(b, "Sub", prediction, dp_build_cast(b, wanted, prediction->type.dtype));
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = all_axes(error, axes);
  m->of.loss = dp_build_reduce(b, "ReduceMean", dp_build2(b, "Mul", error, error), axes, n_axes, false);
  m->of.error = m->over = error;  // kept for the gradient anyway, unlike the target
  return DP_OK;
}

static dp_status add_loss(dp_model *model, const char *metrics, dp_graph *main) {
  dp_loss_spec spec;
  measures m = {0};
  dp_value *prediction;
  if (!model->loss) return dp_fail(EX_USAGE, "the model names no loss: give one with --loss=...");
  DP_TRY(dp_spec_loss(model->arena, (dp_spec_origin){"the loss", EX_DATAERR}, model->loss, &spec));
  DP_TRY(find_prediction(main, spec.prediction, &prediction));
  dp_builder builder = {.graph = main, .prefix = "loss"};
  if (spec.kind == DP_LOSS_MSE)
    DP_TRY(mse(&builder, prediction, spec.target, &m));
  else
    DP_TRY(softmax_cross_entropy(&builder, prediction, spec.target, &m));
  dp_value *count = dp_build(&builder, "Size", 1, &m.over, 1, 0, NULL);
  if (builder.status) return dp_status_context(builder.status, "the loss %s", model->loss);
  dp_graph_add_output(main, DP_LOSS_OUTPUT, m.of.loss);
  dp_graph_add_output(main, DP_COUNT_OUTPUT, count);
  if (m.of.correct) dp_graph_add_output(main, DP_CORRECT_OUTPUT, m.of.correct);
  dp_builder beside = {.graph = main, .prefix = "metrics"};
  DP_TRY(dp_model_metrics_add(&beside, metrics, &m.of));
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
