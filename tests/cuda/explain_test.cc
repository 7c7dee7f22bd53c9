// dprun --explain: with --device=cuda it says what the device would use for each step; without, it needs no device.
#include <cstdlib>
#include <regex>
#include <sstream>

#include "tests/tools/tool.h"

namespace {

class Explain : public Tools {
 protected:
  Explain() { setenv("XDG_CACHE_HOME", File("").c_str(), 1); }
  ~Explain() override {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("DP_STANDIN_DEVICES");
    unsetenv("DP_STANDIN_NCCL");
    unsetenv("DP_STANDIN_TRACE");
  }
  void Compile(const std::string &model, const std::string &options) {
    Must("dpc compile examples/" + model + " --target=cuda " + options + " -o " + File("plan.bin"));
  }
  std::string Explained() { return Must("dprun " + File("plan.bin") + " --explain --device=cuda").out; }
};

// The lines of the step that contains `step`, up to the next one; of the first program that has it.
std::string StepOf(const std::string &explained, const std::string &step) {
  static const std::regex head("^ +[0-9]+ [A-Z].*|^ +[0-9]+ dp\\..*|^ *(stream|program|output|role).*");
  std::istringstream lines(explained);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, head) && !found.empty()) break;
    if (!found.empty() || line.find(step) != std::string::npos) found += line + "\n";
  }
  return found;
}

int Count(const std::string &text, const std::string &word) {
  int count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at++) count++;
  return count;
}

TEST_F(Explain, NamesWhatEachStepUses) {
  Compile("digits_cnn.dpt", "--strategy=data --devices=2 --batch=64");
  const std::string explained = Explained();
  EXPECT_NE(StepOf(explained, "node c1, kernel cuda.cudnn.Conv").find("uses cuDNN engine "), std::string::npos);
  EXPECT_NE(StepOf(explained, "kernel cuda.blaslt.Gemm").find("uses cuBLASLt algorithm "), std::string::npos);
  EXPECT_NE(StepOf(explained, "dp.AllReduce").find("uses function dp_all_reduce_"), std::string::npos);
  // A region names the functions of its launches.
  EXPECT_NE(StepOf(explained, "dp.Region, kernel cuda.device.dp.Region").find("uses function dp_"), std::string::npos);
  // What was prepared before it was asked for is not the first step's.
  std::smatch first;
  ASSERT_TRUE(std::regex_search(explained, first, std::regex(" uses .*")));
  EXPECT_TRUE(std::regex_match(first.str(), std::regex(" uses function dp_[A-Za-z0-9_]+"))) << first.str();
  // Every step with a kernel uses something, and each says so once.
  EXPECT_GT(Count(explained, ", kernel cuda."), 100);
  std::istringstream lines(explained);
  for (std::string line; std::getline(lines, line);)
    if (line.find(", kernel cuda.") != std::string::npos) {
      EXPECT_EQ(Count(StepOf(explained, line), "           uses "), 1) << line;
    }
}

// The stand-in splits sums longer than 64 in two, and keeps the parts in the workspace: tests/cuda/standin/cublaslt.c.
TEST_F(Explain, SaysWhereDevicesDiffer) {
  const std::string step = "node h/grad/Gemm.1, kernel cuda.blaslt.Gemm";
  const std::string whole = "uses cuBLASLt algorithm 1, tile 0, stages 0, split over k 1, workspace 0 bytes";
  const std::string split =
      "uses cuBLASLt algorithm 2, tile 0, stages 0, split over k 2, workspace " + std::to_string(2 * 64 * 64 * 4);
  Compile("mlp.dpt", "--strategy=data --devices=3 --batch=194");  // 64, 65 and 65 samples
  std::string found = StepOf(Explained(), step);
  EXPECT_NE(found.find(whole + "\n"), std::string::npos) << found;
  EXPECT_NE(found.find(split + " bytes, from device 1 on\n"), std::string::npos) << found;
  Compile("mlp.dpt", "--strategy=data --devices=3 --batch=195");
  found = StepOf(Explained(), step);
  EXPECT_EQ(Count(found, "uses"), 1) << found;
  EXPECT_NE(found.find(split + " bytes\n"), std::string::npos) << found;
}

