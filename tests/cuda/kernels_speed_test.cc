// kernels_speed: it has a row for every kernel of CUDA that `dpc ops` names, or a reason for none, and measures them
// all, here on the stand-ins with few elements.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <regex>
#include <set>

#include "backends/cuda/target.h"
#include "tests/cuda/speed_cases.h"

namespace dp_test {
namespace {

// As `dpc ops` finds them: kernels of one operator, and each other kernel with those operators of which it takes a
// sample.
std::set<std::string> KernelNames() {
  std::set<std::string> names;
  dp_arena *arena = dp_arena_create(0);
  for (const dp_kernel *const *k = dp_target_cuda.kernels; *k; k++)
    if ((*k)->op) names.insert((*k)->name);
  for (const Case &c : AllCases(false)) {
    const Built built(c);
    if (!built.error.empty()) continue;
    const SpeedSpec spec(built.node, built.n);
    for (const dp_kernel *const *k = dp_target_cuda.kernels; *k; k++)
      if (!(*k)->op && dp_kernel_takes(*k, &spec) && (*k)->match(&spec)) names.insert(dp_kernel_name(arena, *k, c.op));
  }
  dp_arena_destroy(arena);
  return names;
}

TEST(KernelsSpeed, HasARowForEveryKernel) {
  std::map<std::string, int> rows;
  for (const SpeedCase &c : SpeedCases(false)) {
    rows[c.kernel] += c.half ? 2 : 1;
    EXPECT_NE(OperatorOf(c.kernel), nullptr) << c.kernel;
  }
  std::set<std::string> left_out, names = KernelNames();
  for (const Unmeasured &kernel : UnmeasuredKernels()) {
    EXPECT_TRUE(names.count(kernel.kernel)) << kernel.kernel << " is no kernel";
    EXPECT_FALSE(rows.count(kernel.kernel)) << kernel.kernel << " has a row by now";
    EXPECT_GT(std::string(kernel.why).size(), 10u);
    left_out.insert(kernel.kernel);
  }
  for (const std::string &name : names)
    EXPECT_TRUE(rows.count(name) || left_out.count(name)) << name << " needs a row in tests/cuda/speed_cases.cc";
  EXPECT_GT(names.size(), 140u);
}

// Rows are of a size at which memory or arithmetic is the limit, and what they take fits a GPU.
TEST(KernelsSpeed, RowsAreLarge) {
  for (const SpeedCase &c : SpeedCases(false)) {
    SCOPED_TRACE(c.kernel + " " + c.inputs);
    const dp_sample sample = {c.inputs.c_str(), c.attrs.c_str(), c.n, c.low, c.high, false};
    const Built built({OperatorOf(c.kernel), &sample, 0, false});
    ASSERT_EQ(built.error, "");
    const dp_cost cost = dp_op_cost(built.node, c.n);
    EXPECT_GT(c.flops > 0 ? cost.flops : cost.bytes, c.flops > 0 ? 1e9 : 100e6);
    EXPECT_LT(cost.bytes, 4e9);
  }
}

struct Ran {
  int status;
  std::vector<std::string> lines;
};

Ran Start(const std::string &arguments) {
  Ran ran = {};
  FILE *pipe = popen(("tests/cuda/kernels_speed " + arguments + " 2>&1").c_str(), "r");
  std::string line;
  for (int letter; (letter = std::fgetc(pipe)) != EOF;) {
    if (letter != '\n') {
      line += static_cast<char>(letter);
      continue;
    }
    ran.lines.push_back(line);
    line.clear();
  }
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

TEST(KernelsSpeed, PrintsALineForEachCase) {
  const Ran ran = Start("--small");
  ASSERT_GT(ran.lines.size(), 3u);
  EXPECT_EQ(ran.status, 0);
  EXPECT_TRUE(std::regex_match(ran.lines[0], std::regex("a copy of 0\\.1 MiB: [0-9.]+ us, [0-9.]+ GB/s")))
      << ran.lines[0];
  const std::regex form(
      "(cuda\\.[a-zA-Z0-9_.]+)( [a-z0-9]+\\[[0-9,]*\\])+( \\{.*\\})?: [0-9.]+ us, "
      "([0-9.]+ TFLOP/s(, [0-9]+ % of the largest product's)?|[0-9.]+ GB/s, [0-9]+ % of a copy's)");
  std::map<std::string, int> seen, expected;
  for (size_t i = 1; i < ran.lines.size(); i++) {
    std::smatch found;
    ASSERT_TRUE(std::regex_match(ran.lines[i], found, form)) << ran.lines[i];
    seen[found[1]]++;
  }
  for (const SpeedCase &c : SpeedCases(true)) expected[c.kernel] += c.half ? 2 : 1;
  expected["cuda.blaslt.MatMul"] += 2;  // the peaks
  EXPECT_EQ(seen, expected);
}

TEST(KernelsSpeed, TakesNamesOfKernels) {
  const Ran ran = Start("--small cuda.device.Gather");
  EXPECT_EQ(ran.status, 0);
  int gathers = 0;
  for (const std::string &line : ran.lines) gathers += line.compare(0, 18, "cuda.device.Gather") == 0;
  EXPECT_EQ(gathers + 3, int(ran.lines.size()));
  EXPECT_GT(gathers, 2);
  EXPECT_EQ(Start("--smaller").status, 64);
}

}  // namespace
}  // namespace dp_test
