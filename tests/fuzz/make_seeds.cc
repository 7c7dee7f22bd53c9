// make_seeds KIND FOLDER [FILE...]: writes the initial inputs of a harness. They are the operators' samples in its
// format, and small files for what the samples lack; or, of data, the files.
#include <xxhash.h>

#include "backends/cpu/target.h"
#include "ir/file/model_file.h"
#include "ir/file/proto.h"
#include "ir/file/safetensors.h"
#include "ir/file/wire.h"
#include "ir/plan/loops.h"
#include "ir/plan/plan.h"
#include "passes/pipeline.h"
#include "tests/fuzz/seeds.h"

namespace seeds {

std::string folder;
int count;

std::string Pack(const ProtobufCMessage *message) {
  std::string bytes(protobuf_c_message_get_packed_size(message), '\0');
  protobuf_c_message_pack(message, (uint8_t *)bytes.data());
  return bytes;
}

// ---- models ---------------------------------------------------------------------------------------------------------

const char kSmall[] = R"dpt(# A model with one of everything that samples do not show.
model small {
  opset 20
  symbol S
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adamw(lr=1e-3,schedule=cosine,warmup=2,total=9)"
  parameter w: float32[4,3] = normal(0, 0.5) shard(tensor=0, data=S(1,3,1))
  parameter b: float32[4] = kaiming_uniform(3) frozen
  parameter "odd name": float16[2] = tensor hex "003c0040"
  buffer m: float64[] = fill(nan)
  parameter t: bfloat16[2,1] = tensor base64 "gD8AQA=="
  input x: uint8[S,3]
  input label: int64[S]
  constant c: int32[3] = [-1, 0, 2147483647]
  constant inf: float32[] = -inf
  f = Cast(x) {to=float32} [name="cast \x41\n", device=1, stage=2]
  logits: float32[S,4] = Gemm(f, w, b) {transB=1, alpha=1e-5}
  a, _ = Split(logits) {axis=1, split=[1,3]}
  p = Pad(a, _, _) {pads=[0,0,0,1], mode="edge"}
  r = Reshape(p) {shape=[2*S]}
  output logits
  output other = r
}
)dpt";

const char kMesh[] = R"dpt(model placed {
  mesh data=2, tensor=2
  parameter w: float32[8,12] = uniform(-1,1) shard(tensor=S(0,2,1))
  parameter b: float32[8] = zeros shard(tensor=0)
  parameter v: float32[4,8] = normal(0,1) shard(tensor=1, data=0)
  input x: float32[N,12]
  h = Gemm(x, w, b) {transB=1} [stage=1]
  y = Gemm(h, v) {transB=1} [device=3]
  output y
}
)dpt";

// Stages with a skip connection, tied weights and an input that two of them use; its device forms contain Send, Recv
// and Accumulate.
const char kStages[] = R"dpt(model stages {
  loss "softmax_cross_entropy(y,label)"
  parameter w: float32[3,3] = uniform(-1,1)
  parameter v: float32[2,3] = uniform(-1,1)
  input x: float32[N,3]
  h = MatMul(x, w) [stage=0]
  r = Relu(h) [stage=0, shard=(data=0)]
  s = MatMul(r, w) [stage=1]
  t = Add(s, x) [stage=1]
  u = Add(t, h) [stage=1]
  y = Gemm(u, v) {transB=1} [stage=1]
  output y
  output r
}
)dpt";

// kStages after the pass `stop`, for each device.
std::string Staged(const char *stop) {
  Arena arena;
  Dp__Plan *plan;
  dp_options options = {};
  options.mesh = {2, {{"data", 2}, {"pipe", 2}}};
  options.batch = 5;
  options.microbatches = 2;
  options.threads = 1;
  options.optimizer = "sgd(lr=0.1,momentum=0.9)";
  options.target = &dp_target_cpu;
  options.stop_after = stop;
  dp_model *model = Parsed(arena, kStages);
  Must(dp_pipeline_run(model, &options, &plan));
  return dp_test::Print(model);
}

