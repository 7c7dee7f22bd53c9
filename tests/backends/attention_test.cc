// Attention by tiles equals the reference, which takes whole rows: where the scores have many tiles, tiles and rows in
// which every key is masked, dropout, groups. And exp by vectors against libm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/attention_product.h"
#include "backends/cpu/target.h"
#include "backends/cpu/vector/attention_rows.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

using Edit = std::function<void(std::vector<Tensor> *)>;

struct Problem {
  std::string op, inputs, attrs;
  int64_t n;
};

std::vector<Tensor> Run(const Built &built, const std::vector<Tensor> &in, int parts, bool reference) {
  std::vector<const Tensor *> from;
  std::vector<Tensor> results;
  std::vector<Tensor *> to;
  for (size_t i = 0; i < in.size(); i++) from.push_back(built.operands[i] ? &in[i] : nullptr);
  for (int i = 0; i < built.node->n_outputs; i++) results.push_back(MakeWhole(*built.node->outputs[i]->type, built.n));
  for (Tensor &result : results) {
    std::fill(result.bytes.begin(), result.bytes.end(), uint8_t(0xff));  // NaN: what is not written shows
    to.push_back(&result);
  }
  EXPECT_EQ(RunNode(dp_target_cpu, built.node, from, to, parts, reference), "");
  return results;
}

void ExpectEqual(const Problem &p, const Edit &edit = nullptr) {
  SCOPED_TRACE(p.op + " " + p.inputs + " {" + p.attrs + "}");
  const dp_sample sample = {p.inputs.c_str(), p.attrs.c_str(), p.n, 0, 1, false};
  const Case c = {dp_op_find("dp", p.op.c_str()), &sample, 0, false};
  const Built built(c);
  ASSERT_EQ(built.error, "");
  std::vector<Tensor> in;
  for (size_t i = 0; i < built.operands.size(); i++)
    in.push_back(built.operands[i] ? DrawOperand(c, int(i), *built.operands[i]->type, p.n) : Tensor());
  if (edit) edit(&in);
  const std::vector<Tensor> expected = Run(built, in, 1, true);
  for (int parts : {1, 3}) {
    const std::vector<Tensor> found = Run(built, in, parts, false);
    for (size_t r = 0; r < expected.size(); r++)
      for (int64_t i = 0; i < expected[r].Count(); i++) {
        const double e = expected[r].Get(i), f = found[r].Get(i);
        if (e == f || (std::isnan(e) && std::isnan(f))) continue;
        ASSERT_NEAR(f, e, 2e-5 * (1 + std::fabs(e)))
            << "result " << r << ", element " << i << ", " << parts << " parts";
      }
  }
}

const char kForward[] = "ScaledDotProductAttention", kGrad[] = "ScaledDotProductAttentionGrad";

// Keys from 0 to `end` are masked for the first rows, all of them for one row.
Edit MaskKeys(size_t operand, int64_t rows, int64_t keys, int64_t end, double hidden, double seen) {
  return [=](std::vector<Tensor> *in) {
    Tensor *mask = &in->at(operand);
    for (int64_t row = 0; row < rows; row++)
      for (int64_t key = 0; key < keys; key++) {
        bool masked = row == rows / 2 || (row < rows / 3 && key < end) || (row == 1 && key != keys - 1);
        mask->Set(row * keys + key, masked ? hidden : seen);
      }
  };
}

// Row i sees keys up to i + `ahead`, as in a causal mask; the first ones may see none.
Edit MaskLater(size_t operand, int64_t rows, int64_t keys, int64_t ahead) {
  return [=](std::vector<Tensor> *in) {
    for (int64_t row = 0; row < rows; row++)
      for (int64_t key = 0; key < keys; key++) in->at(operand).Set(row * keys + key, key <= row + ahead);
  };
}

