// Scratch for the CPU (scratch.h): of every sample of every operator; and for convolutions of usual sizes, where oneDNN
// has more algorithms to choose from. Of the samples in types that are converted, one in six in the usual run; with
// DP_FULL all.
#include "tests/backends/scratch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "backends/cpu/target.h"

namespace dp_test {
namespace {

class CpuScratch : public Scratch {
 protected:
  CpuScratch() : Scratch(&dp_target_cpu) {}
};

TEST_P(CpuScratch, OfTheLargestPartIsEnoughForEveryPart) { HoldAll(); }

// Whether any kernel of the operator takes scratch.
bool TakesScratch(const Case &c) {
  if (IsReplaced(c.op) || dp_op_is(c.op, DP_OP_COMMUNICATION)) return false;
  if (c.to) return true;  // through the wide types
  for (const dp_kernel *const *k = dp_target_cpu.kernels; *k; k++)
    if ((*k)->op && (*k)->scratch_bytes && dp_kernel_computes(*k, c.op)) return true;
  return false;
}

std::vector<Case> OfSamples() {
  std::vector<Case> cases;
  int converted = 0;
  for (const std::vector<Case> &all : {AllCases(true), TypeCases()})
    for (const Case &c : all)
      if (TakesScratch(c) && (!c.to || getenv("DP_FULL") || converted++ % 6 == 0)) cases.push_back(c);
  return cases;
}

std::string NameOf(const testing::TestParamInfo<Case> &info) { return TestName(info.param); }

INSTANTIATE_TEST_SUITE_P(Samples, CpuScratch, testing::ValuesIn(OfSamples()), NameOf);

// Channels with all remainders modulo 2, 3 and 5 devices and vectors of 8 and 16.
std::vector<Case> OfUsualSizes() {
  static std::vector<std::string> texts;
  static std::vector<dp_sample> samples;
  static std::vector<const dp_op *> ops;
  struct {
    int64_t c, m, group, kernel, image, stride;
  } const convolutions[] = {{3, 16, 1, 3, 12, 1},  {16, 33, 1, 3, 9, 1},  {21, 34, 1, 3, 8, 2},  {17, 31, 1, 1, 7, 1},
                            {50, 67, 1, 3, 5, 1},  {24, 24, 24, 3, 8, 1}, {36, 72, 12, 3, 6, 1}, {80, 26, 1, 3, 10, 1},
                            {8, 129, 1, 1, 14, 1}, {48, 50, 2, 3, 7, 1},  {66, 131, 1, 3, 8, 1}, {65, 65, 1, 5, 9, 2},
                            {18, 10, 1, 3, 16, 1}};
  texts.reserve(1000);
  samples.reserve(1000);
  auto text = [](std::string t) { return texts.emplace_back(std::move(t)).c_str(); };
  auto add = [&](const char *domain, const char *op, std::string inputs, std::string attrs) {
    dp_sample sample{};
    sample.inputs = text(std::move(inputs));
    sample.attrs = text(std::move(attrs));
    sample.n = 9;
    samples.push_back(sample);
    ops.push_back(dp_op_find(domain, op));
  };
  for (const auto &v : convolutions) {
    auto shape = [](const std::string &first, int64_t channels, int64_t extent) {
      const std::string e = std::to_string(extent);
      return "[" + first + "," + std::to_string(channels) + "," + e + "," + e + "]";
    };
    const int64_t pad = v.kernel / 2;
    const std::string x = shape("N", v.c, v.image), w = shape(std::to_string(v.m), v.c / v.group, v.kernel),
                      y = shape("N", v.m, (v.image - 1) / v.stride + 1), p = std::to_string(pad),
                      s = std::to_string(v.stride),
                      attrs = "group=" + std::to_string(v.group) + ", pads=[" + p + "," + p + "," + p + "," + p +
                              "], strides=[" + s + "," + s + "]";
    for (const std::string type : {"float32", "bfloat16"}) {
      if (type == "bfloat16" && !getenv("DP_FULL") && v.c % 21 && v.c % 24) continue;
      add("", "Conv", type + x + ", " + type + w + ", " + type + "[" + std::to_string(v.m) + "]", attrs);
      add("dp", "ConvGradInput", type + w + ", " + type + y, "shape=" + x + ", " + attrs);
      add("dp", "ConvGradWeight", type + x + ", " + type + y, "shape=" + w + ", " + attrs);
    }
    add("", "AveragePool", "float32" + x, "kernel_shape=[3,3], strides=[2,2]");
    add("", "GlobalAveragePool", "float32" + x, "");
  }
  // Channels and extents that depend on the number of samples.
  add("", "AveragePool", "float32[3,N,9,9]", "kernel_shape=[3,3], strides=[2,2]");
  add("", "GlobalAveragePool", "float32[3,N,7,7]", "");
  add("", "GlobalAveragePool", "float32[3,5,N,7]", "");
  std::vector<Case> cases;
  for (size_t i = 0; i < samples.size(); i++) cases.push_back({ops[i], &samples[i], int(i), false});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Usual, CpuScratch, testing::ValuesIn(OfUsualSizes()), NameOf);

// Every kernel that takes scratch must be among the cases, except those of regions, which region_test.cc draws.
TEST(ScratchKernels, AllAreReached) {
  std::set<std::string> names;
  for (const Case &c : OfSamples())
    for (const dp_kernel *const *k = dp_target_cpu.kernels; *k; k++)
      if ((*k)->scratch_bytes && dp_kernel_computes(*k, c.op)) names.insert((*k)->name);
  for (const dp_kernel *const *k = dp_target_cpu.kernels; *k; k++) {
    const bool of_regions = (*k)->op && !strcmp((*k)->op, "Region");
    if ((*k)->scratch_bytes && !of_regions) {
      EXPECT_TRUE(names.count((*k)->name)) << (*k)->name;
    }
  }
}

}  // namespace
}  // namespace dp_test