std::vector<std::string> Texts() {
  std::vector<std::string> texts = {kSmall, kMesh, kStages, dp_test::kSource, dp_test::kDeviceForm};
  for (const char *stop : {"stages", "place", "unroll", "roles", "memory"}) texts.push_back(Staged(stop));
  for (const dp_test::Case &c : dp_test::AllCases(false)) {
    dp_test::Built built(c);
    for (int k = 0; k < built.node->n_outputs; k++)
      if (built.node->outputs[k])
        dp_graph_add_output(built.graph, built.node->outputs[k]->name, built.node->outputs[k]);
    if (!dp_model_find_graph(built.model, "main")) dp_model_add_graph(built.model, built.graph);
    texts.push_back(dp_test::Print(built.model));
  }
  return texts;
}

// Names that mutations exchange.
void Words() {
  std::ofstream file(folder + "/words.dict");
  for (size_t i = 0; dp_op_table[i]; i++) {
    file << '"' << dp_op_table[i]->name << "\"\n";
    for (int k = 0; k < DP_MAX_ATTRS && dp_op_table[i]->attrs[k].name; k++)
      file << '"' << dp_op_table[i]->attrs[k].name << "\"\n";
  }
  for (const char *word :
       {"ConstantOfShape", "CastLike", "Constant", "Range", "Where", "Not", "Scatter", "location", "offset", "length",
        "data", "ai.onnx", "dp", "dp.kind", "dp.frozen", "dp.shard.tensor", "buffer"})
    file << '"' << word << "\"\n";
}

dp_model *Parsed(const Arena &arena, const std::string &text) {
  dp_model *model;
  Must(dp_text_parse(arena, "seed", text.data(), text.size(), &model));
  return model;
}

void Text() {
  for (const std::string &text : Texts()) Write(text);
}

// "w" and "v" of the file beside the model, which the harness provides.
void External() {
  Arena arena;
  dp_model *model =
      Parsed(arena,
             "model m {\n  parameter w: float32[2,3] = tensor [1, 2, 3, 4, 5, 6]\n  input x: float32[N,3]\n"
             "  y = Gemm(x, w) {transB=1}\n  output y\n}\n");
  Dp__Model *message = dp_proto_from_model(arena, model);
  Dp__Tensor *tensor = message->variables[0]->initial->tensor;
  tensor->xxh3 = XXH3_64bits(tensor->raw.data, tensor->raw.len);
  tensor->external = (char *)"w";
  tensor->raw.len = 0;
  Write(Pack(&message->base));
}

void Model() {
  for (const std::string &text : Texts()) {
    Arena arena;
    Write(Pack(&dp_proto_from_model(arena, Parsed(arena, text))->base));
  }
  External();
}

// ---- plans, weights -------------------------------------------------------------------------------------------------

void Plan(const char *text, std::vector<dp_mesh_axis> mesh, const char *optimizer, int64_t microbatches = 1) {
  Arena arena;
  Dp__Plan *plan;
  dp_options options = {};
  for (const dp_mesh_axis &axis : mesh) options.mesh.axes[options.mesh.n_axes++] = axis;
  options.batch = 5;
  options.microbatches = microbatches;
  options.threads = 1;
  options.optimizer = optimizer;
  options.target = &dp_target_cpu;
  Must(dp_pipeline_run(Parsed(arena, text), &options, &plan));
  Write(Pack(&plan->base));
  Write(Pack(&dp_plan_loops_fold(arena, plan)->base));
}

