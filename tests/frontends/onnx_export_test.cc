// Models written as ONNX and read again: every operator's samples, whole models, tensors in a second file, metadata.
// tests/frontends/onnx_backend_test.py checks with ONNX's own checker that other programs accept the files.
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "tests/frontends/onnx_builder.h"
#include "tests/ir/base/files.h"
#include "tests/ir/ops/samples.h"

namespace {

using dp_test::Arena;
using dp_test::Message;

std::string Path(const std::string &name) { return testing::TempDir() + "/" + name; }

// The graph "main" of the model, written and read again, as text; or the message that refused it.
std::string Again(const std::string &text, const std::string &name, bool external = false) {
  Arena arena;
  dp_model *model = nullptr, *again = nullptr;
  std::string message = dp_test::Parse(arena, text, &model);
  if (!message.empty()) return message;
  dp_mesh mesh = model->mesh;
  const dp_graph *graph = dp_model_find_graph(model, "main");
  message = Message(dp_onnx_export(arena, model, graph, &mesh, external, Path(name).c_str()));
  if (message.empty()) message = Message(dp_onnx_import(arena, Path(name).c_str(), &again));
  return message.empty() ? dp_test::Print(again) : message;
}

// ---- operators ------------------------------------------------------------------------------------------------------

class Sample : public testing::TestWithParam<dp_test::Case> {};

// The reader evaluates what depends on extents alone, and splits a Sum into additions of two operands.
bool IsReplaced(const std::string &op) { return op == "Shape" || op == "Size" || op == "Identity" || op == "Sum"; }

TEST_P(Sample, IsTheSameNodeAgain) {
  dp_test::Built built(GetParam());
  ASSERT_EQ(built.error, "");
  const std::string op = built.node->op->name;
  bool known = op == "Range" && !dp_shape_is_symbolic(&built.node->outputs[0]->type->shape);
  if (IsReplaced(op) || known) GTEST_SKIP() << "the reader replaces it";
  for (int k = 0; k < built.node->n_outputs; k++)
    if (built.node->outputs[k]) dp_graph_add_output(built.graph, built.node->outputs[k]->name, built.node->outputs[k]);
  dp_mesh mesh = {};
  std::string path = Path("sample.onnx");
  std::string refused = Message(dp_onnx_export(built.arena, built.model, built.graph, &mesh, false, path.c_str()));
  if (refused.find("but no input has an extent to compute that from") != std::string::npos)
    GTEST_SKIP() << "no input gives N";
  ASSERT_EQ(refused, "");
  Arena arena;
  dp_model *model = nullptr;
  ASSERT_EQ(Message(dp_onnx_import(arena, path.c_str(), &model)), "");
  const dp_graph *graph = model->graphs[0];
  const dp_node *node = nullptr;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (graph->nodes[i]->op == built.node->op) node = graph->nodes[i];
  ASSERT_NE(node, nullptr) << dp_test::Print(model);
  ASSERT_EQ(node->n_outputs, built.node->n_outputs);
  for (int k = 0; k < node->n_outputs; k++) {
    if (!built.node->outputs[k]) continue;
    char before[256], after[256];
    EXPECT_STREQ(dp_type_print(node->outputs[k]->type, after, sizeof after),
                 dp_type_print(built.node->outputs[k]->type, before, sizeof before));
  }
  for (int i = 0; i < built.node->n_attrs; i++) {
    const dp_attr *before = &built.node->attrs[i], *after = dp_node_attr(node, before->name);
    ASSERT_NE(after, nullptr) << before->name;
    if (before->kind == DP_ATTR_DIMS) continue;  // one extent may be left for Reshape to find out
    EXPECT_TRUE(dp_attr_equal(before, after)) << before->name << "\n" << dp_test::Print(model);
  }
}

INSTANTIATE_TEST_SUITE_P(Export, Sample, testing::ValuesIn(dp_test::AllCases(false)),
                         [](const testing::TestParamInfo<dp_test::Case> &info) {
                           return dp_test::TestName(info.param);
                         });

// ---- models ---------------------------------------------------------------------------------------------------------

TEST(OnnxExportTest, AModelComesBackAsItWas) {
  const std::string text =
      "model m {\n"
      "  opset 18\n"
      "  symbol B\n"
      "  loss \"mse(y,target)\"\n"
      "  optimizer \"sgd(lr=0.5)\"\n"
      "\n"
      "  parameter w: float32[2,3] = tensor [1, 2, 3, 4, 5, 6] shard(tensor=S(0,2,1))\n"
      "  parameter b: float32[2] = tensor [0.5, -0.5] frozen\n"
      "  parameter scale: float32[2] = tensor [1, 1]\n"
      "  parameter shift: float32[2] = tensor [0, 0]\n"
      "  buffer mean: float32[2] = tensor [0, 0]\n"
      "  buffer var: float32[2] = tensor [1, 1]\n"
      "\n"
      "  input x: float32[B,3]\n"
      "  constant c: float32[] = 0.25\n"
      "  h: float32[B,2] = Gemm(x, w, b) {transB=1} [stage=1]\n"
      "  n: float32[B,2], _, _ = BatchNormalization(h, scale, shift, mean, var) {training_mode=1, unbiased=0} "
      "[device=1, "
      "stage=2]\n"
      "  r: float32[2*B] = Reshape(n) {shape=[2*B]} [shard=(data=0, tensor=R)]\n"
      "  e: float32[B,2] = Expand(c) {shape=[B,2]}\n"
      "  y: float32[B,2] = Clip(e) {min=-1, max=0.5, grad_at_bound=0}\n"
      "  output r\n"
      "  output y\n"
      "}\n";
  // Without a mesh no devices are written; constraints come back from metadata.
  std::string plain = Again(text, "plain.onnx");
  EXPECT_EQ(plain.find("stage"), std::string::npos);
  EXPECT_NE(plain.find("parameter w: float32[2,3] = tensor [1, 2, 3, 4, 5, 6] shard(tensor=S(0,2,1))\n"),
            std::string::npos)
      << plain;
  EXPECT_NE(plain.find("Reshape(n) {shape=[-1]} [shard=(data=0, tensor=R)]\n"), std::string::npos) << plain;
  std::string meshed = text;
  meshed.replace(meshed.find("\n\n  parameter"), 1, "\n  mesh data=2, tensor=2\n");
  std::string again = Again(meshed, "meshed.onnx");
  for (const char *line :
       {"  symbol B\n", "  mesh data=2, tensor=2\n", "  loss \"mse(y,target)\"\n", "  optimizer \"sgd(lr=0.5)\"\n",
        " shard(tensor=S(0,2,1))\n", "  parameter b: float32[2] = tensor [0.5, -0.5] frozen\n",
        "  buffer mean: float32[2] = tensor [0, 0]\n", "{transB=1} [stage=1]\n", "training_mode=1, unbiased=0",
        "device=1, stage=2]\n", "Expand(c) {shape=[B,2]}\n", "Clip(e) {grad_at_bound=0, min=-1.0, max=0.5}\n",
        "  output r\n"})
    EXPECT_NE(again.find(line), std::string::npos) << line << again;
}

TEST(OnnxExportTest, FirstValuesByRuleAreDrawn) {
  std::string again = Again(
      "model m {\n  parameter w: float32[4] = uniform(2, 3)\n  parameter z: float64[2] = fill(0.5)\n"
      "  input x: float32[N,4]\n  input t: float64[N,2]\n  y = Mul(x, w)\n  u = Mul(t, z)\n  output y\n  output u\n}\n",
      "drawn.onnx");
  EXPECT_NE(again.find("parameter z: float64[2] = tensor [0.5, 0.5]"), std::string::npos) << again;
  size_t at = again.find("parameter w: float32[4] = tensor [2.");
  ASSERT_NE(at, std::string::npos) << again;
}

std::string Repeated(const std::string &text, int times) {
  std::string all;
  for (int i = 0; i < times; i++) all += text;
  return all;
}

TEST(OnnxExportTest, LargeTensorsGoIntoTheirOwnFile) {
  std::string text = "model m {\n  parameter w: float32[524289] = tensor [2.5" + Repeated(",1.5", 1 << 19) +
                     "]\n  parameter b: float32[1] = tensor [3]\n"
                     "  input x: float32[N,524289]\n  y = Mul(x, w)\n  z = Add(y, b)\n  output z\n}\n";
  std::string whole = Again(text, "whole.onnx"), parts = Again(text, "parts.onnx", true);
  EXPECT_EQ(whole, parts);
  struct stat file;
  EXPECT_NE(stat(Path("whole.onnx.data").c_str(), &file), 0);
  ASSERT_EQ(stat(Path("parts.onnx.data").c_str(), &file), 0);
  EXPECT_EQ(file.st_size, 524289 * 4);
  EXPECT_LT(dp_test::ReadText(Path("parts.onnx")).size(), 4096u);
}

// An export that was interrupted between its two files.
TEST(OnnxExportTest, DataOfAnotherExportIsRefused) {
  const auto model = [](const std::string &first) {
    return "model m {\n  parameter w: float32[524289] = tensor [" + first + Repeated(",1.5", 1 << 19) +
           "]\n  input x: float32[N,524289]\n  y = Mul(x, w)\n  output y\n}\n";
  };
  const std::string first = Again(model("1.5"), "twice.onnx", true), old = dp_test::ReadText(Path("twice.onnx"));
  const std::string second = Again(model("2.5"), "twice.onnx", true);
  EXPECT_NE(first, second);
  std::ofstream(Path("twice.onnx"), std::ios::binary) << old;
  Arena arena;
  dp_model *read = nullptr;
  dp_status status = dp_onnx_import(arena, Path("twice.onnx").c_str(), &read);
  EXPECT_EQ(dp_status_code(status), EX_DATAERR);
  EXPECT_NE(std::string(dp_status_message(status))
                .find("tensor 'w': external data 'twice.onnx.data': it is not what was "
                      "exported with this model"),
            std::string::npos)
      << dp_status_message(status);
  dp_status_free(status);
}

TEST(OnnxExportTest, WhereNothingCanBeWritten) {
  Arena arena;
  dp_model *model = nullptr;
  ASSERT_EQ(dp_test::Parse(arena, "model m {\n  input x: float32[N]\n  y = Relu(x)\n  output y\n}\n", &model), "");
  dp_mesh mesh = {};
  std::string path = Path("no/such/folder.onnx");
  dp_status status = dp_onnx_export(arena, model, model->graphs[0], &mesh, false, path.c_str());
  EXPECT_EQ(dp_status_code(status), EX_CANTCREAT);
  dp_status_free(status);
}

TEST(OnnxExportTest, CommunicationIsADomainOfItsOwn) {
  std::string again =
      Again("model m {\n  input x: float32[N,4]\n  s: float32[N,4] = dp.AllReduce(x) {axis=\"data\"}\n  output s\n}\n",
            "communication.onnx");
  EXPECT_NE(again.find("s: float32[N,4] = dp.AllReduce(x) {axis=\"data\"}"), std::string::npos) << again;
}

TEST(OnnxExportTest, ADeviceFormIsWrittenWithItsUpdates) {
  Arena arena;
  dp_model *model = nullptr;
  ASSERT_EQ(dp_test::Parse(arena, dp_test::kDeviceForm, &model), "");
  const dp_graph *graph = dp_model_find_graph(model, "train");
  ASSERT_NE(graph, nullptr);
  std::string path = Path("device.onnx");
  ASSERT_EQ(Message(dp_onnx_export(arena, model, graph, &model->mesh, false, path.c_str())), "");
  std::string bytes = dp_test::ReadText(path);
  for (const char *word : {"dp.updated/w", "data=0,tensor=1", "Gemm"})
    EXPECT_NE(bytes.find(word), std::string::npos) << word;
}

// A mesh of two devices and three micro-batches: a value is split over the devices only.
TEST(OnnxExportTest, MicroBatchesAreNoDevices) {
  Arena arena;
  dp_model *model = nullptr;
  ASSERT_EQ(
      dp_test::Parse(
          arena,
          "model m {\n  mesh micro=3, data=2\n  input x: float32[N,4] [at=[S(0),S(0)]]\n"
          "  y: float32[N,4] [at=[S(0),S(0)]] = Relu(x)\n  z: float32[N,4] [at=[S(0),R]] = Relu(y)\n  output z\n}\n",
          &model),
      "");
  std::string path = Path("micro.onnx");
  ASSERT_EQ(Message(dp_onnx_export(arena, model, model->graphs[0], &model->mesh, false, path.c_str())), "");
  std::string bytes = dp_test::ReadText(path);
  Dp__Onnx__Model *m = dp__onnx__model__unpack(nullptr, bytes.size(), (const uint8_t *)bytes.data());
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->configuration[0]->num_devices, 2);
  int found = 0;
  for (size_t n = 0; n < m->graph->n_node; n++)
    for (size_t k = 0; k < m->graph->node[n]->n_device_configurations; k++) {
      const auto *own = m->graph->node[n]->device_configurations[k];
      for (size_t s = 0; s < own->n_sharding_spec; s++, found++) {
        const auto *spec = own->sharding_spec[s];
        EXPECT_STRNE(spec->tensor_name, "z") << "whole on each device";
        EXPECT_EQ(std::vector<int64_t>(spec->device, spec->device + spec->n_device), (std::vector<int64_t>{0, 1}));
      }
    }
  EXPECT_EQ(found, 3) << "x, y, and y of its user";
  dp__onnx__model__free_unpacked(m, nullptr);
}

}  // namespace
