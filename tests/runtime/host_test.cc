// Host memory at run time: the null backend detects devices, of one role or of two stages, that write the same bytes at
// the same time, and raises no false alarm.
#include <gtest/gtest.h>

#include "backends/cpu/target.h"
#include "backends/null/backend.h"
#include "tests/ir/verify/host_plan.h"
#include "tests/ir/verify/pipe_plan.h"
#include "tests/runtime/runtime_helper.h"

namespace {

using namespace dp_test;

// Runs "infer" until it fails, at most `runs` times.
std::string RunOnNull(const Dp__Plan *plan, int64_t n, int runs) {
  dp_backend null = dp_backend_null(&dp_target_cpu);
  dp_session_options options = {};
  options.workers = 4;
  options.unchecked = true;
  Session session(plan, options, &null);
  std::string failure = session.error;
  for (int i = 0; i < runs && failure.empty(); i++) failure = session.Run("infer", n, i);
  return failure;
}

void ExpectRace(const std::string &failure) {
  EXPECT_EQ(failure.substr(0, 4), "65: ");
  EXPECT_NE(failure.find("race"), std::string::npos) << failure;
}

// A device's parts of both values are interleaved with those of the other devices, which run at the same time.
TEST(NullBackend, SeesNoRaceBesideEachOther) {
  for (const char *split : {"S(0)", "S(1)"})
    for (int64_t devices : {2, 4}) {
      SCOPED_TRACE(std::string(split) + ", " + std::to_string(devices) + " devices");
      HostPlan host(devices, split, 16 * HostPlan::kRow);
      host.Give("x", 0);
      host.Give("x@whole", 32 * HostPlan::kRow);
      host.Finish();
      for (int64_t n : {2 * devices, devices + 1, int64_t{1}, int64_t{0}})
        EXPECT_EQ(RunOnNull(&host.small.plan, n, 50), "") << n;
    }
}

// Each device writes x before y, and some write y while others still write x.
TEST(NullBackend, SeesDevicesWriteTheSameBytesOfTheHost) {
  for (const char *split : {"S(0)", "S(1)"})
    for (int row : {-1, 0, 1}) {
      SCOPED_TRACE(std::string(split) + ", " + std::to_string(row));
      HostPlan host(2, split, 16 * HostPlan::kRow);
      host.Give("x@whole", static_cast<uint64_t>(16 + row) * HostPlan::kRow);
      host.Finish();
      ExpectRace(RunOnNull(&host.small.plan, 4, 5000));
    }
}

TEST(NullBackend, SeesStagesWriteTheSameBytesOfTheHost) {
  PipePlan pipe(1);
  ProgramWriter &w = pipe.Writer(0, "infer");
  w.Tensor("h@host", "h", "R", DP__SPACE__HOST_OUTPUT, 0);
  pipe.plan->roles[0]->arenas[3]->bytes = pipe.plan->roles[1]->arenas[3]->bytes = 256;
  for (int i = 0; i < 3; i++) w.Add("send", "dp.Gather", "", {"h"}, {"h@host"});
  ExpectRace(RunOnNull(pipe.plan, 8, 5000));
}

}  // namespace
