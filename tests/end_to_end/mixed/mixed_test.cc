// --precision=bf16 against PyTorch's autocast: 200 steps of a perceptron, a convolutional network and a transformer,
// from the same weights on the same data (make_references.py). Our curve in bfloat16 is as close to ours in float32 as
// PyTorch's is to its own.
#include <cmath>
#include <cstdint>

#include "tests/end_to_end/gpt.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

enum { kSteps = 200, kBatch = 32, kSamples = 1024, kPositions = 16, kWords = 64 };

const char kMlp[] = R"dpt(model mlp {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1,momentum=0.9)"
  input image: float32[N,1,8,8]
  constant scale: float32[] = 255
  parameter w1: float32[64,64] = uniform(-0.125, 0.125)
  parameter b1: float32[64] = uniform(-0.125, 0.125)
  parameter w2: float32[10,64] = uniform(-0.125, 0.125)
  parameter b2: float32[10] = uniform(-0.125, 0.125)
  x = Div(image, scale)
  flat = Flatten(x)
  h = Gemm(flat, w1, b1) {transB=1}
  a = Relu(h)
  logits = Gemm(a, w2, b2) {transB=1}
  output logits
})dpt";

const char kCnn[] = R"dpt(model cnn {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.02,momentum=0.9)"
  input image: float32[N,1,8,8]
  constant scale: float32[] = 255
  parameter c1: float32[8,1,3,3] = uniform(-0.33, 0.33)
  parameter n1: float32[8] = ones
  parameter m1: float32[8] = uniform(-0.01, 0.01)
  parameter c2: float32[16,8,3,3] = uniform(-0.12, 0.12)
  parameter n2: float32[16] = ones
  parameter m2: float32[16] = uniform(-0.01, 0.01)
  parameter w: float32[10,64] = uniform(-0.125, 0.125)
  parameter b: float32[10] = uniform(-0.125, 0.125)
  buffer n1.mean: float32[8] = zeros
  buffer n1.var: float32[8] = ones
  buffer n2.mean: float32[16] = zeros
  buffer n2.var: float32[16] = ones
  x = Div(image, scale)
  y1 = Conv(x, c1) {pads=[1,1,1,1]}
  z1, a1, v1 = BatchNormalization(y1, n1, m1, n1.mean, n1.var) {training_mode=1}
  r1 = Relu(z1)
  p1 = MaxPool(r1) {kernel_shape=[2,2], strides=[2,2]}
  y2 = Conv(p1, c2) {pads=[1,1,1,1]}
  z2, a2, v2 = BatchNormalization(y2, n2, m2, n2.mean, n2.var) {training_mode=1}
  r2 = Relu(z2)
  p2 = MaxPool(r2) {kernel_shape=[2,2], strides=[2,2]}
  flat = Flatten(p2)
  logits = Gemm(flat, w, b) {transB=1}
  output logits
})dpt";

// The transformer without its dropout.
std::string GptText() {
  std::string text = Gpt(2, 32, 4, kWords, kPositions);
  for (size_t at; (at = text.find("ratio=0.1")) != std::string::npos;) text.replace(at, 9, "ratio=0");
  text.insert(text.find("\n") + 1, "  optimizer \"adam(lr=1e-3)\"\n");
  return text;
}

// As in make_references.py.
std::vector<double> Weights(const std::string &name, size_t count, double bound) {
  uint32_t seed = 0;
  for (unsigned char c : name) seed += c;
  std::vector<double> numbers;
  for (size_t i = 0; i < count; i++) {
    uint32_t x = static_cast<uint32_t>((i + 1) * 2654435761u + seed * 40503u);
    x = (x ^ (x >> 15)) * 2246822519u;
    x ^= x >> 13;
    numbers.push_back(static_cast<float>((static_cast<double>(x >> 8) / (1 << 23) - 1) * bound));
  }
  return numbers;
}

// The bounds that are no attribute of the text: those of the transformer.
double BoundOf(const std::string &name) {
  if (name == "wte" || name == "wpe") return 0.5;
  if (name.back() == 'b') return 0.01;
  return name.find("down") != std::string::npos ? 0.09 : 0.18;
}

void SetWeights(Training *run) {
  const dp_model *model = run->Model();
  for (int32_t i = 0; i < model->n_variables; i++) {
    const dp_variable &p = model->variables[i];
    if (p.kind != DP_PARAMETER || (p.init.kind == DP_INIT_FILL && p.init.a == 1)) continue;
    const bool given = p.init.kind == DP_INIT_UNIFORM && std::string(model->name) != "gpt";
    const size_t count = static_cast<size_t>(dp_shape_count(&p.type->shape, 0));
    run->SetNumbers(p.name, Weights(p.name, count, given ? p.init.b : BoundOf(p.name)));
  }
}

double Token(int64_t sample, int64_t position) {
  return static_cast<double>(((sample * 7 + 3) % 61 + position * (1 + sample % 5)) % kWords);
}

std::vector<double> Losses(const std::string &text, const std::string &options) {
  RunOptions run_options;
  run_options.feed = [digits = Digits(), tokens = text.find("model gpt") == 0](const std::string &input, int64_t sample,
                                                                               int64_t element) {
    sample %= kSamples;
    if (tokens) return Token(sample, element + (input == "label"));
    return digits(input, sample, element);
  };
  Training run(Compile(text, "batch=32 " + options), run_options);
  SetWeights(&run);
  return run.TrainAll(std::vector<int64_t>(kSteps, kBatch));
}

double Distance(const std::vector<double> &a, const std::vector<double> &b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); i++) sum += std::fabs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

class Mixed : public testing::TestWithParam<const char *> {
 protected:
  Mixed() {
    for (const auto &[name, numbers] : ReadNumbers("tests/end_to_end/mixed/references.txt")) curves_[name] = numbers;
    const std::string name = GetParam();
    text_ = name == "mlp" ? kMlp : name == "cnn" ? kCnn : GptText();
  }
  std::vector<double> Torch(const std::string &kind) { return curves_.at(GetParam() + ("." + kind)); }

  std::map<std::string, std::vector<double>> curves_;
  std::string text_;
};

TEST_P(Mixed, IsAsCloseToFloat32AsAutocast) {
  const std::vector<double> wide = Losses(text_, "");
  // The same weights, data and network.
  for (size_t i = 0; i < 3; i++) EXPECT_NEAR(wide[i], Torch("fp32")[i], 2e-5 * wide[i]);
  const double theirs = Distance(Torch("autocast"), Torch("fp32"));
  for (const char *options : {"precision=bf16", "precision=bf16 strategy=data devices=2",
                              "precision=bf16 strategy=data devices=2 comm-precision=bf16"}) {
    const double ours = Distance(Losses(text_, options), wide);
    std::printf("%s, %s: %.3g from float32; autocast %.3g\n", GetParam(), options, ours, theirs);
    EXPECT_LE(ours, 1.5 * theirs) << options;
    EXPECT_GT(ours, 0) << options;
  }
}

INSTANTIATE_TEST_SUITE_P(, Mixed, testing::Values("mlp", "cnn", "gpt"));

}  // namespace
}  // namespace dp_test
