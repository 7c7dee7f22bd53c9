// What a plan claims about itself as a whole. Each claim that the runtime relies on is made false, by name, in a plan
// that is valid otherwise.
#include <gtest/gtest.h>

#include <functional>

#include "tests/ir/verify/hand_plan.h"
#include "tests/ir/verify/pipe_plan.h"

namespace {

using dp_test::HandPlan;
using dp_test::PipePlan;

struct Lie {
  const char *name, *rule, *words;  // of the message
  std::function<void(HandPlan &)> tell;
};
void PrintTo(const Lie &lie, std::ostream *out) { *out << lie.name; }

Dp__Node *Node(HandPlan &h) { return h.plan->graphs[0]->nodes[0]; }

// An input of the logical graph that nothing binds.
void AddInput(HandPlan &h) {
  Dp__Graph *graph = h.plan->graphs[0];
  Dp__Value *value = static_cast<Dp__Value *>(dp_memdup(h.arena, graph->values[0], sizeof *value));
  value->name = dp_strdup(h.arena, "unbound");
  dp_test::Append(h.arena, &graph->n_values, &graph->values, value);
}

const Lie kLies[] = {
    {"unbound_input", "MEANING.INPUT", "takes 'unbound', and no role has a place for it", AddInput},
    {"no_batch", "FORM.LIMIT", "a batch of 0", [](HandPlan &h) { h.plan->batch = 0; }},
    {"alignment_1", "FORM.ALIGN", "kernels rely on at least 64",
     [](HandPlan &h) { h.ArenaOf(DP__SPACE__TRANSIENT)->alignment = 1; }},
    {"alignment_32", "FORM.ALIGN", "kernels rely on at least 64",
     [](HandPlan &h) { h.ArenaOf(DP__SPACE__PERSISTENT)->alignment = 32; }},
    {"larger_arena", "PLAN.CLAIM", "the transient arena has",
     [](HandPlan &h) { h.ArenaOf(DP__SPACE__TRANSIENT)->bytes += 64; }},
    {"larger_host_arena", "PLAN.CLAIM", "the host output arena has",
     [](HandPlan &h) { h.ArenaOf(DP__SPACE__HOST_OUTPUT)->bytes += 1 << 20; }},
    {"negative_rate", "PLAN.CLAIM", "may not be negative", [](HandPlan &h) { h.plan->schedule->lr = -0.1; }},
    {"no_schedule", "PLAN.CLAIM", "no schedule gives one", [](HandPlan &h) { h.plan->schedule = nullptr; }},
    {"no_kind_of_schedule", "PLAN.CLAIM", "no schedule gives one",
     [](HandPlan &h) { h.plan->schedule->kind = dp_strdup(h.arena, ""); }},
    {"classes", "PROGRAM.OUTPUTS", "though the loss has classes", [](HandPlan &h) { h.plan->classes = 1; }},
    {"precision", "PLAN.CLAIM", "its precision is float64", [](HandPlan &h) { h.plan->precision = DP_FLOAT64; }},
    {"threads", "PLAN.CLAIM", "the most that one has is 1", [](HandPlan &h) { h.plan->target->threads = 8; }},
    {"graph_of_another_name", "PLAN.CLAIM", "it must have the one of its own name",
     [](HandPlan &h) { h.plan->graphs[0]->name = dp_strdup(h.arena, "other"); }},
    {"graph_of_nothing", "PLAN.CLAIM", "4 logical graphs for 3 programs",
     [](HandPlan &h) {
       Dp__Graph *graph = static_cast<Dp__Graph *>(dp_memdup(h.arena, h.plan->graphs[1], sizeof *graph));
       graph->name = dp_strdup(h.arena, "other");
       dp_test::Append(h.arena, &h.plan->n_graphs, &h.plan->graphs, graph);
     }},
    {"wish_for_a_device", "PLAN.CLAIM", "of no use in a plan", [](HandPlan &h) { Node(h)->device = 2; }},
    {"wish_for_a_stage", "PLAN.CLAIM", "of no use in a plan", [](HandPlan &h) { Node(h)->stage = 1; }},
    {"reserved_name", "FORM.GRAPH", "weights files",
     [](HandPlan &h) { h.plan->variables[0]->name = dp_strdup(h.arena, "__metadata__"); }},
    {"name_of_the_compilers_own", "FORM.GRAPH", "names that begin with 'dp.'",
     [](HandPlan &h) { h.plan->variables[0]->name = dp_strdup(h.arena, "dp.w"); }},
    // The runtime would write eight bytes there, whatever the input has.
    {"input_with_the_name_of_a_scalar", "FORM.GRAPH", "a scalar that the runtime provides",
     [](HandPlan &h) { h.plan->graphs[0]->values[0]->name = dp_strdup(h.arena, "dp.step"); }},
};

class Claims : public testing::TestWithParam<Lie> {};

TEST_P(Claims, AreHeldAgainstThePrograms) {
  HandPlan hand;
  ASSERT_EQ(hand.Verify(), "");
  GetParam().tell(hand);
  std::string message;
  EXPECT_EQ(hand.Verify(&message), GetParam().rule) << message;
  EXPECT_NE(message.find(GetParam().words), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(, Claims, testing::ValuesIn(kLies), [](const auto &i) { return std::string(i.param.name); });

// Each stage has its own arenas; all share the host's.
TEST(StagesClaims, EachStageHasArenasOfItsOwn) {
  PipePlan plan;
  std::string message;
  ASSERT_EQ(plan.Verify(&message), "") << message;
  Dp__Role *role = plan.plan->roles[1];
  for (size_t a = 0; a < role->n_arenas; a++)
    if (role->arenas[a]->space == DP__SPACE__TRANSIENT) role->arenas[a]->bytes += 128;
  EXPECT_EQ(plan.Verify(&message), "PLAN.CLAIM");
  EXPECT_NE(message.find("role stage1: the transient arena"), std::string::npos) << message;
}

}  // namespace
