// Heads of networks, drawn by seed: a product, perhaps with a bias, a scale or a Reshape, the loss of its scores, and
// perhaps the loss's gradient with the products and sums that take it, and the class of the largest score. In 16 bits
// the loss is computed in float32, as dpc has it.
#ifndef DP_TESTS_BACKENDS_DRAWN_HEAD_H
#define DP_TESTS_BACKENDS_DRAWN_HEAD_H

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/backends/region_builder.h"

namespace dp_test {

struct DrawnHead : RegionBuilder {
  dp_dtype dtype, wide;
  int64_t rows, features, classes;
  bool trains, transposed, plain;
  int labels = -1, scores = -1;

  // wanted: rows; -1: drawn. only: products, the sum or mean of the loss, and its gradient, and no more. many: classes;
  // 0: drawn.
  explicit DrawnHead(uint32_t seed, int64_t wanted = -1, dp_dtype of = DP_NO_TYPE, bool only = false, int64_t many = 0)
      : RegionBuilder(seed), plain(only) {
    static const dp_dtype types[] = {DP_FLOAT32, DP_FLOAT64, DP_BFLOAT16, DP_FLOAT16};
    static const int64_t counts[] = {1, 40, 512, 700, 2047, 3000, 4100};
    dtype = of ? of : types[seed % 4];
    wide = dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
    rows = wanted >= 0 ? wanted : counts[seed / 4 % std::size(counts)];
    features = 1 + UpTo(12);
    classes = 1 + UpTo(plain ? 300 : 30);
    if (many) classes = many;
    trains = UpTo(4) > 0;
    Draw();
    Number();
  }

  int Cast(int x, dp_dtype to) {
    if (made[size_t(x)].dtype == to) return x;
    return Add("", "Cast", {x}, to, made[size_t(x)].extents, false, {Int("to", to)});
  }
  int Reshape(int x, const std::vector<int64_t> &extents) {
    return made[size_t(x)].extents == extents ? x : Add("", "Reshape", {x}, made[size_t(x)].dtype, extents, false);
  }
  std::vector<dp_attr> LossAttrs(int reduction, bool ignores) {
    static const char *const names[] = {"sum", "mean", "none"};
    dp_attr attr{};
    attr.name = "reduction", attr.kind = DP_ATTR_STRING, attr.s = names[reduction];
    std::vector<dp_attr> attrs = {attr};
    if (ignores) attrs.push_back(Int("ignore_index", -100));
    return attrs;
  }

  void Draw() {
    // Rows in two dims where the product is a MatMul of rank 3.
    const bool deep = UpTo(2) && rows % 2 == 0;
    const std::vector<int64_t> matrix = {rows, classes}, frame = {2, rows / 2, classes}, flat = {rows, features};
    int x;
    const int a = Operand(dtype, deep ? std::vector<int64_t>{2, rows / 2, features} : flat);
    transposed = !deep && UpTo(2);
    const int w =
        Operand(dtype, transposed ? std::vector<int64_t>{classes, features} : std::vector<int64_t>{features, classes});
    const bool biased = UpTo(2) && !plain;
    if (deep) {
      x = Add("", "MatMul", {a, w}, dtype, frame, false);
      if (biased) x = Add("", "Add", {x, Operand(dtype, {classes})}, dtype, frame, false);
      x = Reshape(x, matrix);
    } else {
      std::vector<int> in = {a, w};
      if (biased) in.push_back(Operand(dtype, {classes}));
      x = Add("", "Gemm", in, dtype, matrix, false, {Int("transB", transposed)});
    }
    if (!UpTo(3) && !plain) x = Add("", "Mul", {Operand(dtype, {}), x}, dtype, matrix, false);
    x = Cast(x, wide);
    scores = x;
    const int reduction = UpTo(plain ? 2 : 3);
    const bool ignores = reduction != 1 && UpTo(2), weighted = reduction != 1 && !UpTo(3) && !plain;
    labels = Operand(UpTo(2) ? DP_INT64 : DP_INT32, {rows}, 0, classes);
    const int weights = weighted ? Operand(wide, {classes}) : -1;
    const std::vector<dp_attr> attrs = LossAttrs(reduction, ignores);
    const std::vector<int64_t> of_loss = reduction == 2 ? std::vector<int64_t>{rows} : std::vector<int64_t>{};
    if (!trains || UpTo(4)) Add("", "SoftmaxCrossEntropyLoss", {x, labels, weights}, wide, of_loss, true, attrs);
    if (!UpTo(3) && !plain) Add("", "ArgMax", {x}, DP_INT64, {rows}, true, {Int("axis", 1), Int("keepdims", 0)});
    if (trains) DrawGradient(x, labels, Operand(wide, of_loss), weights, attrs, deep, w, flat);
  }

  void DrawGradient(int x, int label, int dloss, int weights, const std::vector<dp_attr> &attrs, bool deep, int w,
                    const std::vector<int64_t> &flat) {
    const std::vector<int64_t> matrix = {rows, classes};
    int dy = Add("dp", "SoftmaxCrossEntropyLossGrad", {x, label, dloss, weights}, wide, matrix, false, attrs);
    dy = Cast(dy, dtype);
    int summed = dy;
    if (deep) {
      summed = Reshape(dy, {2, rows / 2, classes});
      dy = Reshape(summed, matrix);
    }
    bool used = false;
    if (UpTo(4)) used = Add("", "Gemm", {dy, w}, dtype, flat, true, {Int("transB", !transposed)}) >= 0;
    if (!used || UpTo(4)) {
      const int x2 = Operand(dtype, flat);
      if (transposed)
        Add("", "Gemm", {dy, x2}, dtype, {classes, features}, true, {Int("transA", 1)});
      else
        Add("", "Gemm", {x2, dy}, dtype, {features, classes}, true, {Int("transA", 1)});
    }
    const std::vector<int64_t> axes = deep ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0};
    if (UpTo(2) && !plain) Add("", "ReduceSum", {summed}, dtype, {classes}, true, {Axes(axes), Int("keepdims", 0)});
  }
};

// What a sum over so many rows or classes loses. In 16 bits scores are rounded, on either side of a half, and so is each
// chunk's sum. Where two scores are all but equal, another class may be the largest: of one row in a hundred at most.
inline void ExpectCloseHeads(const DrawnHead &head, const Tensor &expected, const Tensor &found) {
  double scale = 1e-30;
  int64_t other_classes = 0;
  for (int64_t i = 0; i < expected.Count(); i++)
    if (std::isfinite(expected.Get(i))) scale = std::max(scale, std::fabs(expected.Get(i)));
  const double root = std::sqrt(double(std::max(head.rows, head.classes)) + 1);
  const double unit = head.dtype == DP_FLOAT64    ? 1e-13 * root
                      : head.dtype == DP_BFLOAT16 ? 0x1p-6
                      : head.dtype == DP_FLOAT16  ? 0x1p-8
                                                  : 1e-6 * root;
  for (int64_t i = 0; i < expected.Count(); i++) {
    if (expected.dtype == DP_INT64)
      other_classes += expected.Get(i) != found.Get(i);
    else
      ASSERT_NEAR(expected.Get(i), found.Get(i), unit * scale) << "element " << i;
  }
  EXPECT_LE(other_classes, head.rows / 100);
}

}  // namespace dp_test

#endif
