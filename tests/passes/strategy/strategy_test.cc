// Strategies as data: the list, the choice among them, and a strategy that is in no list. Passes know only what a
// strategy's struct says, so a new one needs only a struct and a line.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "ir/graph/op.h"
#include "ir/verify/verify.h"
#include "passes/pipeline.h"
#include "passes/strategy/table.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {
namespace {

const char kModel[] = R"dpt(model m {
  loss "mse(y,target)"
  optimizer "sgd(lr=0.1,momentum=0.9)"
  input x: float32[N,4]
  parameter w: float32[6,4] = kaiming_uniform()
  parameter v: float32[3,6] = kaiming_uniform()
  parameter b: float32[3] = zeros
  h = Gemm(x, w) {transB=1}
  a = Tanh(h)
  y = Gemm(a, v, b) {transB=1}
  output y
})dpt";

TEST(Strategies, AreWellFormed) {
  std::set<std::string> names;
  for (const dp_strategy *const *p = dp_strategies; *p; p++) {
    const dp_strategy &s = **p;
    SCOPED_TRACE(s.name);
    EXPECT_TRUE(names.insert(s.name).second);
    EXPECT_TRUE(s.what && *s.what);
    EXPECT_TRUE(s.planned || !s.several || dp_strategies[0] == &s) << "the first is for one device";
    EXPECT_TRUE(!s.implied || s.axis) << "an axis implies it";
    ASSERT_LE(s.n_zero_stages, int(DP_STRATEGY_MAX_ZERO_STAGES));
    for (int i = 0; i < s.n_zero_stages; i++) {
      EXPECT_TRUE(s.zero_stages[i].splits);
      EXPECT_FALSE(s.zero_stages[i].gathers_again & ~s.zero_stages[i].splits) << "it gathers what it does not split";
    }
    dp_options options{};
    const dp_strategy *found = nullptr;
    options.strategy = s.name;
    EXPECT_EQ(Message(dp_strategy_choose(&options, &found)),
              s.planned ? "--strategy=" + std::string(s.name) + " is not implemented yet" : "");
    EXPECT_EQ(found, &s);
  }
}

TEST(Strategies, TheMeshImpliesOne) {
  auto chosen = [](const std::string &words) -> std::string {
    Options options;
    options.Set(words);
    const dp_strategy *found = nullptr;
    std::string message = Message(dp_strategy_choose(&options.options, &found));
    return message.empty() ? found->name : message;
  };
  EXPECT_EQ(chosen(""), "single");
  EXPECT_EQ(chosen("devices=4"), "single");
  EXPECT_EQ(chosen("mesh=data:1"), "single");
  EXPECT_EQ(chosen("mesh=mine:4"), "single");
  EXPECT_EQ(chosen("mesh=tensor:2"), "tensor");
  EXPECT_EQ(chosen("mesh=tensor:2,pipe:2"), "pipeline");
  EXPECT_EQ(chosen("mesh=tensor:2,pipe:2,data:2"), "data");
  EXPECT_EQ(chosen("mesh=data:2 strategy=zero"), "zero");
}

// ---- a strategy outside the list ------------------------------------------------------------------------------------

// Splits parameters and their state along their first dim.
dp_status Annotate(dp_compile *compile) {
  dp_model *model = compile->model;
  const int axis = dp_mesh_find(&model->mesh, compile->strategy->axis);
  for (int32_t i = 0; i < model->n_variables; i++) {
    dp_variable *p = &model->variables[i];
    if (p->kind == DP_PARAMETER || p->kind == DP_STATE) {
      auto *constraint = static_cast<dp_constraint *>(dp_alloc(model->arena, sizeof(dp_constraint)));
      *constraint = {model->mesh.axes[axis].name, dp_shard(0)};
      p->constraints = constraint;
      p->n_constraints = 1;
    }
  }
  return DP_OK;
}

dp_strategy Toy(const char *axis) {
  dp_strategy s{};
  s.name = "toy";
  s.what = "all that can be is split";
  s.axis = axis;
  s.splits_samples = s.finds_stages = true;
  s.n_zero_stages = 1;
  s.zero_stages[0].splits = DP_SHARES_PARAMETERS | DP_SHARES_STATE;
  s.annotate = Annotate;
  return s;
}

