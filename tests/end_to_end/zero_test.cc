// ZeRO: split optimizer state, gradients and parameters compute what one device computes; split values need their share
// of memory; and at most two layers' parameters are gathered at a time.
#include <cmath>

#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const char *const kOptimizers[] = {"sgd(lr=0.05,momentum=0.9,weight_decay=1e-3)", "adam(lr=1e-2)",
                                   "adamw(lr=1e-2,clip_norm=0.5,schedule=cosine,total=12,warmup=2)"};
// The last batches are short; one has fewer samples than most meshes have devices.
const std::vector<int64_t> kBatches = {13, 13, 13, 13, 13, 13, 13, 13, 7, 2};

Plan With(const char *text, const std::string &optimizer, const std::string &rest) {
  return Compile(text, "batch=13 precision=fp64 optimizer=" + optimizer + " " + rest);
}

double Largest(const std::vector<double> &a, const std::vector<double> &b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); i++) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

void ExpectSame(const char *text, const char *optimizer, const std::string &options) {
  SCOPED_TRACE(std::string(optimizer) + " " + options);
  Training one(With(text, optimizer, "")), many(With(text, optimizer, options));
  ExpectClose(many.TrainAll(kBatches), one.TrainAll(kBatches), 1e-9);
  EXPECT_EQ(many.Replicas(), "");
  for (const auto &entry : one.State())
    EXPECT_LT(Largest(many.Numbers(entry.first), one.Numbers(entry.first)), 1e-8) << entry.first;
  EXPECT_NEAR(many.Evaluate(0, 11), one.Evaluate(0, 11), 1e-9);
}

TEST(Zero, IsWhatOneDeviceComputes) {
  for (const char *text : {kMlp, kCnn, kSquares})
    for (int stage : {1, 2, 3})
      for (int devices : {2, 3, 4, 5, 8})
        ExpectSame(text, kOptimizers[(stage + devices) % 3],
                   "strategy=zero zero-stage=" + std::to_string(stage) + " devices=" + std::to_string(devices));
}

TEST(Zero, WithEveryOptimizer) {
  for (const char *optimizer : kOptimizers)
    for (int stage : {1, 3}) ExpectSame(kMlp, optimizer, "strategy=zero devices=3 zero-stage=" + std::to_string(stage));
}

TEST(Zero, BesideAnotherAxis) {
  std::string text = kMlp;
  text.replace(text.find("kaiming_uniform()"), 17, "kaiming_uniform() shard(tensor=0)");
  for (const char *mesh : {"mesh=data:2,tensor:2", "mesh=data:3,tensor:2", "mesh=tensor:2,data:2"})
    for (int stage : {1, 3})
      ExpectSame(text.c_str(), kOptimizers[1],
                 std::string("strategy=zero ") + mesh + " zero-stage=" + std::to_string(stage));
}

// A weight that is used three times, once transposed.
const char kTied[] = R"dpt(model tied {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,64]
  parameter w: float32[64,10] = kaiming_uniform()
  parameter b: float32[10] = zeros
  constant scale: float32[] = 255
  s = Div(x, scale)
  h = Gemm(s, w, b)
  a = Tanh(h)
  u = Gemm(a, w) {transB=1}
  t = Tanh(u)
  skip = Add(t, s)
  logits = Gemm(skip, w, b)
  output logits
})dpt";

