// What kernels prepare for equal specs on a GPU is prepared once: cuBLASLt's heuristics are asked as often for twelve
// equal layers as for two, and for four devices on a GPU that compute the same as for one.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/tools/tool.h"

namespace {

class Shared : public Tools {
 protected:
  Shared() { setenv("XDG_CACHE_HOME", File("").c_str(), 1); }
  ~Shared() override {
    for (const char *name : {"DP_STANDIN_TRACE", "DP_STANDIN_DEVICES", "XDG_CACHE_HOME"}) unsetenv(name);
  }
  // How often a run asks heuristics. Each layer is a product, with its gradients.
  int64_t Asked(int layers, const std::string &options) {
    std::string text =
        "model layers {\n  input image: uint8[N,1,8,8]\n  constant scale: float32[] = 255\n"
        "  p = Cast(image) {to=float32}\n  x = Div(p, scale)\n";
    text +=
        "  f = Flatten(x)\n  parameter first: float32[64,16] = kaiming_uniform()\n"
        "  g = MatMul(f, first)\n";
    std::string from = "g";
    for (int i = 0; i < layers; i++) {
      const std::string k = std::to_string(i);
      text += "  parameter w" + k + ": float32[16,16] = kaiming_uniform()\n  m" + k + " = MatMul(" + from + ", w" + k +
              ")\n  t" + k + " = Tanh(m" + k + ")\n";
      from = "t" + k;
    }
    text += "  parameter last: float32[16,10] = kaiming_uniform()\n  logits = MatMul(" + from +
            ", last)\n  output logits\n}\n";
    Must("dpc compile " + Write("layers.dpt", text) +
         " --target=cuda --no-fuse "
         "--loss=softmax_cross_entropy(logits,label) --optimizer=sgd(lr=0.01) " +
         options + " -o " + File("plan.bin"));
    setenv("DP_STANDIN_TRACE", File("calls").c_str(), 1);
    Must("dprun " + File("plan.bin") + " --device=cuda --steps=1 --quiet " + digits);
    unsetenv("DP_STANDIN_TRACE");
    std::ifstream trace(File("calls"));
    int64_t asked = 0;
    for (std::string number, name; trace >> number >> name;) asked += name == "cublasLtMatmulAlgoGetHeuristic";
    return asked;
  }
};

// Batches divide the 1,437 digits, so that there is one number of samples. Specs are equal where shards are, so devices
// that compute the same share what is prepared, and those with other samples prepare for themselves.
TEST_F(Shared, AmongLayersAndDevices) {
  const int64_t one = Asked(2, "--batch=3");
  EXPECT_GE(one, 8);  // three products of the first, of a middle and of the last layer, less a gradient
  EXPECT_EQ(Asked(12, "--batch=3"), one);
  const std::string same = "--strategy=manual --mesh=tensor=4 --batch=3",
                    parts = "--strategy=data --devices=3 --batch=3";
  EXPECT_EQ(Asked(2, same), one);
  EXPECT_EQ(Asked(12, same), one);
  EXPECT_EQ(Asked(12, parts), 3 * one);
  // Handles are of a GPU, so each one asks for itself.
  setenv("DP_STANDIN_DEVICES", "2", 1);
  EXPECT_EQ(Asked(2, same), 2 * one);
  EXPECT_EQ(Asked(12, same), 2 * one);
}

}  // namespace
