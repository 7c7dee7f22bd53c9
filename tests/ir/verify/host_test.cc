// Host memory, which any device may write at any time: conflicts that the order on each device does not prevent.
#include <gtest/gtest.h>

#include "tests/ir/verify/host_plan.h"
#include "tests/ir/verify/pipe_plan.h"

namespace {

using namespace dp_test;

enum { kRow = HostPlan::kRow };

// Accepts the two in either order in the message.
void ExpectConflict(const std::string &rule, const std::string &message, const std::string &one,
                    const std::string &other) {
  EXPECT_EQ(rule, "ORDER.CONFLICT") << message;
  for (const std::string &step : {one, other})
    EXPECT_NE(message.find(step + " (dp.Gather)"), std::string::npos) << step << " in " << message;
}

TEST(Host, OutputsLieSideBySide) {
  for (int64_t devices : {1, 2, 5})
    for (const char *split : {"S(0)", "S(1)"}) {
      HostPlan host(devices, split, 20 * kRow);
      const uint64_t bytes = static_cast<uint64_t>(2 * devices) * kRow;
      host.Give("x", 20 * kRow - bytes);
      host.Give("x@whole", 20 * kRow + bytes);
      host.Finish();
      std::string message;
      EXPECT_EQ(host.small.Verify(&message), "") << message;
    }
}

// Each device writes x before y. But a slow device may write x after another has written y.
TEST(Host, ProgramOrderIsNoOrderBetweenDevices) {
  for (std::string value : {"x", "x@whole"})
    for (uint64_t offset = kRow; offset < 8 * kRow; offset += kRow) {
      SCOPED_TRACE(value + " at " + std::to_string(offset));
      HostPlan host;  // y at [256, 512)
      host.Give(value, offset);
      host.Finish();
      const int last = value == "x" ? 3 : 4;
      std::string message, rule = host.small.Verify(&message);
      ExpectConflict(rule, message, "stream s, instruction " + std::to_string(last - 1),
                     "stream s, instruction " + std::to_string(last));
    }
}

TEST(Host, NorIsAnEvent) {
  HostPlan host;
  host.Give("x", 4 * kRow)->signal = 1;
  Dp__Instruction *last = host.Finish("other");
  host.w->program->events = 1;
  Append(host.small.arena, &last->n_waits, &last->waits, 0u);
  std::string message, rule = host.small.Verify(&message);
  ExpectConflict(rule, message, "stream s, instruction 2", "stream other, instruction 0");
}

// A rendezvous between the two would be enough. No plan needs one, and the rule is simpler without it.
TEST(Host, OneWriterWhateverIsBetween) {
  HostPlan host;
  host.Give("x", 4 * kRow);
  host.w->Tensor("all", "x", "R", DP__SPACE__TRANSIENT, 3072);
  host.w->AddOver("a", "s", "dp.AllGather", "x", "all");
  host.Finish();
  std::string message, rule = host.small.Verify(&message);
  ExpectConflict(rule, message, "stream s, instruction 2", "stream s, instruction 4");
}

TEST(Host, TheSameValueTwice) {
  HostPlan host;
  host.Finish();
  host.Finish();
  std::string message, rule = host.small.Verify(&message);
  ExpectConflict(rule, message, "stream s, instruction 2", "stream s, instruction 3");
}

// ---- between stages -------------------------------------------------------------------------------------------------

// Stage 0 writes h over bytes of the scores, which stage 1 writes. It does so before or after it sends what they are
// computed from.
TEST(Host, NoTwoStagesWriteTheSameBytes) {
  for (int data : {1, 2})
    for (std::string stream : {"compute", "send"}) {
      PipePlan pipe(1, data);
      ProgramWriter &w = pipe.Writer(0, "infer");
      for (int s : {0, 1})
        for (size_t i = 0; i < pipe.plan->roles[s]->n_arenas; i++)
          if (pipe.plan->roles[s]->arenas[i]->space == DP__SPACE__HOST_OUTPUT)
            pipe.plan->roles[s]->arenas[i]->bytes = 320;
      w.Tensor("h@host", "h", data > 1 ? "R,R" : "R", DP__SPACE__HOST_OUTPUT, 64);  // the scores are at [0, 96)
      w.Add(stream, "dp.Gather", "", {"h"}, {"h@host"});
      std::string message, rule = pipe.Verify(&message);
      ExpectConflict(rule, message, "stream " + stream + ", instruction " + (stream == "send" ? "1" : "2"),
                     "stream copy, instruction 0");
      for (const char *role : {"role stage0, ", "role stage1, "})
        EXPECT_NE(message.find(role), std::string::npos) << message;
      w.At("h@host")->offset = 128;
      EXPECT_EQ(pipe.Verify(&message), "") << message;
    }
}

}  // namespace
