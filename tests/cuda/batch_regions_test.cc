// Batch normalization and its gradient in regions on CUDA: the sum with a residual and Relu behind it, the gradient of
// Relu and the sum of two gradients before it, are part of its launches. Every bit is that of separate launches where
// all addresses are aligned, as plans' are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backends/cuda/kernels/region_layout.h"
#include "tests/backends/drawn_batch.h"
#include "tests/cuda/one_by_one.h"

namespace dp_test {
namespace {

using Around = DrawnBatch::Around;

const dp_kernel *Kernel() { return dp_kernel_find(&dp_target_cuda, "cuda.device.dp.Region"); }

std::string Print(const Around &a) {
  std::string text = a.gradient ? "gradient of" : "of";
  for (int64_t extent : a.x) text += " " + std::to_string(extent);
  return text + " type " + std::to_string(a.dtype) + "/" + std::to_string(a.statistics) + (a.adds ? " adds" : "") +
         (a.relu ? " relu" : "") + (a.channels_last ? " nhwc" : "") + (a.kept ? " kept" : "") +
         (a.training ? "" : " inference") + " groups " + std::to_string(a.groups);
}

// How many launches of the region there are; a normalization with all around it counts as one. bytes: of scratch
// between them.
int Launches(const dp_kernel_spec &spec, uint64_t *bytes = nullptr) {
  dp_cuda_region_layout layout;
  EXPECT_EQ(dp_cuda_region_layout_make(&spec, &layout), DP_OK);
  const int launches = layout.n_launches;
  if (bytes) *bytes = layout.bytes;
  dp_cuda_region_layout_free(&layout);
  return launches;
}

// Numbers that operand `operand` of `made` begins with.
struct First {
  int operand;
  std::vector<double> numbers;
};

void SetFirst(const DrawnBatch &b, const First &first, std::vector<Tensor> *in) {
  for (size_t i = 0; i < in->size(); i++)
    for (size_t k = 0; k < first.numbers.size() && int(b.value_at[i]) == first.operand; k++)
      if (int64_t(k) < (*in)[i].Count()) (*in)[i].Set(int64_t(k), first.numbers[k]);
}

int Number(const DrawnBatch &b, int made) {
  return int(std::find(b.value_at.begin(), b.value_at.end(), size_t(made)) - b.value_at.begin());
}

// The results lie on operands in each of these ways. ways: of `made`.
void ExpectBits(DrawnBatch *b, const std::vector<Tensor> &in, std::vector<std::vector<Over>> ways = {{}}) {
  const std::vector<Tensor> expected = OneByOne(b, in);
  for (std::vector<Over> &over : ways) {
    for (Over &o : over) o = {Number(*b, o.result) - b->n_inputs, Number(*b, o.operand)};
    const Outcome found = RunKernel(Kernel(), b->spec, in, expected, over);
    ASSERT_EQ(found.error, "");
    for (size_t k = 0; k < expected.size(); k++) ExpectSame(expected[k], found.results[k], true);
  }
}

// Everything is one launch of the normalization, with the bits of separate ones.
void ExpectAlong(const Around &a) {
  SCOPED_TRACE(Print(a));
  DrawnBatch b(a);
  uint64_t bytes = 1;
  ASSERT_TRUE(Kernel()->match(&b.spec));
  EXPECT_EQ(Launches(b.spec, &bytes), 1);
  EXPECT_EQ(bytes, 0u);
  ExpectBits(&b, b.Operands());
}

// Planes and channels of every kind of vector, shares of one block and of several, one element, nothing.
const std::vector<std::vector<int64_t>> kExtents = {
    {3, 8, 5, 7}, {2, 16, 4, 4}, {5, 3, 3, 3},  {1, 1, 1, 1},    {0, 8, 4, 4}, {2, 8, 0, 3}, {6, 5},
    {40, 8, 16},  {9, 1, 2, 2},  {70, 4, 9, 8}, {33, 24, 14, 8}, {7, 320},     {4, 12, 6, 1}};
const std::pair<dp_dtype, dp_dtype> kTypes[] = {{DP_BFLOAT16, DP_FLOAT32},
                                                {DP_FLOAT16, DP_FLOAT32},
                                                {DP_FLOAT32, DP_FLOAT32},
                                                {DP_FLOAT64, DP_FLOAT64},
                                                {DP_BFLOAT16, DP_BFLOAT16}};

// Each of the extents with one kind of type and half of the choices, the others in turn; with DP_FULL with all.
bool IsLeftOut(size_t turn, bool second) { return !getenv("DP_FULL") && turn % 2 == second; }

template <class F>
void ForEach(const F &expect) {
  size_t turn = 0;
  for (const std::vector<int64_t> &x : kExtents)
    for (bool channels_last : {false, true}) {
      if (channels_last && x.size() != 4) continue;
      for (size_t t = 0; t < 5; t++)
        if (getenv("DP_FULL") || t == turn % 5)
          expect(Around{x, kTypes[t].first, kTypes[t].second, false, false, true, channels_last}, turn);
      turn++;
      if (testing::Test::HasFailure()) return;
    }
}

TEST(BatchRegions, TakeWhatFollows) {
  ASSERT_EQ(OpenDevice(), "");
  ForEach([](Around a, size_t turn) {
    for (int what = 1; what < 4; what++)
      for (bool training : {true, false}) {
        if (IsLeftOut(turn + size_t(what), training)) continue;
        a.adds = what & 1, a.relu = what & 2, a.training = training;
        ExpectAlong(a);
      }
  });
}

TEST(BatchRegions, TakeWhatComesBeforeTheGradient) {
  ASSERT_EQ(OpenDevice(), "");
  ForEach([](Around a, size_t turn) {
    a.gradient = true;
    for (bool adds : {false, true})
      for (bool kept : {false, true}) {
        if (IsLeftOut(turn / 2 + adds, kept)) continue;
        a.adds = adds, a.kept = kept;
        ExpectAlong(a);
      }
  });
}

// Groups of samples, as replicas with statistics of their own have them: even ones and others, of several shares, and
// one without samples.
TEST(BatchRegions, OfGroups) {
  ASSERT_EQ(OpenDevice(), "");
  for (const auto &x : {std::vector<int64_t>{7, 16, 5, 4}, {8, 3, 6, 6}, {2, 8}, {69, 8, 16, 16}, {1, 8, 3, 2}})
    for (bool channels_last : {false, true})
      for (bool gradient : {false, true})
        for (bool kept : {false, true}) {
          if ((channels_last && x.size() != 4) || (kept && !gradient)) continue;
          ExpectAlong(
              {x, DP_BFLOAT16, DP_FLOAT32, gradient, kept == channels_last, true, channels_last, kept, true, 2});
        }
}

// Relu lets NaN through and makes 0 of -0; gradients of it ask for its result, not for its sign.
TEST(BatchRegions, OfNumbersThatAreNone) {
  ASSERT_EQ(OpenDevice(), "");
  const std::vector<double> strange = {NAN, INFINITY, -INFINITY, 0., -0., 3e38, -3e38, 1e-45, 65504};
  for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT16, DP_FLOAT32})
    for (bool channels_last : {false, true})
      for (bool gradient : {false, true}) {
        DrawnBatch b({{3, 8, 5, 4}, dtype, DP_FLOAT32, gradient, true, true, channels_last});
        for (int operand : {b.x, b.other, b.dy, b.z}) {
          std::vector<Tensor> in = b.Operands();
          SetFirst(b, {operand, strange}, &in);
          ExpectBits(&b, in);
        }
      }
}

