// A normalization in a region, for the tests of backends: a residual may be added to what comes before, which may be
// cast from 16 bits and have a bias, and the result may be cast to 16 bits.
#ifndef DP_TESTS_BACKENDS_DRAWN_NORMALIZATION_H
#define DP_TESTS_BACKENDS_DRAWN_NORMALIZATION_H

#include "tests/backends/region_builder.h"

namespace dp_test {

struct DrawnNormalization : RegionBuilder {
  struct Around {
    const char *op;
    int64_t rows, length;
    dp_dtype dtype, before;  // before: what the sum's operand is cast from
    bool bias, adds, keeps;  // keeps: the sum is a result too
    dp_dtype after;
    bool kept = false;   // so is what is normalized, before it is cast
    bool later = false;  // another member uses the sum behind the normalization
  };
  int normalization = 0;  // the member

  explicit DrawnNormalization(const Around &a) : RegionBuilder(7) {
    const std::vector<int64_t> frame = {a.rows, a.length}, row = {a.length};
    int x = Operand(a.before ? a.before : a.dtype, frame);
    if (a.bias)
      x = Add("", "Add",
              UpTo(2) ? std::vector<int>{x, Operand(a.before, row)} : std::vector<int>{Operand(a.before, row), x},
              a.before, frame, false);
    if (a.before) x = Add("", "Cast", {x}, a.dtype, frame, false, {Int("to", a.dtype)});
    if (a.adds) {
      const int other = Operand(a.dtype, frame);
      x = Add("", "Add", UpTo(2) ? std::vector<int>{other, x} : std::vector<int>{x, other}, a.dtype, frame, a.keeps);
    }
    std::vector<int> in = {x, Operand(a.dtype, row)};
    if (*a.op == 'L') in.push_back(Operand(a.dtype, row));
    normalization = int(list.size());
    const int y = Add("", a.op, in, a.dtype, frame, a.kept || !a.after, {Int("axis", -1)});
    if (a.after) Add("", "Cast", {y}, a.after, frame, true, {Int("to", a.after)});
    if (a.later) Add("", "Mul", {x, x}, a.dtype, frame, true);
    Number();
  }
};

}  // namespace dp_test

#endif
