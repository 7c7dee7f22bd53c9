// Pipelines with randomly damaged communication. What the checker accepts runs. What only has the form of a plan
// (dp_plan_form_check) is loaded without the checker, and either runs or is refused. Nothing reads outside the plan's
// tables, and no step waits forever.
#include <gtest/gtest.h>

#include <random>

#include "backends/cpu/target.h"
#include "backends/null/backend.h"
#include "ir/plan/form.h"
#include "tests/runtime/runtime_helper.h"
#include "tests/runtime/stage_plan.h"

namespace {

using namespace dp_test;

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  void Make(StagePlan *stages) {
    Dp__Program *program = stages->Train(static_cast<int>(Below(2)));
    Dp__Stream *stream = program->streams[Below(program->n_streams)];
    Dp__Instruction *in = stream->instructions[Below(stream->n_instructions)];
    if (*in->kernel) {
      if (in->n_waits) in->waits[Below(in->n_waits)] = Number(program->events);
      return;
    }
    Dp__Communication *c = in->communication;
    switch (Below(10)) {
      case 0:
        if (in->n_inputs) in->inputs[Below(in->n_inputs)] = Number(program->n_tensors + 1);
        return;
      case 1:
        in->outputs[0] = Number(program->n_tensors + 1);
        return;
      case 2:
        if (in->n_waits) in->waits[Below(in->n_waits)] = Number(program->events);
        return;
      case 3:
        in->signal = Number(program->events + 1);
        return;
      case 4:
        if (c) c->channel = Number(6);
        return;
      case 5:
        if (c && c->n_axes) c->axes[0] = Number(stages->plan->n_mesh);
        return;
      case 6:
        if (c && c->n_peer) DamagePeer(stages, c);
        return;
      case 7:
        DamageMicro(stages, program);
        return;
      case 8:
        std::swap(stream->instructions[Below(stream->n_instructions)],
                  stream->instructions[Below(stream->n_instructions)]);
        return;
      default:
        DamageRole(stages);
    }
  }

 private:
  size_t Below(size_t count) { return random_() % count; }
  // Mostly one of `count`, sometimes the next or any other.
  uint32_t Number(size_t count) {
    size_t odd = Below(20);
    return static_cast<uint32_t>(odd == 0 ? random_() : odd == 1 ? count : Below(count + !count));
  }
  void DamagePeer(StagePlan *stages, Dp__Communication *c) {
    const int64_t numbers[] = {0, 1, -1, 2, 3, INT64_MAX, INT64_MIN};
    c->peer[0]->axis = Number(stages->plan->n_mesh);
    (Below(2) ? c->peer[0]->scale : c->peer[0]->offset) = numbers[Below(7)];
    if (!Below(4)) c->n_peer = 0;
  }
  void DamageMicro(StagePlan *stages, Dp__Program *program) {
    Dp__DeviceTensor *t = program->tensors[Below(program->n_tensors)];
    if (t->micro && !Below(4)) t->micro = nullptr;
    if (!t->micro) return;
    t->micro->first = Number(static_cast<size_t>(stages->plan->mesh[0]->size));
    t->micro->count = Number(static_cast<size_t>(stages->plan->mesh[0]->size) + 1);
  }
  void DamageRole(StagePlan *stages) {
    Dp__AxisRange *range = stages->plan->roles[Below(2)]->devices[Below(stages->plan->n_mesh)];
    range->first = static_cast<int64_t>(Below(3));
    range->count = static_cast<int64_t>(Below(3));
  }

  std::mt19937 random_;
};

std::string RunOn(const dp_backend *backend, const StagePlan &stages, bool unchecked) {
  dp_session_options options = {};
  options.workers = 2;
  options.unchecked = unchecked;
  Session session(stages.plan, options, backend);
  if (!session.error.empty()) return session.error;
  session.Feed("train", "x", Samples(8 * StagePlan::kIn, 0));
  session.Feed("train", "label", Labels(8, StagePlan::kClasses, 0));
  return session.Run("train", 8);
}

TEST(Hostile, DamagedCommunicationRunsOrIsRefused) {
  dp_backend null = dp_backend_null(&dp_target_cpu);
  int formed = 0, passed = 0, ran = 0, refused = 0;
  for (unsigned seed = 0; seed < 600; seed++) {
    SCOPED_TRACE(seed);
    StagePlan stages(1 + seed % 3, 1 + seed % 2, seed % 5 != 0);
    Damage damage(seed);
    for (unsigned k = 0; k <= seed % 2; k++) damage.Make(&stages);
    if (!Message(dp_plan_form_check(stages.plan, nullptr)).empty()) continue;
    formed++;
    if (stages.Verify().empty()) {
      passed++;
      ASSERT_EQ(RunOn(&dp_backend_cpu, stages, false), "");
      continue;
    }
    std::string failure = RunOn(&null, stages, true);
    (failure.empty() ? ran : refused)++;
    ASSERT_TRUE(failure.empty() || failure.substr(0, 4) == "65: ") << failure;
  }
  printf("of 600: %d have the form of plans, %d pass the checker and ran, %d others ran, %d were refused\n", formed,
         passed, ran, refused);
  EXPECT_GT(passed, 50);
  EXPECT_GT(refused, 150);
}

}  // namespace
