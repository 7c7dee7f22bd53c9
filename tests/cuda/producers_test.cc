// Regions with products on CUDA: a product, perhaps reshaped, then a bias, an activation, a residual, and reductions of
// what comes out; any of these may be a result. Compared with the CPU's reference of regions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "backends/cpu/target.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/kernels/region_gradient.h"
#include "backends/cuda/kernels/region_normalization.h"
#include "backends/cuda/target.h"
#include "tests/backends/drawn_gradient.h"
#include "tests/backends/drawn_normalization.h"
#include "tests/backends/region_builder.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

const uint32_t kSeeds = getenv("DP_FULL") ? 160 : 48;

const dp_kernel *Kernel() { return dp_kernel_find(&dp_target_cuda, "cuda.device.dp.Region"); }

struct Producer : RegionBuilder {
  dp_dtype dtype;

  explicit Producer(uint32_t seed, int64_t divisor = 1) : Producer(seed, &Producer::Draw, divisor) {}
  Producer(uint32_t seed, void (Producer::*draw)(int64_t), int64_t size) : RegionBuilder(seed) {
    static const dp_dtype types[] = {DP_FLOAT32, DP_FLOAT64, DP_BFLOAT16, DP_FLOAT16};
    dtype = types[seed % 4];
    (this->*draw)(size);
    Number();
  }

  int Operand(const std::vector<int64_t> &extents) { return RegionBuilder::Operand(dtype, extents); }
  // result: in so many of 4 cases it is a result.
  int Add(const char *op, const std::vector<int> &in, const std::vector<int64_t> &extents, int result,
          const std::vector<dp_attr> &attrs = {}) {
    return RegionBuilder::Add("", op, in, dtype, extents, UpTo(4) < result, attrs);
  }
  int Softmax(int x) {
    const std::vector<int64_t> extents = made[size_t(x)].extents;
    return Add("Softmax", {x}, extents, 1, {Int("axis", -1)});
  }

  // A product and so many Softmax behind it, each a launch that leaves its result for the next one.
  void DrawChain(int64_t length) {
    int x = Add("MatMul", {Operand({4, 8}), Operand({8, 64})}, {4, 64}, 0);
    for (int64_t i = 0; i < length; i++) x = Softmax(x);
    for (Value &value : made) value.result = false;
    made[size_t(x)].result = true;
  }

  void Draw(int64_t divisor) {
    static const int64_t rows[] = {1, 2, 7, 24}, columns[] = {1, 5, 32}, depths[] = {1, 6, 40};
    const int64_t part = (1 + UpTo(3) + divisor - 1) / divisor, m = rows[UpTo(4)], n = columns[UpTo(3)],
                  k = depths[UpTo(3)];
    const bool whole = UpTo(2);  // the product has the extents of what follows
    const std::vector<int64_t> frame = {part, m, n}, matrix = {part * m, n};
    int x;
    if (whole && UpTo(2)) {
      x = Add("MatMul", {Operand({part, m, k}), Operand({k, n})}, frame, 1);
    } else {
      const bool ta = UpTo(2), tb = UpTo(2);
      const int a = Operand(ta ? std::vector<int64_t>{k, part * m} : std::vector<int64_t>{part * m, k});
      const int b = Operand(tb ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n});
      x = Add("Gemm", {a, b}, matrix, 1, {Int("transA", ta), Int("transB", tb)});
      if (!whole) x = Add("Reshape", {x}, frame, 1);
    }
    const std::vector<int64_t> extents = made[size_t(x)].extents;
    const int first = x;
    if (UpTo(3)) {
      const std::vector<int64_t> column = {extents[extents.size() - 2], 1};
      const int bias = Operand(UpTo(2) ? std::vector<int64_t>{n} : UpTo(2) ? extents : column);
      x = Add("Add", UpTo(2) ? std::vector<int>{x, bias} : std::vector<int>{bias, x}, extents, 1);
    }
    static const char *const unary[] = {"Relu", "Gelu", "Tanh", "Sigmoid"};
    if (UpTo(3)) x = Add(unary[UpTo(4)], {x}, extents, 1);
    if (!UpTo(3)) x = Add("Mul", {x, first}, extents, 1);  // uses the product again
    if (!UpTo(3)) x = Add("Add", {Operand(extents), x}, extents, 1);
    if (!UpTo(3)) x = Softmax(x);
    // Launches whose results live for a while, and whose memory is used again.
    std::vector<int> earlier = {first, x};
    for (int more = UpTo(5); more > 0; more--) {
      x = UpTo(3) ? Softmax(x) : Add("Mul", {x, earlier[size_t(UpTo(earlier.size()))]}, extents, 1);
      earlier.push_back(x);
    }
    std::vector<int64_t> axes;
    for (size_t d = 0; d + 1 < extents.size(); d++) axes.push_back(int64_t(d));
    if (UpTo(2)) Add("ReduceSum", {UpTo(2) ? x : first}, {n}, 4, {Axes(axes), Int("keepdims", 0)});
    made[size_t(x)].result = true;
  }
};