TEST(Attention, ForwardEqualsReference) {
  const double kInf = std::numeric_limits<double>::infinity();
  const std::string large = "float32[N,150,4,5], float32[N,600,2,5], float32[N,600,2,3]";
  ExpectEqual({kForward, large, "scale=0.5", 2});
  ExpectEqual({kForward, large, "scale=0.5", 0});
  ExpectEqual({kForward, large + ", float32[150,600]", "scale=3.0", 1});
  ExpectEqual({kForward, large + ", float32[150,600]", "", 1}, MaskKeys(3, 150, 600, 300, -kInf, 0));
  ExpectEqual({kForward, large + ", float32[150,600]", "masked_rows=\"zero\"", 1},
              MaskKeys(3, 150, 600, 300, -kInf, 0));
  ExpectEqual({kForward, large + ", bool[150,600]", "masked_rows=\"zero\"", 1}, MaskKeys(3, 150, 600, 300, 0, 1));
  ExpectEqual({kForward, large + ", float32[150,600]", "masked_rows=\"zero_if_nan\"", 1},
              MaskKeys(3, 150, 600, 300, std::nan(""), 0));
  ExpectEqual({kForward, large + ", float32[150,600]", "masked_rows=\"zero_if_nan\"", 1},
              MaskKeys(3, 150, 600, 300, -kInf, 0));
  ExpectEqual({kForward, large + ", bool[150,600]", "masked=-1e9", 1}, MaskKeys(3, 150, 600, 300, 0, 1));
  // Keys that a block's rows do not see are left out, unless they have a share in rows all the same.
  for (const char *attrs : {"", "masked=-1e9", "masked=-3.0", "masked_rows=\"zero\""})
    for (int64_t ahead : {0, 449, -7, -200, 600})
      ExpectEqual({kForward, large + ", bool[150,600]", attrs, 1}, MaskLater(3, 150, 600, ahead));
  ExpectEqual({kForward, large + ", bool[150,1]", "masked=-1e9", 1}, MaskLater(3, 150, 1, -70));
  ExpectEqual({kForward, large + ", , int64[], int64[]", "ratio=0.3, key=77", 2});
  ExpectEqual({kForward, large + ", bool[150,600], int64[], int64[]", "ratio=0.3, key=77", 2},
              MaskLater(3, 150, 600, 9));
  for (const char *attrs : {"is_causal=1, scale=0.5", "is_causal=1, masked_rows=\"zero\""}) {
    ExpectEqual({kForward, large, attrs, 2});
    for (const char *extents : {"float32[N,600,2,5], float32[N,600,2,5], float32[N,600,2,3]",
                                "float32[N,600,2,5], float32[N,150,2,5], float32[N,150,2,3]",
                                "float32[N,1,2,5], float32[N,600,2,5], float32[N,600,2,3]"})
      ExpectEqual({kForward, extents, attrs, 1});
  }
  ExpectEqual({kForward, large + ", , int64[], int64[]", "is_causal=1, ratio=0.3, key=77", 2});
  ExpectEqual({kForward, "float32[N,1,1,1], float32[N,1,1,1], float32[N,1,1,1]", "", 3});
  ExpectEqual({kForward, "float32[2,N,6,3], float32[2,N,1,3], float32[2,N,1,2], float32[6,1,N]", "", 129});
}

// Against sums in float64, within what float32 rounds of as many terms; one row is NaN.
void ExpectProduct(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, float beta) {
  SCOPED_TRACE(testing::Message() << trans_a << trans_b << " " << m << " x " << n << " x " << k);
  std::mt19937 random(static_cast<unsigned>(m + 1000 * n + 1000000 * k));
  std::uniform_real_distribution<float> draw(-1, 1);
  const int64_t lda = (trans_a ? m : k) + 3, ldb = (trans_b ? k : n) + 5, ldy = n + 1;
  std::vector<float> a(size_t((trans_a ? k : m) * lda)), b(size_t((trans_b ? n : k) * ldb)), y(size_t(m * ldy));
  for (std::vector<float> *values : {&a, &b, &y})
    for (float &value : *values) value = draw(random);
  const auto a_at = [&](int64_t i, int64_t p) -> float & { return a[size_t(trans_a ? p * lda + i : i * lda + p)]; };
  a_at(m / 2, k / 2) = NAN;
  const std::vector<float> before = y;
  std::vector<char> room(size_t(dp_attention_product_bytes(nullptr)) + DP_CPU_ALIGNMENT);
  void *aligned = reinterpret_cast<void *>(dp_align_up(reinterpret_cast<uint64_t>(room.data()), DP_CPU_ALIGNMENT));
  ASSERT_EQ(dp_attention_product(trans_a, trans_b, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, y.data(), ldy,
                                 aligned),
            DP_OK);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < ldy; j++) {
      const size_t at = size_t(i * ldy + j);
      double sum = j < n && beta ? beta * before[at] : 0;
      for (int64_t p = 0; p < k && j < n; p++)
        sum += double(alpha) * a_at(i, p) * b[size_t(trans_b ? j * ldb + p : p * ldb + j)];
      if (j == n)
        ASSERT_EQ(y[at], before[at]);  // beyond the row
      else if (i == m / 2)
        ASSERT_TRUE(std::isnan(y[at])) << i << ", " << j;
      else
        ASSERT_NEAR(y[at], sum, 1e-7 * double(k + 8)) << i << ", " << j;
    }
}