class OfOnesOwn : public testing::Test {
 protected:
  // The plan that the strategy makes; the checker accepts it.
  const Dp__Plan *Compile(const dp_strategy &strategy, const std::string &words) {
    options_.Set("threads=1 " + words);
    call_.compile = {nullptr, &options_.options, 0, false, nullptr, &strategy};
    EXPECT_EQ(Parse(arena_, kModel, &call_.compile.model), "");
    EXPECT_EQ(Message(dp_arena_run(arena_, RunAll, &call_)), "");
    if (!call_.compile.plan) return nullptr;
    EXPECT_EQ(Message(dp_verify_plan(call_.compile.plan, nullptr)), "");
    return call_.compile.plan;
  }

  static size_t Count(const Dp__Plan *plan, const char *program, const char *op) {
    size_t count = 0;
    for (size_t p = 0; p < plan->roles[0]->n_programs; p++) {
      const Dp__Program *of = plan->roles[0]->programs[p];
      if (strcmp(of->name, program)) continue;
      for (size_t s = 0; s < of->n_streams; s++)
        for (size_t i = 0; i < of->streams[s]->n_instructions; i++)
          count += !strcmp(of->streams[s]->instructions[i]->op, op);
    }
    return count;
  }

 private:
  struct Call {
    dp_compile compile;
  };
  static dp_status RunAll(void *arg) {
    auto *call = static_cast<Call *>(arg);
    for (const dp_pass *const *p = dp_pipeline_passes(); *p; p++) DP_TRY(dp_pipeline_run_pass(&call->compile, *p));
    return DP_OK;
  }

  Arena arena_;
  Options options_;
  Call call_{};
};

// --devices makes its axis, its annotations are applied, and the plan records its name.
TEST_F(OfOnesOwn, NothingElseKnowsIt) {
  const dp_strategy toy = Toy("shelf");
  const Dp__Plan *plan = Compile(toy, "batch=6 devices=3");
  ASSERT_TRUE(plan);
  EXPECT_STREQ(plan->strategy, "toy");
  ASSERT_EQ(plan->n_mesh, 1u);
  EXPECT_STREQ(plan->mesh[0]->name, "shelf");
  EXPECT_EQ(plan->mesh[0]->size, 3);
  size_t split = 0;
  for (size_t i = 0; i < plan->n_variables; i++) split += plan->variables[i]->placements[0]->kind == DP_SHARD;
  EXPECT_EQ(split, 6u) << "w, v, b and their momentum";
}

// Each user gathers it again.
TEST_F(OfOnesOwn, GathersAsItsStructSays) {
  dp_strategy once = Toy("data"), again = Toy("data");
  again.zero_stages[0].gathers_again = DP_SHARES_PARAMETERS;
  const Dp__Plan *a = Compile(once, "batch=6 devices=3");
  ASSERT_TRUE(a);
  const size_t gathered = Count(a, "train", "AllGather");
  const Dp__Plan *b = Compile(again, "");
  ASSERT_TRUE(b);
  EXPECT_GT(Count(b, "train", "AllGather"), gathered);
}

// Samples are split where the struct says so, on axis `data`.
TEST_F(OfOnesOwn, SplitsSamplesAsItsStructSays) {
  dp_strategy toy = Toy("data");
  const Dp__Plan *plan = Compile(toy, "batch=6 devices=3");
  ASSERT_TRUE(plan);
  EXPECT_GT(Count(plan, "train", "Scatter"), 0u);
  toy.splits_samples = false;
  plan = Compile(toy, "");
  ASSERT_TRUE(plan);
  EXPECT_EQ(Count(plan, "train", "Scatter"), 0u);
  EXPECT_GT(Count(plan, "train", "Broadcast"), 0u);
}

// For one device only: more are refused, and the message names the replacement.
TEST_F(OfOnesOwn, ForOneDevice) {
  Arena arena;
  Options options;
  options.Set("batch=6 devices=3");
  dp_strategy toy = Toy("shelf");
  toy.several = &dp_strategy_tensor;
  dp_compile compile = {nullptr, &options.options, 0, false, nullptr, &toy};
  ASSERT_EQ(Parse(arena, kModel, &compile.model), "");
  EXPECT_EQ(Message(dp_pipeline_run_pass(&compile, dp_pipeline_find("options"))),
            "3 devices, but --strategy=toy (the default) is for one; use --strategy=tensor");
}

}  // namespace
}  // namespace dp_test
