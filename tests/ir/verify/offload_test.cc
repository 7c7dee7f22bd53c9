// What is offloaded: the rules for moves between a device and its own memory of the host, and for variables that are
// stored there, each broken alone.
#include <gtest/gtest.h>

#include "tests/end_to_end/digit_models.h"
#include "tests/ir/verify/damaged.h"

namespace dp_test {
namespace {

const char kOptions[] = "batch=6 precision=fp64 strategy=data devices=2 offload-bytes=1 no-fuse=yes offload=";

// The nth instruction of train with that operator.
Dp__Instruction *Find(Dp__Plan *plan, const std::string &op, size_t nth = 0) {
  Dp__Program *train = Train(plan);
  for (size_t s = 0; s < train->n_streams; s++)
    for (size_t i = 0; i < train->streams[s]->n_instructions; i++)
      if (op == train->streams[s]->instructions[i]->op && !nth--) return train->streams[s]->instructions[i];
  throw std::runtime_error("no " + op);
}

Dp__DeviceTensor *From(Dp__Plan *plan, const std::string &op, size_t nth = 0) {
  return Train(plan)->tensors[Find(plan, op, nth)->inputs[0] - 1];
}

Dp__DeviceTensor *To(Dp__Plan *plan, const std::string &op, size_t nth = 0) {
  return Train(plan)->tensors[Find(plan, op, nth)->outputs[0] - 1];
}

Dp__Variable *State(Dp__Plan *plan, size_t nth = 0) {
  for (size_t i = 0; i < plan->n_variables; i++)
    if (plan->variables[i]->offloaded && !nth--) return plan->variables[i];
  throw std::runtime_error("no state on the host");
}

Verdict Check(const char *offload, const std::function<void(Dp__Plan *)> &damage) {
  return CheckDamaged(kCnn, kOptions + std::string(offload), damage);
}

TEST(Offload, GoodPlansHold) {
  for (const char *offload : {"optimizer", "activations", "optimizer,activations"})
    EXPECT_EQ(Check(offload, [](Dp__Plan *) {}).message, "") << offload;
}

TEST(Offload, MovesBetweenADeviceAndItsOwnMemory) {
  const auto into = [](const char *op, Dp__Space space) { return [=](Dp__Plan *p) { ToEnd(p, To(p, op), space); }; };
  for (const Verdict &v : {Check("activations", into("Offload", DP__SPACE__TRANSIENT)),
                           Check("activations", into("Fetch", DP__SPACE__OFFLOAD)),
                           Check("activations", into("Fetch", DP__SPACE__HOST_OUTPUT)),
                           Check("activations", into("Offload", DP__SPACE__HOST_OUTPUT))})
    EXPECT_EQ(v.rule, "TENSOR.SPACE") << v.message;
  const Verdict v = Check("activations", into("Offload", DP__SPACE__HOST_OUTPUT));
  EXPECT_NE(v.message.find("it goes from transient to host output memory; a device's to offload is expected"),
            std::string::npos)
      << v.message;
}

TEST(Offload, ChangesNothingButTheMemory) {
  const Verdict placed = Check("activations", [](Dp__Plan *p) {
    Dp__DeviceTensor *t = To(p, "Offload");
    t->placements[0]->kind = DP_REPLICATE;
    t->placements[0]->dim = 0;
    t->placements[0]->outer = t->placements[0]->unit = 0;
    t->bytes *= 2;
    ToEnd(p, t, DP__SPACE__OFFLOAD);
  });
  EXPECT_EQ(placed.rule, "MEANING.CONVERSION") << placed.message;
  EXPECT_NE(placed.message.find("it changes more than the memory"), std::string::npos) << placed.message;
  const Verdict other =
      Check("activations", [](Dp__Plan *p) { From(p, "Offload", 1)->value = To(p, "Offload")->value; });
  EXPECT_NE(other.rule, "") << other.message;
  static Dp__Communication talk = DP__COMMUNICATION__INIT;
  static uint32_t axis = 0;
  talk.n_axes = 1;
  talk.axes = &axis;
  const Plan plan = Compile(kCnn, std::string(kOptions) + "activations");
  Dp__Instruction *fetch = Find(plan.get(), "Fetch");
  Dp__Communication *before = fetch->communication;
  fetch->communication = &talk;
  dp_verify_report report;
  EXPECT_NE(Message(dp_verify_plan(plan.get(), &report)).find("there is no axis, reduction, channel or peer"),
            std::string::npos);
  EXPECT_STREQ(dp_rule_name(report.fault.rule), "MEANING.CONVERSION");
  fetch->communication = before;
}

// Kernels and collectives find their operands on the device.
TEST(Offload, NothingElseTouchesTheHostsMemory) {
  const Verdict v = Check("activations", [](Dp__Plan *p) {
    const uint32_t away = Find(p, "Fetch")->inputs[0], here = Find(p, "Fetch")->outputs[0];
    Dp__Program *train = Train(p);
    for (size_t s = 0; s < train->n_streams; s++)
      for (size_t i = 0; i < train->streams[s]->n_instructions; i++) {
        Dp__Instruction *in = train->streams[s]->instructions[i];
        for (size_t k = 0; k < in->n_inputs; k++)
          if (in->inputs[k] == here) in->inputs[k] = away;
      }
  });
  EXPECT_EQ(v.rule, "TENSOR.SPACE") << v.message;
}

TEST(Offload, WaitsForWhatItMoves) {
  const auto wait_for_nothing = [](const char *op) {
    return [=](Dp__Plan *p) {
      for (size_t n = 0;; n++) {
        Dp__Instruction *in = Find(p, op, n);
        if (!in->n_waits) continue;
        in->n_waits = 0;
        return;
      }
    };
  };
  EXPECT_EQ(Check("activations", wait_for_nothing("Offload")).rule, "ORDER.CONFLICT");
  EXPECT_EQ(Check("optimizer", wait_for_nothing("Offload")).rule, "ORDER.CONFLICT");
}

TEST(Offload, VariablesAreWhereThePlanSays) {
  EXPECT_EQ(Check("optimizer", [](Dp__Plan *p) { State(p)->offset = State(p, 1)->offset; }).rule, "MEANING.STORAGE");
  const Verdict device = Check("optimizer", [](Dp__Plan *p) {
    State(p)->offset = Room(p, DP__SPACE__PERSISTENT, State(p)->bytes);
    State(p)->offloaded = 0;
  });
  EXPECT_EQ(device.rule, "MEANING.STORAGE") << device.message;
  const Verdict host = Check("optimizer,activations", [](Dp__Plan *p) {
    Dp__Variable *weight = p->variables[0];
    weight->offloaded = 1;
    weight->offset = Room(p, DP__SPACE__OFFLOAD, weight->bytes);
  });
  EXPECT_EQ(host.rule, "MEANING.STORAGE") << host.message;
}

// What is there for a while may not lie on what stays.
TEST(Offload, StateKeepsItsBytes) {
  const Verdict v = Check("optimizer,activations", [](Dp__Plan *p) {
    for (size_t n = 0;; n++) {
      Dp__DeviceTensor *t = To(p, "Offload", n);
      if (t->version) continue;
      t->offset = State(p)->offset;
      return;
    }
  });
  EXPECT_TRUE(v.rule == "MEANING.STORAGE" || v.rule == "ORDER.CONFLICT" || v.rule == "MEANING.UNDEFINED" ||
              v.rule == "MEANING.CONTENT")
      << v.message;
}

TEST(Offload, ThePlanSaysSo) {
  const Verdict v = Check("optimizer", [](Dp__Plan *p) { strcpy(p->options->offload, "none"); });
  EXPECT_EQ(v.rule, "FORM.OPTIONS") << v.message;
  const Verdict word = Check("optimizer", [](Dp__Plan *p) { p->options->offload[0] = 'x'; });
  EXPECT_EQ(word.rule, "FORM.OPTIONS") << word.message;
  EXPECT_EQ(Check("optimizer", [](Dp__Plan *p) { ArenaOf(p, DP__SPACE__OFFLOAD)->bytes += 4096; }).rule, "PLAN.CLAIM");
}

}  // namespace
}  // namespace dp_test