TEST(Attention, ProductsOfTilesEqualSums) {
  ExpectEqual({kForward, "float32[N,1,1,1], float32[N,1,1,1], float32[N,1,1,1]", "", 1});  // makes oneDNN ready
  for (bool trans_a : {false, true})
    for (bool trans_b : {false, true})
      for (int64_t m : {1, 14, 31, 128})
        for (int64_t n : {1, 31, 32, 33, 96})
          for (int64_t k : {1, 32, 256, 257}) {
            ExpectProduct(trans_a, trans_b, m, n, k, 1, 0);
            ExpectProduct(trans_a, trans_b, m, n, k, 0.5f, 1);
          }
}

// Heads of whole blocks of columns, of blocks and a rest, and of less than one; keys and rows likewise; one of each.
TEST(Attention, BlocksOfColumnsEqualReference) {
  for (const char *attrs : {"scale=0.005", "is_causal=1, scale=0.005"})
    for (int size : {32, 31, 33, 70})
      for (int length : {1, 31, 32, 128, 129, 260}) {
        const auto extents = [&](int heads) {
          return "float32[N," + std::to_string(length) + "," + std::to_string(heads) + "," + std::to_string(size) + "]";
        };
        const std::string q = extents(2), k = extents(1), lse = ", float32[N,2," + std::to_string(length) + "]";
        ExpectEqual({kForward, q + ", " + k + ", " + k, attrs, 1});
        ExpectEqual({kGrad, q + ", " + q + ", " + k + ", " + k + ", " + q + lse, attrs, 1});
      }
}

// A query that is NaN makes its own row NaN and no other.
TEST(Attention, WhatIsNotANumberStaysWithItsRow) {
  const std::string x = "float32[N,70,1,32]";
  const auto set = [](std::vector<Tensor> *in) { in->at(0).Set(33 * 32 + 5, std::nan("")); };
  ExpectEqual({kForward, x + ", " + x + ", " + x, "is_causal=1", 1}, set);
}

