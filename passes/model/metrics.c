// See metrics.h. Every metric is a count or a mean over the labels, so that batches, devices and micro-batches add up
// to the same numbers as one device's.
#include "passes/model/metrics.h"

#include <stdio.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "passes/base/pass.h"

// A matrix of a number for each pair of classes goes to the host after each batch of an evaluation. For `auto`, as many
// classes are few.
enum { MAX_CLASSES = 1024, TOP = 5 };

// The sum of all elements.
static dp_value *sum(dp_builder *b, const char *op, dp_value *x) {
  int64_t axes[DP_MAX_RANK];
  for (int d = 0; d < x->type->shape.rank; d++) axes[d] = d;
  return dp_build_reduce(b, op, x, axes, (size_t)x->type->shape.rank, false);
}

static dp_value *insert_axis(dp_builder *b, dp_value *x, int axis) {
  dp_shape shape = {.rank = x->type->shape.rank + 1};
  for (int d = 0; d < shape.rank; d++) shape.dims[d] = d == axis ? dp_dim_of(1) : x->type->shape.dims[d - (d > axis)];
  return dp_build_reshape(b, x, &shape);
}

// ---- what is measured -----------------------------------------------------------------------------------------------

static dp_status correct(dp_builder *b, const dp_loss_measures *m, dp_value **value) {
  (void)b;
  *value = m->correct;
  return DP_OK;
}

// Labels among the best scores; of equal scores, those of lower classes come first.
static dp_status top5(dp_builder *b, const dp_loss_measures *m, dp_value **value) {
  const dp_dim classes = m->scores->type->shape.dims[1];
  dp_attr attrs[] = {dp_attr_int("axis", 1), dp_attr_int("K", classes.offset < TOP ? classes.offset : TOP)};
  dp_value *best = dp_build(b, "TopK", 1, &m->scores, 2, 2, attrs);
  if (b->status) return DP_OK;
  dp_value *hits = dp_build2(b, "Equal", best->producer->outputs[1], insert_axis(b, m->labels, 1));
  *value = sum(b, "ReduceSum", dp_build_cast(b, hits, DP_INT64));
  return DP_OK;
}

// [L, classes]: 1 where the number of a class stands, as a float. A label that is no class has no 1.
static dp_value *one_hot(dp_builder *b, dp_value *numbers, dp_dim length, dp_dim classes, dp_dtype dtype) {
  const dp_shape column = {.rank = 2, .dims = {length, dp_dim_of(1)}}, limit = {.rank = 1, .dims = {classes}};
  dp_attr attrs[] = {dp_attr_dims(b->graph->arena, "limit", &limit), dp_attr_int("start", 0), dp_attr_int("delta", 1),
                     dp_attr_int("dtype", DP_INT64)};
  dp_value *range = dp_build(b, "Range", 0, NULL, 1, DP_COUNT(attrs), attrs);
  return dp_build_cast(b, dp_build2(b, "Equal", dp_build_reshape(b, numbers, &column), range), dtype);
}

// int64 [classes, classes]: how often the label of a row was predicted as the class of a column. A product of zeros and
// ones, exact as long as a batch has fewer labels than a float counts (2^24).
static dp_status confusion(dp_builder *b, const dp_loss_measures *m, dp_value **value) {
  const dp_dtype dtype = m->scores->type->dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
  const dp_dim classes = m->scores->type->shape.dims[1];
  const dp_shape *shape = &m->labels->type->shape;
  dp_dim length;
  if (classes.offset > MAX_CLASSES)
    return dp_fail(EX_CONFIG, "--metrics: confusion takes at most %d classes, and there are %lld", MAX_CLASSES,
                   (long long)classes.offset);
  if (!dp_shape_product(shape, 0, shape->rank, &length))
    return dp_fail(EX_CONFIG, "--metrics: confusion needs labels along one axis or axes of fixed extents");
  dp_attr arg_max[] = {dp_attr_int("axis", 1), dp_attr_int("keepdims", 0)};
  dp_value *best = dp_build(b, "ArgMax", 1, &m->scores, 1, 2, arg_max);
  dp_value *operands[] = {one_hot(b, m->labels, length, classes, dtype), one_hot(b, best, length, classes, dtype)};
  dp_attr transposed = dp_attr_int("transA", 1);
  *value = dp_build_cast(b, dp_build(b, "Gemm", 2, operands, 1, 1, &transposed), DP_INT64);
  return DP_OK;
}

