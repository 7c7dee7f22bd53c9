// A call of the driver or of a library that fails, each in turn: dprun ends with one message and the right code.
#include <algorithm>
#include <cstdlib>
#include <fstream>

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
  std::string Command() const {
    return "dprun " + File("plan.bin") + " --device=cuda --steps=2 --quiet" + digits + " --save=" + File("out");
  }
  // The names of the calls that a run makes, in order.
  std::vector<std::string> Calls() {
    setenv("DP_STANDIN_TRACE", File("trace").c_str(), 1);
    Must(Command());
    unsetenv("DP_STANDIN_TRACE");
    std::vector<std::string> calls;
    std::ifstream trace(File("trace"));
    for (std::string number, name; trace >> number >> name;) calls.push_back(name);
    return calls;
  }
};

// What gives something back: its failure loses nothing, and there is nobody to tell.
bool Releases(const std::string &call) {
  for (const char *word : {"Destroy", "Free", "Unload", "Release", "ErrorString"})
    if (call.find(word) != std::string::npos) return true;
  return false;
}

TEST_F(CudaFaults, EachCallInTurn) {
  Must(Command());  // fills the cache of functions
  const std::vector<std::string> calls = Calls();
  ASSERT_GT(calls.size(), 200u);
  int refused = 0;
  for (size_t k = 1; k <= calls.size(); k++) {
    SCOPED_TRACE("call " + std::to_string(k) + ", " + calls[k - 1]);
    setenv("DP_STANDIN_FAIL", (std::to_string(k) + ":" + (k % 3 ? "719" : "2")).c_str(), 1);
    const Result result = Run(Command());
    if (Releases(calls[k - 1]) || result.code == 0) {
      EXPECT_TRUE(result.code == 0 || Releases(calls[k - 1]));
      continue;
    }
    refused++;
    EXPECT_TRUE(result.code == 69 || result.code == 71) << result.code << result.err;
    EXPECT_EQ(result.err.substr(0, 7), "dprun: ") << result.err;
    EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
