// The gradient of a convolution's weights by columns and products, against the CPU's reference: on the stand-in, with
// limits that make small gradients fit, divided into several chunks and parts of the sum; and as the kernel takes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "backends/cuda/cudnn/columns.h"
#include "backends/cuda/gpu/choices.h"
#include "tests/cuda/convolutions.h"

namespace dp_test {
namespace {

constexpr char kGradWeight[] = "cuda.cudnn.dp.ConvGradWeight";

dp_columns_limits limits;

dp_status Prepare(const dp_kernel_spec *spec, void **state) {
  DP_TRY(dp_columns_prepare(spec, &limits, state));
  return *state ? DP_OK : dp_fail(EX_SOFTWARE, "there is no algorithm");
}

dp_status Enqueue(const dp_kernel_spec *, void *state, dp_queue *queue, const void *const *in, void *const *out,
                  void *scratch) {
  return dp_columns_enqueue(state, queue, in[0], in[1], out[0], scratch);
}

const dp_kernel &Kernel() {
  static const dp_kernel kernel = [] {
    dp_kernel k{};
    k.name = "columns";
    k.scratch_bytes = [](const dp_kernel_spec *spec) { return dp_columns_scratch_bytes(spec, &limits); };
    k.prepare = Prepare;
    k.release = free;
    k.enqueue = Enqueue;
    return k;
  }();
  return kernel;
}

// "columns of 2 samples at a time, 3 parts of the sum", or "" where it does not fit.
std::string CheckColumns(const Problem &p) {
  SCOPED_TRACE(p.Print());
  const Ready ready = Draw(p);
  EXPECT_EQ(ready.built->error, "");
  const Spec spec(ready.built->node, ready.in, ready.out);
  if (!dp_columns_fit(&spec, &limits)) return "";
  dp_cuda_choices();
  const Outcome found = RunKernel(&Kernel(), spec, ready.in, ready.out);
  const std::string choices = dp_cuda_choices();
  EXPECT_EQ(found.error, "");
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  if (found.error.empty()) ExpectSame(expected.results[0], found.results[0], false);
  return choices;
}

int Number(const std::string &text, const std::string &pattern) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(pattern)) ? std::stoi(found[1]) : 0;
}

// Pads, strides, dilations and one to three dims, chunks of which the last is shorter.
TEST(Columns, RandomGradients) {
  Random random(5);
  int fitting = 0, chunks = 0, uneven = 0;
  for (int i = 0; i < 150; i++) {
    ConvolutionKind kind;
    kind.groups = false;
    const int64_t n = random.Int(1, 7);
    limits = {1, 1, int64_t(1) << random.Int(8, 17)};
    const std::string choices = CheckColumns(DrawConvolutions(random, kind, n).grad_weight);
    if (HasFailure()) return;
    if (choices.empty()) continue;
    const int64_t samples = Number(choices, "columns of ([0-9]+) samples");
    ASSERT_GT(samples, 0) << choices;
    fitting++;
    chunks += samples < n;
    uneven += n % samples != 0;
  }
  EXPECT_GT(fitting, 75);
  EXPECT_GT(chunks, 20);
  EXPECT_GT(uneven, 5);
}

// A long sum of few results has many parts, in several chunks too; many results have one part, and chunks are added in
// place.
TEST(Columns, FewResultsAndMany) {
  const Problem few{
      "ConvGradWeight", "dp", "float32[N,1,56,56], float32[N,8,56,56]", "shape=[8,1,3,3], pads=[1,1,1,1]", 3, 1};
  limits = {1, 1, 40 << 20};
  EXPECT_EQ(Number(CheckColumns(few), "([0-9]+) parts"), 59);
  limits.chunk_bytes = 500 << 10;
  const std::string chunks = CheckColumns(few);
  EXPECT_EQ(Number(chunks, "([0-9]+) parts"), 49) << chunks;
  EXPECT_EQ(Number(chunks, "columns of ([0-9]+) samples"), 2) << chunks;
  limits.chunk_bytes = 400 << 10;
  const std::string many = CheckColumns(
      {"ConvGradWeight", "dp", "float32[N,64,4,4], float32[N,512,4,4]", "shape=[512,64,3,3], pads=[1,1,1,1]", 5, 1});
  EXPECT_EQ(Number(many, "([0-9]+) parts"), 1) << many;
  EXPECT_EQ(Number(many, "columns of ([0-9]+) samples"), 5) << many;
  limits.chunk_bytes = 200 << 10;
  EXPECT_EQ(Number(CheckColumns({"ConvGradWeight", "dp", "float32[N,64,4,4], float32[N,512,4,4]",
                                 "shape=[512,64,3,3], pads=[1,1,1,1]", 5, 1}),
                   "columns of ([0-9]+) samples"),
            2);
}