// A plan for inference whose convolution keeps its weights packed.
void PackedPlan() {
  Arena arena;
  Dp__Plan *plan;
  dp_options options = {};
  options.batch = 5;
  options.threads = 1;
  options.mode = "infer";
  options.target = &dp_target_cpu;
  Must(dp_pipeline_run(Parsed(arena,
                              "model c {\n  parameter w: float32[16,16,3,3] = uniform(-1, 1)\n"
                              "  input x: float32[N,16,4,4]\n  y = Conv(x, w) {pads=[1,1,1,1]}\n  output y\n}\n"),
                       &options, &plan));
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++)
    for (size_t s = 0; s < plan->roles[0]->programs[p]->n_streams; s++)
      for (size_t i = 0; i < plan->roles[0]->programs[p]->streams[s]->n_instructions; i++)
        if (plan->roles[0]->programs[p]->streams[s]->instructions[i]->packed) return Write(Pack(&plan->base));
  Must(dp_fail(EX_SOFTWARE, "no convolution packs its weights"));
}

void Plans() {
  PackedPlan();
  const char mlp[] =
      "model m {\n  loss \"softmax_cross_entropy(y,label)\"\n  parameter w: float32[4,3] = uniform(-1, 1) "
      "shard(tensor=0)\n"
      "  parameter b: float32[4] = zeros\n  input x: float32[N,3]\n  h = Gemm(x, w, b) {transB=1}\n  y = Relu(h)\n"
      "  output y\n}\n";
  Plan(mlp, {{"data", 1}}, "sgd(lr=0.1)");
  Plan(mlp, {{"data", 2}}, "adam(lr=0.1,clip_norm=1)");
  Plan(mlp, {{"data", 2}, {"tensor", 2}}, "sgd(lr=0.1,momentum=0.9)");
  const char stages[] =
      "model s {\n  loss \"softmax_cross_entropy(y,label)\"\n  parameter w: float32[4,3] = uniform(-1, 1)\n"
      "  parameter v: float32[2,4] = uniform(-1, 1)\n  input x: float32[N,3]\n  h = Gemm(x, w) {transB=1}\n"
      "  y = Gemm(h, v) {transB=1}\n  output y\n}\n";
  Plan(stages, {{"pipe", 2}}, "sgd(lr=0.1)", 2);
  Plan(stages, {{"data", 2}, {"pipe", 2}}, "sgd(lr=0.1,momentum=0.9)", 3);
  Plan(stages, {{"data", 1}}, "sgd(lr=0.1)", 5);
  Plan(kStages, {{"data", 2}, {"pipe", 2}}, "adam(lr=0.1,clip_norm=1)", 2);
}

void Weights() {
  static const float numbers[4] = {1, 2, 3, 4};
  static const uint8_t bytes[3] = {1, 2, 3};
  const dp_safetensor tensors[] = {{"a", {DP_FLOAT32, 2, {2, 2}, sizeof numbers, numbers}, 0},
                                   {"b", {DP_UINT8, 1, {3}, 3, bytes}, 0},
                                   {"c", {DP_FLOAT64, 1, {0}, 0, numbers}, 0}};
  for (size_t n = 0; n <= DP_COUNT(tensors); n++) {
    std::string path = folder + "/weights";
    Must(dp_safetensors_write(path.c_str(), tensors, n));
    std::string file = ReadAll(path);
    remove(path.c_str());
    Write(file);
  }
  std::string header = R"({"__metadata__":{"format":"pt"},"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})";
  Write(std::string(1, (char)header.size()) + std::string(7, '\0') + header + "ab");
}

}  // namespace seeds

int main(int argc, char **argv) {
  using namespace seeds;
  const std::pair<const char *, void (*)()> kinds[] = {
      {"text", Text}, {"model", Model}, {"onnx", Onnxes}, {"plan", Plans}, {"safetensors", Weights}};
  if (argc < 3) return 64;
  folder = argv[2];
  Words();
  if (std::string(argv[1]) == "data") Data({argv + 3, argv + argc});
  for (const auto &kind : kinds)
    if (kind.first == std::string(argv[1])) {
      kind.second();
      return 0;
    }
  return count ? 0 : 64;
}