std::vector<Tensor> Expected(Producer *p, const std::vector<Tensor> &in) {
  return ReferenceOf(dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region"), p, in);
}

void ExpectClose(const Tensor &expected, const Tensor &found) {
  double scale = 1e-30;
  for (double x : Numbers(expected)) scale = std::max(scale, std::fabs(x));
  // What is rounded to 16 bits on the other side of a half is a unit off, and what follows may round again.
  const double units[] = {1e-5, 1e-12, 0x1p-6, 0x1p-9};
  const double unit = units[expected.dtype == DP_FLOAT64    ? 1
                            : expected.dtype == DP_BFLOAT16 ? 2
                            : expected.dtype == DP_FLOAT16  ? 3
                                                            : 0];
  for (int64_t i = 0; i < expected.Count(); i++)
    ASSERT_NEAR(expected.Get(i), found.Get(i), unit * scale) << "element " << i;
}

class CudaProducers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(OpenDevice(), "");
    for (uint32_t seed = 0; seed < kSeeds; seed++) {
      Producer p(seed);
      void *state = nullptr;
      ASSERT_TRUE(Kernel()->match(&p.spec)) << seed;
      ASSERT_EQ(Kernel()->prepare(&p.spec, &state), DP_OK);
      Kernel()->release(state);
    }
    ASSERT_EQ(dp_cuda_functions_load(), DP_OK);
  }
};

TEST_F(CudaProducers, EqualTheReference) {
  for (uint32_t seed = 0; seed < kSeeds; seed++) {
    SCOPED_TRACE(seed);
    Producer p(seed);
    const std::vector<Tensor> in = p.Tensors(0, p.n_inputs), expected = Expected(&p, in);
    const Outcome found = RunKernel(Kernel(), p.spec, in, expected, -1);
    ASSERT_EQ(found.error, "");
    for (size_t k = 0; k < expected.size(); k++) ExpectClose(expected[k], found.results[k]);
  }
}

// The same numbers from each member's own kernel, launch by launch: what --no-fuse gives.
std::vector<Tensor> OneByOne(RegionBuilder *g, const std::vector<Tensor> &in) {
  std::vector<Tensor> all = in, rest = g->Tensors(g->n_inputs, int(g->values.size()) - g->n_inputs);
  all.insert(all.end(), rest.begin(), rest.end());
  for (int m = 0; m < g->region.n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(&g->region, m, g->values.data(), &member);
    std::vector<Tensor> from, to;
    for (int32_t v : g->taken[size_t(m)]) from.push_back(all[size_t(v)]);
    for (int32_t v : g->given[size_t(m)]) to.push_back(all[size_t(v)]);
    const Outcome found = RunKernel(dp_kernel_select(&dp_target_cuda, &member.spec, false), member.spec, from, to, -1);
    EXPECT_EQ(found.error, "");
    for (size_t k = 0; k < to.size() && found.error.empty(); k++)
      all[size_t(g->given[size_t(m)][k])] = found.results[k];
  }
  return std::vector<Tensor>(all.begin() + g->n_inputs, all.begin() + g->n_inputs + g->n_outputs);
}

// The bits of every number. A NaN's are a function's own affair: on GPUs they follow from the instruction.
void ExpectBits(const Tensor &expected, const Tensor &found) {
  if (expected.bytes == found.bytes) return;
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double a = expected.Get(i), b = found.Get(i);
    ASSERT_TRUE((std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)))
        << "element " << i << ": " << a << ", found " << b;
  }
}