// What the kernel takes by itself, and what it leaves to cuDNN.
TEST(Columns, AreTakenWhereTheyPay) {
  const struct {
    const char *x, *y, *attrs, *type;
    bool columns;
  } cases[] = {
      {"[N,16,32,32]", "[N,32,32,32]", "shape=[32,16,3,3], pads=[1,1,1,1]", "float32", true},
      {"[N,16,33,32]", "[N,32,32,32]", "shape=[32,16,2,3], pads=[0,1,0,1]", "float32", false},  // too little work
      {"[N,20,33,32]", "[N,32,34,32]", "shape=[32,20,3,3], pads=[1,1,2,1]", "float32", true},   // pads differ
      {"[N,20,32,32]", "[N,31,32,32]", "shape=[31,20,3,3], pads=[1,1,1,1]", "float32", false},
      {"[N,40,32,32]", "[N,64,32,32]", "shape=[64,20,3,3], pads=[1,1,1,1], group=2", "float32", false},
      {"[N,16,32,32]", "[N,32,32,32]", "shape=[32,16,3,3], pads=[1,1,1,1]", "float64", false},
      {"[N,16,32,32]", "[N,32,32,32]", "shape=[32,16,3,3], pads=[1,1,1,1]", "bfloat16", false},
  };
  for (const auto &c : cases) {
    const std::string type = c.type;
    dp_cuda_choices();
    Check({"ConvGradWeight", "dp", type + c.x + ", " + type + c.y, c.attrs, 4, 4096}, kGradWeight);
    const std::string choices = dp_cuda_choices();
    EXPECT_EQ(choices.find("columns of") != std::string::npos, c.columns) << c.attrs << c.type << ": " << choices;
    EXPECT_EQ(choices.find("cuDNN engine") == std::string::npos, c.columns) << c.attrs << c.type << ": " << choices;
  }
}

// Engines for TF32 are faster. Channels that depend on the number of samples are left to cuDNN.
TEST(Columns, DoNotFit) {
  limits = {1, 1, 1 << 20};
  const Ready ready =
      Draw({"ConvGradWeight", "dp", "float32[N,4,8,8], float32[N,8,8,8]", "shape=[8,4,3,3], pads=[1,1,1,1]", 2, 1});
  Spec spec(ready.built->node, ready.in, ready.out);
  EXPECT_TRUE(dp_columns_fit(&spec, &limits));
  spec.tf32 = true;
  EXPECT_FALSE(dp_columns_fit(&spec, &limits));
  EXPECT_EQ(dp_columns_scratch_bytes(&spec, &limits), 0u);
  spec.tf32 = false;
  for (dp_kernel_operand *operand : {&spec.operands[0], &spec.operands[1], &spec.made[0]})
    operand->layout = DP_LAYOUT_NHWC;
  EXPECT_FALSE(dp_columns_fit(&spec, &limits));
  for (dp_kernel_operand *operand : {&spec.operands[0], &spec.operands[1], &spec.made[0]})
    operand->layout = DP_LAYOUT_PLAIN;
  EXPECT_TRUE(dp_columns_fit(&spec, &limits));
  limits.chunk_bytes = 1000;  // less than a sample
  EXPECT_FALSE(dp_columns_fit(&spec, &limits));
}

// What is reserved for the largest shard is enough for each smaller one, with any number of samples.
TEST(Columns, ScratchIsEnoughForEveryPart) {
  Random random(6);
  const auto spec_of = [](int64_t n, int64_t c, int64_t m, int64_t extent) {
    const std::string plane = "," + std::to_string(extent) + "," + std::to_string(extent) + "]";
    const std::string channels = std::to_string(c), results = std::to_string(m);
    return Problem{"ConvGradWeight",
                   "dp",
                   "float32[N," + channels + plane + ", float32[N," + results + plane,
                   "shape=[" + results + "," + channels + ",3,3], pads=[1,1,1,1]",
                   n,
                   1};
  };
  int fitting = 0;
  for (int i = 0; i < 40; i++) {
    const int64_t n = random.Int(1, 20), c = random.Int(1, 9), m = random.Int(1, 40), extent = random.Int(1, 12);
    limits = {random.Int(1, 8), 1 << random.Int(4, 20), int64_t(1) << random.Int(10, 18)};
    const Ready whole = Draw(spec_of(n, c, m, extent));
    const uint64_t reserved =
        dp_columns_scratch_bytes(&*std::make_unique<Spec>(whole.built->node, whole.in, whole.out), &limits);
    for (int k = 0; k < 12; k++) {
      const Ready part = Draw(spec_of(random.Int(0, n), random.Int(1, c), random.Int(1, m), extent));
      const Spec spec(part.built->node, part.in, part.out);
      const uint64_t needed = dp_columns_needed_bytes(&spec, &limits);
      fitting += needed > 0;
      ASSERT_LE(needed, reserved) << i << ", " << k;
    }
  }
  EXPECT_GT(fitting, 100);
}

}  // namespace
}  // namespace dp_test
