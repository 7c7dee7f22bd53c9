// Clipping by the global norm, in elementary operators: the gradients' placements decide what the sums of squares are
// partial over, so the norm is that of the reduced gradients on any mesh. See optimizer.h.
#include "passes/train/optimizer.h"

static const double epsilon = 1e-6;  // PyTorch's

// Each gradient's sum is in its own type; they are added in float64.
static dp_value *sum_of_squares(dp_builder *b, const dp_value *gradient, dp_value *square) {
  int64_t axes[DP_MAX_RANK];
  int rank = gradient->type->shape.rank;
  for (int d = 0; d < rank; d++) axes[d] = d;
  dp_value *sum = rank ? dp_build_reduce(b, "ReduceSum", square, axes, (size_t)rank, false) : square;
  return dp_build_cast(b, sum, DP_FLOAT64);
}

void dp_optimizer_clip(dp_builder *b, int n_items, dp_optimizer_item *items, double max_norm) {
  dp_value *total = NULL, *scale[DP_MAX_TYPE + 1] = {0};
  b->prefix = "clip";
  for (int i = 0; i < n_items; i++) {
    dp_value *g = items[i].gradient;
    if (items[i].scale) g = dp_build2(b, "Mul", g, items[i].scale);
    dp_value *sum = sum_of_squares(b, g, dp_build2(b, "Mul", g, g));
    total = total ? dp_build2(b, "Add", total, sum) : sum;
  }
  if (!total) return;
  dp_value *norm = dp_build2(b, "Add", dp_build1(b, "Sqrt", total), dp_build_fill(b, DP_FLOAT64, epsilon));
  // min(1, max / norm) is bitwise equal to max / max(norm, max).
  dp_value *max = dp_build_fill(b, DP_FLOAT64, max_norm);
  dp_value *factor = dp_build2(b, "Div", max, dp_build2(b, "Max", norm, max));
  for (int i = 0; i < n_items; i++) {
    dp_dtype dtype = items[i].gradient->type->dtype;
    if (!scale[dtype]) scale[dtype] = dp_build_cast(b, factor, dtype);
    items[i].scale = items[i].scale ? dp_build2(b, "Mul", items[i].scale, scale[dtype]) : scale[dtype];
  }
}
