// Regions that begin with convolutions on CUDA: the sum with a residual and Relu behind a convolution with a bias are
// its launch, by a graph of cuDNN's, or where cuDNN has none, a launch of their own. Compared with the CPU's reference
// of regions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "backends/cpu/target.h"
#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/kernels/region_convolution.h"
#include "backends/cuda/target.h"
#include "tests/backends/region_builder.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

const dp_kernel *Kernel() { return dp_kernel_find(&dp_target_cuda, "cuda.device.dp.Region"); }

struct Block {
  dp_dtype dtype;
  std::vector<int64_t> x, w;  // N, C, ...; M, C / group, ...
  int64_t group;
  bool bias, adds, relu;
  bool channels_last = false, kept = false;  // kept: what the convolution makes is a result too
  int64_t stride = 1, dilation = 1, pad = 0;
  const char *last = "Relu";
  int64_t pad_end = 0;  // more than `pad` at the ends
};

struct Convolved : RegionBuilder {
  explicit Convolved(const Block &of) : RegionBuilder(11) {
    const size_t spatial = of.x.size() - 2;
    std::vector<int64_t> y = {of.x[0], of.w[0]}, strides(spatial, of.stride), dilations(spatial, of.dilation),
                         pads(2 * spatial, of.pad);
    for (size_t d = 0; d < spatial; d++) pads[spatial + d] += of.pad_end;
    for (size_t d = 0; d < spatial; d++)
      y.push_back((of.x[2 + d] + pads[d] + pads[spatial + d] - (of.w[2 + d] - 1) * of.dilation - 1) / of.stride + 1);
    std::vector<int> in = {Operand(of.dtype, of.x), Operand(of.dtype, of.w)};
    if (of.bias) in.push_back(Operand(of.dtype, {of.w[0]}));
    const bool ends = !of.adds && !of.relu;
    int v = Add("", "Conv", in, of.dtype, y, of.kept || ends,
                {Int("group", of.group), List("strides", strides), List("dilations", dilations), List("pads", pads)});
    if (of.adds) {
      const int other = Operand(of.dtype, y);
      v = Add("", "Add", UpTo(2) ? std::vector<int>{other, v} : std::vector<int>{v, other}, of.dtype, y, !of.relu);
    }
    if (of.relu) Add("", of.last, {v}, of.dtype, y, true);
    Number();
    for (dp_kernel_operand &o : values)
      if (of.channels_last && o.local.rank == 4) o.layout = DP_LAYOUT_NHWC;
  }
  dp_attr List(const char *name, const std::vector<int64_t> &numbers) {
    dp_attr attr = Axes(numbers);
    attr.name = name;
    return attr;
  }
};

// Sums of float32 differ by their order; those of 16 bits are rounded once here, and in the reference once a member.
void ExpectClose(const Tensor &expected, const Tensor &found) {
  double scale = 1e-30;
  for (double x : Numbers(expected))
    if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
  const double unit = expected.dtype == DP_BFLOAT16  ? 0x1p-7
                      : expected.dtype == DP_FLOAT16 ? 0x1p-10
                      : expected.dtype == DP_FLOAT64 ? 1e-13
                                                     : 1e-6;
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double e = expected.Get(i), f = found.Get(i);
    ASSERT_EQ(std::isnan(e), std::isnan(f)) << "element " << i;
    ASSERT_TRUE(std::isnan(e) || e == f || std::fabs(e - f) <= unit * scale) << e << ", " << f << " at " << i;
  }
}

