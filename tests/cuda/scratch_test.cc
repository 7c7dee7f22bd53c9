// Scratch for GPUs (tests/backends/scratch.h), of every sample of every operator; and of rows, columns and channels
// that are long enough to be shared by blocks, with the samples in each place among the dims.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "backends/cuda/target.h"
#include "tests/backends/scratch.h"

namespace dp_test {
namespace {

class CudaScratch : public Scratch {
 protected:
  CudaScratch() : Scratch(&dp_target_cuda) {}
};

TEST_P(CudaScratch, OfTheLargestPartIsEnoughForEveryPart) { HoldAll(); }

bool TakesScratch(const Case &c) {
  if (IsReplaced(c.op) || dp_op_is(c.op, DP_OP_COMMUNICATION)) return false;
  for (const dp_kernel *const *k = dp_target_cuda.kernels; *k; k++)
    if ((*k)->scratch_bytes && dp_kernel_computes(*k, c.op)) return true;
  return false;
}

// Of the samples in other types, one in six in the usual run; with DP_FULL all.
std::vector<Case> OfSamples() {
  std::vector<Case> cases;
  int others = 0;
  for (const std::vector<Case> &all : {AllCases(true), TypeCases()})
    for (const Case &c : all)
      if (TakesScratch(c) && (!c.to || getenv("DP_FULL") || others++ % 6 == 0)) cases.push_back(c);
  return cases;
}

std::string NameOf(const testing::TestParamInfo<Case> &info) { return TestName(info.param); }

INSTANTIATE_TEST_SUITE_P(Samples, CudaScratch, testing::ValuesIn(OfSamples()), NameOf);

std::vector<Case> OfLongRows() {
  static std::deque<std::string> texts;
  static std::deque<dp_sample> samples;
  std::vector<Case> cases;
  auto text = [](const std::string &t) { return texts.emplace_back(t).c_str(); };
  auto add = [&](const char *domain, const char *op, const std::string &inputs, const std::string &attrs) {
    for (int64_t n : {1, 5, 300}) {
      dp_sample sample{};
      sample.inputs = text(inputs);
      sample.attrs = text(attrs);
      sample.n = n;
      samples.push_back(sample);
      cases.push_back({dp_op_find(domain, op), &samples.back(), int(cases.size()), false});
    }
  };
  for (const std::string shape :
       {"[N,8192]", "[8192,N]", "[N,3,8192]", "[3,N,8192]", "[4096,64,N]", "[64,4096,N]", "[4096,N,3]", "[65,4096,N]",
        "[N,65,129]", "[5,N,100000]", "[N,32,56,57]", "[32,N,56,57]"}) {
    const std::string x = "float32" + shape;
    for (const char *axes : {"axes=[0]", "axes=[1]", "axes=[-1]", "axes=[0,1]", "axes=[0,2]"})
      for (const char *op : {"ReduceSum", "ReduceMax", "ReduceLogSumExp"})
        if (!strchr(axes, '2') || std::count(shape.begin(), shape.end(), ',') > 1) add("", op, x, axes);
    for (const char *axis : {"axis=0", "axis=1", "axis=-1"})
      for (const char *op : {"Softmax", "LogSoftmax", "ArgMax"}) add("", op, x, axis);
  }
  for (const char *rows : {"8192", "3,8192", "100000", "64,64", "7,129"}) {
    const std::string last = strrchr(rows, ',') ? strrchr(rows, ',') + 1 : rows,
                      x = std::string("float32[N,") + rows + "]", w = "float32[" + last + "]";
    add("", "LayerNormalization", x + ", " + w + ", " + w, "");
    add("", "RMSNormalization", x + ", " + w, "");
    add("dp", "LayerNormalizationGrad", x + ", " + w + ", " + x, "");
    add("dp", "RMSNormalizationGrad", x + ", " + w + ", " + x, "");
  }
  for (const char *classes : {"5", "1000", "50257", "300000"}) {
    const std::string scores = std::string("float32[N,") + classes;
    add("", "SoftmaxCrossEntropyLoss", scores + "], int64[N]", "");
    add("", "SoftmaxCrossEntropyLoss", scores + ",40], int64[N,40]", "");
    add("dp", "SoftmaxCrossEntropyLossGrad", scores + "], int64[N], float32[]", "");
    add("dp", "SoftmaxCrossEntropyLossGrad", scores + ",40], int64[N,40], float32[]", "");
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(LongRows, CudaScratch, testing::ValuesIn(OfLongRows()), NameOf);

}  // namespace
}  // namespace dp_test