// Where plans put results: over what the last launch still reads, and what an earlier one has read; in several shares.
const std::vector<int64_t> kShared = {70, 16, 16, 16};

TEST(BatchRegions, OverwriteOperands) {
  ASSERT_EQ(OpenDevice(), "");
  for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT32})
    for (bool channels_last : {false, true}) {
      const Around around = {kShared, dtype, DP_FLOAT32, false, true, true, channels_last};
      DrawnBatch forward(around);
      ExpectBits(&forward, forward.Operands(), {{{forward.y, forward.x}}, {{forward.y, forward.other}}});
      Around twice = around;
      twice.adds_x = true;
      for (bool relu : {false, true}) {
        twice.relu = relu;
        DrawnBatch b(twice);
        EXPECT_EQ(Launches(b.spec), 1);
        ExpectBits(&b, b.Operands(), {{}, {{b.y, b.x}}});
      }
    }
}

// What Relu's gradient makes lies over what it is made of, at once with dX over what only Relu's gradient reads.
TEST(BatchRegions, OverwriteOperandsOfTheGradient) {
  ASSERT_EQ(OpenDevice(), "");
  for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT32})
    for (bool channels_last : {false, true})
      for (bool kept : {false, true})
        for (bool adds : {false, true}) {
          if (IsLeftOut(size_t(dtype == DP_FLOAT32) + channels_last + kept, adds)) continue;
          const Around around = {kShared, dtype, DP_FLOAT32, true, adds, true, channels_last, kept};
          SCOPED_TRACE(Print(around));
          DrawnBatch b(around);
          std::vector<std::vector<Over>> ways = {{{b.y, b.dy}}, {{b.y, b.z}}};
          if (adds) ways.push_back({{b.y, b.other}});
          if (kept) ways.push_back({{b.given, b.dy}, {b.y, b.z}});
          if (kept && adds) ways.push_back({{b.given, b.other}, {b.y, b.dy}});
          ExpectBits(&b, b.Operands(), ways);
        }
}

