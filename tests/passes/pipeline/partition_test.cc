// The pass `partition` on whole networks: equal layers on equal stages, convolutions balanced by their operations, and
// composed operators weighed by what they consist of.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/end_to_end/gpt.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {
namespace {

std::string Example(const std::string &name) { return ReadText("examples/" + name + ".dpt"); }

// A model with its nodes on stages.
class Cut {
 public:
  Cut(const std::string &text, const std::string &words) {
    Options options;
    options.Set("optimizer=sgd(lr=0.1) " + words);
    dp_model *model = nullptr;
    std::string failure = Parse(arena_, text, &model);
    if (failure.empty()) failure = RunPasses(model, "options..cut", options.options);
    if (failure.empty()) failure = RunPasses(model, "cut", options.options);  // nodes stay on their stages
    EXPECT_EQ(failure, "");
    main = dp_model_find_graph(model, "main");
    stages = int(dp_mesh_stages(&model->mesh));
  }
  const dp_node *Node(const std::string &output) const { return dp_graph_find_value(main, output.c_str())->producer; }
  int StageOf(const std::string &output) const { return Node(output)->stage; }

  const dp_graph *main = nullptr;
  int stages = 0;

 private:
  Arena arena_;
};

// The multiplications in convolutions and products with parameters, counted by hand.
double Work(const dp_node *node) {
  const std::string op = node->op->name;
  if (op != "Conv" && op != "Gemm" && op != "MatMul") return 0;
  double work = double(dp_shape_count(&node->outputs[0]->type->shape, 1));
  const dp_shape &w = node->inputs[1]->type->shape;
  if (op != "Conv") return work * double(w.dims[op == "Gemm" ? 1 : 0].offset);
  for (int d = 1; d < w.rank; d++) work *= double(w.dims[d].offset);
  return work;
}

// The smallest possible work of the busiest stage, over all ways to cut the model's order.
double Least(const std::vector<double> &work, int stages) {
  std::vector<double> best(work.size() + 1, 1e300);
  best[0] = 0;
  for (int s = 0; s < stages; s++) {
    std::vector<double> next(work.size() + 1, 1e300);
    for (size_t j = 1; j <= work.size(); j++) {
      double sum = 0;
      for (size_t i = j; i-- > 0;) {
        sum += work[i];
        next[j] = std::min(next[j], std::max(best[i], sum));
      }
    }
    best = next;
  }
  return best[work.size()];
}

void ExpectInOrder(const Cut &partition) {
  std::vector<int> nodes(size_t(partition.stages), 0);
  for (int32_t i = 0; i < partition.main->n_nodes; i++) {
    const dp_node *node = partition.main->nodes[i];
    ASSERT_GE(node->stage, 0);
    ASSERT_LT(node->stage, partition.stages);
    EXPECT_EQ(node->device, -1);
    nodes[size_t(node->stage)]++;
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *v = node->inputs[k];
      if (!v || !v->producer) continue;
      EXPECT_LE(v->producer->stage, node->stage) << node->name;
    }
  }
  for (int count : nodes) EXPECT_GT(count, 0);
}

class Networks : public testing::TestWithParam<std::tuple<const char *, int>> {};

// Not exactly the minimum: normalization and bytes count too, and a cut may move to where less data crosses.
TEST_P(Networks, AreInBalance) {
  const int stages = std::get<1>(GetParam());
  Cut partition(Example(std::get<0>(GetParam())), "batch=64 strategy=pipeline devices=" + std::to_string(stages));
  ExpectInOrder(partition);
  std::vector<double> work, of(size_t(stages), 0);
  for (int32_t i = 0; i < partition.main->n_nodes; i++) {
    work.push_back(Work(partition.main->nodes[i]));
    of[size_t(partition.main->nodes[i]->stage)] += work.back();
  }
  double most = *std::max_element(of.begin(), of.end()), least = Least(work, stages);
  EXPECT_LE(most, 1.2 * least);
  for (double w : of) printf("%.1f%% ", 100 * w / least);
  printf("of the least possible\n");
}

INSTANTIATE_TEST_SUITE_P(
    , Networks, testing::Combine(testing::Values("mlp", "mnist_cnn", "vgg11", "resnet18"), testing::Values(2, 3, 4)),
    [](const auto &info) {
      return std::string(std::get<0>(info.param)) + "_on_" + std::to_string(std::get<1>(info.param));
    });

class Layers : public testing::TestWithParam<bool> {};