TEST(Attention, GradientEqualsReference) {
  const double kInf = std::numeric_limits<double>::infinity();
  const std::string large =
      "float32[N,150,4,3], float32[N,150,4,5], float32[N,300,2,5], float32[N,300,2,3], float32[N,150,4,3], "
      "float32[N,4,150]";
  const auto scale = [](const std::string &more) { return "scale=0.1" + more; };
  ExpectEqual({kGrad, large, scale(""), 2});
  ExpectEqual({kGrad, large, scale(""), 0});
  ExpectEqual({kGrad, large + ", float32[150,300]", scale(""), 1});
  ExpectEqual({kGrad, large + ", float32[150,300]", scale(""), 1}, MaskKeys(6, 150, 300, 280, -kInf, 0));
  ExpectEqual({kGrad, large + ", bool[150,300]", scale(", masked=-2.0"), 1}, MaskKeys(6, 150, 300, 280, 0, 1));
  ExpectEqual({kGrad, large + ", bool[150,300]", scale(", masked_rows=\"zero\""), 1}, [](std::vector<Tensor> *in) {
    MaskKeys(6, 150, 300, 280, 0, 1)(in);
    for (int64_t head = 0; head < 4; head++)
      in->at(5).Set(head * 150 + 75, -std::numeric_limits<double>::infinity());  // of the row that sees nothing
  });
  for (const char *attrs : {", masked=-1e9", ", masked=-3.0", ""})
    for (int64_t ahead : {0, 149, 300})
      ExpectEqual({kGrad, large + ", bool[150,300]", scale(attrs), 2}, MaskLater(6, 150, 300, ahead));
  ExpectEqual({kGrad, large + ", bool[150,300]", scale(", masked=-1e9"), 1}, MaskLater(6, 150, 300, -7));
  ExpectEqual({kGrad, large + ", bool[150,300]", scale(", masked_rows=\"zero\""), 1}, [](std::vector<Tensor> *in) {
    MaskLater(6, 150, 300, -70)(in);
    for (int64_t row = 0; row < 4 * 150; row++)  // those that see nothing
      if (row % 150 < 70) in->at(5).Set(row, -std::numeric_limits<double>::infinity());
  });
  ExpectEqual({kGrad, large + ", , int64[], int64[]", scale(", ratio=0.3, key=77"), 2});
  ExpectEqual({kGrad, large + ", bool[150,300], int64[], int64[]", scale(", ratio=0.3, key=77"), 2},
              MaskLater(6, 150, 300, 9));
  ExpectEqual({kGrad, large, scale(", is_causal=1"), 2});
  ExpectEqual({kGrad, large, scale(", is_causal=1, masked_rows=\"zero\""), 1});
  ExpectEqual({kGrad,
               "float32[N,300,2,3], float32[N,300,2,5], float32[N,70,1,5], float32[N,70,1,3], float32[N,300,2,3], "
               "float32[N,2,300]",
               scale(", is_causal=1"), 2});
  ExpectEqual({kGrad, large + ", , int64[], int64[]", scale(", is_causal=1, ratio=0.3, key=77"), 2});
  ExpectEqual({kGrad,
               "float32[N,1,1,1], float32[N,1,1,1], float32[N,1,1,1], float32[N,1,1,1], float32[N,1,1,1], "
               "float32[N,1,1]",
               "", 3});
}

std::vector<Tensor> DrawAll(const Case &c, const Built &built) {
  std::vector<Tensor> in;
  for (size_t i = 0; i < built.operands.size(); i++)
    in.push_back(built.operands[i] ? DrawOperand(c, int(i), *built.operands[i]->type, built.n) : Tensor());
  return in;
}

// is_causal gives, bit for bit, what a bool mask gives that hides the same keys.
void ExpectAsMasked(const char *op, const std::string &inputs, const std::string &mask, int64_t length, int64_t keys) {
  SCOPED_TRACE(op + (" " + inputs));
  const std::string masked_inputs = inputs + mask;
  const dp_sample sample = {inputs.c_str(), "scale=0.3, is_causal=1", 2, 0, 1, false};
  const dp_sample masked_sample = {masked_inputs.c_str(), "scale=0.3", 2, 0, 1, false};
  const Case causal = {dp_op_find("dp", op), &sample, 0, false}, masked = {causal.op, &masked_sample, 0, false};
  const Built built(causal), masked_built(masked);
  ASSERT_EQ(built.error + masked_built.error, "");
  std::vector<Tensor> in = DrawAll(causal, built), masked_in = DrawAll(masked, masked_built);
  for (size_t i = 0; i < in.size(); i++) masked_in[i].bytes = in[i].bytes;
  MaskLater(masked_in.size() - 1, length, keys, 0)(&masked_in);
  for (bool reference : {true, false}) {
    const std::vector<Tensor> found = Run(built, in, 2, reference);
    const std::vector<Tensor> expected = Run(masked_built, masked_in, 2, reference);
    for (size_t r = 0; r < found.size(); r++) EXPECT_EQ(found[r].bytes, expected[r].bytes) << r << reference;
  }
}

