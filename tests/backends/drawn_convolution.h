// Random convolutions: ranks, strides, pads, groups, dilations.
#ifndef DP_TESTS_BACKENDS_DRAWN_CONVOLUTION_H
#define DP_TESTS_BACKENDS_DRAWN_CONVOLUTION_H

#include <random>
#include <string>
#include <vector>

namespace dp_test {

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  int64_t Int(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(generator_); }

 private:
  std::mt19937 generator_;
};

inline std::string List(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); i++) text += (i ? "," : "") + std::to_string(numbers[i]);
  return text + "]";
}

inline std::string Shape(const std::string &first, const std::vector<int64_t> &rest) {
  std::string text = "[" + first;
  for (int64_t extent : rest) text += "," + std::to_string(extent);
  return text + "]";
}

// A random convolution, as the forward problem and its two gradients: operands as samples write them, and how many
// products a result of each sums.
struct Convolution {
  std::string x, w, b, y, attrs, x_shape, w_shape;
  double taps, windows;
};

// x has up to so many channels in a group.
inline Convolution DrawConvolution(Random &random, const std::string &type, int64_t channels = 5) {
  int rank = int(random.Int(1, 3));
  int64_t groups = random.Int(0, 2) ? 1 : random.Int(2, 3), c = random.Int(1, channels), m = random.Int(1, 20);
  std::vector<int64_t> x = {groups * c}, w = {c}, y = {groups * m}, strides, dilations, pads(size_t(2 * rank));
  double taps = double(c), windows = 1;
  for (int d = 0; d < rank; d++) {
    int64_t kernel = random.Int(1, 3), stride = random.Int(1, 2), dilation = random.Int(1, 2);
    int64_t begin = random.Int(0, kernel - 1), end = random.Int(0, kernel - 1), window = (kernel - 1) * dilation + 1;
    int64_t extent = window + random.Int(0, rank == 3 ? 3 : 8);
    x.push_back(extent);
    w.push_back(kernel);
    y.push_back((extent + begin + end - window) / stride + 1);
    strides.push_back(stride);
    dilations.push_back(dilation);
    pads[size_t(d)] = begin;
    pads[size_t(rank + d)] = end;
    taps *= double(kernel);
    windows *= double(y.back());
  }
  Convolution v;
  v.x_shape = Shape("N", x);
  v.w_shape = Shape(std::to_string(groups * m), w);
  v.x = type + v.x_shape;
  v.w = type + v.w_shape;
  v.b = type + List({groups * m});
  v.y = type + Shape("N", y);
  v.attrs = "group=" + std::to_string(groups) + ", strides=" + List(strides) + ", dilations=" + List(dilations) +
            ", pads=" + List(pads);
  v.taps = taps;
  v.windows = windows;
  return v;
}

}  // namespace dp_test

#endif