TEST_F(Explain, SaysWhoCommunicates) {
  setenv("DP_STANDIN_DEVICES", "4", 1);
  const std::string nccl = "uses NCCL 2.28.9, Ring, Simple, 16 channels: ";
  Compile("mlp.dpt", "--strategy=data --devices=4 --batch=64");
  std::string found = StepOf(Explained(), "dp.AllReduce");
  EXPECT_NE(found.find(nccl + "all-reduce, GPUs 0, 1, 2, 3, memory registered\n"), std::string::npos) << found;
  Compile("mlp.dpt", "--strategy=zero --zero-stage=3 --devices=4 --batch=64");
  const std::string zero = Explained();
  EXPECT_NE(StepOf(zero, "dp.ReduceScatter").find(nccl + "reduc"), std::string::npos);
  EXPECT_NE(zero.find(nccl + "reduce-scatter, GPUs 0, 1, 2, 3, memory registered\n"), std::string::npos);
  EXPECT_NE(zero.find(nccl + "all-gather, GPUs 0, 1, 2, 3, memory registered\n"), std::string::npos);
  EXPECT_NE(zero.find(nccl + "broadcasts, one for each part, GPUs 0, 1, 2, 3, memory registered\n"), std::string::npos);
  Compile("mlp.dpt", "--strategy=pipeline --devices=2 --batch=64");
  found = StepOf(Explained(), "dp.Send");
  EXPECT_NE(found.find(nccl + "send and receive, GPUs 0, 1, memory not registered\n"), std::string::npos) << found;
  // Versions before 2.27 register no memory.
  Compile("mlp.dpt", "--strategy=data --devices=4 --batch=64");
  setenv("DP_STANDIN_NCCL", "22609", 1);
  found = StepOf(Explained(), "dp.AllReduce");
  EXPECT_NE(found.find("uses NCCL 2.26.9, Ring, Simple, 16 channels: all-reduce, GPUs 0, 1, 2, 3, memory not registered"
                       "\n"),
            std::string::npos)
      << found;
  unsetenv("DP_STANDIN_NCCL");
  // The user's own choice is kept, and said.
  setenv("NCCL_ALGO", "Tree", 1);
  EXPECT_NE(Explained().find("uses NCCL 2.28.9, Tree, Simple, 16 channels: "), std::string::npos);
  unsetenv("NCCL_ALGO");
  Compile("mlp.dpt", "--strategy=data --devices=4 --batch=64 --reproducible");
  const std::string reproducible = Explained();
  EXPECT_NE(reproducible.find("uses no NCCL, since sums are taken in rank order; function dp_all_reduce_"),
            std::string::npos);
  // Whole numbers have the same sum in any order.
  found = StepOf(reproducible, "int64[] [P(sum)]");
  EXPECT_NE(reproducible.find(nccl + "all-reduce, GPUs 0, 1, 2, 3, memory registered\n"), std::string::npos);
  Compile("mlp.dpt", "--strategy=data --devices=8 --batch=64");
  EXPECT_NE(StepOf(Explained(), "dp.AllReduce").find("uses no NCCL, since some of its devices share a GPU; "),
            std::string::npos);
}

TEST_F(Explain, NeedsTheDeviceOnlyWhenItIsNamed) {
  Compile("mlp.dpt", "--batch=8");
  setenv("DP_STANDIN_TRACE", File("trace").c_str(), 1);
  const std::string shown = Must("dprun " + File("plan.bin") + " --explain").out;
  EXPECT_FALSE(Exists(File("trace")));
  EXPECT_EQ(Count(shown, " uses "), 0);
  // The rest of the listing is the same.
  std::istringstream lines(Explained());
  EXPECT_TRUE(Exists(File("trace")));
  std::string rest;
  for (std::string line; std::getline(lines, line);)
    if (line.find("           uses ") != 0 && line.find("GPU 0 (") != 0) rest += line + "\n";
  EXPECT_EQ(rest, shown);
  const Result refused = Shell("LD_LIBRARY_PATH= dprun " + File("plan.bin") + " --explain --device=cuda");
  EXPECT_EQ(refused.code, 69);
  EXPECT_NE(refused.err.find("driver"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.out, "");
}

}  // namespace
