// Winograd's convolution and its gradients against the reference kernels, on random numbers: several shapes, planes
// that tiles do not fill, pads of each size, more tiles and channels than are multiplied at a time, no samples, one to
// three threads. Their error is held to what docs/precision.md states. Which convolutions are computed so, and what
// scratch smaller parts ask for.
#include "tests/backends/library_check.h"

namespace dp_test {
namespace {

struct Layer {
  std::vector<int64_t> x;  // channels, rows, columns
  int64_t y_channels;
  std::vector<int64_t> pads;  // of rows and columns, at the beginning, then at the end
  int64_t n;
};

std::string Type(const std::string &first, const std::vector<int64_t> &rest) {
  std::string text = "[" + first;
  for (int64_t extent : rest) text += "," + std::to_string(extent);
  return text + "]";
}

// The three problems of a layer: the convolution, with a bias, and its gradients. longest_sum: the terms of a sum.
std::vector<Problem> ProblemsOf(const Layer &l) {
  const int64_t rows = l.x[1] + l.pads[0] + l.pads[2] - 2, columns = l.x[2] + l.pads[1] + l.pads[3] - 2;
  const std::string x = Type("N", l.x), y = Type("N", {l.y_channels, rows, columns}), m = std::to_string(l.y_channels),
                    w = Type(m, {l.x[0], 3, 3}),
                    pads = "pads=[" + std::to_string(l.pads[0]) + "," + std::to_string(l.pads[1]) + "," +
                           std::to_string(l.pads[2]) + "," + std::to_string(l.pads[3]) + "]";
  const std::string f = "float32";
  return {{"Conv", "", f + x + ", " + f + w + ", " + f + "[" + m + "]", pads, l.n, 9 * double(l.x[0])},
          {"ConvGradInput", "dp", f + w + ", " + f + y, "shape=" + x + ", " + pads, l.n, 9 * double(l.y_channels)},
          {"ConvGradWeight", "dp", f + x + ", " + f + y, "shape=" + w + ", " + pads, l.n,
           double(std::max<int64_t>(1, l.n) * rows * columns)}};
}

const Layer kLayers[] = {
    {{32, 8, 8}, 32, {1, 1, 1, 1}, 3},   {{33, 9, 10}, 47, {0, 1, 2, 1}, 2}, {{64, 4, 4}, 130, {1, 1, 1, 1}, 5},
    {{40, 7, 7}, 32, {1, 1, 1, 1}, 4},   {{32, 6, 6}, 33, {0, 0, 0, 0}, 1},  {{32, 64, 64}, 32, {1, 1, 1, 1}, 2},
    {{48, 4, 14}, 260, {2, 2, 2, 2}, 3}, {{256, 8, 8}, 64, {1, 1, 1, 1}, 2}, {{32, 8, 8}, 32, {1, 1, 1, 1}, 0},
};

// Four times the tolerance of other libraries' kernels, which grows with the square root of the terms.
TEST(Winograd, EqualsReference) {
  for (const Layer &layer : kLayers)
    for (Problem problem : ProblemsOf(layer)) {
      problem.longest_sum *= 16;
      Check(problem, 3, "winograd");
    }
}

double RootMeanSquare(const Tensor &of, const Tensor *less = nullptr) {
  double sum = 0;
  for (int64_t i = 0; i < of.Count(); i++) sum += std::pow(of.Get(i) - (less ? less->Get(i) : 0), 2);
  return std::sqrt(sum / double(of.Count()));
}

TEST(Winograd, ErrsAsIsStated) {
  for (const Layer &layer : {Layer{{64, 32, 32}, 64, {1, 1, 1, 1}, 2}, Layer{{256, 8, 8}, 256, {1, 1, 1, 1}, 4}})
    for (const Problem &problem : ProblemsOf(layer)) {
      Ready ready(problem);
      const dp_node *node = ready.built->node;
      const Tensor right = RunKernel(NameOf(problem, "reference"), node, ready.in, ready.out).results[0],
                   found = RunKernel(NameOf(problem, "winograd"), node, ready.in, ready.out).results[0];
      const double error = RootMeanSquare(found, &right) / RootMeanSquare(right);
      EXPECT_LE(error, 5e-6) << problem.Print();
    }
}

const char *Chosen(const Problem &problem, bool winograd = true) {
  Ready ready(problem);
  EXPECT_EQ(ready.built->error, "");
  Spec spec(ready.built->node, ready.in, ready.out, 1);
  spec.winograd = winograd;
  return dp_kernel_select(&dp_target_cpu, &spec, false)->name;
}

TEST(Winograd, IsChosenWhereItIsAllowedAndWorthWhile) {
  for (const Layer &layer : kLayers)
    for (const Problem &problem : ProblemsOf(layer)) {
      EXPECT_EQ(Chosen(problem), NameOf(problem, "winograd")) << problem.Print();
      EXPECT_EQ(std::string(Chosen(problem, false)).find("winograd"), std::string::npos) << problem.Print();
    }
  const std::string x = "float32[N,64,16,16], float32";
  for (const Problem &other : {
           Problem{"Conv", "", x + "[64,64,3,3]", "pads=[1,1,1,1], strides=[2,1]", 2, 1},
           Problem{"Conv", "", x + "[64,64,3,3]", "pads=[1,1,1,1], dilations=[1,2]", 2, 1},
           Problem{"Conv", "", x + "[64,64,3,3]", "pads=[3,1,1,1]", 2, 1},
           Problem{"Conv", "", x + "[64,32,3,3]", "pads=[1,1,1,1], group=2", 2, 1},
           Problem{"Conv", "", x + "[64,64,5,3]", "pads=[1,1,1,1]", 2, 1},
           Problem{"Conv", "", x + "[31,64,3,3]", "pads=[1,1,1,1]", 2, 1},
           Problem{"Conv", "", "float32[N,31,16,16], float32[64,31,3,3]", "pads=[1,1,1,1]", 2, 1},
           Problem{"Conv", "", "float32[N,64,5,5], float32[64,64,3,3]", "pads=[1,1,1,1]", 2, 1},
           Problem{"Conv", "", "float32[N,64,16], float32[64,64,3]", "pads=[1,1]", 2, 1},
           Problem{"Conv", "", "float64[N,64,16,16], float64[64,64,3,3]", "pads=[1,1,1,1]", 2, 1},
       })
    EXPECT_EQ(std::string(Chosen(other)).find("winograd"), std::string::npos) << other.Print();
}

// What is asked for the largest part is enough for every smaller one: of samples, of x's channels, of y's.
TEST(Winograd, SmallerPartsAskForNoMoreScratch) {
  for (const Layer &layer : kLayers)
    for (const Problem &problem : ProblemsOf(layer)) {
      const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, NameOf(problem, "winograd").c_str());
      const auto bytes = [&](int64_t n, int64_t x_channels, int64_t y_channels) {
        Problem part = problem;
        part.n = n;
        Ready ready(part);
        Spec spec(ready.built->node, ready.in, ready.out, 2);
        spec.winograd = true;
        const bool forward = part.op == "Conv", weight = part.op == "ConvGradWeight";
        dp_local *x = weight || forward ? &spec.operands[0].local : &spec.made[0].local,
                 *y = forward ? &spec.made[0].local : &spec.operands[1].local,
                 *w = weight    ? &spec.made[0].local
                      : forward ? &spec.operands[1].local
                                : &spec.operands[0].local;
        x->extents[1] = w->extents[1] = x_channels;
        y->extents[1] = w->extents[0] = y_channels;
        EXPECT_TRUE(kernel->match(&spec)) << part.Print();
        return kernel->scratch_bytes(&spec);
      };
      const uint64_t most = bytes(40, layer.x[0], layer.y_channels);
      for (int64_t n : {0, 1, 2, 7, 39}) EXPECT_LE(bytes(n, layer.x[0], layer.y_channels), most) << problem.Print();
      for (int64_t c : {int64_t(0), int64_t(1), int64_t(16), int64_t(31), layer.x[0] / 2, layer.x[0] - 1})
        EXPECT_LE(bytes(40, c, layer.y_channels), most) << problem.Print();
      for (int64_t c : {int64_t(0), int64_t(1), int64_t(16), int64_t(31), layer.y_channels / 2, layer.y_channels - 1})
        EXPECT_LE(bytes(40, layer.x[0], c), most) << problem.Print();
    }
}

}  // namespace
}  // namespace dp_test