static dp_status mse(dp_builder *b, const dp_loss_measures *m, dp_value **value) {
  *value = sum(b, "ReduceMean", dp_build2(b, "Mul", m->error, m->error));
  return DP_OK;
}

static dp_status mae(dp_builder *b, const dp_loss_measures *m, dp_value **value) {
  *value = sum(b, "ReduceMean", dp_build1(b, "Abs", m->error));
  return DP_OK;
}

// ---- the metrics ----------------------------------------------------------------------------------------------------

static const struct {
  const char *name, *output;         // output NULL: dprun computes it from the loss, or the optimizer gives it
  enum { CLASSES, ERRORS, ANY } of;  // which losses have it
  bool training;                     // "train" gives it too
  dp_status (*build)(dp_builder *builder, const dp_loss_measures *measured, dp_value **value);
} metrics[] = {
    {"accuracy", DP_CORRECT_OUTPUT, CLASSES, true, correct},
    {"top5", "top5", CLASSES, true, top5},
    {"perplexity", NULL, CLASSES, true, NULL},
    {"confusion", "confusion", CLASSES, false, confusion},
    {"mse", "mse", ERRORS, true, mse},
    {"mae", "mae", ERRORS, true, mae},
    {DP_METRIC_GRADIENTS, NULL, ANY, true, NULL},
};

static dp_status find(const char *name, size_t *at) {
  dp_suggest suggest = dp_suggest_begin(name);
  char hint[96];
  for (*at = 0; *at < DP_COUNT(metrics); ++*at) {
    if (!strcmp(metrics[*at].name, name)) return DP_OK;
    dp_suggest_offer(&suggest, metrics[*at].name);
  }
  return dp_fail(
      EX_USAGE,
      "--metrics: there is no '%s'; choose of auto, none, accuracy, top5, perplexity, confusion, mse, mae, gradients%s",
      name, dp_suggest_print(&suggest, hint, sizeof hint));
}

static dp_status add(dp_builder *b, size_t at, const dp_loss_measures *m) {
  dp_graph *main = b->graph;
  dp_value *value = NULL;
  if ((metrics[at].of == CLASSES && !m->scores) || (metrics[at].of == ERRORS && !m->error))
    return dp_fail(EX_CONFIG, "--metrics: %s is of a loss %s", metrics[at].name,
                   metrics[at].of == CLASSES ? "with classes" : "of errors, such as mse, l1 or huber");
  if (!metrics[at].output) return DP_OK;
  DP_TRY(metrics[at].build(b, m, &value));
  if (b->status) return DP_OK;
  const char *output = metrics[at].output;
  if (value != m->correct) dp_graph_add_output(main, output, value);
  if (metrics[at].training) dp_graph_add_output(main, dp_printf(main->arena, DP_TRAINING_OUTPUT "%s", output), value);
  return DP_OK;
}

// Of few classes, to find the highest score is cheap beside the model. Of many, such as the words of a language, the
// scores are much of a step's memory, may be split over devices, and perplexity says more.
static const char *choose(const dp_loss_measures *m) {
  if (!m->scores) return NULL;
  const dp_dim classes = m->scores->type->shape.dims[1];
  return dp_dim_is_symbolic(classes) || classes.offset > MAX_CLASSES ? NULL : "accuracy";
}

dp_status dp_model_metrics_add(dp_builder *b, const char *list, const dp_loss_measures *m) {
  if (list && !strcmp(list, "none")) list = NULL;
  bool given[DP_COUNT(metrics)] = {false};
  char name[16];
  for (const char *text = list; text;) {
    const size_t length = strcspn(text, ",");
    size_t at;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), text);
    text = text[length] ? text + length + 1 : NULL;
    const char *chosen = strcmp(name, "auto") ? name : choose(m);
    if (!chosen) continue;
    DP_TRY(find(chosen, &at));
    if (given[at]) return dp_fail(EX_USAGE, "--metrics: %s is given twice", name);
    given[at] = true;
    DP_TRY(add(b, at, m));
  }
  return DP_OK;
}
