// Every device and every communication matters: with the checker off, removing any communication from the plan, or
// feeding one device NaN, shows in the losses, or in what a step with a wrong label on one device leaves.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/runtime_helper.h"

namespace {

using namespace dp_test;

constexpr int kDevices = 3, kSteps = 4, kBatch = 6;

struct Outcome {
  std::vector<double> losses, counts;
  double correct;
  bool kept;  // a wrong label was refused, and parameters stayed as they were
  bool operator==(const Outcome &other) const {
    return losses == other.losses && counts == other.counts && correct == other.correct && kept == other.kept;
  }
};

// The first device has the wrong label; parameters are read on the last.
bool KeepsParameters(Session *session) {
  const std::vector<float> before = session->Floats("fc.weight");
  std::vector<int64_t> labels = Labels(kBatch, 3, 0);
  labels[0] = 3;
  session->Feed("train", "x", Samples(kBatch * 32, 0));
  session->Feed("train", "label", labels);
  // Where labels are no longer sent, a device has what lay there before, which may be a class.
  const bool refused = !session->Run("train", kBatch).empty();
  return refused && session->Floats("fc.weight") == before;
}

Outcome Train(const Dp__Plan *plan) {
  dp_session_options options = {};
  options.unchecked = true;
  options.seed = 11;
  Session session(plan, options);
  if (!session.error.empty()) throw std::runtime_error(session.error);
  Outcome outcome = {};
  try {
    outcome.losses = TrainNetwork(&session, kSteps, kBatch, &outcome.counts);
  } catch (const std::runtime_error &) {  // labels that were never sent are refused
    return outcome;
  }
  outcome.correct = session.Number("eval", "correct");
  outcome.kept = KeepsParameters(&session);
  return outcome;
}

// A communication that does not move one of its operands, while keeping its order: the result keeps its old content.
class Removal {
 public:
  Removal(dp_arena *arena, Dp__Instruction *in, size_t k) : in_(in), was_(*in) {
    auto copy = [&](const uint32_t *list) {
      return static_cast<uint32_t *>(dp_memdup(arena, list, in->n_inputs * sizeof *list));
    };
    if (in->n_inputs == 1) {
      in->inputs = copy(in->outputs);
      axes_ = in->communication->n_axes;
      in->communication->n_axes = 0;
      return;
    }
    in->inputs = copy(in->inputs);
    in->outputs = copy(in->outputs);
    in->n_inputs = --in->n_outputs;
    for (size_t i = k; i < in->n_inputs; i++) {
      in->inputs[i] = in->inputs[i + 1];
      in->outputs[i] = in->outputs[i + 1];
    }
  }
  Removal(const Removal &) = delete;
  Removal &operator=(const Removal &) = delete;
  ~Removal() {
    *in_ = was_;
    if (in_->n_inputs == 1) in_->communication->n_axes = axes_;
  }

 private:
  Dp__Instruction *in_;
  Dp__Instruction was_;
  size_t axes_ = 0;
};

TEST(Damage, EveryCommunicationCounts) {
  CompiledPlan compiled(kNetwork, "batch=6 strategy=data devices=3");
  Outcome whole = Train(compiled.plan);
  ASSERT_EQ(whole.losses.size(), size_t(kSteps + 1));
  ASSERT_TRUE(whole.kept);
  ASSERT_EQ(Train(compiled.plan), whole);
  int removed = 0;
  for (const char *name : {"train", "eval"}) {
    Dp__Program *program = compiled.Program(name);
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
        Dp__Instruction *in = program->streams[s]->instructions[i];
        if (*in->kernel) continue;
        for (size_t k = 0; k < in->n_inputs; k++) {
          Arena arena;
          Removal removal(arena, in, k);
          EXPECT_FALSE(Train(compiled.plan) == whole) << name << " " << in->op << " " << i << " operand " << k;
          removed++;
        }
      }
  }
  EXPECT_GT(removed, 20);
}

TEST(Damage, EveryDeviceCounts) {
  CompiledPlan compiled(kNetwork, "batch=6 strategy=data devices=3");
  for (int device = 0; device < kDevices; device++) {
    Session session(compiled.plan);
    ASSERT_EQ(session.error, "");
    std::vector<float> samples = Samples(kBatch * 32, 0);
    samples[static_cast<size_t>(device) * 64 + 5] = NAN;
    session.Feed("train", "x", samples);
    session.Feed("train", "label", Labels(kBatch, 3, 0));
    ASSERT_EQ(session.Run("train", kBatch), "");
    EXPECT_TRUE(std::isnan(session.Number("train", "loss"))) << "device " << device;
    for (float w : session.Floats("fc.weight")) EXPECT_TRUE(std::isnan(w));
  }
}

}  // namespace
