// A call of the driver or of a library that fails, each in turn: dprun ends with one message and the right code.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/tools/tool.h"

namespace {

class CudaFaults : public Tools {
 protected:
  CudaFaults() {
    setenv("XDG_CACHE_HOME", File("").c_str(), 1);
    Must("dpc compile examples/mlp.dpt --target=cuda --strategy=data --devices=2 --batch=8 -o " + File("plan.bin"));
  }
  ~CudaFaults() override {
    for (const char *name : {"DP_STANDIN_FAIL", "DP_STANDIN_TRACE", "DP_STANDIN_REPORT", "XDG_CACHE_HOME"})
      unsetenv(name);
  }
  std::string Command(const std::string &options = "--steps=2 --quiet ") const {
    return "dprun " + File("plan.bin") + " --device=cuda " + options + digits + " --save=" + File("out.safetensors");
  }
  // The names of the calls that the last run made, in order. What NVRTC is asked on other threads may come anywhere.
  std::vector<std::string> Calls() const {
    std::vector<std::string> calls;
    std::ifstream trace(File("trace"));
    for (std::string number, name; trace >> number >> name;) calls.push_back(name);
    return calls;
  }
};

// What the process had not given back when it ended, but for what it keeps as long as it lives: the context, functions,
// the handles of libraries.
int64_t Left(const std::string &report) {
  int64_t left = 0;
  std::istringstream lines(report);
  for (std::string name, number; lines >> name >> number;)
    for (const char *kind : {"device_allocations", "host_allocations", "streams", "events"})
      if (name == kind) left += atoll(number.c_str());
  return left;
}

// What gives something back: its failure loses nothing, and there is nobody to tell.
bool Releases(const std::string &call) {
  for (const char *word : {"Destroy", "Free", "Unload", "Release", "ErrorString"})
    if (call.find(word) != std::string::npos) return true;
  return false;
}

int64_t Captures(const std::vector<std::string> &calls) {
  return std::count(calls.begin(), calls.end(), "cuStreamBeginCapture_v2");
}

TEST_F(CudaFaults, EachCallInTurn) {
  Must(Command());  // fills the cache of functions
  setenv("DP_STANDIN_TRACE", File("trace").c_str(), 1);
  Must(Command());
  const size_t n_calls = Calls().size();
  ASSERT_GT(n_calls, 200u);
  setenv("DP_STANDIN_REPORT", File("report").c_str(), 1);
  int refused = 0;
  const size_t stride = getenv("DP_FULL") ? 1 : 5;
  for (size_t k = 1; k <= n_calls; k += stride) {
    setenv("DP_STANDIN_FAIL", (std::to_string(k) + ":" + (k % 3 ? "719" : "2")).c_str(), 1);
    const Result result = Run(Command());
    const std::vector<std::string> calls = Calls();
    ASSERT_GE(calls.size(), k);
    const std::string failed = calls[k - 1];
    SCOPED_TRACE("call " + std::to_string(k) + ", " + failed);
    EXPECT_EQ(Left(Read(File("report"))), 0) << result.err;
    if (Releases(failed) || result.code == 0) {
      EXPECT_TRUE(result.code == 0 || Releases(failed));
      continue;
    }
    refused++;
    EXPECT_TRUE(result.code == 69 || result.code == 71) << result.code << result.err;
    EXPECT_EQ(result.err.substr(0, 7), "dprun: ") << result.err;
    EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
  }
  EXPECT_GT(refused, 40);
  RecordProperty("calls", static_cast<int>(n_calls));
  RecordProperty("refused", refused);
}

// What a step was refused to be captured with changes nothing but how steps are issued.
TEST_F(CudaFaults, ARefusedCapture) {
  const std::string command = Command("--steps=5 ");
  Must(command);  // fills the cache of functions
  const std::string expected = Read(File("out.safetensors"));
  setenv("DP_STANDIN_TRACE", File("trace").c_str(), 1);
  Must(command);
  const std::vector<std::string> calls = Calls();
  const auto begin = std::find(calls.begin(), calls.end(), "cuStreamBeginCapture_v2");
  const auto end = std::find(begin, calls.end(), "cuGraphInstantiateWithFlags");
  ASSERT_GT(end - begin, 20);
  ASSERT_NE(end, calls.end());
  int refused = 0;
  const int stride = getenv("DP_FULL") ? 1 : 4;
  for (auto call = begin; call <= end; call++) {
    if (Releases(*call) || (call != end && (call - begin) % stride)) continue;
    SCOPED_TRACE(*call);
    const bool memory = call == end || refused % 3 == 0;
    setenv("DP_STANDIN_FAIL", (std::to_string(call - calls.begin() + 1) + (memory ? ":2" : ":900")).c_str(), 1);
    unlink(File("out.safetensors").c_str());
    const Result result = Run(command);
    refused++;
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.err.find("note: steps were issued one instruction at a time: "), std::string::npos) << result.err;
    EXPECT_TRUE(Read(File("out.safetensors")) == expected);
    EXPECT_EQ(Captures(Calls()), Captures(calls)) << "it is not tried again";
  }
  RecordProperty("refused", refused);
}

}  // namespace