// Addresses that are no multiples of what one instruction moves.
TEST(BatchRegions, AtOddAddresses) {
  ASSERT_EQ(OpenDevice(), "");
  TensorOffset() = 8;
  for (bool channels_last : {false, true})
    for (bool gradient : {false, true})
      ExpectAlong({{3, 16, 4, 4}, DP_BFLOAT16, DP_FLOAT32, gradient, true, true, channels_last});
  TensorOffset() = 0;
}

// The bits are separate launches' where these stay: what stands before Relu is a result, another function follows.
TEST(BatchRegions, LeaveTheRest) {
  ASSERT_EQ(OpenDevice(), "");
  Around kept = {{3, 8, 5, 4}, DP_BFLOAT16, DP_FLOAT32, false, false, true}, other = kept, sum = kept;
  kept.kept = true;
  other.op = "Sigmoid";
  sum.adds = sum.kept = true;  // the sum is a result: it is the launch's, Relu is not
  for (const Around &a : {kept, other, sum}) {
    SCOPED_TRACE(Print(a));
    DrawnBatch b(a);
    EXPECT_EQ(Launches(b.spec), 2);
    ExpectBits(&b, b.Operands());
  }
}

// Where images of a region lie in different orders, launches are separate.
TEST(BatchRegions, OfSeveralLayouts) {
  ASSERT_EQ(OpenDevice(), "");
  for (bool gradient : {false, true}) {
    DrawnBatch b({{3, 8, 5, 4}, DP_BFLOAT16, DP_FLOAT32, gradient, true, true, true});
    for (size_t v = 0; v < b.values.size(); v++)
      if (v < b.value_at.size() && int(b.value_at[v]) == b.other) b.values[v].layout = DP_LAYOUT_PLAIN;
    EXPECT_GE(Launches(b.spec), 2);
    ExpectBits(&b, b.Operands());
  }
}

// A result of the normalization, or a broadcast operand, is no residual; x is no gradient that is only being made.
TEST(BatchRegions, LeaveOperandsThatCameToBe) {
  ASSERT_EQ(OpenDevice(), "");
  const std::vector<int64_t> frame = {2, 6}, channels = {6};
  for (int how = 0; how < 3; how++) {
    SCOPED_TRACE(how);
    RegionBuilder b(3);
    const auto operand = [&](const std::vector<int64_t> &extents) { return b.Operand(DP_FLOAT32, extents); };
    if (how < 2) {
      const int y = b.Add("dp", "GroupedBatchNormalization", {operand(frame), operand(channels), operand(channels)},
                          DP_FLOAT32, frame, false, {RegionBuilder::Int("groups", 2), RegionBuilder::Int("unit", 1)});
      const int mean = b.AddResult(DP_FLOAT32, frame, true);
      b.AddResult(DP_FLOAT32, frame, true);
      b.Add("", "Add", {y, how ? operand(channels) : mean}, DP_FLOAT32, frame, true);
    } else {
      const int g = b.Add("dp", "ReluGrad", {operand(frame), operand(frame)}, DP_FLOAT32, frame, true);
      b.Add("dp", "BatchNormalizationGrad", {g, operand(channels), operand(channels), operand(channels), g}, DP_FLOAT32,
            frame, true);
    }
    b.Number();
    EXPECT_EQ(Launches(b.spec), 2);
    const std::vector<Tensor> in = b.Tensors(0, b.n_inputs), expected = OneByOne(&b, in);
    const Outcome found = RunKernel(Kernel(), b.spec, in, expected, -1);
    ASSERT_EQ(found.error, "");
    for (size_t k = 0; k < expected.size(); k++) ExpectSame(expected[k], found.results[k], true);
  }
}

