// See loss_scale.h.
#include "passes/train/loss_scale.h"

#include <float.h>

#include "ir/graph/refusal.h"

static const double first_scale = 65536, growth = 2, backoff = 0.5, interval = 2000;
static const double largest_scale = 0x1p127, smallest_scale = 0x1p-126;  // whose inverse is finite

bool dp_loss_scale_is_on(const dp_options *options) { return options->precision == DP_FLOAT16; }

static dp_value *state_of(dp_builder *b, const char *name, dp_dtype dtype, double first) {
  dp_model *model = b->graph->model;
  int32_t at = dp_model_find_variable(model, name);
  if (at < 0) {
    const dp_variable state = {
        .name = name, .kind = DP_STATE, .type = &(dp_type){dtype, {0}}, .init = {.kind = DP_INIT_FILL, .a = first}};
    at = dp_model_add_variable(model, &state);
  }
  return dp_graph_variable(b->graph, at);
}

static dp_value *scale_of(dp_builder *b) { return state_of(b, DP_SCALE_STATE, DP_FLOAT32, first_scale); }

dp_value *dp_loss_scale_begin(dp_builder *b, dp_dtype dtype) { return dp_build_cast(b, scale_of(b), dtype); }

void dp_loss_scale_undo(dp_builder *b, int n_items, dp_optimizer_item *items) {
  b->prefix = "loss_scale";
  dp_value *inverse = dp_build1(b, "Reciprocal", scale_of(b));
  for (int i = 0; i < n_items; i++) items[i].scale = dp_build_cast(b, inverse, items[i].gradient->type->dtype);
}

// By a count of zeros, so that it is one of the counts that updates are skipped for (ir/graph/refusal.h). The next run
// begins with a smaller scale, and does not skip.
static dp_value *count_not_finite(dp_builder *b, dp_value *x) {
  static const dp_refusal zero = {.once = true};
  dp_value *largest = dp_build_fill(b, x->type->dtype, x->type->dtype == DP_FLOAT64 ? DBL_MAX : FLT_MAX);
  dp_value *finite = dp_build2(b, "LessOrEqual", dp_build1(b, "Abs", x), largest);
  return dp_refusal_count(b, &zero, dp_build_cast(b, finite, DP_UINT8));
}

dp_value *dp_loss_scale_overflow(dp_builder *b, int n_items, const dp_optimizer_item *items) {
  dp_value *total = NULL;
  b->prefix = "loss_scale";
  for (int i = 0; i < n_items; i++) {
    dp_value *count = count_not_finite(b, items[i].gradient);
    total = total ? dp_build2(b, "Add", total, count) : count;
  }
  return total;
}

static void assign(dp_builder *b, dp_value *state, dp_value *next, dp_value *refused) {
  dp_value *in[] = {state, next, refused};
  dp_value *value = dp_build(b, "dp.Assign", refused ? 3 : 2, in, 1, 0, NULL);
  dp_graph_add_update(b->graph, state->variable, value);
}

void dp_loss_scale_update(dp_builder *b, dp_value *overflow, dp_value *refused) {
  b->prefix = "loss_scale";
  dp_value *scale = scale_of(b), *steps = state_of(b, DP_SCALE_STEPS_STATE, DP_INT64, 0);
  dp_value *zero = dp_build_fill(b, DP_INT64, 0), *failed = dp_build2(b, "Greater", overflow, zero);
  dp_value *done = dp_build2(b, "Add", steps, dp_build_fill(b, DP_INT64, 1));
  dp_value *grows = dp_build2(b, "GreaterOrEqual", done, dp_build_fill(b, DP_INT64, interval));
  dp_value *more = dp_build2(b, "Min", dp_build2(b, "Mul", scale, dp_build_fill(b, DP_FLOAT32, growth)),
                             dp_build_fill(b, DP_FLOAT32, largest_scale));
  dp_value *less = dp_build2(b, "Max", dp_build2(b, "Mul", scale, dp_build_fill(b, DP_FLOAT32, backoff)),
                             dp_build_fill(b, DP_FLOAT32, smallest_scale));
  dp_value *kept = dp_build(b, "Where", 3, (dp_value *[]){grows, more, scale}, 1, 0, NULL);
  dp_value *next = dp_build(b, "Where", 3, (dp_value *[]){failed, less, kept}, 1, 0, NULL);
  dp_value *changed = dp_build2(b, "Or", failed, grows);
  dp_value *left = dp_build(b, "Where", 3, (dp_value *[]){changed, zero, done}, 1, 0, NULL);
  dp_graph_add_output(b->graph, DP_SKIPPED_OUTPUT, dp_build_cast(b, failed, DP_INT64));
  assign(b, scale, next, refused);
  assign(b, steps, left, refused);
}