// Runs the block and says what was chosen for it.
std::string Compare(const Block &of, double first = 0) {
  Convolved region(of);
  std::vector<Tensor> in = region.Tensors(0, region.n_inputs);
  if (first != 0) in[0].Set(0, first);
  Convolved plain(of);
  for (dp_kernel_operand &o : plain.values) o.layout = DP_LAYOUT_PLAIN;
  const std::vector<Tensor> expected =
      ReferenceOf(dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region"), &plain, in);
  if (!Kernel()->match(&region.spec)) return "no kernel";
  dp_cuda_choices();
  const Outcome found = RunKernel(Kernel(), region.spec, in, expected, -1);
  EXPECT_EQ(found.error, "");
  for (size_t k = 0; k < expected.size() && found.error.empty(); k++) ExpectClose(expected[k], found.results[k]);
  return dp_cuda_choices();
}

bool Has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

// A GPU for which cuDNN has engines for so many operations behind a convolution at most.
struct Engines {
  explicit Engines(int operations) { setenv("DP_STANDIN_CUDNN_FOLLOWED", std::to_string(operations).c_str(), 1); }
  ~Engines() { unsetenv("DP_STANDIN_CUDNN_FOLLOWED"); }
};

const Block kBlocks[] = {
    {DP_FLOAT32, {2, 3, 9, 8}, {4, 3, 3, 3}, 1, true, false, true, false, false, 1, 1, 1},
    {DP_FLOAT32, {2, 3, 9, 8}, {4, 3, 1, 1}, 1, true, false, true},
    {DP_FLOAT32, {3, 4, 7}, {6, 2, 3}, 2, true, false, true, false, false, 2, 1, 1},
    {DP_FLOAT32, {2, 2, 4, 3, 5}, {3, 2, 2, 2, 2}, 1, true, false, true},
    {DP_FLOAT32, {1, 1, 1, 1}, {1, 1, 1, 1}, 1, true, false, true},
    {DP_FLOAT32, {2, 6, 5, 5}, {6, 1, 3, 3}, 6, true, false, true, false, false, 1, 2, 2},
    {DP_FLOAT32, {2, 3, 9, 8}, {4, 3, 3, 3}, 1, true, false, true, true, false, 1, 1, 1},
    {DP_FLOAT32, {2, 3, 9, 8}, {4, 3, 3, 3}, 1, true, false, true, false, false, 2, 1, 0, "Relu", 1},
};

// What cuDNN's Relu makes of infinity is no float32.
bool TakesRelu(const Block &block) { return block.relu && block.dtype != DP_FLOAT32; }

TEST(ConvolutionRegions, EqualTheReference) {
  ASSERT_EQ(OpenDevice(), "");
  for (dp_dtype dtype : {DP_FLOAT32, DP_BFLOAT16, DP_FLOAT16})
    for (Block block : kBlocks)
      for (bool channels_last : {false, true})
        for (int what = 0; what < 3; what++) {
          if (channels_last && block.x.size() != 4) continue;
          block.dtype = dtype;
          block.channels_last = channels_last;
          block.adds = what > 0;
          block.relu = what < 2;
          SCOPED_TRACE(testing::Message() << "type " << dtype << " channels " << block.w[0] << " spatial "
                                          << block.x.size() - 2 << " last " << channels_last << " what " << what);
          const std::string choices = Compare(block);
          if (!IsStandin()) continue;
          EXPECT_TRUE(Has(choices, ", bias")) << choices;
          EXPECT_EQ(Has(choices, ", sum"), block.adds) << choices;
          EXPECT_EQ(Has(choices, ", Relu"), TakesRelu(block)) << choices;
          EXPECT_EQ(Has(choices, "function"), block.relu && !TakesRelu(block)) << choices;
          for (int operations : {0, 1}) {
            Engines some(operations);
            const std::string others = Compare(block);
            EXPECT_EQ(Has(others, ", bias"), operations == 1) << others;
            EXPECT_FALSE(Has(others, ", sum") || Has(others, ", Relu")) << others;
            EXPECT_TRUE(Has(others, "function")) << others;
          }
        }
}

// NaN stays NaN, whoever takes Relu of it; no samples.
TEST(ConvolutionRegions, KeepNan) {
  ASSERT_EQ(OpenDevice(), "");
  for (dp_dtype dtype : {DP_FLOAT32, DP_BFLOAT16}) {
    Block block = kBlocks[0];
    block.dtype = dtype;
    for (int operations : {0, 1, 3})
      for (double first : {double(NAN), double(INFINITY), -double(INFINITY)}) {
        Engines some(operations);
        Compare(block, first);
      }
    block.x[0] = 0;
    Compare(block);
  }
}

// Members that are not part of the launch: other functions, other users, a type or a bias that cuDNN's graphs lack.
TEST(ConvolutionRegions, LeaveTheRest) {
  ASSERT_EQ(OpenDevice(), "");
  const Block base = kBlocks[0];
  Block wide = base, unbiased = base, other = base, kept = base, alone = base;
  wide.dtype = DP_FLOAT64;
  unbiased.bias = false;
  other.last = "Sigmoid";
  kept.kept = true;
  alone.relu = false;
  for (const Block &block : {wide, unbiased, other, kept, alone}) {
    Convolved region(block);
    dp_cuda_region_convolution found;
    EXPECT_FALSE(dp_cuda_region_convolution_of(&region.spec, 0, &found));
    EXPECT_FALSE(Has(Compare(block), ", Relu"));
  }
  other.adds = true;  // the sum alone
  const std::string choices = Compare(other);
  EXPECT_TRUE(!IsStandin() || (Has(choices, ", sum") && !Has(choices, ", Relu"))) << choices;
}

// Two convolutions whose results are added: the later one adds.
TEST(ConvolutionRegions, TwoBranches) {
  ASSERT_EQ(OpenDevice(), "");
  for (bool later : {false, true}) {
    RegionBuilder b(3);
    const std::vector<int64_t> image = {2, 3, 6, 5};
    const auto operand = [&](const std::vector<int64_t> &extents) { return b.Operand(DP_FLOAT32, extents); };
    const auto convolution = [&](int x) {
      return b.Add("", "Conv", {x, operand({3, 3, 1, 1}), operand({3})}, DP_FLOAT32, image, false);
    };
    const int one = convolution(operand(image)), two = convolution(operand(image));
    const int sum = b.Add("", "Add", {later ? two : one, later ? one : two}, DP_FLOAT32, image, false);
    b.Add("", "Relu", {sum}, DP_FLOAT32, image, true);
    b.Number();
    dp_cuda_region_convolution found;
    EXPECT_FALSE(dp_cuda_region_convolution_of(&b.spec, 0, &found));
    EXPECT_TRUE(dp_cuda_region_convolution_of(&b.spec, 1, &found) && found.add == 2 && found.relu < 0);
    const std::vector<Tensor> in = b.Tensors(0, b.n_inputs);
    const std::vector<Tensor> expected = ReferenceOf(dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region"), &b, in);
    const Outcome outcome = RunKernel(Kernel(), b.spec, in, expected, -1);
    ASSERT_EQ(outcome.error, "");
    ExpectClose(expected[0], outcome.results[0]);
  }
}

}  // namespace
}  // namespace dp_test