// What is made again, from the statistics that were kept, has the bits of what Relu had made. Wherever numbers are
// computed in another type, one in some ten thousand comes out as its neighbour.
TEST(BatchRegions, MakeReluAgain) {
  ASSERT_EQ(OpenDevice(), "");
  const std::vector<int64_t> x = {48, 8, 24, 24}, channels = {8};
  for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT16})
    for (bool channels_last : {false, true}) {
      SCOPED_TRACE(testing::Message() << dtype << " " << channels_last);
      RegionBuilder b(5);
      std::vector<int> in = {b.Operand(dtype, x)};
      for (int i = 0; i < 4; i++) in.push_back(b.Operand(DP_FLOAT32, channels));
      const int normalized =
          b.Add("", "BatchNormalization", in, dtype, x, false, {RegionBuilder::Int("training_mode", 1)});
      for (int k = 0; k < 2; k++) b.AddResult(DP_FLOAT32, channels, false);
      const int mean = b.AddResult(DP_FLOAT32, channels, false), invstd = b.AddResult(DP_FLOAT32, channels, false);
      const int relu = b.Add("", "Relu", {normalized}, dtype, x, true);
      b.Add("dp", "BatchNormalizationReluGrad", {in[0], in[1], in[2], mean, invstd, b.Operand(dtype, x)}, dtype, x,
            false);
      for (int k = 0; k < 2; k++) b.AddResult(DP_FLOAT32, channels, false);
      const int again = b.AddResult(dtype, x, true);
      b.Number();
      for (dp_kernel_operand &o : b.values)
        if (channels_last && o.local.rank == 4) o.layout = DP_LAYOUT_NHWC;
      ASSERT_LT(relu, again);
      const std::vector<Tensor> made = OneByOne(&b, b.Tensors(0, b.n_inputs));
      EXPECT_TRUE(made[0].bytes == made[1].bytes);
    }
}

// No shard may need more scratch than a larger one, which plans count on: neither of fewer channels nor of fewer
// samples. The gradient of Relu leaves bits there.
TEST(BatchRegions, NoShardNeedsMoreScratch) {
  for (bool channels_last : {false, true})
    for (int64_t n : {1, 5, 64}) {
      uint64_t least = 0;
      for (int64_t channels = 1; channels < 40; channels++) {
        const DrawnBatch b({{n, channels, 8, 8}, DP_BFLOAT16, DP_FLOAT32, true, true, true, channels_last});
        const uint64_t bytes = Kernel()->scratch_bytes(&b.spec);
        EXPECT_GE(bytes, least) << channels;
        EXPECT_GE(bytes, uint64_t(n * channels * 8));
        least = bytes;
      }
    }
}

TEST(BatchRegions, NoShardOfFewerSamplesNeedsMoreScratch) {
  for (bool channels_last : {false, true})
    for (bool gradient : {false, true})
      for (bool adds : {false, true})
        for (bool kept : {false, true}) {
          if (kept && !gradient) continue;
          uint64_t least = 0;
          for (int64_t n = 0; n <= 64; n++) {
            const Around around = {{n, 16, 8, 8}, DP_BFLOAT16, DP_FLOAT32, gradient, adds, true, channels_last, kept};
            const DrawnBatch b(around);
            const uint64_t bytes = Kernel()->scratch_bytes(&b.spec);
            EXPECT_GE(bytes, least) << Print(around);
            least = bytes;
          }
          EXPECT_GT(least, 0u);
        }
}

}  // namespace
}  // namespace dp_test
