// Products of bfloat16 (backends/cpu/bf16) against sums in float64: extents around those of tiles, transposed operands,
// whatever is added, any number of parts, in the scratch that is declared.
#include "backends/cpu/bf16/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/onednn/isa.h"
#include "ir/graph/element.h"

namespace {

double Number(uint16_t x) { return dp_element_decode(DP_BFLOAT16, x); }
uint16_t Rounded(double x) { return static_cast<uint16_t>(dp_element_encode(DP_BFLOAT16, x, false)); }

constexpr size_t kGuard = 64;

struct Product : dp_bf16_product {
  std::vector<uint16_t> left, right, added, result;
  std::mt19937 rng;

  std::vector<uint16_t> Draw(int64_t count) {
    std::uniform_real_distribution<double> numbers(-2, 2);
    std::vector<uint16_t> drawn(static_cast<size_t>(count) + 1);  // not empty
    for (uint16_t &x : drawn) x = Rounded(numbers(rng));
    return drawn;
  }

  // how: bit 0: a is transposed; 1: b is; bits 2 and 3: nothing is added, a row, a column or a matrix.
  Product(int64_t rows, int64_t columns, int64_t depth, unsigned how, uint32_t seed) : dp_bf16_product(), rng(seed) {
    m = rows, n = columns, k = depth;
    left = Draw(m * k), right = Draw(k * n), added = Draw(m * n);
    result.assign(static_cast<size_t>(m * n) + kGuard, 0xfff);  // no number that is drawn
    const int64_t widths[] = {n, 0, 1, n};
    const unsigned adds = how >> 2 & 3;
    a = how & 1 ? dp_bf16_matrix{left.data(), 1, m} : dp_bf16_matrix{left.data(), k, 1};
    b = how & 2 ? dp_bf16_matrix{right.data(), 1, k} : dp_bf16_matrix{right.data(), n, 1};
    if (adds) c = {added.data(), widths[adds], adds == 2 ? 0 : 1};
    alpha = how & 16 ? 0.75f : 1;
    beta = how & 32 ? -0.5f : 1;
    y = result.data();
  }

  void Run(int parts) {
    const size_t bytes = dp_bf16_product_bytes(m, n, k, parts);
    std::vector<uint8_t> room(bytes + kGuard + 64, 0xa5);
    auto *scratch = reinterpret_cast<uint8_t *>(dp_align_up(reinterpret_cast<uintptr_t>(room.data()), 64));
    for (int part = parts; part-- > 0;) dp_bf16_product_run(this, scratch, part, parts);
    for (size_t i = 0; i < kGuard; i++) ASSERT_EQ(scratch[bytes + i], 0xa5) << "behind its scratch";
    for (size_t i = 0; i < kGuard; i++) ASSERT_EQ(result[static_cast<size_t>(m * n) + i], 0xfff) << "behind its result";
  }

  // Half a unit of the result, which is rounded once, and what float32 loses in k sums.
  void Expect() const {
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double sum = 0, size = 0;
        for (int64_t l = 0; l < k; l++) {
          const double term = Number(a.first[i * a.row + l * a.column]) * Number(b.first[l * b.row + j * b.column]);
          sum += term, size += std::fabs(term);
        }
        sum *= static_cast<double>(alpha);
        if (c.first) sum += static_cast<double>(beta) * Number(c.first[i * c.row + j * c.column]);
        const double allowed = std::fabs(sum) * 0x1p-8 + (size + 2) * 0x1p-24 * static_cast<double>(k + 2);
        ASSERT_NEAR(Number(result[static_cast<size_t>(i * n + j)]), sum, allowed) << i << ", " << j;
      }
  }
};

