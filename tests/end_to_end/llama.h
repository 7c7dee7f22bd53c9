// A Llama on tokens, of any size: RMSNorm, rotary positions, grouped-query attention, SwiGLU, tied embeddings. For
// tests.
#ifndef DP_TESTS_END_TO_END_LLAMA_H
#define DP_TESTS_END_TO_END_LLAMA_H

#include <cmath>
#include <cstdio>
#include <string>

namespace dp_test {

struct LlamaSize {
  int layers, width, heads, groups, hidden, vocabulary, positions;  // groups: heads of keys and values
};
// As Llama 3.2 1B, with sequences of 1,024.
const LlamaSize kLlama1B = {16, 2048, 32, 8, 8192, 128256, 1024};

class LlamaText {
 public:
  explicit LlamaText(const LlamaSize &size) : z_(size), head_(size.width / size.heads) {}

  std::string Text() {
    const std::string d = std::to_string(z_.width), v = std::to_string(z_.vocabulary);
    Parameter("words", v + "," + d, "normal(0,0.02)");
    Node("h0 = Gather(words, x)");
    Node("angles = Mul(places, frequencies)");
    Node("cosines = Cos(angles)");
    Node("sines = Sin(angles)");
    std::string h = "h0";
    for (int i = 0; i < z_.layers; i++) h = Block("b" + std::to_string(i) + ".", h);
    Parameter("norm", d, "ones");
    Node("last = RMSNormalization(" + h + ", norm) {epsilon=1e-5}");
    Node("head = Transpose(words) {perm=[1,0]}");
    Node("logits = MatMul(last, head)");
    return "model llama {\n  opset 23\n  loss \"softmax_cross_entropy(logits,label)\"\n  input x: int64[N," +
           std::to_string(z_.positions) + "]\n" + parameters_ + Angles() + nodes_ + "  output logits\n}\n";
  }

 private:
  void Parameter(const std::string &name, const std::string &shape, const std::string &init) {
    parameters_ += "  parameter " + name + ": float32[" + shape + "] = " + init + "\n";
  }
  void Node(const std::string &text) { nodes_ += "  " + text + "\n"; }
  static std::string Number(double x) {
    char text[32];
    snprintf(text, sizeof text, "%.9g", x);
    return text;
  }

  // y = x W, with W (from, to) of normal numbers.
  void Linear(const std::string &y, const std::string &x, const std::string &w, int from, int to) {
    Parameter(w, std::to_string(from) + "," + std::to_string(to), "normal(0,0.02)");
    Node(y + " = MatMul(" + x + ", " + w + ")");
  }

  // Positions, and the angle that a position turns each pair of a head's numbers by (base 500,000).
  std::string Angles() const {
    std::string places, frequencies;
    for (int t = 0; t < z_.positions; t++) places += (t ? "," : "") + std::to_string(t);
    for (int i = 0; i < head_ / 2; i++) frequencies += (i ? "," : "") + Number(std::pow(5e5, -2.0 * i / head_));
    return "  constant places: float32[" + std::to_string(z_.positions) + ",1,1] = [" + places +
           "]\n  constant frequencies: float32[" + std::to_string(head_ / 2) + "] = [" + frequencies + "]\n";
  }

  // x (N, positions, heads * size), turned: halves (a, b) of each head become (a cos - b sin, b cos + a sin).
  std::string Rotate(const std::string &x, int heads) {
    const std::string t = std::to_string(z_.positions), all = std::to_string(heads * head_);
    Node(x + "h = Reshape(" + x + ") {shape=[N," + t + "," + std::to_string(heads) + "," + std::to_string(head_) +
         "]}");
    Node(x + "a, " + x + "b = Split(" + x + "h) {axis=3, num_outputs=2}");
    Node(x + "ac = Mul(" + x + "a, cosines)");
    Node(x + "bs = Mul(" + x + "b, sines)");
    Node(x + "bc = Mul(" + x + "b, cosines)");
    Node(x + "as = Mul(" + x + "a, sines)");
    Node(x + "first = Sub(" + x + "ac, " + x + "bs)");
    Node(x + "second = Add(" + x + "bc, " + x + "as)");
    Node(x + "turned = Concat(" + x + "first, " + x + "second) {axis=3}");
    Node(x + "r = Reshape(" + x + "turned) {shape=[N," + t + "," + all + "]}");
    return x + "r";
  }

  std::string Block(const std::string &b, const std::string &h) {
    const std::string d = std::to_string(z_.width);
    const int of_keys = z_.groups * head_;
    Parameter(b + "norm1", d, "ones");
    Node(b + "l1 = RMSNormalization(" + h + ", " + b + "norm1) {epsilon=1e-5}");
    Linear(b + "q", b + "l1", b + "query", z_.width, z_.width);
    Linear(b + "k", b + "l1", b + "key", z_.width, of_keys);
    Linear(b + "v", b + "l1", b + "value", z_.width, of_keys);
    const std::string q = Rotate(b + "q", z_.heads), k = Rotate(b + "k", z_.groups);
    Node(b + "mixed = Attention(" + q + ", " + k + ", " + b + "v) {is_causal=1, q_num_heads=" +
         std::to_string(z_.heads) + ", kv_num_heads=" + std::to_string(z_.groups) + "}");
    Linear(b + "o", b + "mixed", b + "out", z_.width, z_.width);
    Node(b + "h1 = Add(" + h + ", " + b + "o)");
    Parameter(b + "norm2", d, "ones");
    Node(b + "l2 = RMSNormalization(" + b + "h1, " + b + "norm2) {epsilon=1e-5}");
    Linear(b + "g", b + "l2", b + "gate", z_.width, z_.hidden);
    Linear(b + "u", b + "l2", b + "up", z_.width, z_.hidden);
    Node(b + "s = Sigmoid(" + b + "g)");
    Node(b + "swish = Mul(" + b + "g, " + b + "s)");
    Node(b + "m = Mul(" + b + "swish, " + b + "u)");
    Linear(b + "w", b + "m", b + "down", z_.hidden, z_.width);
    Node(b + "h2 = Add(" + b + "h1, " + b + "w)");
    return b + "h2";
  }

  const LlamaSize z_;
  const int head_;
  std::string parameters_, nodes_;
};

inline std::string Llama(const LlamaSize &size) { return LlamaText(size).Text(); }

}  // namespace dp_test

#endif
