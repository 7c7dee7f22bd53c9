// A function or a copy of our own that never ends, on one of several GPUs, ends dprun in time, with one message that
// names the collective and the device, whether it is in the collective or has not come to it.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <regex>

#include "tests/tools/tool.h"

namespace {

constexpr char kTimeout[] = "0.3";
constexpr double kMostSeconds = 20;  // on a machine that is busy with other tests

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Four devices on two GPUs, so that NCCL has no part in it: devices 0 and 1 are on GPU 0, devices 2 and 3 on GPU 1.
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
  // On each GPU in turn the operation of that number never ends. `said`: of the device that is to blame, which is the
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
          "device " + std::to_string(2 * gpu + second) + " (GPU " + std::to_string(gpu) + ")" + said;
      for (const std::string &word : {collective, std::string("stands still for 0.3 s (--timeout): "), blamed,
                                      std::string("Ended last by device")})
        EXPECT_NE(result.err.find(word), std::string::npos) << word << "\n" << result.err;
    }
  }
};

TEST_F(Stall, AFunctionOfACollective) {
  Compile("--strategy=data");
  for (int number : {1, 2, 3}) OnEachGpu("all_reduce", number, "AllReduce of '", " is in it");
  Compile("--strategy=zero --zero-stage=3");
  // An AllGather and a ReduceScatter; others of these functions upload inputs, for which no device waits.
  for (int number : {3, 9}) OnEachGpu("boxes", number, "", " is in it");
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

// The line of `dpc show` that an instruction is in, where its stream, program and role are.
std::string LineOf(const std::string &shown, const std::smatch &at) {
  size_t found = 0;
  for (const std::string &heading :
       {"role " + at[2].str() + ":", "program " + at[3].str() + ":", "stream " + at[4].str() + "\n",
        "\n" + std::string(10 - at[5].length(), ' ') + at[5].str() + " "}) {
    found = shown.find(heading, found);
    if (found == std::string::npos) return "no " + heading;
  }
  return shown.substr(found + 1, shown.find('\n', found + 1) - found - 1);
}

// Devices are the plan's, not ranks among those that meet: device 2 is rank 0 of what it sends, device 3 rank 1.
// Instructions are those that `dpc show` numbers so. What each of the plan's devices ended last is told.
TEST_F(Stall, DevicesAndInstructionsAreThePlans) {
  setenv("DP_STANDIN_DEVICES", "4", 1);
  Compile("--strategy=pipeline --mesh=data=2,pipe=2 --microbatches=2 --reproducible");
  const std::string shown = Must("dpc show " + File("plan.bin")).out;
  for (const char *stall : {"2:library:2", "3:SoftmaxCrossEntropyLossGrad:1"}) {
    SCOPED_TRACE(stall);
    setenv("DP_STANDIN_STALL", stall, 1);
    const Result result = Run(Command());
    unsetenv("DP_STANDIN_STALL");
    ASSERT_EQ(result.code, 76) << result.err;
    const std::string name(stall, 1);
    EXPECT_NE(result.err.find("device " + name + " (GPU " + name + ") has not come to it"), std::string::npos)
        << result.err;
    static const std::regex place(
        "([A-Za-z]+) of '[^']*' \\(role ([a-z0-9]+), program ([a-z]+), stream ([a-z]+), instruction ([0-9]+)\\)");
    for (auto at = std::sregex_iterator(result.err.begin(), result.err.end(), place); at != std::sregex_iterator();
         ++at)
      EXPECT_NE(LineOf(shown, *at).find("dp." + (*at)[1].str()), std::string::npos) << at->str() << LineOf(shown, *at);
    const std::string ended = result.err.substr(result.err.find("Ended last by device"));
    for (const char *device : {" 0", " 1", " 2", " 3"}) EXPECT_NE(ended.find(device), std::string::npos) << ended;
  }
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
