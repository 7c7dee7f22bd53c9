// Tests the gradient of every differentiable operator against central differences, in float64.
//
// The loss is sum(w * result) with fixed random weights w, for each result alone and for all together: the gradient
// nodes are built from dy = w and run, and each element of each operand is moved by +-h. An operand without a gradient
// must not change the loss.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/target.h"
#include "ir/graph/builder.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

const double kStep = 1e-6, kTolerance = 2e-8;

// Operands without a gradient on purpose, as in PyTorch: a loss's class weights have none, and the batch statistics
// that training yields beside y are not learned from.
bool Exempt(const Case &c, int operand, int result) {
  std::string name = c.op->name;
  return (name == "SoftmaxCrossEntropyLoss" && operand == 2) ||
         ((name == "BatchNormalization" || name == "GroupedBatchNormalization") && result > 0);
}

class Gradient : public testing::TestWithParam<Case> {
 protected:
  // The weighted sum of the results that have weights.
  double Loss(const Built &built, const std::map<std::string, Tensor> &bindings, const std::vector<Tensor> &weights) {
    std::vector<Tensor> values;
    EXPECT_EQ(RunGraph(dp_target_cpu, forward_, built.n, bindings, &values), "");
    double loss = 0;
    for (int r = 0; r < built.node->n_outputs; r++)
      for (int64_t i = 0; weights[size_t(r)].dtype && i < weights[size_t(r)].Count(); i++)
        loss += weights[size_t(r)].Get(i) * values[size_t(built.node->outputs[r]->id)].Get(i);
    return loss;
  }

  void Check(const Case &c, int only);

  const dp_graph *forward_ = nullptr;
};

void Gradient::Check(const Case &c, int only) {
  SCOPED_TRACE(only < 0 ? "all results" : "result " + std::to_string(only));
  Built forward(c), built(c);
  ASSERT_EQ(built.error, "");
  forward_ = forward.graph;
  std::map<std::string, Tensor> bindings;
  for (size_t i = 0; i < built.operands.size(); i++)
    if (built.operands[i])
      bindings[built.operands[i]->name] = DrawOperand(c, int(i), *built.operands[i]->type, built.n);
  std::map<std::string, Tensor> moved = bindings;

  std::vector<Tensor> weights(size_t(built.node->n_outputs));
  std::vector<dp_value *> dy(size_t(built.node->n_outputs)), dx(size_t(built.node->n_inputs) + 1);
  for (int r = 0; r < built.node->n_outputs; r++) {
    dp_type type = *built.node->outputs[r]->type;
    if (!dp_type_is_float(type.dtype) || Exempt(c, -1, r) || (only >= 0 && r != only)) continue;
    std::string name = "dy" + std::to_string(r);
    weights[size_t(r)] = DrawNumbers(c, name, type, built.n);
    dy[size_t(r)] = dp_graph_add_value(built.graph, DP_VALUE_INPUT, name.c_str(), type);
    bindings[name] = weights[size_t(r)];
  }
  // A requested number of samples is n.
  dp_type scalar{DP_INT64, {}};
  bindings[DP_SCALAR_N] = MakeWhole(scalar, 0);
  bindings[DP_SCALAR_N].Set(0, double(built.n));
  dp_builder builder{built.graph, DP_OK, "gradient"};
  c.op->gradient(&builder, built.node, dy.data(), dx.data());
  ASSERT_EQ(std::string(dp_status_message(builder.status)), "");
  dp_status verified = dp_graph_verify(built.graph);
  ASSERT_EQ(std::string(dp_status_message(verified)), "");
  std::vector<Tensor> values;
  ASSERT_EQ(RunGraph(dp_target_cpu, built.graph, built.n, bindings, &values), "");

  for (int i = 0; i < built.node->n_inputs; i++) {
    const dp_value *x = built.node->inputs[i];
    if (!x || !dp_type_is_float(x->type->dtype) || Exempt(c, i, -1)) continue;
    const dp_value *g = dx[size_t(i)];
    if (g) {
      ASSERT_TRUE(dp_shape_equal(&g->type->shape, &x->type->shape)) << "operand " << i;
      ASSERT_EQ(g->type->dtype, x->type->dtype) << "operand " << i;
    }
    Tensor &operand = moved[x->name];
    for (int64_t k = 0; k < operand.Count(); k++) {
      double at = operand.Get(k);
      operand.Set(k, at + kStep);
      double above = Loss(forward, moved, weights);
      operand.Set(k, at - kStep);
      double below = Loss(forward, moved, weights);
      operand.Set(k, at);
      double expected = (above - below) / (2 * kStep), found = g ? values[size_t(g->id)].Get(k) : 0;
      EXPECT_NEAR(found, expected, kTolerance * (1 + std::fabs(expected))) << "operand " << i << ", element " << k;
    }
  }
}

