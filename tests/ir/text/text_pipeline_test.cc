// The model can be printed and read back after any pass. The compilation then continues to the same device form, from
// which the plan is written: every placement, kernel, event and offset is equal.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cpu/target.h"
#include "passes/pipeline.h"
#include "tests/ir/base/files.h"
#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Arena;
using dp_test::Message;
using dp_test::Parse;
using dp_test::Print;

std::string Example(const char *name) { return dp_test::ReadText(std::string("examples/") + name); }

dp_options Options() {
  dp_options options = {};
  options.strategy = "data";
  options.batch = 64;
  options.threads = 1;
  options.target = &dp_target_cpu;
  return options;
}

// Compiles up to pass `last` (NULL: all). After pass `resume` the model is printed and read, and the other passes work
// on the result.
std::string Compile(const std::string &text, const dp_options &options, int resume, const dp_pass *last) {
  Arena arena;
  dp_compile compile = {};
  compile.options = &options;
  EXPECT_EQ(Parse(arena, text, &compile.model), "");
  const dp_pass *const *passes = dp_pipeline_passes();
  for (int i = 0; passes[i] && (!i || passes[i - 1] != last); i++) {
    std::string message = Message(dp_pipeline_run_pass(&compile, passes[i]));
    if (!message.empty()) return message;
    if (i != resume || compile.plan) continue;
    std::string printed = Print(compile.model);
    EXPECT_EQ(Parse(arena, printed, &compile.model), "") << passes[i]->name;
    EXPECT_EQ(Print(compile.model), printed) << passes[i]->name;
  }
  return Print(compile.model);
}

void ExpectResumable(const std::string &text, const dp_options &options, const dp_pass *last) {
  std::string straight = Compile(text, options, -1, last);
  ASSERT_EQ(straight.substr(0, 6), "model ") << straight;
  const dp_pass *const *passes = dp_pipeline_passes();
  for (int i = 0; passes[i] && passes[i] != last; i++)
    EXPECT_EQ(Compile(text, options, i, last), straight) << "resumed after " << passes[i]->name;
}

TEST(TextPipeline, DataParallel) {
  dp_options options = Options();
  options.devices = 2;
  ExpectResumable(Example("mlp.dpt"), options, nullptr);
  ExpectResumable(Example("digits_cnn.dpt"), options, nullptr);
}

TEST(TextPipeline, TwoAxesInDoublePrecisionUpToPlacement) {
  dp_options options = Options();
  options.mesh = {2, {{"data", 2}, {"tensor", 2}}};
  options.precision = DP_FLOAT64;
  std::string text = Example("mlp.dpt");
  size_t end = text.find("\n", text.find("parameter hidden.weight"));
  ASSERT_NE(end, std::string::npos);
  ExpectResumable(text.substr(0, end) + " shard(tensor=0)" + text.substr(end), options, dp_pipeline_find("place"));
}

}  // namespace
