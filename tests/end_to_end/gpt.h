// A transformer on tokens, of any depth and width, for tests.
#ifndef DP_TESTS_END_TO_END_GPT_H
#define DP_TESTS_END_TO_END_GPT_H

#include <string>

namespace dp_test {

// A GPT with fused projections to queries, keys and values, and a causal mask. tied: the embedding is also the output
// projection.
inline std::string Gpt(int layers, int width, int heads, int vocabulary = 97, int positions = 6, bool tied = false) {
  std::string parameters, nodes, d = std::to_string(width), t = std::to_string(positions), h = "h0";
  auto Parameter = [&](const std::string &name, const std::string &shape, const std::string &init) {
    parameters += "  parameter " + name + ": float32[" + shape + "] = " + init + "\n";
  };
  auto Node = [&](const std::string &text) { nodes += "  " + text + "\n"; };
  const std::string v = std::to_string(vocabulary), random = "kaiming_uniform()";
  Parameter("wte", v + "," + d, "normal(0,0.5)");
  Parameter("wpe", t + "," + d, "normal(0,0.5)");
  Node("e = Gather(wte, x)");
  Node("h0 = Add(e, wpe)");
  for (int i = 0; i < layers; i++) {
    const std::string b = "b" + std::to_string(i) + ".", d3 = std::to_string(3 * width), d4 = std::to_string(4 * width);
    const std::string heads_of =
        " {shape=[N," + t + "," + std::to_string(heads) + "," + std::to_string(width / heads) + "]}";
    for (const char *norm : {"n1", "n2"}) {
      Parameter(b + norm + ".w", d, "ones");
      Parameter(b + norm + ".b", d, "zeros");
    }
    Parameter(b + "qkv.w", d + "," + d3, random);
    Parameter(b + "qkv.b", d3, "zeros");
    Parameter(b + "o.w", d + "," + d, random);
    Parameter(b + "up.w", d + "," + d4, random);
    Parameter(b + "up.b", d4, "zeros");
    Parameter(b + "down.w", d4 + "," + d, random);
    Parameter(b + "down.b", d, "zeros");
    Node(b + "l1 = LayerNormalization(" + h + ", " + b + "n1.w, " + b + "n1.b)");
    Node(b + "m = MatMul(" + b + "l1, " + b + "qkv.w)");
    Node(b + "qkv = Add(" + b + "m, " + b + "qkv.b)");
    Node(b + "q1, " + b + "k1, " + b + "v1 = Split(" + b + "qkv) {axis=2, split=[" + d + "," + d + "," + d + "]}");
    for (const char *one : {"q", "k", "v"}) {
      Node(b + one + "2 = Reshape(" + b + one + "1)" + heads_of);
      Node(b + one + "3 = Transpose(" + b + one + "2) {perm=" + (*one == 'k' ? "[0,2,3,1]}" : "[0,2,1,3]}"));
    }
    Node(b + "dots = MatMul(" + b + "q3, " + b + "k3)");
    Node(b + "scores = Div(" + b + "dots, root)");
    Node(b + "masked = Add(" + b + "scores, mask)");
    Node(b + "p = Softmax(" + b + "masked)");
    Node(b + "drop = Dropout(" + b + "p) {ratio=0.1, training_mode=1}");
    Node(b + "mixed = MatMul(" + b + "drop, " + b + "v3)");
    Node(b + "t = Transpose(" + b + "mixed) {perm=[0,2,1,3]}");
    Node(b + "joined = Reshape(" + b + "t) {shape=[N," + t + "," + d + "]}");
    Node(b + "o = MatMul(" + b + "joined, " + b + "o.w)");
    Node(b + "h1 = Add(" + h + ", " + b + "o)");
    Node(b + "l2 = LayerNormalization(" + b + "h1, " + b + "n2.w, " + b + "n2.b)");
    Node(b + "u1 = MatMul(" + b + "l2, " + b + "up.w)");
    Node(b + "u2 = Add(" + b + "u1, " + b + "up.b)");
    Node(b + "g = Gelu(" + b + "u2)");
    Node(b + "w1 = MatMul(" + b + "g, " + b + "down.w)");
    Node(b + "w2 = Add(" + b + "w1, " + b + "down.b)");
    Node(b + "h2 = Add(" + b + "h1, " + b + "w2)");
    h = b + "h2";
  }
  if (tied)
    Node("head.w = Transpose(wte) {perm=[1,0]}");
  else
    Parameter("head.w", d + "," + v, random);
  Node("logits = MatMul(" + h + ", head.w)");
  std::string mask = "  constant mask: float32[" + t + "," + t + "] = [";
  for (int i = 0; i < positions; i++)
    for (int k = 0; k < positions; k++) mask += std::string(i + k ? "," : "") + (k > i ? "-1e9" : "0");
  return "model gpt {\n  loss \"softmax_cross_entropy(logits,label)\"\n  input x: int64[N," + t + "]\n" + parameters +
         mask + "]\n  constant root: float32[] = 2\n" + nodes + "  output logits\n}\n";
}

}  // namespace dp_test

#endif
