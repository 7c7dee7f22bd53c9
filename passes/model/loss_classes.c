// Losses of integer labels, the numbers of classes: softmax_cross_entropy and nll. See loss.h.
//
// Labels equal to ignore_index count neither in the sum nor in what divides it. Both sums are over labels, so every
// part of a batch has its share. What divides is whole before the first gradient is taken. It is computed of the labels
// as they are fed, so that no other form of them is kept for all micro-batches.
#include "passes/model/loss.h"

typedef struct {
  dp_builder *builder;
  const dp_loss_term *term;
  dp_value *given;    // the labels as they are fed, int64
  dp_value *scores;   // [N, C, d...]
  dp_value *labels;   // int64 [N, d...], which may be another shape of the same labels
  dp_value *weights;  // [C]; NULL: 1 each
} classes;

// ---- operands -------------------------------------------------------------------------------------------------------

static dp_shape without_axis(const dp_shape *shape, int axis) {
  dp_shape rest = {0};
  for (int d = 0; d < shape->rank; d++)
    if (d != axis) rest.dims[rest.rank++] = shape->dims[d];
  return rest;
}

// The labels, and the scores' axis of classes: the last one, or ONNX's axis 1.
static dp_status find_labels(classes *c, int *axis) {
  dp_graph *graph = c->builder->graph;
  const char *loss = c->term->name, *name = c->term->target;
  const dp_shape *s = &c->scores->type->shape;
  char a[256], b[256];
  if (s->rank < 2)
    return dp_fail(EX_DATAERR, "%s: the scores '%s' have shape %s, but must have shape [%s, classes]", loss,
                   c->scores->name, dp_shape_print(s, a, sizeof a), graph->model->symbol);
  dp_shape last = without_axis(s, s->rank - 1), first = without_axis(s, 1);
  *axis = s->rank - 1;
  c->labels = dp_loss_find(graph, name);
  if (!c->labels) {
    c->labels = dp_graph_add_value(graph, DP_VALUE_INPUT, name, (dp_type){DP_INT64, last});
    return DP_OK;
  }
  const dp_type *type = c->labels->type;
  if (dp_type_is_float(type->dtype) || type->dtype == DP_BOOL)
    return dp_fail(EX_DATAERR, "%s: the labels '%s' are %s, but must be integers, the numbers of classes", loss, name,
                   dp_type_name(type->dtype));
  if (dp_shape_equal(&type->shape, &last)) return DP_OK;
  *axis = 1;
  if (dp_shape_equal(&type->shape, &first)) return DP_OK;
  return dp_fail(EX_DATAERR,
                 "%s: labels '%s' %s do not match scores '%s' %s: the labels must have the scores' shape without the "
                 "axis of the classes, the last one or axis 1",
                 loss, name, dp_shape_print(&type->shape, a, sizeof a), c->scores->name,
                 dp_shape_print(s, b, sizeof b));
}

// Puts the classes on axis 1, as the operators require. If they are last, scores become [labels, classes] and labels
// [labels], which moves no byte; scores are transposed where these extents have no product.
static void put_classes_first(classes *c, int axis) {
  dp_shape flat = {.rank = 2};
  const dp_shape *shape = &c->scores->type->shape;
  if (axis == 1) return;
  if (dp_shape_product(shape, 0, axis, &flat.dims[0])) {
    flat.dims[1] = shape->dims[axis];
    c->scores = dp_build_reshape(c->builder, c->scores, &flat);
    flat.rank = 1;
    c->labels = dp_build_reshape(c->builder, c->labels, &flat);
    return;
  }
  int64_t perm[DP_MAX_RANK] = {0, axis};
  for (int d = 2; d < shape->rank; d++) perm[d] = d - 1;
  dp_attr attr = dp_attr_ints(c->builder->graph->arena, "perm", perm, (size_t)shape->rank);
  c->scores = dp_build(c->builder, "Transpose", 1, &c->scores, 1, 1, &attr);
}

static dp_dim dim_of_classes(const classes *c) { return c->scores->type->shape.dims[1]; }

