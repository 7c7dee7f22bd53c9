// Every sample in every type: a kernel's result equals its result for the same operands in float64 or int64, rounded to
// nearest even or wrapped. forward_test checks those against NumPy and PyTorch.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/target.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

// The type in which the operator computes exactly with the same numbers.
dp_dtype Exact(const Case &c) {
  if (c.from == DP_FLOAT32) return DP_FLOAT64;
  Case exact = c;
  exact.to = DP_INT64;
  bool taken = !(DP_BIT(c.to) & DP_SMALL);
  Built as_written({c.op, c.sample, c.index, false});
  for (size_t i = 0; i < as_written.operands.size(); i++) {
    dp_dtype dtype = as_written.operands[i] ? as_written.operands[i]->type->dtype : DP_NO_TYPE;
    if (IsReplacedType(c, int(i), dtype)) taken &= IsReplacedType(exact, int(i), dtype) || c.from == DP_INT64;
  }
  return taken ? DP_INT64 : DP_FLOAT64;
}

void RunCase(const Built &built, const std::vector<Tensor> &in, std::vector<Tensor> *out) {
  std::vector<const Tensor *> from;
  std::vector<Tensor *> to;
  for (size_t i = 0; i < in.size(); i++) from.push_back(built.operands[i] ? &in[i] : nullptr);
  from.resize(size_t(built.node->n_inputs));
  for (int i = 0; i < built.node->n_outputs; i++) out->push_back(MakeWhole(*built.node->outputs[i]->type, built.n));
  for (Tensor &tensor : *out) to.push_back(&tensor);
  ASSERT_EQ(RunNode(dp_target_cpu, built.node, from, to), "");
}

// Half the distance between two neighbours near 1.
double HalfUnit(dp_dtype dtype) {
  switch (dtype) {
    case DP_FLOAT16:
      return 0x1p-11;
    case DP_BFLOAT16:
      return 0x1p-8;
    case DP_FLOAT32:
      return 0x1p-24;
    default:
      return 0;
  }
}

void Compare(const Tensor &found, const Tensor &exact, const Case &c) {
  bool is_float = dp_type_is_float(found.dtype);
  for (int64_t i = 0; i < found.Count(); i++) {
    Tensor one = MakeTensor(found.dtype, {1}, {exact.Get(i)});  // rounded, wrapped
    double number = found.Get(i), expected = is_float ? exact.Get(i) : one.Get(0);
    if (std::isnan(expected) || std::isinf(one.Get(0))) {
      EXPECT_EQ(std::isnan(number), std::isnan(expected)) << c.Name() << ", element " << i;
      continue;
    }
    // 16-bit floats are computed in float32, which has its own error. A Softmax in float16 rounds three intermediate
    // results. Differences reach 8, so their rounding matters as much as 4 units of the exponential.
    bool stepwise = found.dtype == DP_FLOAT16 && !c.Name().rfind("Softmax ", 0);
    double roundings = stepwise ? 3 + 4 : 1.01;
    double tolerance =
        !is_float ? 0 : HalfUnit(found.dtype) * roundings * std::fabs(expected) + 8e-6 * (1 + std::fabs(expected));
    EXPECT_NEAR(number, expected, tolerance) << c.Name() << ", element " << i;
  }
}

TEST(Types, EachEqualsTheExact) {
  int count = 0;
  for (const Case &c : TypeCases()) {
    if (IsReplaced(c.op)) continue;
    SCOPED_TRACE(c.Name());
    Case exact = c;
    exact.to = Exact(c);
    Built built(c), wide(exact);
    ASSERT_EQ(built.error, "");
    ASSERT_EQ(wide.error, "");
    std::vector<Tensor> in, wide_in, out, wide_out;
    for (size_t i = 0; i < built.operands.size(); i++) {
      in.push_back(built.operands[i] ? DrawOperand(c, int(i), *built.operands[i]->type, built.n) : Tensor());
      wide_in.push_back(built.operands[i] ? MakeWhole(*wide.operands[i]->type, built.n) : Tensor());
      for (int64_t k = 0; built.operands[i] && k < in[i].Count(); k++) wide_in[i].Set(k, in[i].Get(k));
    }
    RunCase(built, in, &out);
    RunCase(wide, wide_in, &wide_out);
    if (HasFatalFailure()) return;
    for (size_t r = 0; r < out.size(); r++) Compare(out[r], wide_out[r], c);
    count++;
  }
  EXPECT_GT(count, 1000);
}

}  // namespace
}  // namespace dp_test