TEST(Zero, WithMicroBatches) {
  for (const char *text : {kMlp, kSquares, kTied})
    for (int stage : {1, 2, 3})
      for (int microbatches : {2, 5})
        ExpectSame(text, kOptimizers[(stage + microbatches) % 3],
                   "strategy=zero devices=3 zero-stage=" + std::to_string(stage) +
                       " microbatches=" + std::to_string(microbatches));
  for (const char *optimizer : kOptimizers)
    for (int stage : {1, 2, 3})
      ExpectSame(kTied, optimizer,
                 "strategy=zero mesh=data:2,pipe:3 microbatches=4 zero-stage=" + std::to_string(stage));
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// The largest share of a value along its first dim, or along its longest if the first is too short.
uint64_t Share(const Dp__Variable *p, int64_t devices) {
  uint64_t count = 1;
  int64_t split = 0;
  for (size_t d = 0; d < p->type->shape->n_dims; d++) {
    int64_t extent = p->type->shape->dims[d]->offset;
    count *= (uint64_t)extent;
    if (split < devices && extent > split) split = extent;
  }
  if (split < 2) return count;
  return count / (uint64_t)split * (uint64_t)((split + devices - 1) / devices);
}

TEST(Zero, HoldsItsShareOfWhatItSplits) {
  for (int devices : {2, 3, 5, 8})
    for (int stage : {1, 3}) {
      Plan plan = With(kCnn, "adam(lr=1e-2)",
                       "strategy=zero devices=" + std::to_string(devices) + " zero-stage=" + std::to_string(stage));
      for (size_t i = 0; i < plan->n_variables; i++) {
        const Dp__Variable *p = plan->variables[i];
        bool split = p->kind == 2 || (p->kind == 0 && stage == 3);
        uint64_t whole = Share(p, 1), held = split ? Share(p, devices) : whole;
        EXPECT_EQ(p->bytes, held * 8) << p->name << " on " << devices;
        EXPECT_EQ(p->bytes < whole * 8, split && whole > 1) << p->name;
      }
    }
}

// Layers of equal size; the samples need next to nothing.
std::string Deep(int layers) {
  std::string text =
      "model deep {\n  loss \"mse(y,target)\"\n  input x: float32[N,64]\n  constant c: float32[] = 255\n"
      "  h0 = Div(x, c)\n";
  for (int i = 0; i < layers; i++) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "  parameter w" + n + ": float32[64,64] = kaiming_uniform()\n  parameter b" + n + ": float32[64] = zeros\n";
    text += "  g" + next + " = Gemm(h" + n + ", w" + n + ", b" + n + ") {transB=1}\n  h" + next + " = Tanh(g" + next +
            ")\n";
  }
  return text + "  parameter w: float32[10,64] = kaiming_uniform()\n  y = Gemm(h" + std::to_string(layers) +
         ", w) {transB=1}\n  output y\n}\n";
}

uint64_t Transient(const Plan &plan) {
  for (size_t i = 0; i < plan->roles[0]->n_arenas; i++)
    if (plan->roles[0]->arenas[i]->space == DP__SPACE__TRANSIENT) return plan->roles[0]->arenas[i]->bytes;
  return 0;
}

TEST(Zero, GathersTwoLayersAtATime) {
  const uint64_t layer = (64 * 64 + 64) * 8;
  const std::string options = "strategy=zero zero-stage=3 devices=4 no-fuse=yes";
  Plan few = With(Deep(4).c_str(), "sgd(lr=0.1)", options), many = With(Deep(16).c_str(), "sgd(lr=0.1)", options);
  // Twelve more layers keep their activations (13 samples on 4 devices, 64 numbers each) but not their parameters.
  EXPECT_LE(Transient(many), Transient(few) + 12 * 2 * 4 * 64 * 8 + layer / 2);
  EXPECT_LE(Transient(many), 4 * layer + 16 * 2 * 4 * 64 * 8);
  // Regions have scratch, a small update in one waits for a larger one's gradient, and while a layer's region computes,
  // the next layer's parameters are gathered.
  Plan fused = With(Deep(16).c_str(), "sgd(lr=0.1)", "strategy=zero zero-stage=3 devices=4");
  EXPECT_LE(Transient(fused), 1.25 * Transient(many) + layer);
}

// The most bytes that a sum over micro-batches needs on a device.
uint64_t Accumulated(const Plan &plan) {
  const Dp__Program *train = plan->roles[0]->programs[FindProgram(plan, "train")];
  uint64_t most = 0;
  for (const Location &location : Communications(plan, "train")) {
    const Dp__Instruction *instruction = At(plan, location);
    if (instruction->op == std::string("Accumulate"))
      most = std::max(most, train->tensors[instruction->outputs[0] - 1]->bytes);
  }
  return most;
}

// w1 [24,64] has the largest gradient; each of 5 devices has at most 5 of its 24 rows.
TEST(Zero, AccumulatesPartsOfGradients) {
  for (const char *optimizer : kOptimizers)
    for (int stage : {1, 2, 3}) {
      SCOPED_TRACE(std::string(optimizer) + ", stage " + std::to_string(stage));
      Plan plan = With(kMlp, optimizer, "strategy=zero devices=5 microbatches=2 zero-stage=" + std::to_string(stage));
      EXPECT_EQ(Accumulated(plan), uint64_t(stage == 1 ? 24 : 5) * 64 * 8);
      Plan tied = With(kTied, optimizer, "strategy=zero devices=5 microbatches=2 zero-stage=" + std::to_string(stage));
      EXPECT_EQ(Accumulated(tied), uint64_t(stage == 1 ? 64 : 13) * 10 * 8);
    }
}

}  // namespace
}  // namespace dp_test