static dp_status find_weights(classes *c) {
  const dp_spec_list *weight = &c->term->weight;
  char text[256];
  if (!weight->count) return DP_OK;
  if (!dp_dim_is(dim_of_classes(c), weight->count))
    return dp_fail(EX_DATAERR, "%s: weight has %d numbers, but needs one for each class of the scores '%s' %s",
                   c->term->name, weight->count, c->term->prediction,
                   dp_shape_print(&c->scores->type->shape, text, sizeof text));
  c->weights = dp_loss_constant(c->builder, weight, c->scores->type->dtype, 1, 0);
  return DP_OK;
}

static dp_status find_operands(classes *c) {
  int axis;
  DP_TRY(find_labels(c, &axis));
  c->given = c->labels = dp_build_cast(c->builder, c->labels, DP_INT64);
  put_classes_first(c, axis);
  // Sums over many labels, and their number, go beyond what 16 bits hold.
  if (dp_type_bytes(c->scores->type->dtype) < 4) c->scores = dp_build_cast(c->builder, c->scores, DP_FLOAT32);
  return find_weights(c);
}

// ---- parts ----------------------------------------------------------------------------------------------------------

static dp_value *where(dp_builder *b, dp_value *condition, dp_value *x, dp_value *y) {
  return dp_build(b, "Where", 3, (dp_value *[]){condition, x, y}, 1, 0, NULL);
}

// Which labels are not ignored.
static dp_value *counting(const classes *c, dp_value *labels) {
  dp_value *ignored = dp_build_fill(c->builder, DP_INT64, (double)c->term->ignore_index);
  return dp_build1(c->builder, "Not", dp_build2(c->builder, "Equal", labels, ignored));
}

// The sum of `each`, of the shape of `counts`, where that holds.
static dp_value *sum_where(dp_builder *b, dp_value *counts, dp_value *each) {
  return dp_loss_reduce(b, "ReduceSum", where(b, counts, each, dp_build_fill(b, each->type->dtype, 0)));
}

// What the mean divides by: the labels' number, or the sum of their weights. 1 instead of 0, so that a mean over no
// labels is 0, and so is its gradient.
static dp_value *find_divisor(const classes *c, dp_dtype dtype, dp_loss_measures *m) {
  dp_builder *b = c->builder;
  dp_value *counts = counting(c, c->given);
  m->count = dp_loss_reduce(b, "ReduceSum", dp_build_cast(b, counts, DP_INT64));
  if (!c->weights) return dp_build_cast(b, dp_build2(b, "Max", m->count, dp_build_fill(b, DP_INT64, 1)), dtype);
  // Labels that are no class are refused by the loss's own operator, so their place in the weights does not matter.
  dp_value *most = dp_build_fill(b, DP_INT64, c->term->weight.count - 1);
  dp_value *least = dp_build2(b, "Max", c->given, dp_build_fill(b, DP_INT64, 0));
  dp_value *in[] = {c->weights, dp_build2(b, "Min", least, most)};
  dp_attr axis = dp_attr_int("axis", 0);
  m->over = sum_where(b, counts, dp_build(b, "Gather", 2, in, 1, 1, &axis));
  dp_value *any = dp_build2(b, "Greater", m->over, dp_build_fill(b, dtype, 0));
  return where(b, any, m->over, dp_build_fill(b, dtype, 1));
}

static dp_value *count_correct(const classes *c) {
  dp_builder *b = c->builder;
  dp_value *scores = c->scores;
  dp_attr attrs[] = {dp_attr_int("axis", 1), dp_attr_int("keepdims", 0)};
  dp_value *right = dp_build2(b, "Equal", dp_build(b, "ArgMax", 1, &scores, 1, 2, attrs), c->labels);
  if (c->term->ignore_index >= 0) right = dp_build2(b, "And", right, counting(c, c->labels));  // it may be a class
  return dp_loss_reduce(b, "ReduceSum", dp_build_cast(b, right, DP_INT64));
}

