// The networks: multi-layer perceptrons, convolutional networks, and transformers on tokens. Half of the extents are
// odd, skip connections reach over several layers, weights are used twice, and losses ignore some labels.
#include <cmath>

#include "tests/end_to_end/drawn.h"

namespace dp_test {
namespace {

using Words = std::vector<std::string>;

std::string Text(int number) { return std::to_string(number); }

const int kIgnored = -7;

class Writer {
 public:
  explicit Writer(uint32_t seed) : draw_(seed) {}
  DrawnNetwork Write();

 private:
  struct Value {
    std::string name;
    int width;
  };

  void Line(const std::string &line) { body_ += "  " + line + "\n"; }
  std::string Fresh() { return "v" + Text(++values_); }
  // Adds a node with one result and returns the result's name.
  std::string Node(const std::string &call, const std::string &attributes = "") {
    const std::string name = Fresh();
    Line(name + " = " + call + (attributes.empty() ? "" : " {" + attributes + "}"));
    return name;
  }
  std::string Parameter(const std::string &shape, const std::string &init = "uniform(-0.5,0.5)") {
    const std::string name = "w" + Text(++parameters_);
    Line("parameter " + name + ": float32[" + shape + "] = " + init);
    return name;
  }
  std::string Vector(int width, const std::string &init) { return Parameter(Text(width), init); }

  std::string Activation(const std::string &x) {
    return Node(draw_.Of<std::string>({"Tanh", "Sigmoid", "Gelu", "Swish", "Relu", "Softplus", "Elu"}) + "(" + x + ")");
  }
  std::string BatchNorm(const std::string &x, int channels);
  std::string Dropout(const std::string &x) {
    return draw_.OneIn(5) ? Node("Dropout(" + x + ")", "ratio=0.3, training_mode=1") : x;
  }
  Value Dense(const Value &x);
  Value Convolution(const Value &x);
  std::string Heads(const std::string &x, int length, int heads, int size, bool keys);
  std::string Attention(const std::string &x, int length, int heads, int width);
  std::string Block(const std::string &x, int length, int heads, int width);

  void Mlp();
  void Cnn();
  void Gpt();
  void Loss(const std::string &scores, int classes, int length);

