// The runner of passes: order, needs, printing, stopping, and time that grows linearly.
#include <gtest/gtest.h>

#include <algorithm>

#include "passes/pipeline.h"
#include "tests/ir/base/growth.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {
namespace {

const char kMlp[] = R"dpt(model m {
  loss "softmax_cross_entropy(y,label)"
  optimizer "sgd(lr=0.1)"
  parameter w: float32[4,3] = uniform(-1, 1)
  input x: float32[N,4]
  y = MatMul(x, w)
  output y
})dpt";

struct Outcome {
  std::string failure, printed;
  dp_model *model = nullptr;
};

Outcome Pipeline(dp_arena *arena, const std::string &text, Options *options) {
  Outcome outcome;
  EXPECT_EQ(Parse(arena, text, &outcome.model), "");
  char *printed = nullptr;
  size_t bytes = 0;
  Dp__Plan *plan = nullptr;
  options->options.print_to = open_memstream(&printed, &bytes);
  dp_status status = dp_pipeline_run(outcome.model, &options->options, &plan);
  int code = dp_status_code(status);
  if (code) outcome.failure = std::to_string(code) + ": " + Message(status);
  fclose(options->options.print_to);
  outcome.printed = printed;
  free(printed);
  return outcome;
}

TEST(Pipeline, EachPassFindsWhatItNeeds) {
  uint32_t has = 0;
  for (const dp_pass *const *p = dp_pipeline_passes(); *p; p++) {
    EXPECT_EQ((*p)->needs & ~has, 0u) << (*p)->name;
    EXPECT_EQ(dp_pipeline_find((*p)->name), *p) << "two passes have this name";
    EXPECT_NE(std::string((*p)->what), "");
    has |= (*p)->gives;
  }
  EXPECT_EQ(dp_pipeline_find("nothing"), nullptr);
}

TEST(Pipeline, APassOutOfOrderIsRefused) {
  Arena arena;
  dp_model *model;
  ASSERT_EQ(Parse(arena, kMlp, &model), "");
  Options options;
  dp_compile compile{model, &options.options, DP_HAS_MESH, false, nullptr, nullptr};
  dp_status status = dp_pipeline_run_pass(&compile, dp_pipeline_find("autodiff"));
  EXPECT_EQ(dp_status_code(status), EX_SOFTWARE);
  EXPECT_EQ(Message(status), "pass 'autodiff' is out of order: it lacks 0x8 of what it needs");
}

dp_status Spoil(dp_compile *compile) {
  dp_graph *main = dp_model_find_graph(compile->model, "main");
  dp_value *y = main->nodes[0]->outputs[0];
  dp_type type = *y->type;
  type.dtype = DP_FLOAT64;
  y->type = dp_model_type(compile->model, &type);
  return DP_OK;
}

TEST(Pipeline, AGraphThatDoesNotVerifyIsRefused) {
  Arena arena;
  dp_model *model;
  ASSERT_EQ(Parse(arena, kMlp, &model), "");
  Options options;
  dp_compile compile{model, &options.options, 0, false, nullptr, nullptr};
  const dp_pass pass{"spoil", "spoils the graph", 0, 0, Spoil};
  dp_status status = dp_pipeline_run_pass(&compile, &pass);
  EXPECT_EQ(dp_status_code(status), EX_SOFTWARE);
  EXPECT_EQ(Message(status),
            "pass 'spoil' left graph 'main' in a bad state: node 'y': result 'y' is declared float64[N,3] but is "
            "float32[N,3]");
}

TEST(Pipeline, PrintsAfterAPassAndStops) {
  Arena arena;
  Options options;
  options.Set("batch=4");
  options.options.print_after = "batch";
  options.options.stop_after = "loss";
  Outcome outcome = Pipeline(arena, kMlp, &options);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_EQ(outcome.printed, R"dpt(// after batch
model m {
  opset 18
  batch 4
  mesh data=1
  loss "softmax_cross_entropy(y,label)"
  optimizer "sgd(lr=0.1)"
  parameter w: float32[4,3] = uniform(-1, 1)
  input x: float32[N,4]
  y: float32[N,3] = MatMul(x, w)
  output y
}
)dpt");
  // The compilation stopped after the loss.
  ASSERT_NE(dp_model_find_graph(outcome.model, "main"), nullptr);
  EXPECT_STREQ(dp_model_find_graph(outcome.model, "main")->outputs[0].name, DP_LOSS_OUTPUT);
}

TEST(Pipeline, PrintsAfterAll) {
  Arena arena;
  Options options;
  options.Set("batch=4");
  options.options.print_after = "all";
  options.options.stop_after = "autodiff";
  Outcome outcome = Pipeline(arena, kMlp, &options);
  EXPECT_EQ(outcome.failure, "");
  size_t at = 0;
  for (const char *pass : {"options", "batch", "precision", "loss", "programs", "autodiff"}) {
    at = outcome.printed.find(std::string("// after ") + pass + "\nmodel m {", at);
    EXPECT_NE(at, std::string::npos) << pass;
  }
  EXPECT_EQ(outcome.printed.find("// after optimizer"), std::string::npos);
}

TEST(Pipeline, UnknownPassesAreRefusedAtOnce) {
  Arena arena;
  Options options;
  options.options.print_after = "autodif";
  const std::string known = "; choose one of ", passes = "options, batch, precision, ";
  std::string failure = Pipeline(arena, kMlp, &options).failure;
  EXPECT_EQ(failure.find("64: --print-after=autodif: there is no such pass" + known + "all, " + passes), 0u) << failure;
  EXPECT_NE(failure.find(", emit; did you mean 'autodiff'?"), std::string::npos) << failure;
  Options others;
  others.options.stop_after = "all";
  failure = Pipeline(arena, kMlp, &others).failure;
  EXPECT_EQ(failure.find("64: --stop-after=all: there is no such pass" + known + passes), 0u) << failure;
}