// The embedding and the head are small here, so each stage gets the same number of whole layers: the least data crosses
// at a layer's input.
TEST_P(Layers, EqualOnesOnEqualStages) {
  const int layers = 8, stages = 4;
  Cut partition(Gpt(layers, 256, 8, 97, 32, GetParam()), "batch=16 strategy=pipeline devices=4");
  ExpectInOrder(partition);
  for (int i = 0; i < layers; i++) {
    const std::string b = "b" + std::to_string(i) + ".";
    EXPECT_EQ(partition.StageOf(b + "l1"), i * stages / layers) << i;
    EXPECT_EQ(partition.StageOf(b + "h2"), i * stages / layers) << i;
  }
  EXPECT_EQ(partition.StageOf("h0"), 0);
  EXPECT_EQ(partition.StageOf("logits"), stages - 1);
}

INSTANTIATE_TEST_SUITE_P(, Layers, testing::Bool(), [](const auto &info) { return info.param ? "tied" : "untied"; });

// With a vocabulary so large that its product costs as much as several layers, the last stage gets fewer layers.
TEST(Cut, TheHeadCounts) {
  Cut partition(Gpt(8, 128, 4, 16384, 32), "batch=16 strategy=pipeline devices=2");
  int on_last = 0;
  for (int i = 0; i < 8; i++) on_last += partition.StageOf("b" + std::to_string(i) + ".h2") == 1;
  EXPECT_LT(on_last, 2);
}

// An LSTM has no cost of its own. Its 16 steps of 192 * 512 multiplications take longer than either product, but less
// time than both together.
TEST(Cut, WhatIsComposedCountsAsWhatItIsMadeOf) {
  Cut partition(R"dpt(model m {
  loss "mse(y,target)"
  parameter w: float32[1,512,64] = kaiming_uniform()
  parameter r: float32[1,512,128] = kaiming_uniform()
  parameter a: float32[128,6144] = kaiming_uniform()
  parameter b: float32[6144,128] = kaiming_uniform()
  input x: float32[16,N,64]
  l, h, c = LSTM(x, w, r) {hidden_size=128}
  one = Squeeze(h) {axes=[0]}
  y1 = MatMul(one, a)
  y = MatMul(y1, b)
  output y
})dpt",
                "batch=64 strategy=pipeline devices=2 microbatches=1");
  EXPECT_EQ(partition.StageOf("l"), 0);
  EXPECT_EQ(partition.StageOf("y1"), 1);
  EXPECT_EQ(partition.StageOf("y"), 1);
}

// Each Tanh keeps 16 MiB of a micro-batch for its gradient, and the first of two stages keeps two micro-batches. With
// less memory, the second stage gets more of them, although it then takes longer.
TEST(Cut, KeepsWithinMemory) {
  const std::string text = R"dpt(model m {
  loss "mse(y,target)"
  parameter p: float32[16,16384] = kaiming_uniform()
  parameter q: float32[16384,256] = kaiming_uniform()
  input x: float32[N,16]
  t0 = MatMul(x, p)
  t1 = Tanh(t0)
  t2 = Tanh(t1)
  t3 = Tanh(t2)
  t4 = Tanh(t3)
  y = MatMul(t4, q)
  output y
})dpt";
  std::vector<int> first;
  for (long long megabytes : {0, 160, 128}) {
    Arena arena;
    Options options;
    options.Set("optimizer=sgd(lr=0.1) batch=1024 strategy=pipeline devices=2 microbatches=4");
    options.options.memory_bytes = megabytes << 20;
    dp_model *model = nullptr;
    ASSERT_EQ(Parse(arena, text, &model), "");
    ASSERT_EQ(RunPasses(model, "options..cut", options.options), "");
    const dp_graph *main = dp_model_find_graph(model, "main");
    first.push_back(0);
    for (const char *name : {"t1", "t2", "t3", "t4"})
      first.back() += dp_graph_find_value(main, name)->producer->stage == 0;
  }
  // The parameters of the first stage and their gradient take 2 MiB.
  EXPECT_EQ(first, (std::vector<int>{4, 4, 3}));
}

