// A rank that fails or stands still at any collective in turn: dprun ends in time, with one message that names the rank
// and the collective, and what was saved before stays.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/tools/tool.h"

namespace {

constexpr int kRanks = 3, kArenas = 4;  // of a device: variables, transients, both copies of its inputs
constexpr char kTimeout[] = "0.3";
constexpr double kMostSeconds = 20;  // on a machine that is busy with other tests

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class NcclFaults : public Tools {
 protected:
  NcclFaults() {
    setenv("XDG_CACHE_HOME", File("").c_str(), 1);
    setenv("DP_STANDIN_DEVICES", std::to_string(kRanks).c_str(), 1);
    Must("dpc compile examples/mlp.dpt --target=cuda --strategy=data --batch=8 -o " + File("plan.bin") +
         " --devices=" + std::to_string(kRanks));
  }
  ~NcclFaults() override {
    for (const char *name :
         {"DP_STANDIN_NCCL_CALL", "DP_STANDIN_NCCL_FAIL", "DP_STANDIN_NCCL_LATE", "DP_STANDIN_NCCL_STALL",
          "DP_STANDIN_DEVICES", "DP_STANDIN_TRACE", "DP_STANDIN_REPORT", "XDG_CACHE_HOME"})
      unsetenv(name);
  }
  std::string Command(const std::string &options = "") const {
    return "dprun " + File("plan.bin") + " --device=cuda --steps=3 --quiet --timeout=" + kTimeout + " " + options +
           digits;
  }
  // How many group calls each rank makes in a run: all but the three that make the communicator, register memory and
  // end it.
  int GroupCalls() {
    setenv("DP_STANDIN_TRACE", File("trace").c_str(), 1);
    Must(Command());
    unsetenv("DP_STANDIN_TRACE");
    std::ifstream trace(File("trace"));
    int count = -3;
    for (std::string number, name; trace >> number >> name;) count += name == "ncclGroupEnd";
    return count;
  }
  // Runs with that fault of each rank at each group call, and looks at what dprun says.
  void EachInTurn(const char *fault, int code, const std::vector<std::string> &said) {
    const int n_calls = GroupCalls();
    ASSERT_GE(n_calls, 6);
    const int stride = getenv("DP_FULL") ? 1 : 2;
    for (int rank = 0; rank < kRanks; rank++)
      for (int call = 1 + rank % stride; call <= n_calls; call += stride) {
        const std::string at = std::to_string(rank) + ":" + std::to_string(call);
        SCOPED_TRACE(std::string(fault) + "=" + at);
        setenv(fault, at.c_str(), 1);
        const double begin = Now();
        const Result result = Run(Command());
        EXPECT_LT(Now() - begin, kMostSeconds);
        EXPECT_EQ(result.code, code) << result.err;
        EXPECT_EQ(result.err.find("dprun: "), 0u) << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        const std::string name = std::to_string(rank);
        EXPECT_NE(result.err.find("rank " + name + " (GPU " + name + ") " + said[0]), std::string::npos) << result.err;
        for (const std::string &word : said) EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
      }
    unsetenv(fault);
  }
};

TEST_F(NcclFaults, ACallThatFails) {
  EachInTurn("DP_STANDIN_NCCL_FAIL", 69, {"tells of ncclSystemError", "AllReduce of '"});
}

TEST_F(NcclFaults, AFailureWhileItIsUnderWay) {
  EachInTurn("DP_STANDIN_NCCL_LATE", 69, {"tells of ncclSystemError", "AllReduce of '"});
}

TEST_F(NcclFaults, ARankThatStandsStill) {
  EachInTurn(
      "DP_STANDIN_NCCL_STALL", 76,
      {"has not come to it", "AllReduce of '", "stands still for 0.3 s (--timeout)", "Ranks ended last: rank 0 "});
}

// Every call of NCCL, made or asked for, may be refused.
TEST_F(NcclFaults, EachCallInTurn) {
  setenv("DP_STANDIN_TRACE", File("trace").c_str(), 1);
  setenv("DP_STANDIN_REPORT", File("report").c_str(), 1);
  Must(Command());
  std::vector<std::string> calls;
  std::ifstream trace(File("trace"));
  for (std::string number, name; trace >> number >> name;)
    if (name.find("nccl") == 0 && name != "ncclCommGetAsyncError") calls.push_back(name);
  unsetenv("DP_STANDIN_TRACE");
  ASSERT_GT(calls.size(), 40u);
  int refused = 0;
  const size_t stride = getenv("DP_FULL") ? 1 : 3;
  for (size_t k = 0; k < calls.size(); k += stride) {
    SCOPED_TRACE(std::to_string(k + 1) + ", " + calls[k]);
    setenv("DP_STANDIN_NCCL_CALL", std::to_string(k + 1).c_str(), 1);
    const Result result = Run(Command());
    std::ifstream report(File("report"));
    for (std::string name, number; report >> name >> number;) {
      for (const char *kind : {"device_allocations", "host_allocations", "streams", "events"})
        if (name == kind) {
          EXPECT_EQ(number, "0") << name << result.err;
        }
    }
    if (calls[k] == "ncclMemAlloc" || calls[k] == "ncclGetVersion") {  // memory is the driver's then
      EXPECT_EQ(result.code, 0) << result.err;
      continue;
    }
    if (result.code == 0) {  // communicators and memory are released when all is over
      EXPECT_GT(k + 9 + 2 * kArenas * kRanks, calls.size()) << calls[k];
      continue;
    }
    refused++;
    EXPECT_EQ(result.code, 69) << result.err;
    EXPECT_EQ(result.err.find("dprun: "), 0u) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find("NCCL"), std::string::npos) << result.err;
  }
  EXPECT_GT(refused, 5);
  unsetenv("DP_STANDIN_NCCL_CALL");
  unsetenv("DP_STANDIN_REPORT");
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
