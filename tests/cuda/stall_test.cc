// A function or a copy of our own that never ends, on one of several GPUs, ends dprun in time, with one message that
// names the collective and the rank, whether it is in the collective or has not come to it.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "tests/tools/tool.h"

namespace {

constexpr char kTimeout[] = "0.3";
constexpr double kMostSeconds = 20;  // on a machine that is busy with other tests

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Four devices on two GPUs, so that NCCL has no part in it: ranks 0 and 1 are on GPU 0, ranks 2 and 3 on GPU 1.
class Stall : public Tools {
 protected:
  Stall() {
    setenv("XDG_CACHE_HOME", File("").c_str(), 1);
    setenv("DP_STANDIN_DEVICES", "2", 1);
  }
  ~Stall() override {
    for (const char *name : {"DP_STANDIN_STALL", "DP_STANDIN_DEVICES", "DP_STANDIN_PEERS", "XDG_CACHE_HOME"})
      unsetenv(name);
  }
  void Compile(const std::string &options) {
    Must("dpc compile examples/mlp.dpt --target=cuda --devices=4 --batch=8 -o " + File("plan.bin") + " " + options);
  }
  std::string Command(const std::string &options = "") const {
    return "dprun " + File("plan.bin") + " --device=cuda --steps=3 --quiet --timeout=" + kTimeout + " " + options +
           digits;
  }
  // On each GPU in turn the operation of that number never ends. `said`: of the rank that is to blame, which is the
  // GPU's first or second one.
  void OnEachGpu(const std::string &operation, int number, const std::string &collective, const std::string &said,
                 int second = 0) {
    for (int gpu = 0; gpu < 2; gpu++) {
      const std::string stall = std::to_string(gpu) + ":" + operation + ":" + std::to_string(number);
      SCOPED_TRACE(stall);
      setenv("DP_STANDIN_STALL", stall.c_str(), 1);
      const double begin = Now();
      const Result result = Run(Command());
      unsetenv("DP_STANDIN_STALL");
      EXPECT_LT(Now() - begin, kMostSeconds);
      EXPECT_EQ(result.code, 76) << result.err;
      EXPECT_EQ(result.err.find("dprun: "), 0u) << result.err;
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      const std::string blamed =
          "rank " + std::to_string(2 * gpu + second) + " (GPU " + std::to_string(gpu) + ")" + said;
      for (const std::string &word :
           {collective, std::string("stands still for 0.3 s (--timeout): "), blamed, std::string("Ranks ended last: ")})
        EXPECT_NE(result.err.find(word), std::string::npos) << word << "\n" << result.err;
    }
  }
};

TEST_F(Stall, AFunctionOfACollective) {
  Compile("--strategy=data");
  for (int number : {1, 2, 3}) OnEachGpu("all_reduce", number, "AllReduce of '", " is in it");
  Compile("--strategy=zero --zero-stage=3");
  for (int number : {3, 6}) OnEachGpu("boxes", number, "", " is in it");
}

TEST_F(Stall, ACopyBetweenGpus) {
  setenv("DP_STANDIN_PEERS", "none", 1);
  Compile("--strategy=data");
  for (int number : {1, 3}) OnEachGpu("peer copy", number, "AllReduce of '", " is in it");
}

// What computes does not come to the collective that the others wait in.
TEST_F(Stall, AFunctionThatComputes) {
  Compile("--strategy=data");
  OnEachGpu("library", 1, "AllReduce of '", " has not come to it");
  OnEachGpu("library", 4, "AllReduce of '", " has not come to it", 1);
}

// What was saved before stays.
TEST_F(Stall, WhatWasSavedStays) {
  Compile("--strategy=data");
  setenv("DP_STANDIN_STALL", "1:all_reduce:9", 1);
  const Result result = Run(Command("--save=" + File("run/") + " --save-every=1 "));
  unsetenv("DP_STANDIN_STALL");
  EXPECT_EQ(result.code, 76) << result.err;
  EXPECT_NE(result.err.find("was saved last: --resume goes on from it"), std::string::npos) << result.err;
  Must(Command("--save=" + File("run/") + " --save-every=1 --resume "));
}

}  // namespace
