// Random networks, with weights split in places, and meshes for them.
#ifndef DP_TESTS_PASSES_RANDOM_NETWORK_H
#define DP_TESTS_PASSES_RANDOM_NETWORK_H

#include <random>
#include <string>
#include <vector>

namespace dp_test {

// A few layers, dense or convolutional, with skips, normalization and dropout; then ten outputs. smooth: without kinks,
// where rounding would decide between two slopes.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed, bool smooth = false) : seed_(seed), smooth_(smooth), rng_(seed) {
    static const struct {
      const char *mesh;
      std::vector<std::string> axes;
    } meshes[] = {{"data:2", {"data"}},
                  {"data:3,tensor:2", {"tensor"}},
                  {"data:2,tensor:2", {"data", "tensor"}},
                  {"tensor:2,data:2", {"tensor", "data"}},
                  {"data:1,a:2,b:2", {"a", "b"}},
                  {"a:2,data:2,b:3", {"a", "b", "data"}}};
    mesh = meshes[seed % 6].mesh;
    axes_ = meshes[seed % 6].axes;
    Write();
  }
  std::string Describe() const { return "seed " + std::to_string(seed_) + ", mesh " + mesh + "\n" + text; }

  std::string text;  // of the source model
  std::string mesh;  // words for dp_test::Options

 private:
  int UpTo(int n) { return int(rng_() % uint32_t(n)); }
  bool Sometimes(int one_in) { return UpTo(one_in) == 0; }
  std::string Pick(const std::vector<std::string> &of) { return of[size_t(UpTo(int(of.size())))]; }
  void Line(const std::string &line) { text += "  " + line + "\n"; }
  std::string Pin(int rank) {
    std::string constraints;
    for (const std::string &axis : axes_)
      if (Sometimes(3)) constraints += (constraints.empty() ? "" : ", ") + axis + "=" + std::to_string(UpTo(rank));
    return constraints.empty() ? "" : " shard(" + constraints + ")";
  }

  void Write() {
    text = "model m {\n";
    Line("loss \"" + Pick({"softmax_cross_entropy(y,label)", "mse(y,target)"}) + "\"");
    Line("optimizer \"" + Pick({"sgd(lr=0.01)", "sgd(lr=0.01,momentum=0.9,weight_decay=1e-3)"}) + "\"");
    bool image = Sometimes(2);
    int width = 4, layers = 1 + UpTo(4);
    Line(image ? "input pixels: float32[N,4,4,4]" : "input pixels: float32[N,4]");
    Line("constant most: float32[] = 255");
    Line("x = Div(pixels, most)");
    std::string x = "x";
    for (int l = 1; l <= layers; l++) x = Layer(std::to_string(l), x, image, std::to_string(width));
    if (image) Line("flat = Flatten(" + x + ")"), x = "flat", width *= 16;
    Line("parameter last: float32[10," + std::to_string(width) + "] = uniform(-1,1)" + Pin(2));
    Line("parameter last_bias: float32[10] = zeros" + Pin(1));
    Line("y = Gemm(" + x + ", last, last_bias) {transB=1}");
    text += "  output y\n}\n";
  }

  std::string Layer(const std::string &n, const std::string &x, bool image, const std::string &width) {
    std::string y = "c" + n;
    Line("parameter w" + n + ": float32[" + width + "," + width + (image ? ",3,3" : "") + "] = uniform(-1,1)" + Pin(2));
    Line("parameter b" + n + ": float32[" + width + "] = zeros" + Pin(1));
    Line(y + (image ? " = Conv(" : " = Gemm(") + x + ", w" + n + ", b" + n +
         (image ? ") {pads=[1,1,1,1]}" : ") {transB=1}"));
    if (Sometimes(2)) {
      for (const char *p : {"parameter s", "parameter t", "buffer m", "buffer v"})
        Line(p + n + ": float32[" + width + "] = ones" + Pin(1));
      Line("n" + n + ", nm" + n + ", nv" + n + " = BatchNormalization(" + y + ", s" + n + ", t" + n + ", m" + n +
           ", v" + n + ") {training_mode=1, unbiased=1}");
      y = "n" + n;
    }
    Line("r" + n + " = " + Pick({smooth_ ? "Tanh" : "Relu", "Tanh", "Sigmoid"}) + "(" + y + ")");
    y = "r" + n;
    if (Sometimes(3)) Line("d" + n + " = Dropout(" + y + ") {ratio=0.5, training_mode=1}"), y = "d" + n;
    if (Sometimes(3)) Line("a" + n + " = Add(" + y + ", " + x + ")"), y = "a" + n;
    return y;
  }

  uint32_t seed_;
  bool smooth_;
  std::mt19937 rng_;
  std::vector<std::string> axes_;
};

}  // namespace dp_test

#endif
