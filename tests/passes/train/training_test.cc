// Whole compilations, run by the interpreter in float64. Gradients are compared with central differences, and training
// with PyTorch.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "backends/cpu/target.h"
#include "tests/passes/networks.h"

namespace dp_test {
namespace {

void CheckGradients(const Network &network) {
  Compiled compiled(network, "options..autodiff fold cse dce", "sgd()");
  ASSERT_EQ(compiled.error, "");
  const dp_graph *train = compiled.Graph("train");
  std::map<std::string, Tensor> bindings = compiled.Bind(0, 5, 0);
  std::vector<Tensor> values, moved;
  ASSERT_EQ(RunGraph(dp_target_cpu, train, 5, bindings, &values), "");
  for (const auto &[name, number] : network.parameters) {
    Tensor gradient = OutputOf(train, values, DP_GRADIENT_OUTPUT + name);
    ASSERT_EQ(gradient.Count(), bindings[name].Count()) << name;
    for (int64_t i = 0; i < gradient.Count(); i++) {
      const double step = 1e-6, at = bindings[name].Get(i);
      double loss[2];
      for (int side = 0; side < 2; side++) {
        bindings[name].Set(i, at + (side ? step : -step));
        ASSERT_EQ(RunGraph(dp_target_cpu, train, 5, bindings, &moved), "");
        loss[side] = OutputOf(train, moved, DP_LOSS_OUTPUT).Get(0);
      }
      bindings[name].Set(i, at);
      EXPECT_NEAR(gradient.Get(i), (loss[1] - loss[0]) / (2 * step), 1e-8) << name << " element " << i;
    }
  }
}

TEST(Autodiff, GradientsOfACnnAreThoseOfDifferences) { CheckGradients(Cnn()); }
TEST(Autodiff, GradientsOfSharedWeightsAreThoseOfDifferences) { CheckGradients(Shared()); }

// Weights that ten products of N rows use, one of them transposed, and one of one row; others that three use after a
// Transpose, which an exporter left there.
Network Recurrent() {
  std::string text = R"dpt(model recurrent {
  loss "mse(y,target)"
  parameter in: float32[4,24] = zeros
  parameter w: float32[24,24] = zeros
  parameter v: float32[32,24] = zeros
  parameter out: float32[32,4] = zeros
  input x: float32[N,4]
  h0 = MatMul(x, in)
  turned = Transpose(v) {perm=[1,0]}
)dpt";
  for (int i = 0; i < 9; i++) {
    const std::string h = "h" + std::to_string(i), p = "p" + std::to_string(i);
    text += "  " + p + " = MatMul(" + h + ", w)\n  h" + std::to_string(i + 1) + " = Tanh(" + p + ")\n";
  }
  text += R"dpt(  q = Gemm(h9, w) {transB=1}
  mean = ReduceMean(q) {axes=[0], keepdims=1}
  row = MatMul(mean, w)
  s = Add(q, row)
  a = MatMul(s, turned)
  b = MatMul(h9, turned)
  c = Gemm(h4, turned)
  ab = Mul(a, b)
  abc = Add(ab, c)
  t = Tanh(abc)
  y = MatMul(t, out)
  output y
})dpt";
  return {text, {{"in", 1}, {"w", 2}, {"v", 3}, {"out", 4}}, false};
}

int CountProducts(const dp_graph *graph, bool trans_a) {
  int count = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    count +=
        std::string(graph->nodes[i]->op->name) == "Gemm" && (dp_node_int(graph->nodes[i], "transA", 0) != 0) == trans_a;
  return count;
}

TEST(Autodiff, GradientsOfRecurrentWeightsAreThoseOfDifferences) { CheckGradients(Recurrent()); }

TEST(Autodiff, RowsOfSharedWeightsAreOneProduct) {
  Compiled compiled(Recurrent(), "options..autodiff fold cse dce", "sgd()");
  ASSERT_EQ(compiled.error, "");
  const dp_graph *train = compiled.Graph("train");
  // One for each parameter, and one for the row; no matrix is transposed on the way back.
  EXPECT_EQ(CountProducts(train, true), 5);
  int transposes = 0;
  for (int32_t i = 0; i < train->n_nodes; i++) transposes += std::string(train->nodes[i]->op->name) == "Transpose";
  EXPECT_EQ(transposes, 1);
}

