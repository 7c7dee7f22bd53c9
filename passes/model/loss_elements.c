// Losses that are the mean of a function of each element and its target, and value, the mean of elements alone. See
// loss.h. All have PyTorch's formulas (torch.nn.functional).
#include "passes/model/loss.h"

static dp_value *number(dp_builder *b, const dp_value *like, double x) {
  return dp_build_fill(b, like->type->dtype, x);
}

// The target, of the prediction's type.
static dp_status find_target(dp_builder *b, const dp_loss_term *term, const dp_value *prediction, dp_value **target) {
  const dp_shape *shape = &prediction->type->shape;
  dp_value *found = dp_loss_find(b->graph, term->target);
  char p[256], t[256];
  if (!found) found = dp_graph_add_value(b->graph, DP_VALUE_INPUT, term->target, *prediction->type);
  if (!dp_shape_equal(&found->type->shape, shape))
    return dp_fail(EX_DATAERR, "%s: the target '%s' has shape %s where that of '%s', %s, is expected", term->name,
                   term->target, dp_shape_print(&found->type->shape, t, sizeof t), prediction->name,
                   dp_shape_print(shape, p, sizeof p));
  *target = dp_build_cast(b, found, prediction->type->dtype);
  return DP_OK;
}

// counted: has an element for each of the mean.
static dp_status finish(dp_builder *b, dp_value *each, dp_value *counted, dp_loss_measures *m) {
  m->loss = dp_loss_reduce(b, "ReduceMean", each);
  m->count = dp_build(b, "Size", 1, &counted, 1, 0, NULL);
  return DP_OK;
}

static dp_status find_error(dp_builder *b, const dp_loss_term *term, dp_value *prediction, dp_loss_measures *m) {
  dp_value *target;
  DP_TRY(find_target(b, term, prediction, &target));
  m->error = dp_build2(b, "Sub", prediction, target);
  return DP_OK;
}

dp_status dp_loss_mse(dp_builder *b, const dp_loss_term *term, dp_value *prediction, dp_loss_measures *m) {
  DP_TRY(find_error(b, term, prediction, m));
  // The errors are kept for the gradient anyway, unlike the target.
  return finish(b, dp_build2(b, "Mul", m->error, m->error), m->error, m);
}

dp_status dp_loss_l1(dp_builder *b, const dp_loss_term *term, dp_value *prediction, dp_loss_measures *m) {
  DP_TRY(find_error(b, term, prediction, m));
  return finish(b, dp_build1(b, "Abs", m->error), m->error, m);
}

// With a = |error| and c = min(a, bound): c (a - c / 2), which is a² / 2 up to the bound, and a straight line beyond.
static dp_status bend(dp_builder *b, const dp_loss_term *term, dp_value *prediction, double bound, double factor,
                      dp_loss_measures *m) {
  DP_TRY(find_error(b, term, prediction, m));
  dp_value *a = dp_build1(b, "Abs", m->error), *c = dp_build2(b, "Min", a, number(b, a, bound));
  dp_value *half = dp_build2(b, "Mul", c, number(b, a, 0.5)),
           *each = dp_build2(b, "Mul", c, dp_build2(b, "Sub", a, half));
  if (factor != 1) each = dp_build2(b, "Mul", each, number(b, a, factor));
  return finish(b, each, m->error, m);
}

dp_status dp_loss_smooth_l1(dp_builder *b, const dp_loss_term *term, dp_value *prediction, dp_loss_measures *m) {
  if (term->beta == 0) return dp_loss_l1(b, term, prediction, m);  // the limit
  return bend(b, term, prediction, term->beta, 1 / term->beta, m);
}

dp_status dp_loss_huber(dp_builder *b, const dp_loss_term *term, dp_value *prediction, dp_loss_measures *m) {
  return bend(b, term, prediction, term->delta, 1, m);
}

// (1 - t) x + (1 + (p - 1) t) softplus(-x), where p is pos_weight.
dp_status dp_loss_bce_with_logits(dp_builder *b, const dp_loss_term *term, dp_value *x, dp_loss_measures *m) {
  const dp_spec_list *p = &term->pos_weight;
  const int rank = x->type->shape.rank;
  dp_value *t;
  DP_TRY(find_target(b, term, x, &t));
  if (p->count > 1 && (!rank || !dp_dim_is(x->type->shape.dims[rank - 1], p->count))) {
    char text[256];
    return dp_fail(EX_DATAERR,
                   "%s: pos_weight has %d numbers, but '%s' has shape %s: one number, or one for each along "
                   "the last axis, is expected",
                   term->name, p->count, term->prediction, dp_shape_print(&x->type->shape, text, sizeof text));
  }
  dp_value *soft = dp_build1(b, "Softplus", dp_build1(b, "Neg", x));
  if (p->count) {
    dp_spec_list more = {.count = p->count, .numbers = dp_alloc_n(b->graph->arena, (size_t)p->count, sizeof(double))};
    for (int i = 0; i < p->count; i++) more.numbers[i] = p->numbers[i] - 1;
    dp_value *weight = dp_build2(b, "Mul", t, dp_loss_constant(b, &more, x->type->dtype, rank, rank - 1));
    soft = dp_build2(b, "Mul", soft, dp_build2(b, "Add", weight, number(b, x, 1)));
  }
  dp_value *off = dp_build2(b, "Mul", dp_build2(b, "Sub", number(b, x, 1), t), x);
  return finish(b, dp_build2(b, "Add", off, soft), x, m);
}

// t (log t - x), or with log_target exp(t) (t - x). 0 log 0 is 0.
dp_status dp_loss_kl_div(dp_builder *b, const dp_loss_term *term, dp_value *x, dp_loss_measures *m) {
  dp_value *t, *weight, *log;
  DP_TRY(find_target(b, term, x, &t));
  if (term->log_target) {
    weight = dp_build1(b, "Exp", t);
    log = t;
  } else {
    dp_value *in[] = {dp_build2(b, "Equal", t, number(b, t, 0)), number(b, t, 1), t};
    weight = t;
    log = dp_build1(b, "Log", dp_build(b, "Where", 3, in, 1, 0, NULL));
  }
  return finish(b, dp_build2(b, "Mul", weight, dp_build2(b, "Sub", log, x)), x, m);
}

// Of rank 0 it is of the batch, which counts with its samples when batches are averaged.
dp_status dp_loss_value(dp_builder *b, const dp_loss_term *term, dp_value *value, dp_loss_measures *m) {
  (void)term;
  if (value->type->shape.rank) return finish(b, value, value, m);
  m->loss = value;
  m->count = dp_graph_scalar(b->graph, DP_SCALAR_N);
  return DP_OK;
}