// Whether the normalization takes the sum and the Cast along, and every bit is that of separate launches. first: what
// the first elements of x are.
void ExpectAlong(const DrawnNormalization::Around &a, bool sum, bool cast, const std::vector<double> &first = {}) {
  SCOPED_TRACE(testing::Message() << a.op << " rows " << a.rows << " of " << a.length << " type " << a.dtype
                                  << " before " << a.before << " bias " << a.bias << " adds " << a.adds << " keeps "
                                  << a.keeps << " after " << a.after << " kept " << a.kept << " later " << a.later);
  DrawnNormalization region(a);
  dp_cuda_region_normalization found_around;
  EXPECT_EQ(dp_cuda_region_normalization_of(&region.spec, region.normalization, &found_around), sum || cast);
  EXPECT_EQ(found_around.add >= 0, sum);
  EXPECT_EQ(found_around.before >= 0, sum && a.before && a.dtype == DP_FLOAT32);
  EXPECT_EQ(found_around.bias >= 0, sum && a.bias);
  EXPECT_EQ(found_around.after >= 0, cast);
  std::vector<Tensor> in = region.Tensors(0, region.n_inputs);
  for (size_t i = 0; i < first.size(); i++) in[0].Set(int64_t(i), first[i]);
  const std::vector<Tensor> expected = OneByOne(&region, in);
  const Outcome found = RunKernel(Kernel(), region.spec, in, expected, -1);
  ASSERT_EQ(found.error, "");
  for (size_t k = 0; k < expected.size(); k++) {
    SCOPED_TRACE("result " + std::to_string(k));
    ExpectBits(expected[k], found.results[k]);
  }
  const std::vector<Tensor> reference =
      ReferenceOf(dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region"), &region, in);
  for (size_t k = 0; k < expected.size() && a.after != DP_FLOAT64; k++)  // or what float32 rounded would show there
    ExpectSame(reference[k], found.results[k], false);
}

TEST(CudaProducer, NormalizationsTakeWhatStandsAroundThem) {
  ASSERT_EQ(OpenDevice(), "");
  int turn = 0;
  for (const char *op : {"LayerNormalization", "RMSNormalization"})
    for (dp_dtype before : {DP_NO_TYPE, DP_BFLOAT16, DP_FLOAT16})
      for (int adds = 0; adds < 3; adds++)  // 2: the sum is a result
        for (dp_dtype after : {DP_NO_TYPE, DP_BFLOAT16})
          for (bool kept : {false, true}) {
            const bool alike = !before || !after || before == after;
            const int64_t lengths[] = {5, 36, 768, 2048, 1, 2049};
            for (int l = 0; l < (getenv("DP_FULL") ? 6 : 1); l++, turn++) {
              const int64_t length = lengths[turn % 6], rows = turn % 3 ? 11 : 1;
              const bool held = length <= 2048, sum = adds && held;
              ExpectAlong({op, rows, length, DP_FLOAT32, before, before && turn % 2, adds > 0, adds == 2, after, kept,
                           turn % 5 == 0},
                          sum, held && after && !kept && (!sum || alike));
            }
          }
}

TEST(CudaProducer, NormalizationsOfOtherTypesTakeSums) {
  ASSERT_EQ(OpenDevice(), "");
  for (dp_dtype dtype : {DP_FLOAT64, DP_BFLOAT16, DP_FLOAT16})
    ExpectAlong({"LayerNormalization", 3, 40, dtype, DP_NO_TYPE, false, true, true, DP_NO_TYPE}, true, false);
  ExpectAlong({"LayerNormalization", 3, 40, DP_FLOAT64, DP_BFLOAT16, false, true, true, DP_NO_TYPE}, true, false);
  ExpectAlong({"LayerNormalization", 3, 5, DP_FLOAT32, DP_NO_TYPE, false, true, true, DP_FLOAT64}, true, false);
  ExpectAlong({"RMSNormalization", 0, 5, DP_FLOAT32, DP_BFLOAT16, true, true, true, DP_BFLOAT16}, true, true);
}

// Rows that floats have no room for are read again, from the sum.
TEST(CudaProducer, NormalizationsTakeSumsOfHugeNumbers) {
  ASSERT_EQ(OpenDevice(), "");
  for (const char *op : {"LayerNormalization", "RMSNormalization"})
    for (bool keeps : {false, true})
      for (double first : {3e38, double(NAN), double(INFINITY)})
        ExpectAlong({op, 3, 37, DP_FLOAT32, DP_BFLOAT16, true, true, keeps, DP_BFLOAT16}, true, true, {first, -3e38});
}

// What another member needs before the normalization is there, or may overwrite, is computed where it stands.
TEST(CudaProducer, NormalizationsLeaveOtherSums) {
  for (int how = 0; how < 3; how++) {
    RegionBuilder b(5);
    const std::vector<int64_t> frame = {3, 8}, row = {8};
    const auto operand = [&](const std::vector<int64_t> &extents) { return b.Operand(DP_FLOAT32, extents); };
    const int x = operand(how == 2 ? row : frame);
    const int sum = b.Add("", "Add", {operand(frame), x}, DP_FLOAT32, frame, true);
    const int between = b.Add("", "Mul", {how == 0 ? sum : operand(frame), x}, DP_FLOAT32, frame, how == 1);
    const int y =
        b.Add("", "RMSNormalization", {sum, operand(row)}, DP_FLOAT32, frame, false, {RegionBuilder::Int("axis", -1)});
    b.Add("", "Mul", {y, between}, DP_FLOAT32, frame, true);
    b.Number();
    dp_cuda_region_normalization found;
    EXPECT_FALSE(dp_cuda_region_normalization_of(&b.spec, 2, &found)) << how;
  }
}

// Every bit is that of separate launches.
void ExpectSeparate(RegionBuilder *b) {
  b->Number();
  const std::vector<Tensor> in = b->Tensors(0, b->n_inputs), expected = OneByOne(b, in);
  const Outcome found = RunKernel(Kernel(), b->spec, in, expected, -1);
  ASSERT_EQ(found.error, "");
  for (size_t k = 0; k < expected.size(); k++) ExpectBits(expected[k], found.results[k]);
}

// A bias has one number for each of the last dim; a normalization over two dims reads more of a row.
TEST(CudaProducer, NormalizationsOfSeveralDimsLeaveBiases) {
  ASSERT_EQ(OpenDevice(), "");
  for (const std::vector<int64_t> &bias : {std::vector<int64_t>{8}, std::vector<int64_t>{1, 8}}) {
    RegionBuilder b(5);
    const std::vector<int64_t> frame = {4, 2, 8}, row = {2, 8};
    const int x = b.Operand(DP_BFLOAT16, frame), of_bias = b.Operand(DP_BFLOAT16, bias);
    const int biased = b.Add("", "Add", {x, of_bias}, DP_BFLOAT16, frame, false);
    const int wide = b.Add("", "Cast", {biased}, DP_FLOAT32, frame, false, {RegionBuilder::Int("to", DP_FLOAT32)});
    const int sum = b.Add("", "Add", {wide, b.Operand(DP_FLOAT32, frame)}, DP_FLOAT32, frame, true);
    b.Add("", "LayerNormalization", {sum, b.Operand(DP_FLOAT32, row), b.Operand(DP_FLOAT32, row)}, DP_FLOAT32, frame,
          true, {RegionBuilder::Int("axis", 1)});
    ExpectSeparate(&b);
  }
}

// A scale that the region makes, of the sum's extents, is read when the sum has been stored.
TEST(CudaProducer, NormalizationsReadTheirScaleLate) {
  ASSERT_EQ(OpenDevice(), "");
  RegionBuilder b(5);
  const std::vector<int64_t> frame = {1, 8};
  const auto operand = [&](const std::vector<int64_t> &extents) { return b.Operand(DP_FLOAT32, extents); };
  const int scale = b.Add("", "Neg", {operand(frame)}, DP_FLOAT32, frame, false);
  const int h = b.Add("", "MatMul", {operand({1, 3}), operand({3, 8})}, DP_FLOAT32, frame, false);
  const int other = b.Add("", "MatMul", {operand({1, 3}), operand({3, 8})}, DP_FLOAT32, frame, false);
  const int sum = b.Add("", "Add", {h, other}, DP_FLOAT32, frame, true);
  b.Add("", "RMSNormalization", {sum, scale}, DP_FLOAT32, frame, true, {RegionBuilder::Int("axis", 0)});
  ExpectSeparate(&b);
}

// A gradient's launch takes the Add, so that of a normalization does not.
TEST(CudaProducer, NormalizationsLeaveTheSumsOfGradients) {
  ASSERT_EQ(OpenDevice(), "");
  RegionBuilder b(5);
  const std::vector<int64_t> frame = {3, 8}, row = {8};
  const auto operand = [&](const std::vector<int64_t> &extents) { return b.Operand(DP_FLOAT32, extents); };
  const int dx = b.Add("dp", "RMSNormalizationGrad", {operand(frame), operand(row), operand(frame)}, DP_FLOAT32, frame,
                       false, {RegionBuilder::Int("axis", -1)});
  const int sum = b.Add("", "Add", {dx, operand(frame)}, DP_FLOAT32, frame, true);
  b.Add("", "RMSNormalization", {sum, operand(row)}, DP_FLOAT32, frame, true, {RegionBuilder::Int("axis", -1)});
  ExpectSeparate(&b);
}

// Whether the gradient takes the members around it along, and every bit is theirs.
void ExpectAlong(const DrawnGradient::Around &around, bool along) {
  DrawnGradient g(around);
  SCOPED_TRACE(testing::Message() << around.about_mean << " rows " << around.rows << " of " << around.length << " type "
                                  << around.dtype << " before " << around.before << " adds " << around.adds << " after "
                                  << around.after << " kept " << around.kept << " sums " << around.n_sums);
  dp_cuda_region_gradient found_around;
  EXPECT_EQ(dp_cuda_region_gradient_of(&g.spec, g.gradient, &found_around), along);
  const std::vector<Tensor> in = g.Tensors(0, g.n_inputs), expected = OneByOne(&g, in);
  const Outcome found = RunKernel(Kernel(), g.spec, in, expected, -1);
  ASSERT_EQ(found.error, "");
  for (size_t k = 0; k < expected.size(); k++) ExpectBits(expected[k], found.results[k]);
}

// Each choice with one of the lengths; with DP_FULL, with all of them.
TEST(CudaProducer, GradientsOfNormalizationsTakeWhatStandsAroundThem) {
  ASSERT_EQ(OpenDevice(), "");
  int turn = 0;
  for (bool about_mean : {true, false})
    for (dp_dtype before : {DP_NO_TYPE, DP_BFLOAT16, DP_FLOAT16})
      for (bool adds : {false, true})
        for (dp_dtype after : {DP_NO_TYPE, DP_BFLOAT16})
          for (bool kept : {false, true}) {
            const bool some = before || adds || after, alike = !before || !after || before == after;
            const int sums = about_mean ? 2 : 1;
            const int64_t lengths[] = {5, 36, 768, 1025, 1};
            for (int l = 0; l < (getenv("DP_FULL") ? 5 : 1); l++, turn++) {
              const int64_t length = lengths[turn % 5], rows = turn % 3 ? 11 : 1;
              ExpectAlong({about_mean, rows, length, DP_FLOAT32, before, adds, after, kept, turn % 4 ? sums : sums - 1},
                          some && alike);
            }
          }
  // Only sums are taken along in other types; rows that no block holds, alone.
  for (dp_dtype dtype : {DP_FLOAT64, DP_BFLOAT16, DP_FLOAT16})
    ExpectAlong({true, 3, 40, dtype, DP_NO_TYPE, true, DP_NO_TYPE, false, 2}, true);
  ExpectAlong({true, 3, 40, DP_FLOAT64, DP_BFLOAT16, false, DP_NO_TYPE, false, 2}, false);
  ExpectAlong({true, 3, 6145, DP_FLOAT32, DP_BFLOAT16, true, DP_BFLOAT16, true, 2}, false);
}

// What is added may be made behind the gradient, and dX may have other users: then the Add is no part of its launch.
TEST(CudaProducer, GradientsOfNormalizationsLeaveOtherSums) {
  for (bool twice : {false, true}) {
    RegionBuilder b(5);
    const std::vector<int64_t> frame = {3, 8}, row = {8};
    const auto operand = [&](const std::vector<int64_t> &extents) { return b.Operand(DP_FLOAT32, extents); };
    const int dx = b.Add("dp", "LayerNormalizationGrad", {operand(frame), operand(row), operand(frame)}, DP_FLOAT32,
                         frame, false, {RegionBuilder::Int("axis", -1)});
    const int other = b.Add("", "Mul", {operand(frame), operand(frame)}, DP_FLOAT32, frame, false);
    b.Add("", "Add", {dx, twice ? dx : other}, DP_FLOAT32, frame, true);
    if (twice) b.made[size_t(other)].result = true;
    b.Number();
    dp_cuda_region_gradient found;
    EXPECT_FALSE(dp_cuda_region_gradient_of(&b.spec, 0, &found)) << twice;
  }
}

TEST(CudaProducer, ScratchIsUsedAgain) {
  const auto bytes = [](int64_t length) {
    const Producer p(0, &Producer::DrawChain, length);
    return Kernel()->scratch_bytes(&p.spec);
  };
  const uint64_t value = 4 * 64 * sizeof(float);
  EXPECT_GE(bytes(1), value);
  for (int64_t length : {2, 3, 4, 9}) EXPECT_EQ(bytes(length), bytes(1) + value) << length;
}

TEST(CudaProducer, NoShardNeedsMoreScratchThanALargerOne) {
  for (uint32_t seed = 0; seed < 200; seed++) {
    uint64_t smaller = 0;
    for (int64_t divisor : {3, 2, 1}) {
      Producer p(seed, divisor);
      const uint64_t bytes = Kernel()->scratch_bytes(&p.spec);
      EXPECT_GE(bytes, smaller) << "seed " << seed << ", divisor " << divisor;
      smaller = bytes;
    }
  }
}

}  // namespace
}  // namespace dp_test