// ---- training -------------------------------------------------------------------------------------------------------

struct Reference {
  std::string network, optimizer;
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> values;
  double eval_loss = 0, eval_correct = 0;
};

std::vector<Reference> ReadReferences() {
  std::vector<Reference> references;
  std::ifstream in("tests/passes/train/references.txt");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key, name;
    words >> key;
    if (key == "case") {
      references.emplace_back();
      words >> references.back().network >> references.back().optimizer;
      continue;
    }
    Reference &r = references.back();
    double number;
    if (key == "value") words >> name;
    while (key != "eval" && words >> number) (key == "loss" ? r.losses : r.values[name]).push_back(number);
    if (key == "eval") words >> r.eval_loss >> r.eval_correct;
  }
  return references;
}

double RateOf(const std::string &optimizer) { return atof(optimizer.c_str() + optimizer.find("lr=") + 3); }

// One step: the updates replace the variables.
void Step(Compiled *compiled, int step, int64_t n, double lr, double *loss) {
  const dp_graph *train = compiled->Graph("train");
  std::vector<Tensor> values;
  ASSERT_EQ(RunGraph(dp_target_cpu, train, n, compiled->Bind(step, n, lr), &values), "");
  *loss = OutputOf(train, values, DP_LOSS_OUTPUT).Get(0);
  for (int i = 0; i < train->n_updates; i++)
    compiled->values[compiled->model->variables[train->updates[i].variable].name] =
        values[size_t(train->updates[i].value->id)];
}

class Training : public testing::TestWithParam<Reference> {};

TEST_P(Training, IsPyTorchs) {
  const Reference &r = GetParam();
  Compiled compiled(r.network == "cnn" ? Cnn() : Shared(), "options..init", r.optimizer);
  ASSERT_EQ(compiled.error, "");
  const int64_t samples[] = {5, 5, 3, 5};
  ASSERT_EQ(r.losses.size(), 4u);
  for (int step = 0; step < 4; step++) {
    double loss = 0;
    ASSERT_NO_FATAL_FAILURE(Step(&compiled, step, samples[step], RateOf(r.optimizer), &loss));
    EXPECT_NEAR(loss, r.losses[size_t(step)], 1e-12) << "step " << step;
  }
  for (const auto &[name, numbers] : r.values) {
    ASSERT_EQ(compiled.values[name].Count(), int64_t(numbers.size())) << name;
    for (size_t i = 0; i < numbers.size(); i++)
      EXPECT_NEAR(compiled.values[name].Get(int64_t(i)), numbers[i], 1e-12) << name << " element " << i;
  }
  const dp_graph *eval = compiled.Graph("eval");
  std::vector<Tensor> values;
  ASSERT_EQ(RunGraph(dp_target_cpu, eval, 5, compiled.Bind(7, 5, 0), &values), "");
  EXPECT_NEAR(OutputOf(eval, values, DP_LOSS_OUTPUT).Get(0), r.eval_loss, 1e-12);
  EXPECT_EQ(eval->n_outputs, r.network == "cnn" ? 3 : 2);
  EXPECT_EQ(OutputOf(eval, values, DP_COUNT_OUTPUT).Get(0), r.network == "cnn" ? 5 : 5 * 4);
  if (r.network == "cnn") {
    EXPECT_EQ(OutputOf(eval, values, DP_CORRECT_OUTPUT).Get(0), r.eval_correct);
  }
}

INSTANTIATE_TEST_SUITE_P(References, Training, testing::ValuesIn(ReadReferences()),
                         [](const testing::TestParamInfo<Reference> &info) {
                           return info.param.network + "_" + std::to_string(info.index);
                         });

TEST(References, AreThere) { EXPECT_EQ(ReadReferences().size(), 10u); }

}  // namespace
}  // namespace dp_test