TEST_P(Gradient, EqualsDifferences) {
  Case c = GetParam();
  int floats = 0;
  {
    Built built(c);
    ASSERT_EQ(built.error, "");
    for (int r = 0; r < built.node->n_outputs; r++)
      floats += dp_type_is_float(built.node->outputs[r]->type->dtype) && !Exempt(c, -1, r);
    for (int r = 0; r < built.node->n_outputs; r++)
      if (dp_type_is_float(built.node->outputs[r]->type->dtype) && !Exempt(c, -1, r)) Check(c, r);
  }
  if (floats > 1) Check(c, -1);
}

// ---- operands of two types ------------------------------------------------------------------------------------------

// The gradients of the case's operands, by those of its results, which like its operands are drawn for `drawn`.
void FindGradients(const Case &c, const Case &drawn, std::vector<Tensor> *gradients) {
  Built built(c), as(drawn);
  ASSERT_EQ(built.error, "");
  std::map<std::string, Tensor> bindings;
  const auto bind = [&](const std::string &name, dp_type type, const Tensor &numbers) {
    Tensor &tensor = bindings[name] = MakeWhole(type, built.n);
    for (int64_t k = 0; k < tensor.Count(); k++) tensor.Set(k, numbers.Get(k));
  };
  for (size_t i = 0; i < built.operands.size(); i++)
    bind(built.operands[i]->name, *built.operands[i]->type, DrawOperand(drawn, int(i), *as.operands[i]->type, built.n));
  std::vector<dp_value *> dy(size_t(built.node->n_outputs)), dx(size_t(built.node->n_inputs) + 1);
  const dp_type type = *built.node->outputs[0]->type;
  dy[0] = dp_graph_add_value(built.graph, DP_VALUE_INPUT, "dy", type);
  bind("dy", type, DrawNumbers(drawn, "dy", *as.node->outputs[0]->type, built.n));
  dp_builder builder{built.graph, DP_OK, "gradient"};
  c.op->gradient(&builder, built.node, dy.data(), dx.data());
  ASSERT_EQ(std::string(dp_status_message(builder.status)), "");
  std::vector<Tensor> values;
  ASSERT_EQ(RunGraph(dp_target_cpu, built.graph, built.n, bindings, &values), "");
  for (int i = 0; i < built.node->n_inputs; i++) {
    const dp_value *g = dx[size_t(i)];
    gradients->push_back(g ? values[size_t(g->id)] : Tensor());
    EXPECT_EQ(g ? g->type->dtype : DP_NO_TYPE, g ? built.operands[size_t(i)]->type->dtype : DP_NO_TYPE)
        << "operand " << i;
  }
}

// Where the first operand has 16 bits and others are float32, gradients are those of the same numbers in float32,
// rounded.
TEST(GradientOfTwoTypes, IsThatOfFloat32) {
  int compared = 0;
  for (const Case &c : AllCases(false)) {
    Built built(c);
    if (c.op->precision != DP_PRECISION_FIRST || !c.op->gradient || dp_type_bytes(built.operands[0]->type->dtype) != 2)
      continue;
    SCOPED_TRACE(c.Name());
    Case wide = c;
    wide.from = built.operands[0]->type->dtype;
    wide.to = DP_FLOAT32;
    std::vector<Tensor> expected, found;
    FindGradients(wide, c, &expected);
    FindGradients(c, c, &found);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); i++) {
      ASSERT_EQ(found[i].bytes.empty(), expected[i].bytes.empty());
      if (found[i].bytes.empty()) continue;  // it has no gradient
      ASSERT_EQ(found[i].Count(), expected[i].Count());
      for (int64_t k = 0; k < found[i].Count(); k++) {
        const double bound = i ? 1e-5 : 4e-3;
        EXPECT_NEAR(found[i].Get(k), expected[i].Get(k), bound * (0.01 + std::fabs(expected[i].Get(k))));
      }
    }
    compared++;
  }
  EXPECT_GE(compared, 4);
}

// ---- operators that others replace ----------------------------------------------------------------------------------

