// Random convolutions, as problems of Conv and of its two gradients.
#ifndef DP_TESTS_CUDA_CONVOLUTIONS_H
#define DP_TESTS_CUDA_CONVOLUTIONS_H

#include "tests/cuda/library_kernels.h"

namespace dp_test {

struct Convolutions {
  Problem forward, grad_input, grad_weight;
};

struct ConvolutionKind {
  std::string type = "float32";
  bool symmetric = false;  // pads are equal at both ends
  bool groups = true;
  int dims = 0;  // spatial ones; 0: any number
};

inline Convolutions DrawConvolutions(Random &random, const ConvolutionKind &kind, int64_t n) {
  const int rank = kind.dims ? kind.dims : int(random.Int(1, 3));
  const int64_t groups = !kind.groups || random.Int(0, 2) ? 1 : random.Int(2, 3), c = random.Int(1, 5),
                m = random.Int(1, 6);
  std::vector<int64_t> x = {groups * c}, w = {c}, y = {groups * m}, strides, dilations, pads(size_t(2 * rank));
  double taps = double(c), windows = 1;
  for (int d = 0; d < rank; d++) {
    const int64_t kernel = random.Int(1, 3), stride = random.Int(1, 3), dilation = random.Int(1, 2);
    const int64_t begin = random.Int(0, kernel), end = kind.symmetric ? begin : random.Int(0, kernel);
    const int64_t window = (kernel - 1) * dilation + 1, extent = window + random.Int(0, rank == 3 ? 3 : 8);
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
  const std::string of_x = Shape("N", x), of_w = Shape(std::to_string(groups * m), w), of_y = Shape("N", y);
  const std::string bias = random.Int(0, 1) ? ", " + kind.type + List({groups * m}) : "";
  const std::string attrs = "group=" + std::to_string(groups) + ", strides=" + List(strides) +
                            ", dilations=" + List(dilations) + ", pads=" + List(pads);
  return {{"Conv", "", kind.type + of_x + ", " + kind.type + of_w + bias, attrs, n, taps + 1},
          {"ConvGradInput", "dp", kind.type + of_w + ", " + kind.type + of_y, "shape=" + of_x + ", " + attrs, n,
           taps * double(m)},
          {"ConvGradWeight", "dp", kind.type + of_x + ", " + kind.type + of_y, "shape=" + of_w + ", " + attrs, n,
           windows * double(n) + 1}};
}

}  // namespace dp_test

#endif