// An ignored label may be the number of a class.
static void give(const classes *c, dp_loss_measures *m) {
  dp_builder *b = c->builder;
  m->scores = c->scores;
  m->labels = c->labels;
  if (c->term->ignore_index >= 0)
    m->labels = where(b, counting(c, c->labels), c->labels, dp_build_fill(b, DP_INT64, -1));
  m->correct = count_correct(c);
}

// The operator's sum over labels. *log_prob: its result 1; NULL: not needed.
static dp_value *sum_losses(const classes *c, const char *op, dp_value **log_prob) {
  dp_value *in[] = {c->scores, c->labels, c->weights};
  dp_attr attrs[] = {dp_attr_string("reduction", "sum"), dp_attr_int("ignore_index", c->term->ignore_index)};
  dp_value *sum = dp_build(c->builder, op, c->weights ? 3 : 2, in, log_prob ? 2 : 1, 2, attrs);
  if (log_prob) *log_prob = c->builder->status ? sum : sum->producer->outputs[1];
  return sum;
}

// ---- the losses -----------------------------------------------------------------------------------------------------

// Label smoothing e: each label's loss is 1 - e of its own, and e of the mean over all classes of what the loss would
// be if they were the label. (As torch.nn.functional.cross_entropy: with weights, each class's by its own weight.)
static dp_status smooth(const classes *c, dp_value **sum, dp_value *log_prob) {
  dp_builder *b = c->builder;
  const dp_dtype dtype = log_prob->type->dtype;
  const double smoothing = c->term->label_smoothing;
  const int64_t axis = 1;
  const dp_dim n = dim_of_classes(c);
  char text[256];
  if (dp_dim_is_symbolic(n))
    return dp_fail(EX_DATAERR, "%s: label_smoothing needs a fixed number of classes, which the scores '%s' %s lack",
                   c->term->name, c->term->prediction, dp_shape_print(&c->scores->type->shape, text, sizeof text));
  if (c->weights) {
    const int rank = log_prob->type->shape.rank;
    log_prob = dp_build2(b, "Mul", log_prob, dp_loss_constant(b, &c->term->weight, dtype, rank, 1));
  }
  dp_value *of_all = sum_where(b, counting(c, c->labels), dp_build_reduce(b, "ReduceSum", log_prob, &axis, 1, false));
  dp_value *own = dp_build2(b, "Mul", *sum, dp_build_fill(b, dtype, 1 - smoothing));
  dp_value *shared = dp_build2(b, "Mul", of_all, dp_build_fill(b, dtype, smoothing / (double)n.offset));
  *sum = dp_build2(b, "Sub", own, shared);
  return DP_OK;
}

// The divisor comes first: what sums it over devices then runs beside what follows.
dp_status dp_loss_softmax_cross_entropy(dp_builder *b, const dp_loss_term *term, dp_value *scores,
                                        dp_loss_measures *m) {
  classes c = {.builder = b, .term = term, .scores = scores};
  dp_value *log_prob = NULL;
  const bool smooths = term->label_smoothing > 0;
  DP_TRY(find_operands(&c));
  dp_value *divisor = find_divisor(&c, c.scores->type->dtype, m);
  dp_value *sum = sum_losses(&c, "SoftmaxCrossEntropyLoss", smooths ? &log_prob : NULL);
  if (smooths) DP_TRY(smooth(&c, &sum, log_prob));
  m->loss = dp_build2(b, "Div", sum, divisor);
  give(&c, m);
  return DP_OK;
}

dp_status dp_loss_nll(dp_builder *b, const dp_loss_term *term, dp_value *log_probs, dp_loss_measures *m) {
  classes c = {.builder = b, .term = term, .scores = log_probs};
  DP_TRY(find_operands(&c));
  dp_value *divisor = find_divisor(&c, c.scores->type->dtype, m);
  m->loss = dp_build2(b, "Div", sum_losses(&c, "NegativeLogLikelihoodLoss", NULL), divisor);
  give(&c, m);
  return DP_OK;
}