// Appends the gradient nodes of the whole graph, from last to first. Returns the gradients by value id.
std::vector<dp_value *> Differentiate(dp_builder *builder, std::vector<dp_value *> gradients) {
  dp_graph *graph = builder->graph;
  for (int32_t i = graph->n_nodes - 1; i >= 0; i--) {
    const dp_node *node = graph->nodes[i];
    std::vector<dp_value *> dy(size_t(node->n_outputs)), dx(size_t(node->n_inputs) + 1);
    bool reached = false;
    for (int r = 0; r < node->n_outputs; r++) {
      dy[size_t(r)] = node->outputs[r] ? gradients[size_t(node->outputs[r]->id)] : nullptr;
      reached |= dy[size_t(r)] != nullptr;
    }
    if (!reached || !node->op->gradient) continue;
    node->op->gradient(builder, node, dy.data(), dx.data());
    for (int k = 0; k < node->n_inputs; k++) {
      if (!node->inputs[k] || !dx[size_t(k)]) continue;
      dp_value *&sum = gradients[size_t(node->inputs[k]->id)];
      sum = sum ? dp_build2(builder, "Add", sum, dx[size_t(k)]) : dx[size_t(k)];
    }
  }
  return gradients;
}

class ReplacedGradient : public testing::TestWithParam<Case> {};

TEST_P(ReplacedGradient, EqualsDifferences) {
  Case c = GetParam();
  Built built(c);
  ASSERT_EQ(built.error, "");
  std::map<std::string, Tensor> bindings;
  for (size_t i = 0; i < built.operands.size(); i++)
    if (built.operands[i])
      bindings[built.operands[i]->name] = DrawOperand(c, int(i), *built.operands[i]->type, built.n);
  bindings[DP_SCALAR_N] = MakeTensor(DP_INT64, {}, {double(built.n)});
  std::vector<dp_value *> out = Replace(&built);
  ASSERT_EQ(built.error, "");
  int32_t n_forward = built.graph->n_nodes;
  std::vector<dp_value *> gradients(size_t(built.graph->n_values));
  std::vector<Tensor> weights(out.size());
  dp_builder builder{built.graph, DP_OK, "gradient"};
  for (size_t r = 0; r < out.size(); r++) {
    if (!dp_type_is_float(out[r]->type->dtype)) continue;
    std::string name = "dy" + std::to_string(r);
    bindings[name] = weights[r] = DrawNumbers(c, name, *out[r]->type, built.n);
    gradients[size_t(out[r]->id)] = dp_graph_add_value(built.graph, DP_VALUE_INPUT, name.c_str(), *out[r]->type);
  }
  gradients = Differentiate(&builder, gradients);
  ASSERT_EQ(std::string(dp_status_message(builder.status)), "");
  std::vector<Tensor> values;
  ASSERT_EQ(RunGraph(dp_target_cpu, built.graph, built.n, bindings, &values), "");
  int32_t n_all = built.graph->n_nodes;
  auto loss = [&] {
    std::vector<Tensor> moved;
    built.graph->n_nodes = n_forward;
    EXPECT_EQ(RunGraph(dp_target_cpu, built.graph, built.n, bindings, &moved), "");
    built.graph->n_nodes = n_all;
    double sum = 0;
    for (size_t r = 0; r < out.size(); r++)
      for (int64_t k = 0; weights[r].dtype && k < weights[r].Count(); k++)
        sum += weights[r].Get(k) * moved[size_t(out[r]->id)].Get(k);
    return sum;
  };
  for (const dp_value *x : built.operands) {
    if (!x || !dp_type_is_float(x->type->dtype)) continue;
    const dp_value *g = gradients[size_t(x->id)];
    Tensor &operand = bindings[x->name];
    for (int64_t k = 0; k < operand.Count(); k++) {
      double at = operand.Get(k);
      operand.Set(k, at + kStep);
      double above = loss();
      operand.Set(k, at - kStep);
      double below = loss();
      operand.Set(k, at);
      double expected = (above - below) / (2 * kStep), found = g ? values[size_t(g->id)].Get(k) : 0;
      EXPECT_NEAR(found, expected, kTolerance * (1 + std::fabs(expected))) << x->name << ", element " << k;
    }
  }
}

std::vector<Case> ReplacedCases() {
  std::vector<Case> cases;
  for (const Case &c : AllCases(true))
    if (c.float64 && IsReplaced(c.op) && !c.sample->no_gradient && !IsDrawn(c.op)) cases.push_back(c);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ops, ReplacedGradient, testing::ValuesIn(ReplacedCases()),
                         [](const testing::TestParamInfo<Case> &info) { return TestName(info.param); });

// Only operands with a true float64 gradient: a cast to a narrower float is a step function.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Case &c : AllCases(true)) {
    if (!c.float64 || !c.op->gradient || c.sample->no_gradient) continue;
    if (std::string(c.op->name) == "Cast" && std::string(c.sample->attrs) != "to=11") continue;
    cases.push_back(c);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<Case> &info) { return TestName(info.param); });

}  // namespace
}  // namespace dp_test