// The text can be printed after any pass and resumed: later passes need nothing that it does not contain.
TEST(Pipeline, ResumesFromText) {
  const std::string all = Transform(kMlp, "options..init", "batch=4 strategy=data devices=2 precision=fp64");
  for (const char *pass : {"options", "batch", "precision", "loss", "programs", "autodiff", "optimizer", "fold", "cse",
                           "dce", "constants"}) {
    std::string half =
        Transform(kMlp, std::string("options..") + pass, "batch=4 strategy=data devices=2 precision=fp64");
    const dp_pass *const *p = dp_pipeline_passes();
    while ((*p)->name != std::string(pass)) p++;
    EXPECT_EQ(Transform(half, std::string(p[1]->name) + "..init", "precision=fp64 batch=4"), all) << pass;
  }
}

// A small file must not need much memory: 400 constants of 1 MiB.
TEST(Pipeline, FoldingIsBounded) {
  std::string text = "model m {\n  input x: float32[N,1]\n  constant one: float32[] = 1\n";
  for (int i = 0; i < 400; i++) {
    std::string k = std::to_string(i);
    text += "  a" + k + " = Expand(one) {shape=[262144]}\n  output a" + k + "\n";
  }
  Arena arena;
  dp_model *model = nullptr;
  ASSERT_EQ(Parse(arena, text + "}\n", &model), "");
  Options options;
  EXPECT_EQ(RunPasses(model, "fold", options.options), "");
  EXPECT_LT(dp_arena_bytes(arena), size_t(100) << 20);
  EXPECT_EQ(dp_model_find_graph(model, "main")->n_nodes, 400 - 64);
}

// A chain of dense layers.
std::string Chain(int layers) {
  std::string text = "model m {\n  loss \"mse(y,t)\"\n  optimizer \"sgd(momentum=0.9)\"\n  input x: float32[N,4]\n";
  for (int i = 0; i < layers; i++) text += "  parameter w" + std::to_string(i) + ": float32[4,4] = uniform(-1, 1)\n";
  std::string last = "x";
  for (int i = 0; i < layers; i++) {
    std::string k = std::to_string(i);
    text += "  a" + k + " = MatMul(" + last + ", w" + k + ")\n  b" + k + " = Tanh(a" + k + ")\n";
    last = "b" + k;
  }
  return text + "  y = Relu(" + last + ")\n  output y\n}\n";
}

// Compiles it to the logical training graph.
void CompileChain(int layers) {
  Arena arena;
  dp_model *model = nullptr;
  EXPECT_EQ(Parse(arena, Chain(layers), &model), "");
  Options options;
  options.Set("batch=4");
  EXPECT_EQ(RunPasses(model, "options..init", options.options), "");
  EXPECT_GE(dp_model_find_graph(model, "train")->n_nodes, 8 * layers);
  EXPECT_EQ(dp_model_find_graph(model, "train")->n_updates, 2 * layers);
}

// The bound is loose; quadratic work would take 64 times the time.
TEST(Pipeline, TimeIsNearLinear) { EXPECT_LT(Growth(2000, 16000, CompileChain), 8 * 4); }

// Bytes of the compilation's arena after a pass. *nodes: of the programs, with members of regions, while there are
// graphs; NULL: not wanted.
double BytesAfter(const char *last, int layers, int64_t *nodes) {
  Arena arena;
  dp_model *model = nullptr;
  EXPECT_EQ(Parse(arena, Chain(layers), &model), "");
  Options options;
  options.Set("batch=4 strategy=data devices=2");
  options.options.frees_graphs = true;
  EXPECT_EQ(RunPasses(model, std::string("options..") + last, options.options), "");
  for (int g = 0; g < model->n_graphs && nodes; g++)
    for (int32_t i = 0; i < model->graphs[g]->n_nodes; i++) {
      const dp_graph *body = model->graphs[g]->nodes[i]->body;
      *nodes += body ? body->n_nodes : 1;
    }
  return double(dp_arena_bytes(arena));
}

double BytesANode(int layers) {
  int64_t nodes = 0;
  const double graphs = BytesAfter("memory", layers, &nodes), plan = BytesAfter("emit", layers, nullptr);
  EXPECT_GE(nodes, 14 * layers);
  return std::max(graphs, plan) / double(nodes);
}

// Such graphs can only come from a pass that forgot one.
TEST(Pipeline, StageWithoutGraphIsNoPlan) {
  Arena arena;
  dp_model *model = nullptr;
  EXPECT_EQ(Parse(arena, Chain(4), &model), "");
  Options options;
  options.Set("batch=4 strategy=pipeline devices=2 microbatches=2");
  EXPECT_EQ(RunPasses(model, "options..memory", options.options), "");
  ASSERT_EQ(model->graphs[model->n_graphs - 1]->stage, 1);
  const std::string program = model->graphs[model->n_graphs - 1]->logical->name;
  model->n_graphs--;
  EXPECT_EQ(RunPasses(model, "emit", options.options), "70: program '" + program + "' has no graph for stage 1");
}

// Four times the nodes take no more memory each, and none takes much.
TEST(Pipeline, MemoryIsLinear) {
  const double few = BytesANode(1000), many = BytesANode(4000);
  EXPECT_LT(many, 1.1 * few);
  EXPECT_LT(many, 2560);
}

}  // namespace
}  // namespace dp_test