// Sums in float32, in rows that lie apart, added to what is there or written over it.
void ExpectSums(Product product, float beta) {
  const int64_t row = product.n + 3;
  std::vector<float> sums(static_cast<size_t>(product.m * row), 2);
  if (beta == 0) std::fill(sums.begin(), sums.end(), std::nanf(""));
  const std::vector<float> before = sums;
  product.c = {}, product.beta = beta, product.sums = sums.data(), product.sums_row = row;
  product.Run(1);
  for (int64_t i = 0; i < product.m; i++)
    for (int64_t j = 0; j < row; j++) {
      const size_t at = static_cast<size_t>(i * row + j);
      if (j >= product.n) {
        EXPECT_EQ(memcmp(&sums[at], &before[at], sizeof sums[at]), 0) << "beside its sums";
        continue;
      }
      double sum = 0, size = 0;
      for (int64_t l = 0; l < product.k; l++) {
        const dp_bf16_matrix &a = product.a, &b = product.b;
        const double term = Number(a.first[i * a.row + l * a.column]) * Number(b.first[l * b.row + j * b.column]);
        sum += term, size += std::fabs(term);
      }
      sum = sum * double(product.alpha) + (beta == 0 ? 0 : 2 * double(beta));
      ASSERT_NEAR(double(sums[at]), sum, (size + 4) * 0x1p-24 * static_cast<double>(product.k + 2)) << i << ", " << j;
    }
}

class Bfloat16 : public testing::Test {
 protected:
  void SetUp() override {
    if (!dp_isa_allows_bf16(nullptr)) GTEST_SKIP() << "this machine lacks AVX-512's bfloat16";
  }
};

TEST_F(Bfloat16, ProductsAreThoseOfFloat64) {
  const int64_t sizes[] = {0, 1, 2, 11, 12, 13, 31, 32, 33, 65};
  std::mt19937 rng(1);
  for (uint32_t seed = 0; seed < 600; seed++) {
    const int64_t m = sizes[rng() % 10], n = sizes[rng() % 10], k = sizes[rng() % 10];
    const unsigned how = static_cast<unsigned>(rng() % 64);
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + ", how " +
                 std::to_string(how));
    Product whole(m, n, k, how, seed);
    whole.Run(1);
    whole.Expect();
    for (int parts : {2, 5}) {
      Product split(m, n, k, how, seed);
      split.Run(parts);
      EXPECT_EQ(split.result, whole.result);
    }
  }
}

TEST_F(Bfloat16, SumsAreThoseOfFloat64) {
  for (unsigned how = 0; how < 4; how++)
    for (int64_t m : {1, 13, 40})
      for (int64_t n : {1, 32, 67})
        for (int64_t k : {0, 1, 16, 33})
          for (float beta : {0.0f, 1.0f, -0.5f}) ExpectSums(Product(m, n, k, how | 16, how), beta);
}

// More than one block of rows, and one whose single strip is larger than a block.
TEST_F(Bfloat16, LongSums) {
  for (unsigned how : {0u, 3u, 13u})
    for (int64_t k : {1023, 12000}) {
      Product product(150, 5, k, how, how);
      product.Run(2);
      product.Expect();
    }
}

TEST_F(Bfloat16, RoundsToNearestEvenOnce) {
  Product product(1, 2, 2, 4, 1);
  product.left = {Rounded(256), Rounded(1)};
  product.right = {Rounded(1), Rounded(1), Rounded(1), Rounded(3)};
  product.added = {0, 0};
  product.a.first = product.left.data(), product.b.first = product.right.data(), product.c.first = product.added.data();
  product.Run(1);
  EXPECT_EQ(Number(product.result[0]), 256);  // 257, half way
  EXPECT_EQ(Number(product.result[1]), 260);  // 259, half way
  product.added = {Rounded(1), Rounded(-1)};
  product.c.first = product.added.data();
  product.Run(1);
  EXPECT_EQ(Number(product.result[0]), 258);
  EXPECT_EQ(Number(product.result[1]), 258);
}

TEST_F(Bfloat16, NotANumber) {
  Product product(13, 33, 5, 0, 1);
  product.left[7] = 0x7f81;
  product.Run(1);
  for (int64_t i = 0; i < 13; i++)
    for (int64_t j = 0; j < 33; j++)
      EXPECT_EQ(std::isnan(Number(product.result[static_cast<size_t>(i * 33 + j)])), i == 1) << i << ", " << j;
}

TEST_F(Bfloat16, NoShardNeedsMoreScratchThanALargerOne) {
  for (int64_t k : {0, 1, 100, 5000, 12000})
    for (int64_t m = 0, before = 0; m < 3000; m = m * 2 + 1) {
      const auto bytes = static_cast<int64_t>(dp_bf16_product_bytes(m, m, k, 3));
      EXPECT_GE(bytes, before);
      EXPECT_LE(dp_bf16_product_bytes(m, m, k - (k > 0), 3), static_cast<uint64_t>(bytes));
      before = bytes;
    }
}

}  // namespace
