// A call of the driver or of a library that fails, each in turn: dprun ends with one message and the right code.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "tests/cuda/injected.h"

namespace {

class CudaFaults : public Injected {
 protected:
  CudaFaults() {
    Must("dpc compile examples/mlp.dpt --target=cuda --strategy=data --devices=2 --batch=8 -o " + File("plan.bin"));
  }
  std::string Command(const std::string &options = "--steps=2 --quiet ") const {
    return "dprun " + File("plan.bin") + " --device=cuda " + options + digits + " --save=" + Saved();
  }
};

int64_t Captures(const std::vector<std::string> &calls) {
  return std::count(calls.begin(), calls.end(), "cuStreamBeginCapture_v2");
}

// Every sixth call, with one error or the other; with DP_FULL all calls, with both.
TEST_F(CudaFaults, EachCallInTurn) {
  RunWell(Command());
  const size_t n_calls = good_calls_.size();
  ASSERT_GT(n_calls, 200u);
  int refused = 0;
  for (size_t k = 1; k <= n_calls; k++)
    for (int error : {kLost, kNoMemory}) {
      if (!getenv("DP_FULL") && k % 12 != (error == kLost ? 0u : 6u)) continue;
      refused += FailsWell(k, error);
    }
  EXPECT_GT(refused, 20);
  RecordProperty("calls", static_cast<int>(n_calls));
  RecordProperty("refused", refused);
}

// A sticky error: the context is lost, what was saved last is said, and a new process goes on from there.
TEST_F(CudaFaults, ALostContextTellsWhatWasSaved) {
  const std::string saving =
      "dprun " + File("plan.bin") + " --device=cuda --steps=30 --quiet --save-every=25 " + digits + " --save=";
  Must(saving + File("first/"));  // fills the cache of functions
  setenv("DP_STANDIN_TRACE", File("calls").c_str(), 1);
  Must(saving + File("whole/"));
  const std::vector<std::string> calls = Calls();
  const auto last = std::find(calls.rbegin(), calls.rend(), "cuGraphLaunch");
  ASSERT_NE(last, calls.rend());
  setenv("DP_STANDIN_FAIL", (std::to_string(calls.rend() - last) + ":719").c_str(), 1);
  const Result result = Run(saving + File("run/"));
  unsetenv("DP_STANDIN_FAIL");
  ExpectRefused(result, 69);
  EXPECT_NE(result.err.find("error 719); what was in its memory is lost; step 25 was saved last: --resume goes on"),
            std::string::npos)
      << result.err;
  Must(saving + File("run/") + " --resume");
  EXPECT_TRUE(Read(File("run/step-30/weights.safetensors")) == Read(File("whole/step-30/weights.safetensors")));
}

// What a step was refused to be captured with changes nothing but how steps are issued.
TEST_F(CudaFaults, ARefusedCapture) {
  const std::string command = Command("--steps=5 ");
  RunWell(command);
  const std::string expected = Read(Saved());
  const std::vector<std::string> &calls = good_calls_;
  const auto begin = std::find(calls.begin(), calls.end(), "cuStreamBeginCapture_v2");
  const auto end = std::find(begin, calls.end(), "cuGraphInstantiateWithFlags");
  ASSERT_GT(end - begin, 20);
  ASSERT_NE(end, calls.end());
  int refused = 0;
  const int stride = getenv("DP_FULL") ? 1 : 4;
  for (auto call = begin; call <= end; call++) {
    if (call->find("Destroy") != std::string::npos || (call != end && (call - begin) % stride)) continue;
    SCOPED_TRACE(*call);
    const bool memory = call == end || refused % 3 == 0;
    setenv("DP_STANDIN_FAIL", (std::to_string(call - calls.begin() + 1) + (memory ? ":2" : ":900")).c_str(), 1);
    unlink(Saved().c_str());
    const Result result = Run(command);
    refused++;
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.err.find("note: steps were issued one instruction at a time: "), std::string::npos) << result.err;
    EXPECT_TRUE(Read(Saved()) == expected);
    ExpectNothingLeft();
    EXPECT_EQ(Captures(Calls()), Captures(calls)) << "it is not tried again";
  }
  RecordProperty("refused", refused);
}

}  // namespace
