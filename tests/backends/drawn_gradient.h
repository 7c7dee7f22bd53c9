// The gradient of a normalization in a region, for the tests of backends: what it takes may be cast before it, and what
// it makes may be added to, and cast and summed behind it.
#ifndef DP_TESTS_BACKENDS_DRAWN_GRADIENT_H
#define DP_TESTS_BACKENDS_DRAWN_GRADIENT_H

#include "tests/backends/region_builder.h"

namespace dp_test {

struct DrawnGradient : RegionBuilder {
  int gradient = 0;  // the member

  struct Around {
    bool about_mean;
    int64_t rows, length;
    dp_dtype dtype, before;  // before: what dY is cast from
    bool adds;
    dp_dtype after;  // what the sum is cast to
    bool kept;       // the sum is a result too
    int n_sums;      // dscale; dbias too
  };

  explicit DrawnGradient(const Around &a) : RegionBuilder(3) {
    const std::vector<int64_t> frame = {a.rows, a.length}, row = {a.length};
    int dy = Operand(a.before ? a.before : a.dtype, frame);
    if (a.before) dy = Add("", "Cast", {dy}, a.dtype, frame, false, {Int("to", a.dtype)});
    gradient = int(list.size());
    const bool stays = a.adds || (a.after && !a.kept);
    int dx = Add("dp", a.about_mean ? "LayerNormalizationGrad" : "RMSNormalizationGrad",
                 {Operand(a.dtype, frame), Operand(a.dtype, row), dy}, a.dtype, frame, !stays, {Int("axis", -1)});
    for (int k = 0; k < a.n_sums; k++) AddResult(a.dtype, row, true);
    if (a.adds)
      dx = Add("", "Add",
               UpTo(2) ? std::vector<int>{Operand(a.dtype, frame), dx} : std::vector<int>{dx, Operand(a.dtype, frame)},
               a.dtype, frame, a.kept || !a.after);
    if (a.after) {
      const int narrow = Add("", "Cast", {dx}, a.after, frame, true, {Int("to", a.after)});
      Add("", "ReduceSum", {narrow}, a.after, row, true, {Axes({0}), Int("keepdims", 0)});
    }
    Number();
  }
};

}  // namespace dp_test

#endif
