// ResNet-50 for pictures of 224 x 224, for tests.
#ifndef DP_TESTS_END_TO_END_RESNET_H
#define DP_TESTS_END_TO_END_RESNET_H

#include <string>

namespace dp_test {

class ResNetText {
 public:
  // `folded`: each normalization is part of the convolution before it, as exporters write a network for inference.
  explicit ResNetText(bool folded = false) : folded_(folded) {}

  std::string Text() {
    std::string h = Normalized("conv1", "x", 3, 64, 7, 2, true);
    Node("pool = MaxPool(" + h + ") {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}");
    h = "pool";
    int before = 64;
    const int counts[] = {3, 4, 6, 3};
    for (int stage = 0; stage < 4; stage++)
      for (int i = 0; i < counts[stage]; i++) {
        h = Block("s" + std::to_string(stage) + "b" + std::to_string(i) + ".", h, before, 64 << stage,
                  stage && !i ? 2 : 1);
        before = 4 * (64 << stage);
      }
    Node("mean = GlobalAveragePool(" + h + ")");
    Node("flat = Flatten(mean)");
    Parameter("fc.w", "1000,2048", "kaiming_uniform()");
    Parameter("fc.b", "1000", "zeros");
    Node("logits = Gemm(flat, fc.w, fc.b) {transB=1}");
    return "model resnet50 {\n  opset 18\n  loss \"softmax_cross_entropy(logits,label)\"\n  input x: "
           "float32[N,3,224,224]\n" +
           declared_ + nodes_ + "  output logits\n}\n";
  }

 private:
  void Parameter(const std::string &name, const std::string &shape, const std::string &init) {
    declared_ += "  parameter " + name + ": float32[" + shape + "] = " + init + "\n";
  }
  void Node(const std::string &text) { nodes_ += "  " + text + "\n"; }

  // Convolution and batch normalization, and Relu if asked for.
  std::string Normalized(const std::string &name, const std::string &x, int from, int to, int size, int stride,
                         bool relu) {
    const std::string c = std::to_string(to), k = std::to_string(size), s = std::to_string(stride),
                      p = std::to_string(size / 2);
    Parameter(name + ".w", c + "," + std::to_string(from) + "," + k + "," + k, "kaiming_uniform()");
    const std::string conv = " {strides=[" + s + "," + s + "], pads=[" + p + "," + p + "," + p + "," + p + "]}";
    if (folded_) return Folded(name, x, c, conv, relu);
    Parameter(name + ".scale", c, "ones");
    Parameter(name + ".shift", c, "zeros");
    declared_ += "  buffer " + name + ".mean: float32[" + c + "] = zeros\n  buffer " + name + ".var: float32[" + c +
                 "] = ones\n";
    Node(name + ".y = Conv(" + x + ", " + name + ".w)" + conv);
    Node(name + ".n, " + name + ".m1, " + name + ".v1 = BatchNormalization(" + name + ".y, " + name + ".scale, " +
         name + ".shift, " + name + ".mean, " + name + ".var) {training_mode=1}");
    if (!relu) return name + ".n";
    Node(name + ".r = Relu(" + name + ".n)");
    return name + ".r";
  }

  std::string Folded(const std::string &name, const std::string &x, const std::string &channels,
                     const std::string &conv, bool relu) {
    Parameter(name + ".b", channels, "zeros");
    Node(name + ".y = Conv(" + x + ", " + name + ".w, " + name + ".b)" + conv);
    if (relu) Node(name + ".r = Relu(" + name + ".y)");
    return name + (relu ? ".r" : ".y");
  }

  std::string Block(const std::string &b, const std::string &x, int before, int width, int stride) {
    std::string h = Normalized(b + "c1", x, before, width, 1, 1, true);
    h = Normalized(b + "c2", h, width, width, 3, stride, true);
    h = Normalized(b + "c3", h, width, 4 * width, 1, 1, false);
    const bool same = stride == 1 && before == 4 * width;
    const std::string skip = same ? x : Normalized(b + "skip", x, before, 4 * width, 1, stride, false);
    Node(b + "sum = Add(" + h + ", " + skip + ")");
    Node(b + "out = Relu(" + b + "sum)");
    return b + "out";
  }

  const bool folded_;
  std::string declared_, nodes_;
};

}  // namespace dp_test

#endif
