// A batch normalization, or its gradient, in a region, for the tests of backends: the sum with another tensor and Relu
// behind it, or before the gradient the sum of two gradients and the gradient of Relu.
#ifndef DP_TESTS_BACKENDS_DRAWN_BATCH_H
#define DP_TESTS_BACKENDS_DRAWN_BATCH_H

#include "tests/backends/region_builder.h"

namespace dp_test {

struct DrawnBatch : RegionBuilder {
  struct Around {
    std::vector<int64_t> x;
    dp_dtype dtype, statistics;
    bool gradient, adds, relu;
    bool channels_last = false;
    bool kept = false;     // what stands before Relu is a result too, or what Relu's gradient makes
    bool training = true;  // of what is no gradient
    int64_t groups = 0;    // with statistics of their own; 0: the whole batch has some
    bool sums = true;      // results of the gradient besides dX
    const char *op = "Relu";
    bool adds_x = false;  // what is added is x
  };
  int normalization = 0;                                  // the member
  int x = 0, other = -1, dy = -1, z = -1, variance = -1;  // of `made`
  int y = -1, given = -1;  // of `made`: the last of the chain or dX; what Relu's gradient makes

  explicit DrawnBatch(const Around &a) : RegionBuilder(7) {
    if (a.gradient)
      DrawGradient(a);
    else
      DrawForward(a);
    Number();
    for (dp_kernel_operand &o : values)
      if (a.channels_last && o.local.rank == 4) o.layout = DP_LAYOUT_NHWC;
  }

  // Operands, the variance above 0.
  std::vector<Tensor> Operands() {
    std::vector<Tensor> in = Tensors(0, n_inputs);
    for (size_t i = 0; i < in.size(); i++)
      for (int64_t k = 0; k < in[i].Count() && int(value_at[i]) == variance; k++)
        in[i].Set(k, in[i].Get(k) * in[i].Get(k) + 0.25);
    return in;
  }

 private:
  std::vector<dp_attr> Groups(const Around &a) {
    if (!a.groups) return {};
    return {Int("groups", a.groups), Int("unit", 1)};
  }

  void DrawForward(const Around &a) {
    const std::vector<int64_t> channels = {a.x[1]}, saved = {a.groups, a.x[1]};
    std::vector<int> in = {Operand(a.dtype, a.x)};
    x = in[0];
    for (int i = 0; i < (a.groups ? 2 : 4); i++) in.push_back(Operand(a.statistics, channels));
    if (!a.groups) variance = in[4];
    std::vector<dp_attr> attrs = Groups(a);
    if (!a.groups) attrs = {Int("training_mode", a.training), Int("unbiased", UpTo(2))};
    const bool ends = !a.adds && !a.relu;
    y = Add(a.groups ? "dp" : "", a.groups ? "GroupedBatchNormalization" : "BatchNormalization", in, a.dtype, a.x,
            ends || (a.kept && !a.adds), attrs);
    for (int k = 0; k < 4 && (a.training || a.groups); k++)
      AddResult(a.statistics, a.groups && k < 2 ? saved : channels, true);
    if (a.adds) {
      other = a.adds_x ? x : Operand(a.dtype, a.x);
      y = Add("", "Add", UpTo(2) ? std::vector<int>{other, y} : std::vector<int>{y, other}, a.dtype, a.x,
              !a.relu || a.kept);
    }
    if (a.relu) y = Add("", a.op, {y}, a.dtype, a.x, true);
  }

  void DrawGradient(const Around &a) {
    const std::vector<int64_t> channels = {a.x[1]},
                               saved = a.groups ? std::vector<int64_t>{a.groups, a.x[1]} : channels;
    dy = Operand(a.dtype, a.x);
    given = dy;
    if (a.adds) {
      other = Operand(a.dtype, a.x);
      given = Add("", "Add", {given, other}, a.dtype, a.x, false);
    }
    if (a.relu) {
      z = Operand(a.dtype, a.x);
      given = Add("dp", "ReluGrad", {given, z}, a.dtype, a.x, a.kept);
    }
    x = Operand(a.dtype, a.x);
    normalization = int(list.size());
    y = Add("dp", a.groups ? "GroupedBatchNormalizationGrad" : "BatchNormalizationGrad",
            {x, Operand(a.statistics, channels), Operand(a.statistics, saved), Operand(a.statistics, saved), given},
            a.dtype, a.x, true, Groups(a));
    for (int k = 0; k < 2 && a.sums; k++) AddResult(a.statistics, channels, true);
  }
};

}  // namespace dp_test

#endif
