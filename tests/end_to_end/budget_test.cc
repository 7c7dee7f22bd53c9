// What a training step issues on GPUs, counted from plans: instructions, launches, and the bytes of their operands and
// results. A layer's share is the difference that one more layer makes. A Reshape in place issues nothing and does not
// count. The tables are kept: whoever lowers a figure writes the new one here.
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "backends/base/head.h"
#include "backends/cuda/blaslt/loss_head.h"
#include "backends/cuda/code_maker.h"
#include "backends/cuda/kernels/region.h"
#include "backends/cuda/kernels/region_layout.h"
#include "ir/graph/op.h"
#include "runtime/session.h"
#include "tests/end_to_end/gpt.h"
#include "tests/end_to_end/llama.h"
#include "tests/end_to_end/plans.h"
#include "tests/end_to_end/resnet.h"

namespace dp_test {
namespace {

struct Budget {
  int64_t instructions = 0;  // of which
  int64_t updates = 0;       // update parameters
  int64_t regions = 0;       // compute several nodes
  int64_t bytes = 0;         // each operand and result once
};

Budget operator-(const Budget &a, const Budget &b) {
  return {a.instructions - b.instructions, a.updates - b.updates, a.regions - b.regions, a.bytes - b.bytes};
}

bool IsCopyInPlace(const Dp__Program *program, const Dp__Instruction *in) {
  if (!in->kernel || strncmp(in->kernel, "cuda.copy.", 10)) return false;
  const Dp__DeviceTensor *x = program->tensors[in->inputs[0] - 1], *y = program->tensors[in->outputs[0] - 1];
  return x->space == y->space && x->offset == y->offset;
}

bool Updates(const Dp__Instruction *in) {
  const Dp__Instruction *one = in->n_members ? in->members[in->n_members - 1] : in;
  const dp_op *op = dp_op_find(one->domain, one->op);
  return op && dp_op_is(op, DP_OP_UPDATE);
}

Budget Count(const Plan &plan) {
  const Dp__Program *program = plan->roles[0]->programs[FindProgram(plan, "train")];
  Budget budget;
  for (const Location &at : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, at);
    if (in->communication || IsCopyInPlace(program, in)) continue;
    budget.instructions++;
    budget.updates += Updates(in);
    budget.regions += in->n_members > 0;
    for (size_t i = 0; i < in->n_inputs; i++)
      if (in->inputs[i]) budget.bytes += int64_t(program->tensors[in->inputs[i] - 1]->bytes);
    for (size_t i = 0; i < in->n_outputs; i++)
      if (in->outputs[i]) budget.bytes += int64_t(program->tensors[in->outputs[i] - 1]->bytes);
  }
  return budget;
}

struct Network {
  const char *name;
  int layers, width, heads, words, positions;
  bool tied;
  int batch;
  const char *optimizer;
};

Budget Step(const Network &n, int layers, const std::string &options = "") {
  return Count(Compile(Gpt(layers, n.width, n.heads, n.words, n.positions, n.tied),
                       "target=cuda batch=" + std::to_string(n.batch) + " optimizer=" + n.optimizer + options));
}

const Network kGpt4 = {"examples/gpt4.dpt", 4, 256, 8, 4096, 128, false, 8, "adam(lr=1e-3)"};
const Network kGpt2 = {"GPT-2 124M", 12, 768, 12, 50257, 1024, true, 4, "adamw(lr=1e-3)"};

const Network kClipped = {"GPT-2 124M, clipped", 12, 768, 12, 50257, 1024, true, 4, "adamw(lr=1e-3,clip_norm=1)"};

void Expect(const Network &network, const Budget &layer, const Budget &rest) {
  SCOPED_TRACE(network.name);
  const Budget whole = Step(network, network.layers), one = whole - Step(network, network.layers - 1);
  printf("%s: a layer %ld instructions, %ld of them regions, %ld updates, %.1f MiB; the step %ld, %ld updates\n",
         network.name, long(one.instructions), long(one.regions), long(one.updates), double(one.bytes) / (1 << 20),
         long(whole.instructions), long(whole.updates));
  EXPECT_EQ(one.instructions - one.updates, layer.instructions);
  EXPECT_EQ(one.regions, layer.regions);
  EXPECT_EQ(one.bytes, layer.bytes);
  EXPECT_EQ(whole.updates, rest.updates);
  // Layers are alike, except that the last one's normalization has no layer after it.
  EXPECT_EQ(whole.instructions - whole.updates - network.layers * layer.instructions, rest.instructions);
}

// Instructions without updates, updates, regions, bytes.
TEST(Budget, Gpt4) { Expect(kGpt4, {15, 0, 9, 118798384}, {17, 1}); }
TEST(Budget, Gpt2) { Expect(kGpt2, {15, 0, 9, 1336617008}, {14, 1}); }
// The norm of all gradients; updates take its factor.
TEST(Budget, Gpt2Clipped) { Expect(kClipped, {24, 0, 21, 1336653992}, {11, 1}); }

// However a GPT is divided, its attention takes parts of one tensor, and so do the gradients; nothing else divides or
// joins them. Where results of the forward pass are kept in the host's memory, Split makes what goes there, and in one
// layer under `tensor` what devices exchange.
TEST(Budget, NothingIsDividedAroundAttention) {
  struct Way {
    const char *options;
    int attentions, splits;  // attention and its gradient, in regions; Splits that are none's members
  };
  for (const Way &way : {Way{"", 4, 0}, Way{" precision=bf16", 4, 0}, Way{" strategy=data devices=2", 4, 0},
                         Way{" strategy=data devices=2 microbatches=2", 8, 0}, Way{" strategy=tensor devices=2", 3, 1},
                         Way{" recompute=*", 6, 0}, Way{" offload=activations", 4, 2}}) {
    SCOPED_TRACE(way.options);
    const Plan plan =
        Compile(Gpt(2, 64, 4, 97, 64), std::string("target=cuda batch=8 optimizer=adamw(lr=1e-3)") + way.options);
    int attentions = 0, splits = 0;
    for (const Location &at : Instructions(plan, "train")) {
      const Dp__Instruction *in = At(plan, at);
      for (size_t m = 0; m < in->n_members; m++) attentions += !strncmp(in->members[m]->op, "ScaledDotProduct", 16);
      if (in->n_members) continue;
      EXPECT_STRNE(in->op, "Concat");
      splits += !strcmp(in->op, "Split");
    }
    EXPECT_EQ(attentions, way.attentions);
    EXPECT_EQ(splits, way.splits);
  }
}

// ---- whole networks -------------------------------------------------------------------------------------------------

// Launches of the instruction that is visited: a region's layout says how many it is made of. Any other instruction
// counts as one, though a library may make more of it.
int64_t launches;
dp_status CountRegion(const dp_kernel_spec *spec) {
  dp_cuda_region_layout layout = {};
  dp_status status = dp_cuda_region_layout_make(spec, &layout);
  if (status) return status;
  launches += layout.n_launches;
  dp_cuda_region_layout_free(&layout);
  return DP_OK;
}

// Those of each chunk.
dp_status CountHead(const dp_kernel_spec *spec) {
  dp_head head;
  const auto chunk = std::make_unique<dp_head_chunk>();
  EXPECT_TRUE(dp_head_of(spec, DP_CUDA_HEAD_ROWS, &head));
  for (int c = 0; c < head.count; c++) {
    dp_head_chunk_make(spec, &head, dp_head_first(&head, c), dp_head_rows(&head, c), c > 0, chunk.get());
    dp_status status = CountRegion(&chunk->spec);
    if (status) return status;
  }
  return DP_OK;
}

// Of each chunk its products and the loss; the sum of losses; and copies of padded weights.
dp_status CountLossHead(const dp_kernel_spec *spec) {
  dp_head chunks;
  dp_loss_head head;
  EXPECT_TRUE(dp_head_of(spec, DP_CUDA_HEAD_ROWS, &chunks) && dp_loss_head_of(spec, &head));
  const bool padded = head.classes % (16 / int64_t(dp_type_bytes(spec->region->values[head.w].dtype)));
  launches += chunks.count * (2 + (head.dh >= 0) + (head.dw >= 0)) + (head.loss >= 0);
  launches += padded ? 1 + (head.dw >= 0) : 0;
  return DP_OK;
}

dp_status CountLaunches(const dp_kernel *kernel, const dp_kernel_spec *spec) {
  if (kernel == &dp_kernel_cuda_Region) return CountRegion(spec);
  if (kernel == &dp_kernel_cuda_head_Region) return CountHead(spec);
  if (kernel == &dp_kernel_cuda_blaslt_Region) return CountLossHead(spec);
  launches++;
  return DP_OK;
}

// Of the program train, for a full batch; its steps are bound to addresses that nothing is behind. What is copied in
// place was counted too.
int64_t Launches(const Plan &plan) {
  dp_session *session = nullptr;
  dp_session_options options = {};
  options.workers = 1;
  dp_calibrator counter = {};
  counter.measure = CountLaunches;
  launches = 0;
  Must(dp_session_create(plan.get(), &dp_cuda_backend_unattached, &options, &session));
  Must(dp_session_calibrate(session, dp_session_find(session, "train"), plan->batch, &counter));
  dp_session_destroy(session);
  const Dp__Program *program = plan->roles[0]->programs[FindProgram(plan, "train")];
  for (const Location &at : Instructions(plan, "train")) launches -= IsCopyInPlace(program, At(plan, at));
  return launches;
}

std::string Example(const std::string &name) {
  std::stringstream text;
  text << std::ifstream("examples/" + name).rdbuf();
  return text.str();
}

std::string Mlp() {
  return "model mlp {\n loss \"softmax_cross_entropy(logits,label)\"\n input x: float32[N,784]\n"
         " parameter w1: float32[784,1024] = kaiming_uniform()\n parameter b1: float32[1024] = zeros\n"
         " parameter w2: float32[1024,1024] = kaiming_uniform()\n parameter b2: float32[1024] = zeros\n"
         " parameter w3: float32[1024,10] = kaiming_uniform()\n parameter b3: float32[10] = zeros\n"
         " y1 = Gemm(x, w1, b1)\n r1 = Relu(y1)\n y2 = Gemm(r1, w2, b2)\n r2 = Relu(y2)\n"
         " logits = Gemm(r2, w3, b3)\n output logits\n}\n";
}

struct Whole {
  const char *name;
  std::string text;
  const char *options;
  Budget budget;
  int64_t launches;
  int64_t held;  // bytes of the transient arena: at most, at any time of the step
};

int64_t Held(const Plan &plan) {
  for (size_t a = 0; a < plan->roles[0]->n_arenas; a++)
    if (plan->roles[0]->arenas[a]->space == DP__SPACE__TRANSIENT) return int64_t(plan->roles[0]->arenas[a]->bytes);
  return 0;
}

void Expect(const Whole &of) {
  SCOPED_TRACE(of.name);
  const Plan plan = Compile(of.text, std::string("target=cuda ") + of.options);
  const Budget found = Count(plan);
  const int64_t made = Launches(plan);
  printf("%s: %ld instructions, %ld of them regions, %ld updates, %ld launches, %.1f MiB, %.1f MiB held\n", of.name,
         long(found.instructions), long(found.regions), long(found.updates), long(made),
         double(found.bytes) / (1 << 20), double(Held(plan)) / (1 << 20));
  EXPECT_EQ(found.instructions, of.budget.instructions);
  EXPECT_EQ(found.updates, of.budget.updates);
  EXPECT_EQ(found.regions, of.budget.regions);
  EXPECT_EQ(found.bytes, of.budget.bytes);
  EXPECT_EQ(made, of.launches);
  EXPECT_EQ(Held(plan), of.held);
}

// The networks that speed is to be measured with. Instructions, of which updates and regions, bytes; launches; what a
// step holds at most beside variables, in bytes. Those before are of operands and results: what one launch of a region
// leaves in scratch for the next is not among them.
TEST(Budget, Mlp) { Expect({"MLP", Mlp(), "batch=64 optimizer=adam(lr=1e-3)", {17, 1, 7, 75157456}, 24, 41272320}); }
TEST(Budget, MnistCnn) {
  Expect({"MNIST CNN", Example("mnist_cnn.dpt"), "batch=64", {27, 2, 10, 1400020968}, 35, 188204032});
}
TEST(Budget, ResNet18) {
  Expect({"ResNet-18", Example("resnet18.dpt"), "batch=64", {118, 4, 41, 2463959968}, 121, 401665024});
}
TEST(Budget, ResNet50) {
  Expect({"ResNet-50",
          ResNetText().Text(),
          "batch=256 precision=bf16 optimizer=sgd(lr=0.1,momentum=0.9)",
          {337, 2, 74, 77619239882},
          342,
          9263401216});
}
TEST(Budget, Gpt2Half) {
  Expect({"GPT-2 124M in bfloat16",
          Gpt(12, 768, 12, 50257, 1024, true),
          "batch=16 precision=bf16 optimizer=adamw(lr=1e-3)",
          {196, 1, 116, 34532952680},
          377,
          5076379136});
}
TEST(Budget, Gpt2Medium) {
  Expect({"GPT-2 350M in bfloat16",
          Gpt(24, 1024, 16, 50257, 1024, true),
          "batch=8 precision=bf16 optimizer=adamw(lr=1e-3)",
          {376, 1, 224, 53086512200},
          685,
          6938891520});
}
TEST(Budget, Llama1B) {
  Expect({"Llama 1B in bfloat16",
          Llama(kLlama1B),
          "batch=4 precision=bf16 optimizer=adamw(lr=1e-3)",
          {512, 1, 168, 84975370376},
          825,
          8060470528});
}

}  // namespace
}  // namespace dp_test
