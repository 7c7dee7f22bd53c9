// Programs placed with micro-batches, on various meshes: what belongs to one micro-batch, what to all, and where values
// of one micro-batch are combined for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/passes/networks.h"
#include "tests/passes/random_network.h"

namespace dp_test {
namespace {

// A source model placed with micro-batches.
struct Placed {
  Arena arena;
  Options options;
  dp_model *model = nullptr;
  std::string failure, notes;

  Placed(const std::string &text, const std::string &words, int64_t microbatches, const std::string &last = "place") {
    options.Set(words);
    char *said = nullptr;
    size_t bytes = 0;
    options.options.notes_to = open_memstream(&said, &bytes);
    failure = Parse(arena, text, &model);
    if (failure.empty()) failure = RunPasses(model, "options", options.options);
    if (failure.empty()) {
      dp_mesh whole = model->mesh;
      dp_mesh_drop(&whole, DP_MESH_MICRO);
      model->mesh = {whole.n_axes + 1, {{DP_MESH_MICRO, microbatches}}};
      for (int a = 0; a < whole.n_axes; a++) model->mesh.axes[a + 1] = whole.axes[a];
      failure = RunPasses(model, "batch.." + last, options.options);
    }
    fclose(options.options.notes_to);
    notes = said;
    free(said);
  }
  int Micro() const { return dp_mesh_find(&model->mesh, DP_MESH_MICRO); }
  const dp_graph *Graph(const char *name) const { return dp_model_find_graph(model, name); }
};

bool IsSymbolic(const dp_value *v) {
  for (int d = 0; d < v->type->shape.rank; d++)
    if (dp_dim_is_symbolic(v->type->shape.dims[d])) return true;
  return false;
}

bool Converts(const dp_node *node, const std::string &op) {
  return node->op->name == op && std::string(dp_node_string(node, "axis", "")) == DP_MESH_MICRO;
}

dp_placement_kind On(const dp_value *v) { return v->placements[0].kind; }  // micro is the first axis

void ExpectSplit(const dp_graph *graph, bool training) {
  ASSERT_STREQ(graph->model->mesh.axes[0].name, DP_MESH_MICRO);
  std::map<const dp_value *, int> summed;  // logical values
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    if (Converts(node, "AllReduce")) {
      EXPECT_EQ(++summed[node->outputs[0]->logical], 1) << node->name << ": summed twice";
    }
    EXPECT_FALSE(training && Converts(node, "AllGather")) << node->name;
    for (int k = 0; k < node->n_outputs; k++)
      if (node->logical && node->outputs[k] && IsSymbolic(node->outputs[k])) {
        EXPECT_EQ(On(node->outputs[k]), DP_SHARD) << node->name;
      }
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *x = node->inputs[k];
      if (!x) continue;
      if (On(x) == DP_PARTIAL) {
        EXPECT_TRUE(Converts(node, "AllReduce")) << node->name << " takes " << x->name << ", a sum that is not whole";
      }
      if (x->kind == DP_VALUE_VARIABLE) {
        EXPECT_EQ(On(x), DP_REPLICATE) << x->name;
      }
    }
  }
  for (int i = 0; i < graph->n_updates; i++) EXPECT_EQ(On(graph->updates[i].value), DP_REPLICATE);
  for (int i = 0; i < graph->n_outputs; i++)
    EXPECT_EQ(On(graph->outputs[i].value->producer->inputs[0]), DP_REPLICATE) << graph->outputs[i].name;
}

bool HasStatistics(const std::string &text) { return text.find("BatchNormalization") != std::string::npos; }

TEST(Micro, RandomNetworks) {
  int split = 0, whole = 0;
  for (uint32_t seed = 0; seed < 30; seed++) {
    RandomNetwork network(seed);
    Placed placed(network.text, "batch=12 strategy=data mesh=" + network.mesh, 2 + seed % 4);
    SCOPED_TRACE(network.Describe());
    ASSERT_EQ(placed.failure, "");
    if (HasStatistics(network.text)) {
      EXPECT_LT(placed.Micro(), 0);
      EXPECT_NE(placed.notes.find("(BatchNormalization) needs the whole batch at once"), std::string::npos)
          << placed.notes;
      whole++;
      continue;
    }
    for (const char *program : {"train", "eval"}) {
      SCOPED_TRACE(program);
      ExpectSplit(placed.Graph(program), std::string(program) == "train");
    }
    split++;
  }
  EXPECT_GT(split, 5);
  EXPECT_GT(whole, 5);
}