TEST(Attention, CausalIsAsMasked) {
  for (const auto &[length, keys] : {std::pair<int64_t, int64_t>(300, 300), {150, 600}, {300, 70}, {1, 9}}) {
    const std::string l = std::to_string(length), k = std::to_string(keys), mask = ", bool[" + l + "," + k + "]";
    const std::string q = "float32[N," + l + ",4,5], float32[N," + k + ",2,5], float32[N," + k + ",2,3]";
    const std::string y = "float32[N," + l + ",4,3]";
    ExpectAsMasked(kForward, q, mask, length, keys);
    ExpectAsMasked(kGrad, y + ", " + q + ", " + y + ", float32[N,4," + l + "]", mask, length, keys);
  }
}

// Queries over several devices see the keys up to their place in the whole sequence.
TEST(Attention, CausalOfSomeQueries) {
  const std::string inputs = "float32[N,301,4,5], float32[N,290,2,5], float32[N,290,2,3]";
  const dp_sample sample = {inputs.c_str(), "scale=0.3, is_causal=1", 2, 0, 1, false};
  const Case c = {dp_op_find("dp", kForward), &sample, 0, false};
  const Built built(c);
  ASSERT_EQ(built.error, "");
  std::vector<Tensor> in = DrawAll(c, built);
  const std::vector<Tensor> whole = dp_test::Run(built, in, 1, true);
  const dp_mesh mesh{1, {{"context", 3}}};
  for (int64_t device = 0; device < 3; device++) {
    const int64_t coordinate[DP_MAX_MESH] = {device};
    const dp_placement queries = dp_shard(1), rows = dp_shard(2);
    Tensor q = MakePart(*built.node->inputs[0]->type, 2, &queries, mesh, coordinate);
    Tensor y = MakePart(*built.node->outputs[0]->type, 2, &queries, mesh, coordinate), expected_y = y;
    Tensor lse = MakePart(*built.node->outputs[1]->type, 2, &rows, mesh, coordinate), expected_lse = lse;
    Cut(in[0], &q);
    Cut(whole[0], &expected_y);
    Cut(whole[1], &expected_lse);
    ASSERT_EQ(RunNode(dp_target_cpu, built.node, {&q, &in[1], &in[2]}, {&y, &lse}, 2, false), "");
    for (int64_t i = 0; i < y.Count(); i++) ASSERT_NEAR(y.Get(i), expected_y.Get(i), 2e-5) << i;
    for (int64_t i = 0; i < lse.Count(); i++) ASSERT_NEAR(lse.Get(i), expected_lse.Get(i), 1e-4) << i;
  }
}

// Every 97th float from -90 to 90, and what is special.
void ExpectExp(const dp_attention_rows &rows) {
  const float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0, -0.0f, -kInf, kInf, std::nanf(""), -87, 88, -1e30f, 1e30f, 1e-40f};
  for (uint32_t bits = 0; bits < 0x42b40000u; bits += 97 * 64)
    for (uint32_t sign : {0u, 0x80000000u}) {
      float number;
      const uint32_t word = bits | sign;
      memcpy(&number, &word, sizeof number);
      x.push_back(number);
    }
  std::vector<float> y = x;
  rows.exp(y.data(), int64_t(y.size()));
  for (size_t i = 0; i < x.size(); i++) {
    const double exact = std::exp(double(x[i]));
    if (std::isnan(x[i]))
      EXPECT_TRUE(std::isnan(y[i]));
    else if (x[i] < -87)
      EXPECT_EQ(y[i], 0) << x[i];
    else if (x[i] > 88)
      EXPECT_EQ(y[i], kInf) << x[i];
    else
      ASSERT_LE(std::fabs(double(y[i]) - exact), 2 * std::ldexp(exact, -23)) << x[i];
  }
}

TEST(Attention, ExpIsWithinTwoUnits) {
  if (!dp_target_cpu.isa()) GTEST_SKIP() << "neither AVX2 nor AVX-512";
  ExpectExp(dp_attention_rows_avx2);
  if (!strcmp(dp_target_cpu.isa(), "avx512")) ExpectExp(dp_attention_rows_avx512);
}

}  // namespace
}  // namespace dp_test
