// Functions that take tiles of a product: extents around the sides and depth of a tile, of which samples are smaller
// than one; rows and keys that are hidden, NaN and infinite.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

Outcome Compute(const char *name, const Ready &ready) {
  const Spec spec(ready.built->node, ready.in, ready.out);
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cuda, name);
  return kernel ? RunKernel(kernel, spec, ready.in, ready.out) : Outcome{"there is no kernel", {}};
}

void ExpectReference(const char *name, const Problem &p, const Ready &ready) {
  SCOPED_TRACE(p.Print());
  ASSERT_EQ(ready.built->error, "");
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out), found = Compute(name, ready);
  ASSERT_EQ(expected.error + found.error, "");
  for (size_t i = 0; i < expected.results.size(); i++) ExpectSame(expected.results[i], found.results[i], false);
}

TEST(Tiles, OfProducts) {
  for (const char *type : {"float32", "float64", "bfloat16", "int32", "uint64"})
    for (const int64_t m : {1, 31, 32, 33, 70})
      for (const int64_t n : {1, 32, 65})
        for (const int64_t k : {1, 15, 16, 17, 40}) {
          const std::string t = type, of_k = std::to_string(k), of_n = std::to_string(n);
          const bool turned = (m + n + k) % 2 != 0;
          const Problem gemm{"Gemm",
                             "",
                             t + (turned ? "[" + of_k + ",N], " : "[N," + of_k + "], ") + t +
                                 (turned ? "[" + of_n + "," + of_k + "], " : "[" + of_k + "," + of_n + "], ") + t +
                                 "[" + of_n + "]",
                             turned ? "transA=1, transB=1" : "",
                             m,
                             double(k)};
          ExpectReference("cuda.device.Gemm", gemm, Draw(gemm));
          const Problem batch{"MatMul", "", t + "[3,N," + of_k + "], " + t + "[2,1," + of_k + "," + of_n + "]",
                              "",       m,  double(k)};
          if (k == 17) ExpectReference("cuda.device.MatMul", batch, Draw(batch));
          if (HasFatalFailure()) return;
        }
}

// [batch, length, heads, size], [batch, keys, groups, size], [batch, keys, groups, v_size].
Problem Attention(const std::string &type, int64_t length, int64_t keys, int64_t size, int64_t v_size,
                  const std::string &rest, const std::string &attrs) {
  const auto shape = [&](int64_t rows, int heads, int64_t each) {
    return type + "[N," + std::to_string(rows) + "," + std::to_string(heads) + "," + std::to_string(each) + "]";
  };
  return {"ScaledDotProductAttention",
          "dp",
          shape(length, 4, size) + ", " + shape(keys, 2, size) + ", " + shape(keys, 2, v_size) + rest,
          attrs,
          2,
          double(keys)};
}

constexpr char kAttention[] = "cuda.device.dp.ScaledDotProductAttention";

TEST(Tiles, OfAttention) {
  for (const char *type : {"float32", "float64", "bfloat16", "float16"})
    for (const int64_t length : {1, 33, 40})
      for (const int64_t keys : {1, 32, 70})
        for (const int64_t size : {1, 16, 35}) {
          const std::string scores = std::to_string(length) + "," + std::to_string(keys) + "]";
          const std::string rests[] = {"", ", bool[" + scores, ", " + std::string(type) + "[4," + scores,
                                       ", bool[N,1,1," + std::to_string(keys) + "], int64[], int64[]"};
          const char *attrs[] = {"scale=0.3", "scale=0.3, masked_rows=\"zero\"", "scale=0.5",
                                 "masked=-2.5, ratio=0.25, key=123456789"};
          const size_t which = size_t(length + keys + size) % 4;
          const Problem p = Attention(type, length, keys, size, size + 3, rests[which], attrs[which]);
          ExpectReference(kAttention, p, Draw(p));
          const Problem causal = Attention(type, length, keys, size, size + 3, "", "scale=0.3, is_causal=1");
          ExpectReference(kAttention, causal, Draw(causal));
          if (HasFatalFailure()) return;
        }
}

// Rows that nothing is seen in are NaN, or 0 if that is asked for; NaN and infinity in a key make NaN of the rows that
// see it; among several tiles, of which some are hidden whole.
TEST(Tiles, OfAttentionWithNothingToSee) {
  const int64_t length = 34, keys = 80;
  for (const char *attrs : {"scale=0.5", "scale=0.5, masked_rows=\"zero\""})
    for (const double odd : {0.5, double(NAN), std::numeric_limits<double>::infinity()}) {
      const Problem p = Attention("float32", length, keys, 3, 4, ", bool[34,80]", attrs);
      Ready ready = Draw(p);
      for (int64_t i = 0; i < length; i++)
        for (int64_t j = 0; j < keys; j++)
          ready.in[3].Set(i * keys + j, i % 5 == 0 ? 0 : i % 5 == 1 ? j >= 64 : i % 5 == 2 ? j < 5 : (i + j) % 3 == 0);
      ready.in[1].Set((3 * 2 + 1) * 3, odd);  // of key 3, in the second group
      ExpectReference(kAttention, p, ready);
      const Outcome found = Compute(kAttention, ready);
      EXPECT_EQ(std::isnan(found.results[0].Get(0)), !std::strstr(attrs, "zero")) << attrs;
    }
}

}  // namespace
}  // namespace dp_test
