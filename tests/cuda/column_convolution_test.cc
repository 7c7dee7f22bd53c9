// Convolutions and the gradients of their operands by columns and products, against the CPU's reference: on the
// stand-in, with limits that make small ones fit, in several chunks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "backends/cuda/cudnn/column_convolution.h"
#include "backends/cuda/gpu/choices.h"
#include "tests/cuda/convolutions.h"

namespace dp_test {
namespace {

dp_columns_limits limits;
constexpr dp_cudnn_convolution kForward = {DP_CUDNN_CONV, &dp_cuda_conv_forward},
                               kBackward = {DP_CUDNN_GRAD_INPUT, &dp_cuda_conv_grad_input};

template <const dp_cudnn_convolution *Of>
const dp_kernel &Kernel() {
  static const dp_kernel kernel = [] {
    dp_kernel k{};
    k.name = "columns";
    k.scratch_bytes = [](const dp_kernel_spec *spec) { return dp_column_convolution_scratch_bytes(spec, Of, &limits); };
    k.prepare = [](const dp_kernel_spec *spec, void **state) -> dp_status {
      DP_TRY(dp_column_convolution_prepare(spec, Of, &limits, state));
      return *state ? DP_OK : dp_fail(EX_SOFTWARE, "there is no algorithm");
    };
    k.release = free;
    k.enqueue = [](const dp_kernel_spec *, void *state, dp_queue *queue, const void *const *in, void *const *out,
                   void *scratch) { return dp_column_convolution_enqueue(Of, state, queue, in, out, scratch); };
    return k;
  }();
  return kernel;
}

// How many samples a chunk has; 0: it does not fit.
template <const dp_cudnn_convolution *Of>
int CheckColumns(const Problem &p) {
  SCOPED_TRACE(p.Print());
  const Ready ready = Draw(p);
  EXPECT_EQ(ready.built->error, "");
  const Spec spec(ready.built->node, ready.in, ready.out);
  if (!dp_column_convolution_fits(&spec, Of, &limits)) return 0;
  dp_cuda_choices();
  const Outcome found = RunKernel(&Kernel<Of>(), spec, ready.in, ready.out);
  const std::string choices = dp_cuda_choices();
  EXPECT_EQ(found.error, "");
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  if (found.error.empty()) ExpectSame(expected.results[0], found.results[0], false);
  std::smatch samples;
  EXPECT_TRUE(std::regex_search(choices, samples, std::regex("columns of ([0-9]+) samples"))) << choices;
  return samples.empty() ? 0 : std::stoi(samples[1]);
}

// A convolution of planes of about 8 x 8 to 12 x 12, with or without a bias.
struct Drawn {
  Problem forward, backward;
};

Drawn DrawPlanes(Random &random, int64_t n) {
  const int64_t c = random.Int(1, 5), m = random.Int(1, 6), stride = random.Int(1, 3) == 3 ? 2 : 1;
  std::vector<int64_t> x = {c}, w = {c}, y = {m}, dilations, begins, ends;
  for (int d = 0; d < 2; d++) {
    const int64_t kernel = random.Int(1, 3), dilation = random.Int(1, 2), begin = random.Int(0, 3);
    const int64_t window = (kernel - 1) * dilation + 1, end = random.Int(0, 3), out = random.Int(4, 6) * 2;
    x.push_back((out - 1) * stride + window - begin - end);
    if (x.back() < 1) x.back() = 1;
    w.push_back(kernel);
    y.push_back((x.back() + begin + end - window) / stride + 1);
    dilations.push_back(dilation);
    begins.push_back(begin);
    ends.push_back(end);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  const std::string attrs =
      "strides=" + List({stride, stride}) + ", dilations=" + List(dilations) + ", pads=" + List(begins);
  const std::string of_x = Shape("N", x), of_w = Shape(std::to_string(m), w), of_y = Shape("N", y);
  const std::string bias = random.Int(0, 1) ? ", float32" + List({m}) : "";
  return {{"Conv", "", "float32" + of_x + ", float32" + of_w + bias, attrs, n, 50},
          {"ConvGradInput", "dp", "float32" + of_w + ", float32" + of_y, "shape=" + of_x + ", " + attrs, n, 50}};
}

TEST(ColumnConvolution, RandomPlanes) {
  Random random(8);
  int forward = 0, backward = 0, chunks = 0;
  for (int i = 0; i < 120; i++) {
    const int64_t n = random.Int(1, 6);
    limits = {1, 1, int64_t(1) << random.Int(12, 16)};
    const Drawn drawn = DrawPlanes(random, n);
    const int ahead = CheckColumns<&kForward>(drawn.forward), back = CheckColumns<&kBackward>(drawn.backward);
    if (HasFailure()) return;
    forward += ahead > 0;
    backward += back > 0;
    chunks += (ahead > 0 && ahead < n) + (back > 0 && back < n);
  }
  EXPECT_GT(forward, 50);
  EXPECT_GT(backward, 15);
  EXPECT_GT(chunks, 15);
}

// What is left to cuDNN.
TEST(ColumnConvolution, DoNotFit) {
  const auto fits = [](const std::string &x, const std::string &w, const std::string &attrs, int64_t n = 4) {
    const Ready ready = Draw({"Conv", "", x + ", " + w, attrs, n, 1});
    const Spec spec(ready.built->node, ready.in, ready.out);
    const bool found = dp_column_convolution_fits(&spec, &kForward, &limits);
    EXPECT_LE(found, dp_column_convolution_scratch_bytes(&spec, &kForward, &limits) > 0);
    return found;
  };
  limits = {8, 1, 64 << 10};  // a sample has 9 KiB
  const std::string x = "float32[N,4,8,8]", w = "float32[8,4,3,3]", pads = "pads=[1,1,1,1]";
  EXPECT_TRUE(fits(x, w, pads));
  EXPECT_FALSE(fits(x, "float32[7,4,3,3]", pads)) << "few channels";
  EXPECT_FALSE(fits("float32[N,4,7,8]", w, pads)) << "small planes";
  EXPECT_FALSE(fits("float32[N,4,9,9]", w, pads)) << "planes that are no vectors";
  EXPECT_FALSE(fits("float32[N,8,8,8]", w, pads + ", group=2")) << "groups";
  EXPECT_FALSE(fits("float64[N,4,8,8]", "float64[8,4,3,3]", pads)) << "float64";
  EXPECT_TRUE(fits(x, w, pads, 12));
  EXPECT_FALSE(fits(x, w, pads, 13)) << "chunks would be of one sample";
  limits.flops = 1 << 20;
  EXPECT_FALSE(fits(x, w, pads)) << "little work";
  limits = {8, 1, 9 << 10};
  EXPECT_TRUE(fits(x, w, pads));
  limits.chunk_bytes--;
  EXPECT_FALSE(fits(x, w, pads)) << "large samples";
}

// What is reserved for the largest shard is enough for each smaller one, with any number of samples.
TEST(ColumnConvolution, ScratchIsEnoughForEveryPart) {
  Random random(9);
  const auto problem = [](bool gradient, int64_t n, int64_t c, int64_t m) {
    const std::string channels = std::to_string(c), results = std::to_string(m), plane = ",8,8]";
    const std::string x = "float32[N," + channels + plane, w = "float32[" + results + "," + channels + ",3,3]",
                      y = "float32[N," + results + plane, pads = "pads=[1,1,1,1]";
    if (!gradient) return Problem{"Conv", "", x + ", " + w, pads, n, 1};
    return Problem{"ConvGradInput", "dp", w + ", " + y, "shape=[N," + channels + plane + ", " + pads, n, 1};
  };
  int fitting = 0;
  for (int i = 0; i < 40; i++) {
    const int64_t n = random.Int(1, 20), c = random.Int(1, 12), m = random.Int(1, 40);
    const bool gradient = i % 2;
    const dp_cudnn_convolution *of = gradient ? &kBackward : &kForward;
    limits = {random.Int(1, 4), 1 << random.Int(4, 18), int64_t(1) << random.Int(11, 18)};
    const Ready whole = Draw(problem(gradient, n, c, m));
    const Spec largest(whole.built->node, whole.in, whole.out);
    const uint64_t reserved = dp_column_convolution_scratch_bytes(&largest, of, &limits);
    for (int k = 0; k < 12; k++) {
      const Ready part = Draw(problem(gradient, random.Int(0, n), random.Int(1, c), random.Int(1, m)));
      const Spec spec(part.built->node, part.in, part.out);
      const uint64_t needed = dp_column_convolution_needed_bytes(&spec, of, &limits);
      fitting += needed > 0;
      ASSERT_LE(needed, reserved) << i << ", " << k;
    }
  }
  EXPECT_GT(fitting, 100);
}

}  // namespace
}  // namespace dp_test