TEST(Micro, NetworksInText) {
  Placed shared(Shared().text, "batch=8 strategy=data mesh=data:2 optimizer=sgd(lr=0.1,momentum=0.9,clip_norm=1)", 4);
  ASSERT_EQ(shared.failure, "");
  EXPECT_EQ(shared.notes, "");
  ExpectSplit(shared.Graph("train"), true);
  Placed cnn(Cnn().text, "batch=8 strategy=data mesh=data:2 optimizer=sgd(lr=0.1)", 4);
  ASSERT_EQ(cnn.failure, "");
  EXPECT_LT(cnn.Micro(), 0);
  EXPECT_NE(cnn.notes.find("(BatchNormalization) needs the whole batch at once"), std::string::npos) << cnn.notes;
}

std::string Replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Micro, FrozenStatisticsAreNoStatistics) {
  std::string text = Replaced(Cnn().text, "b, m, v = BatchNormalization", "b = BatchNormalization");
  Placed frozen(Replaced(text, "training_mode=1, unbiased=1", "training_mode=0"),
                "batch=8 strategy=data mesh=data:2 optimizer=sgd(lr=0.1)", 4);
  ASSERT_EQ(frozen.failure, "");
  ASSERT_EQ(frozen.Micro(), 0) << frozen.notes;
  ExpectSplit(frozen.Graph("train"), true);
}

// With --batchnorm=local, a device's part of the batch also covers several micro-batches.
TEST(Micro, StatisticsOfParts) {
  Placed local(Cnn().text, "batch=8 strategy=data mesh=data:2 batchnorm=local optimizer=sgd(lr=0.1)", 2);
  ASSERT_EQ(local.failure, "");
  EXPECT_LT(local.Micro(), 0);
  EXPECT_NE(local.notes.find("needs the whole batch at once"), std::string::npos) << local.notes;
}

// A mean over labels that are weighted or partly ignored. Their count is that of the whole batch and depends only on
// inputs.
TEST(Micro, CountsOfLabels) {
  for (const char *loss :
       {"SoftmaxCrossEntropyLoss(y, label) {ignore_index=1}", "SoftmaxCrossEntropyLoss(y, label, w)"}) {
    SCOPED_TRACE(loss);
    std::string text = std::string(R"dpt(model m {
  batch 8
  mesh micro=4, data=2
  parameter v: float32[3,4] = ones
  graph train {
    constant w: float32[3] = [1, 2, 3]
    input x: float32[N,4]
    input label: int64[N]
    y = Gemm(x, v) {transB=1}
    loss = )dpt") + loss +
                       R"dpt(
    output loss
  }
})dpt";
    Arena arena;
    Options options;
    dp_model *model = nullptr;
    ASSERT_EQ(Parse(arena, text, &model), "");
    model->optimizer = "sgd(lr=0.1)";
    ASSERT_EQ(RunPasses(model, "autodiff..place", options.options), "");
    ASSERT_EQ(dp_mesh_microbatches(&model->mesh), 4);
    ExpectSplit(dp_model_find_graph(model, "train"), true);
  }
}

// ---- ZeRO -----------------------------------------------------------------------------------------------------------

// The most elements that a device accumulates, by logical value.
std::map<std::string, int64_t> Accumulated(const dp_graph *graph) {
  std::map<std::string, int64_t> elements;
  const dp_model *model = graph->model;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    if (!Converts(node, "AllReduce")) continue;
    const dp_value *sum = node->outputs[0];
    elements[sum->name] = dp_local_max_count(&sum->type->shape, sum->placements, &model->mesh, model->batch);
  }
  return elements;
}

struct ZeroCase {
  const char *optimizer;
  int stage;
  std::vector<int64_t> wanted;  // of [4,4] and [4] over 3 devices: the largest part of 4 rows has ceil(4 / 3) = 2
};

// Weight and bias are used several times. From stage 2 on, a part of them is accumulated; the loss is one number.
TEST(Micro, ZeroAccumulatesParts) {
  const ZeroCase cases[] = {{"adam(lr=0.1)", 1, {1, 4, 4, 16, 16, 16}},
                            {"adam(lr=0.1)", 2, {1, 2, 8}},
                            {"adam(lr=0.1,clip_norm=1)", 2, {1, 2, 8}},
                            {"sgd(lr=0.1)", 3, {1, 2, 8}},
                            {"sgd(lr=0.1,momentum=0.9,clip_norm=1)", 3, {1, 2, 8}}};
  for (const ZeroCase &c : cases) {
    SCOPED_TRACE(c.optimizer);
    std::string words = "batch=12 strategy=zero mesh=data:3 zero-stage=" + std::to_string(c.stage);
    Placed zero(Shared().text, words + " optimizer=" + c.optimizer, 4);
    ASSERT_EQ(zero.failure, "");
    std::vector<int64_t> found;
    for (const auto &sum : Accumulated(zero.Graph("train"))) found.push_back(sum.second);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, c.wanted) << "stage " << c.stage;
  }
}

}  // namespace
}  // namespace dp_test
