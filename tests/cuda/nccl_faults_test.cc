// A device that fails or stands still at any collective in turn: dprun ends in time, with one message that names the
// device and the collective, and what was saved before stays.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "tests/cuda/injected.h"

namespace {

constexpr int kRanks = 3, kArenas = 4;  // of a device: variables, transients, both copies of its inputs
constexpr char kTimeout[] = "0.3";
constexpr double kMostSeconds = 20;  // on a machine that is busy with other tests

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class NcclFaults : public Injected {
 protected:
  NcclFaults() {
    setenv("DP_STANDIN_DEVICES", std::to_string(kRanks).c_str(), 1);
    Compile("--strategy=data --devices=" + std::to_string(kRanks));
  }
  ~NcclFaults() override {
    for (const char *name : {"DP_STANDIN_NCCL_CALL", "DP_STANDIN_NCCL_FAIL", "DP_STANDIN_NCCL_LATE",
                             "DP_STANDIN_NCCL_STALL", "DP_STANDIN_DEVICES"})
      unsetenv(name);
  }
  std::string Command(const std::string &options = "") const {
    return "dprun " + File("plan.bin") + " --device=cuda --steps=3 --quiet --timeout=" + kTimeout + " " + options +
           digits;
  }
  void Compile(const std::string &options) {
    Must("dpc compile examples/mlp.dpt --target=cuda --batch=8 -o " + File("plan.bin") + " " + options);
  }
  // How many group calls each device makes in a run of the data plan: all but the three that make the communicator,
  // register memory and end it.
  int GroupCalls() {
    RunWell(Command("--save=" + Saved() + " "));
    return int(std::count(good_calls_.begin(), good_calls_.end(), "ncclGroupEnd")) - 3;
  }
  // Runs with that fault of a device at its group calls, one after the other until a run has no more of them, and looks
  // at what dprun says. Gives the operators of the collectives that it named.
  std::set<std::string> AtEachCall(const char *fault, int device, int stride, int code,
                                   const std::vector<std::string> &said) {
    std::set<std::string> operators;
    for (int call = 1 + device % stride;; call += stride) {
      const std::string name = std::to_string(device);
      SCOPED_TRACE(std::string(fault) + "=" + name + ":" + std::to_string(call));
      setenv(fault, (name + ":" + std::to_string(call)).c_str(), 1);
      const double begin = Now();
      const Result result = Run(Command());
      unsetenv(fault);
      if (!result.code) return operators;
      EXPECT_LT(Now() - begin, kMostSeconds);
      ExpectRefused(result, code);
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      EXPECT_NE(result.err.find("device " + name + " (GPU " + name + ") " + said[0]), std::string::npos) << result.err;
      for (const std::string &word : said) EXPECT_NE(result.err.find(word), std::string::npos) << word << result.err;
      static const std::regex collective(
          "([A-Za-z]+) of '[^']*' \\(role [a-z0-9]+, program train, "
          "stream [a-z]+, instruction [0-9]+\\)");
      std::smatch match;
      EXPECT_TRUE(std::regex_search(result.err, match, collective)) << result.err;
      operators.insert(match[1]);
    }
  }
  // The same for each device of each kind of plan. All of its collectives must have had the fault.
  void EachInTurn(const char *fault, int code, const std::vector<std::string> &said) {
    static const struct {
      const char *options;
      int devices, stride;  // in the usual run: every so many calls
      std::set<std::string> operators;
    } plans[] = {
        {"--strategy=data --devices=3", 3, 15, {"AllReduce"}},
        {"--strategy=zero --zero-stage=3 --devices=2", 2, 23, {"AllGather", "ReduceScatter"}},
        {"--strategy=pipeline --devices=2 --microbatches=2", 2, 23, {"Send"}},
        {"--strategy=pipeline --mesh=data=2,pipe=2 --microbatches=2", 4, 13, {"AllReduce", "Send"}},
    };
    for (const auto &plan : plans) {
      SCOPED_TRACE(plan.options);
      setenv("DP_STANDIN_DEVICES", std::to_string(plan.devices).c_str(), 1);
      Compile(plan.options);
      std::set<std::string> operators;
      for (int device = 0; device < plan.devices; device++)
        operators.merge(AtEachCall(fault, device, getenv("DP_FULL") ? 1 : plan.stride, code, said));
      EXPECT_TRUE(std::includes(operators.begin(), operators.end(), plan.operators.begin(), plan.operators.end()))
          << testing::PrintToString(operators);
    }
  }
};

TEST_F(NcclFaults, ACallThatFails) { EachInTurn("DP_STANDIN_NCCL_FAIL", 69, {"tells of ncclSystemError"}); }

TEST_F(NcclFaults, AFailureWhileItIsUnderWay) { EachInTurn("DP_STANDIN_NCCL_LATE", 69, {"tells of ncclSystemError"}); }

TEST_F(NcclFaults, ADeviceThatStandsStill) {
  EachInTurn("DP_STANDIN_NCCL_STALL", 76,
             {"has not come to it", "stands still for 0.3 s (--timeout)", "Ended last by device"});
}

// Every call of NCCL, made or asked for, may be refused.
TEST_F(NcclFaults, EachCallInTurn) {
  RunWell(Command("--save=" + Saved() + " "));
  std::vector<std::string> calls;
  for (const std::string &name : good_calls_)
    if (name.find("nccl") == 0 && name != "ncclCommGetAsyncError") calls.push_back(name);
  ASSERT_GT(calls.size(), 40u);
  // From here on communicators and memory are released, when all has been exchanged.
  const size_t ending = size_t(std::find(calls.begin(), calls.end(), "ncclCommWindowDeregister") - calls.begin());
  ASSERT_LT(ending, calls.size());
  int refused = 0;
  const size_t stride = getenv("DP_FULL") ? 1 : 9;
  for (size_t k = 0; k < calls.size(); k += stride) {
    SCOPED_TRACE(std::to_string(k + 1) + ", " + calls[k]);
    setenv("DP_STANDIN_NCCL_CALL", std::to_string(k + 1).c_str(), 1);
    unlink(Saved().c_str());
    unlink(File("report").c_str());
    const Result result = Run(Command("--save=" + Saved() + " "));
    ExpectNothingLeft();
    if (result.code == 0 && k >= ending) {
      EXPECT_TRUE(SavedWell()) << calls[k];
    } else if (result.code == 0) {
      ExpectIgnored(result, calls[k]);
    } else {
      refused++;
      ExpectRefused(result, 69);
      EXPECT_NE(result.err.find("NCCL"), std::string::npos) << result.err;
    }
  }
  EXPECT_GT(refused, 5);
  unsetenv("DP_STANDIN_NCCL_CALL");
}

// A collective that stands still late in a run leaves the checkpoint before it.
TEST_F(NcclFaults, WhatWasSavedStays) {
  const int n_calls = GroupCalls();
  setenv("DP_STANDIN_NCCL_STALL", ("1:" + std::to_string(n_calls)).c_str(), 1);
  const Result result = Run(Command("--save=" + File("run/") + " --save-every=1 "));
  EXPECT_EQ(result.code, 76) << result.err;
  EXPECT_NE(result.err.find("step 2 was saved last: --resume goes on from it"), std::string::npos) << result.err;
  unsetenv("DP_STANDIN_NCCL_STALL");
  Must(Command("--save=" + File("run/") + " --save-every=1 --resume "));
}

// Every rank registers its arenas, where NCCL has memory windows, and deregisters them; no bit depends on it.
TEST_F(NcclFaults, ArenasAreRegistered) {
  const auto count = [&](const char *version, const std::string &saved) {
    setenv("DP_STANDIN_NCCL", version, 1);
    setenv("DP_STANDIN_TRACE", File("trace").c_str(), 1);
    EXPECT_EQ(Must(Command("--save=" + saved + " ")).err, "") << "the stand-in complains";
    unsetenv("DP_STANDIN_TRACE");
    unsetenv("DP_STANDIN_NCCL");
    std::map<std::string, int> counts;
    std::ifstream trace(File("trace"));
    for (std::string number, name; trace >> number >> name;) counts[name]++;
    return counts;
  };
  auto with = count("22700", File("with.safetensors")), without = count("22609", File("without.safetensors"));
  for (const char *name : {"ncclMemAlloc", "ncclMemFree", "ncclCommWindowRegister", "ncclCommWindowDeregister"}) {
    EXPECT_EQ(with[name], kArenas * kRanks) << name;
    EXPECT_EQ(without[name], 0) << name;
  }
  EXPECT_EQ(Read(File("with.safetensors")), Read(File("without.safetensors")));
}

// Without a limit, nothing is given up that moves; a good run is the same with a short one.
TEST_F(NcclFaults, AGoodRunIsLeftAlone) {
  Must(Command("--save=" + File("a.safetensors") + " "));
  Must(Command("--timeout=0 --save=" + File("b.safetensors") + " "));
  EXPECT_EQ(Read(File("a.safetensors")), Read(File("b.safetensors")));
  Refused("dprun " + File("plan.bin") + " --timeout=soon " + digits, 64, {"--timeout=soon"});
}

}  // namespace