  Draw draw_;
  std::string body_, loss_;
  int values_ = 0, parameters_ = 0, classes_ = 0;
  bool normalized_ = false, ignores_ = false;
};

std::string Writer::BatchNorm(const std::string &x, int channels) {
  const std::string n = Fresh(), c = Text(channels), scale = Vector(channels, "ones"), bias = Vector(channels, "zeros");
  for (const char *statistics : {"mean", "var"})
    Line("buffer " + n + "." + statistics + ": float32[" + c + "] = " + (*statistics == 'm' ? "zeros" : "ones"));
  Line(n + ", " + n + "m, " + n + "v = BatchNormalization(" + x + ", " + scale + ", " + bias + ", " + n + ".mean, " +
       n + ".var) {training_mode=1, unbiased=1}");
  return n;
}

// ---- perceptrons ----------------------------------------------------------------------------------------------------

Writer::Value Writer::Dense(const Value &x) {
  const int width = draw_.OneIn(2) ? x.width : draw_.Of<int>({3, 5, 6, 8, 9, 11, 12, 16});
  std::string y = draw_.OneIn(3) ? Node("MatMul(" + x.name + ", " + Parameter(Text(x.width) + "," + Text(width)) + ")")
                                 : Node("Gemm(" + x.name + ", " + Parameter(Text(width) + "," + Text(x.width)) + ", " +
                                            Vector(width, "zeros") + ")",
                                        "transB=1");
  if (normalized_ && draw_.OneIn(2)) y = BatchNorm(y, width);
  if (draw_.OneIn(4))
    y = Node("LayerNormalization(" + y + ", " + Vector(width, "ones") + ", " + Vector(width, "zeros") + ")");
  return {Dropout(Activation(y)), width};
}

void Writer::Mlp() {
  const int width = draw_.Of<int>({4, 6, 7, 12}), layers = 3 + draw_.UpTo(4);
  Line("input x: float32[N," + Text(width) + "]");
  std::vector<Value> all = {{Node("Mul(x, hundredth)"), width}};
  const std::string square = draw_.OneIn(4) ? Parameter(Text(width) + "," + Text(width)) : "";
  for (int l = 0; l < layers; l++) {
    Value y = Dense(all.back());
    // Uses the same weight again, some layers later.
    if (!square.empty() && y.width == width)
      y.name = Node("Tanh(" + Node("MatMul(" + y.name + ", " + square + ")") + ")");
    const Value &earlier = draw_.Of(all);
    if (draw_.OneIn(3) && earlier.width == y.width) y.name = Node("Add(" + y.name + ", " + earlier.name + ")");
    if (draw_.OneIn(8)) y = {Node("Concat(" + y.name + ", " + earlier.name + ")", "axis=1"), y.width + earlier.width};
    all.push_back(y);
  }
  const int classes = draw_.Of<int>({3, 5, 7, 10});
  const Value &x = all.back();
  const std::string scores = Node(
      "Gemm(" + x.name + ", " + Parameter(Text(classes) + "," + Text(x.width)) + ", " + Vector(classes, "zeros") + ")",
      "transB=1");
  Loss(scores, classes, 0);
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

Writer::Value Writer::Convolution(const Value &x) {
  const int group = x.width % 2 == 0 && draw_.OneIn(3) ? 2 : 1,
            channels = draw_.OneIn(2) ? x.width : group * draw_.Of<int>({2, 3, 4, 5});
  std::string call = "Conv(" + x.name + ", " + Parameter(Text(channels) + "," + Text(x.width / group) + ",3,3");
  if (draw_.OneIn(2)) call += ", " + Vector(channels, "uniform(-0.1,0.1)");
  std::string y = Node(call + ")", "pads=[1,1,1,1], group=" + Text(group));
  if (normalized_ && draw_.OneIn(2)) y = BatchNorm(y, channels);
  y = Dropout(Activation(y));
  if (channels == x.width && draw_.OneIn(2)) y = Node("Add(" + y + ", " + x.name + ")");
  return {y, channels};
}

void Writer::Cnn() {
  int side = 6, channels = draw_.Of<int>({1, 2, 3}), layers = 2 + draw_.UpTo(3);
  Line("input x: float32[N," + Text(channels) + ",6,6]");
  Value x = {Node("Mul(x, hundredth)"), channels};
  const int pooled = draw_.UpTo(layers + 1);
  for (int l = 0; l < layers; l++) {
    x = Convolution(x);
    if (l != pooled) continue;
    x.name =
        Node(draw_.Of<std::string>({"AveragePool(", "MaxPool("}) + x.name + ")", "kernel_shape=[2,2], strides=[2,2]");
    side /= 2;
  }
  const bool global = draw_.OneIn(2);
  if (global) x.name = Node("GlobalAveragePool(" + x.name + ")");
  const int classes = draw_.Of<int>({3, 5, 10}), width = x.width * (global ? 1 : side * side);
  const std::string flat = Node("Flatten(" + x.name + ")");
  Loss(Node("Gemm(" + flat + ", " + Parameter(Text(classes) + "," + Text(width), "uniform(-0.2,0.2)") + ", " +
                Vector(classes, "zeros") + ")",
            "transB=1"),
       classes, 0);
}

// ---- transformers ---------------------------------------------------------------------------------------------------

std::string Writer::Heads(const std::string &x, int length, int heads, int size, bool keys) {
  const std::string r =
      Node("Reshape(" + x + ")", "shape=[N," + Text(length) + "," + Text(heads) + "," + Text(size) + "]");
  return Node("Transpose(" + r + ")", keys ? "perm=[0,2,3,1]" : "perm=[0,2,1,3]");
}

std::string Writer::Attention(const std::string &x, int length, int heads, int width) {
  const std::string d = Text(width), d3 = Text(3 * width);
  std::string q, k, v;
  if (draw_.OneIn(4)) {
    for (std::string *one : {&q, &k, &v}) *one = Node("MatMul(" + x + ", " + Parameter(d + "," + d) + ")");
  } else {
    std::string qkv = Node("MatMul(" + x + ", " + Parameter(d + "," + d3) + ")");
    if (draw_.OneIn(2)) qkv = Node("Add(" + qkv + ", " + Parameter(d3, "uniform(-0.1,0.1)") + ")");
    q = Fresh(), k = Fresh(), v = Fresh();
    Line(q + ", " + k + ", " + v + " = Split(" + qkv + ") {axis=2, split=[" + d + "," + d + "," + d + "]}");
  }
  const int size = width / heads;
  const std::string dots = Node("MatMul(" + Heads(q, length, heads, size, false) + ", " +
                                Heads(k, length, heads, size, true) + ")"),
                    scores = Node("Add(" + Node("Mul(" + dots + ", half)") + ", mask)"),
                    p = Dropout(Node("Softmax(" + scores + ")")),
                    mixed = Node("MatMul(" + p + ", " + Heads(v, length, heads, size, false) + ")"),
                    back = Node("Transpose(" + mixed + ")", "perm=[0,2,1,3]"),
                    joined = Node("Reshape(" + back + ")", "shape=[N," + Text(length) + "," + d + "]");
  return Node("MatMul(" + joined + ", " + Parameter(d + "," + d) + ")");
}

std::string Writer::Block(const std::string &x, int length, int heads, int width) {
  const int inner = draw_.OneIn(2) ? 4 * width : width + 3;
  auto Norm = [&](const std::string &y) {
    return Node("LayerNormalization(" + y + ", " + Vector(width, "ones") + ", " + Vector(width, "zeros") + ")");
  };
  const std::string h = Node("Add(" + x + ", " + Attention(Norm(x), length, heads, width) + ")");
  std::string y = Node("MatMul(" + Norm(h) + ", " + Parameter(Text(width) + "," + Text(inner)) + ")");
  if (draw_.OneIn(2)) y = Node("Add(" + y + ", " + Vector(inner, "zeros") + ")");
  y = Node("MatMul(" + Activation(y) + ", " + Parameter(Text(inner) + "," + Text(width)) + ")");
  return Node("Add(" + h + ", " + y + ")");
}

void Writer::Gpt() {
  const int vocabulary = draw_.Of<int>({97, 97, 13, 32}), length = 2 + draw_.UpTo(4), heads = 1 + draw_.UpTo(5),
            width = heads * draw_.Of<int>({2, 3, 4}), layers = 1 + draw_.UpTo(3);
  Line("input x: int64[N," + Text(length) + "]");
  std::string mask;
  for (int i = 0; i < length; i++)
    for (int k = 0; k < length; k++) mask += std::string(mask.empty() ? "" : ",") + (k > i ? "-1e9" : "0");
  Line("constant mask: float32[" + Text(length) + "," + Text(length) + "] = [" + mask + "]");
  Line("constant half: float32[] = 0.5");
  const std::string words = Parameter(Text(vocabulary) + "," + Text(width), "normal(0,0.4)"),
                    x = Node("Gather(" + words + ", x)");
  std::string h = Node("Add(" + x + ", " + Parameter(Text(length) + "," + Text(width), "normal(0,0.4)") + ")");
  for (int l = 0; l < layers; l++) h = Block(h, length, heads, width);
  const std::string head =
      draw_.OneIn(2) ? Node("Transpose(" + words + ")", "perm=[1,0]") : Parameter(Text(width) + "," + Text(vocabulary));
  Loss(Node("MatMul(" + h + ", " + head + ")"), vocabulary, length);
}

// ---- losses ---------------------------------------------------------------------------------------------------------

// Means over the labels that are not ignored: either the operator's loss, or each label's share of it. The first is
// squared and the second goes under a root (plus one), so that the mean square is the mean.
void Writer::Loss(const std::string &scores, int classes, int length) {
  classes_ = classes;
  Line("output " + scores);
  const int kind = draw_.UpTo(5);
  if (kind < 2 || (kind == 2 && length)) {
    loss_ = "softmax_cross_entropy(" + scores + ",label)";
    return;
  }
  if (kind == 2) {
    loss_ = "mse(" + scores + ",target)";
    return;
  }
  ignores_ = true;
  const std::string n = length ? "N," + Text(length) : "N", ignored = "ignore_index=" + Text(kIgnored);
  Line("input label: int64[" + n + "]");
  const std::string s = length ? Node("Transpose(" + scores + ")", "perm=[0,2,1]") : scores;
  if (kind == 3 && length) {  // otherwise a batch of one sample might have no label
    Line("constant nothing: float32[] = 0");
    Line("constant tenth: float32[] = 0.1");
    const std::string mean = Node("SoftmaxCrossEntropyLoss(" + s + ", label)", ignored);
    loss_ = "mse(" + Node("Mul(" + mean + ", tenth)") + ",nothing)";
    return;
  }
  Line("constant ignored: int64[] = " + Text(kIgnored));
  Line("constant one: float32[] = 1");
  Line("constant none: float32[] = 0");
  const std::string each = Node("SoftmaxCrossEntropyLoss(" + s + ", label)", ignored + ", reduction=\"none\"");
  auto Count = [&](const std::string &which) {
    return Node("ReduceSum(" + Node("Cast(" + which + ")", "to=float32") + ")", "keepdims=0");
  };
  const std::string all = Count(Node("Equal(label, label)")),
                    some = Count(Node("Not(" + Node("Equal(label, ignored)") + ")")),
                    ratio = Node("Div(" + all + ", " + Node("Max(" + some + ", one)") + ")"),
                    root = Node("Sqrt(" + Node("Add(" + Node("Mul(" + each + ", " + ratio + ")") + ", one)") + ")");
  Line("zeros = Mul(" + Node("Cast(label)", "to=float32") + ", none)");
  loss_ = "mse(" + root + ",zeros)";
}

// eps: the true gradient of a bias before a normalization is zero, so Adam would divide rounding errors by their own
// size.
const char *const kOptimizers[] = {"sgd(lr=0.05)",
                                   "sgd(lr=0.03,momentum=0.9)",
                                   "sgd(lr=0.02,momentum=0.8,nesterov=1,weight_decay=1e-2)",
                                   "sgd(lr=0.05,momentum=0.9,clip_norm=0.3)",
                                   "adam(lr=0.01,eps=1e-6)",
                                   "adam(lr=0.01,eps=1e-6,clip_norm=0.5)",
                                   "adamw(lr=0.01,eps=1e-6,weight_decay=0.05)",
                                   "adamw(lr=0.01,eps=1e-6,clip_norm=0.4,schedule=cosine,total=12,warmup=2)"};

// Random numbers that do not depend on neighbours: any element of any sample by itself.
double Noise(int64_t sample, int64_t element, int64_t of) {
  uint64_t x = uint64_t(sample) * 0x9E3779B97F4A7C15u + uint64_t(element) * 0xC2B2AE3D27D4EB4Fu + 1;
  x = (x ^ (x >> 31)) * 0xD6E8FEB86659FD93u;
  x ^= x >> 29;
  return double(x % uint64_t(of));
}

DrawnNetwork Writer::Write() {
  DrawnNetwork network;
  normalized_ = draw_.OneIn(3);
  void (Writer::*const write[])() = {&Writer::Mlp, &Writer::Cnn, &Writer::Gpt};
  const int kind = draw_.UpTo(3);
  network.kind = (const char *const[]){"mlp", "cnn", "gpt"}[kind];
  (this->*write[kind])();
  network.text = "model drawn {\n  loss \"" + loss_ + "\"\n  constant hundredth: float32[] = 0.01\n" + body_ + "}\n";
  network.optimizer = kOptimizers[draw_.UpTo(8)];
  // Full batches, then short ones, including batches smaller than the number of devices and one of a single sample.
  const int batch = draw_.Of<int>({3, 5, 7, 8, 8, 12, 13, 16});
  network.batches.assign(7, batch);
  for (int i = 0; i < 3; i++) network.batches.push_back(1 + draw_.UpTo(batch));
  network.feed = [classes = classes_, ignores = ignores_, several = kind == 2, kind](const std::string &input,
                                                                                     int64_t sample, int64_t e) {
    if (input == "label") {
      // If a sample has several labels, the first one always counts.
      if (ignores && (e || !several) && Noise(sample, e, 3) == 0) return double(kIgnored);
      return Noise(sample + 1000, e, classes);
    }
    if (input == "target") return Noise(sample, e, 100) / 50 - 1;
    return kind == 2 ? Noise(sample, e, classes) : Noise(sample, e, 256);
  };
  return network;
}

}  // namespace

std::string DrawnNetwork::Options() const {
  return "precision=fp64 threads=1 batch=" + std::to_string(batches[0]) + " optimizer=" + optimizer;
}

DrawnNetwork DrawNetwork(uint32_t seed) { return Writer(seed).Write(); }

}  // namespace dp_test
