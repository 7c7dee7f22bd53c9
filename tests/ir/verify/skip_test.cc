// Data that nodes refuse (ir/graph/refusal.h): a plan that is valid otherwise is rejected if an update is not skipped
// for all of it, or if nothing computes a node that reports it.
#include <gtest/gtest.h>

#include <functional>

#include "tests/ir/verify/hand_plan.h"

namespace {

using dp_test::Append;
using dp_test::HandPlan;

struct Change {
  const char *name, *rule, *words;  // of the message
  std::function<void(HandPlan &)> make;
};
void PrintTo(const Change &change, std::ostream *out) { *out << change.name; }

Dp__Graph *Graph(HandPlan &h, const std::string &name) {
  for (size_t g = 0; g < h.plan->n_graphs; g++)
    if (h.plan->graphs[g]->name == name) return h.plan->graphs[g];
  throw std::runtime_error("no graph " + name);
}

Dp__Node *Node(HandPlan &h, const std::string &graph, const std::string &name) {
  for (size_t n = 0; n < Graph(h, graph)->n_nodes; n++)
    if (Graph(h, graph)->nodes[n]->name == name) return Graph(h, graph)->nodes[n];
  throw std::runtime_error("no node " + name);
}

uint32_t Value(HandPlan &h, const std::string &graph, const std::string &name) {
  for (uint32_t v = 0; v < Graph(h, graph)->n_values; v++)
    if (Graph(h, graph)->values[v]->name == name) return v;
  throw std::runtime_error("no value " + name);
}

// A node like `name`, in the same place of the order, whose result nobody uses and no instruction computes.
void AddTwin(HandPlan &h, const std::string &graph, const std::string &name) {
  Dp__Graph *g = Graph(h, graph);
  auto *node = static_cast<Dp__Node *>(dp_memdup(h.arena, Node(h, graph, name), sizeof(Dp__Node)));
  auto *value = static_cast<Dp__Value *>(dp_memdup(h.arena, g->values[node->outputs[0] - 1], sizeof(Dp__Value)));
  value->name = dp_strdup(h.arena, "twin");
  node->name = dp_strdup(h.arena, "twin");
  Append(h.arena, &g->n_values, &g->values, value);
  node->outputs = static_cast<uint32_t *>(dp_alloc_n(h.arena, node->n_outputs, sizeof *node->outputs));
  node->outputs[0] = static_cast<uint32_t>(g->n_values);
  node->n_outputs = 1;
  Append(h.arena, &g->n_nodes, &g->nodes, node);
}

// Adds `once=1` to a dp.CountRefused.
template <typename T>
void CountOnce(HandPlan &h, T *counts) {
  auto *once = static_cast<Dp__Attribute *>(dp_alloc(h.arena, sizeof(Dp__Attribute)));
  dp__attribute__init(once);
  once->name = dp_strdup(h.arena, "once");
  once->kind = DP_ATTR_INT;
  once->i = 1;
  Append(h.arena, &counts->n_attributes, &counts->attributes, once);
}

const Change kChanges[] = {
    {"update_cannot_be_skipped", "MEANING.SKIP", "the update of 'w' cannot be skipped",
     [](HandPlan &h) {
       Node(h, "train", "w1")->n_inputs = 4;
       h.Step("train", "compute", 5)->n_inputs = 4;
     }},
    {"skipped_by_something_else", "MEANING.SKIP", "is more than a sum of counts",
     [](HandPlan &h) {
       Node(h, "train", "w1")->inputs[6] = Value(h, "train", "count") + 1;
       h.Step("train", "compute", 5)->inputs[6] = h.Train().Index("count") + 1;
     }},
    // Both the graph and the instruction count labels of 3 or more as right.
    {"counts_fewer_than_are_refused", "MEANING.SKIP", "is not counted in 'refused'",
     [](HandPlan &h) {
       Node(h, "train", "refused")->attributes[0]->dims->dims[0]->offset = 4;
       h.Step("train", "guard", 0)->attributes[0]->dims->dims[0]->offset = 4;
     }},
    {"counts_for_one_run_alone", "MEANING.SKIP", "is not counted in 'refused'",
     [](HandPlan &h) {
       CountOnce(h, Node(h, "train", "refused"));
       CountOnce(h, h.Step("train", "guard", 0));
     }},
    {"nobody_computes_what_reports", "MEANING.UNUSED", "node 'twin' (SoftmaxCrossEntropyLoss) may refuse data",
     [](HandPlan &h) { AddTwin(h, "eval", "loss"); }},
};

class Skip : public testing::TestWithParam<Change> {};

TEST_P(Skip, IsDemanded) {
  HandPlan hand;
  ASSERT_EQ(hand.Verify(), "");
  GetParam().make(hand);
  std::string message;
  EXPECT_EQ(hand.Verify(&message), GetParam().rule) << message;
  EXPECT_NE(message.find(GetParam().words), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(, Skip, testing::ValuesIn(kChanges), [](const auto &i) { return std::string(i.param.name); });

// What refuses nothing may stand there without being computed.
TEST(SkipOfOthers, IsNotDemanded) {
  HandPlan hand;
  AddTwin(hand, "eval", "scores");
  std::string message;
  EXPECT_EQ(hand.Verify(&message), "") << message;
}

}  // namespace