// Random graphs in which the user put some nodes on stages. Either stages ascend along every edge, each has what a step
// needs, and the user's choices hold; or dpc refuses, but only if something is annotated or there are too few nodes.
TEST(Cut, OfRandomGraphs) {
  int made = 0, refused = 0;
  for (uint32_t seed = 0; seed < 600; seed++) {
    SCOPED_TRACE(seed);
    std::mt19937 rng(seed);
    auto up_to = [&](int n) { return int(rng() % uint32_t(n)); };
    const int n = 2 + up_to(10), stages = 2 + up_to(3), constraints = up_to(2) ? up_to(3) : 0;
    std::vector<int> constrained(size_t(n), -1);
    for (int k = 0, node = up_to(n); k < constraints; k++, node = up_to(n))
      constrained[size_t(node)] = up_to(6) ? node * stages / n : up_to(stages);
    std::string text = "model m {\n  loss \"mse(y,target)\"\n  input x: float32[N,4]\n  input keep: float32[N,4]\n";
    std::vector<std::string> values = {"x", "keep"};
    for (int i = 0; i < n; i++) {
      const std::string name = "h" + std::to_string(i), w = "w" + std::to_string(i % 4);
      const std::string from = up_to(3) ? values.back() : values[size_t(up_to(int(values.size())))];
      if (i < 4) text += "  parameter " + w + ": float32[4,4] = ones\n";
      text += "  " + name +
              (up_to(2) ? " = MatMul(" + from + ", " + w + ")"
                        : " = Add(" + from + ", " + values[size_t(up_to(int(values.size())))] + ")");
      if (constrained[size_t(i)] >= 0) text += " [stage=" + std::to_string(constrained[size_t(i)]) + "]";
      text += "\n";
      values.push_back(name);
    }
    text += "  y = MatMul(" + values.back() + ", w0)\n  output y\n}\n";
    Arena arena;
    Options options;
    options.Set("optimizer=sgd(lr=0.1) batch=8 strategy=pipeline devices=" + std::to_string(stages));
    dp_model *model = nullptr;
    ASSERT_EQ(Parse(arena, text, &model), "") << text;
    const std::string failure = RunPasses(model, "options..cut", options.options);
    if (!failure.empty()) {
      refused++;
      EXPECT_EQ(failure.substr(0, 4), "78: ") << text;
      EXPECT_TRUE(constraints || failure.find("each needs a node") != std::string::npos) << failure;
      continue;
    }
    made++;
    const dp_graph *main = dp_model_find_graph(model, "main");
    std::vector<int> nodes(size_t(stages), 0);
    for (int32_t i = 0; i < main->n_nodes; i++) {
      const dp_node *node = main->nodes[i];
      nodes[size_t(node->stage)]++;
      const int constraint = node->name[0] == 'h' ? constrained[size_t(atoi(node->name + 1))] : -1;
      EXPECT_TRUE(constraint < 0 || constraint == node->stage) << node->name << "\n" << text;
      for (int k = 0; k < node->n_inputs; k++) {
        if (!node->inputs[k]->producer) continue;
        EXPECT_LE(node->inputs[k]->producer->stage, node->stage) << node->name << "\n" << text;
      }
    }
    for (int count : nodes) EXPECT_GT(count, 0) << text;
  }
  EXPECT_GT(made, 300);
  EXPECT_GT(refused, 20);
  printf("%d cut, %d refused\n", made, refused);
}

// CPU seconds for so many nodes on 64 stages.
double SecondsToCut(int n) {
  std::string text =
      "model m {\n  loss \"mse(y,target)\"\n  parameter w: float32[4,4] = ones\n  input x: float32[N,4]\n";
  for (int i = 0; i < n; i++)
    text += "  h" + std::to_string(i) + " = " + (i % 2 ? "Relu(h" : "MatMul(") + (i ? (i % 2 ? "" : "h") : "x") +
            (i ? std::to_string(i - 1) : "") + (i % 2 ? ")\n" : ", w)\n");
  text += "  y = Relu(h" + std::to_string(n - 1) + ")\n  output y\n}\n";
  Options options;
  options.Set("optimizer=sgd(lr=0.1) batch=64 strategy=pipeline devices=64 microbatches=8");
  Arena arena;
  dp_model *model = nullptr;
  EXPECT_EQ(Parse(arena, text, &model), "");
  EXPECT_EQ(RunPasses(model, "options..loss", options.options), "");
  clock_t start = clock();
  EXPECT_EQ(RunPasses(model, "cut", options.options), "");
  double seconds = double(clock() - start) / CLOCKS_PER_SEC;
  printf("%d nodes on 64 stages: %.2f s\n", n, seconds);
  return seconds;
}

// A square would take 64 times as long for 8 times as many.
TEST(Cut, IsLinearInNodes) { EXPECT_LT(SecondsToCut(50000), 30 * SecondsToCut(6250)); }

}  // namespace
}  // namespace dp_test
