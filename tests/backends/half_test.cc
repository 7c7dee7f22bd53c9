// Conversions between float32 and 16 bits (backends/cpu/reference/half.h) give the bits that one element's do
// (ir/graph/element.h): of every 16-bit number, and of float32 numbers around every 16-bit one and drawn at random.
#include "backends/cpu/reference/half.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "ir/graph/element.h"

namespace {

using Row = void (*)(int64_t count, const void *x, void *y);
struct Kind {
  dp_dtype dtype;
  Row widen, narrow;
};

// For both types: what kernels call, and the loops for each instruction set that this machine has.
std::vector<Kind> Kinds() {
  std::vector<Kind> kinds = {{DP_FLOAT16, dp_half_from_float16, dp_half_to_float16},
                             {DP_BFLOAT16, dp_half_from_bfloat16, dp_half_to_bfloat16}};
  std::vector<const dp_vector_half *> tables = {&dp_half_plain};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables.push_back(&dp_vector_half_avx2);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    tables.push_back(&dp_vector_half_avx512);
  for (const dp_vector_half *rows : tables) {
    kinds.push_back({DP_FLOAT16, rows->from_float16, rows->to_float16});
    kinds.push_back({DP_BFLOAT16, rows->from_bfloat16, rows->to_bfloat16});
  }
  return kinds;
}

uint32_t BitsOf(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

std::vector<uint16_t> All() {
  std::vector<uint16_t> all;
  for (uint32_t x = 0; x <= UINT16_MAX; x++) all.push_back(static_cast<uint16_t>(x));
  return all;
}

TEST(Half, WidensEveryNumber) {
  for (const Kind &kind : Kinds()) {
    const std::vector<uint16_t> x = All();
    std::vector<float> y(x.size());
    kind.widen(static_cast<int64_t>(x.size()), x.data(), y.data());
    for (size_t i = 0; i < x.size(); i++)
      ASSERT_EQ(BitsOf(y[i]), BitsOf(static_cast<float>(dp_element_decode(kind.dtype, x[i])))) << i;
  }
}

TEST(Half, RoundsAsOneElement) {
  std::mt19937 random(1);
  for (const Kind &kind : Kinds()) {
    // Of two neighbours: each, the middle, and what lies next to these.
    std::vector<uint32_t> bits;
    for (uint16_t code : All()) {
      const uint32_t here = BitsOf(static_cast<float>(dp_element_decode(kind.dtype, code)));
      const uint32_t next = BitsOf(static_cast<float>(dp_element_decode(kind.dtype, static_cast<uint16_t>(code + 1))));
      for (uint32_t at : {here, here + (next - here) / 2})
        for (uint32_t off : {0u, 1u, ~0u}) bits.push_back(at + off);
    }
    for (int i = 0; i < 1 << 18; i++) bits.push_back(static_cast<uint32_t>(random()));
    std::vector<float> x(bits.size());
    memcpy(x.data(), bits.data(), bits.size() * sizeof(float));
    std::vector<uint16_t> y(x.size());
    kind.narrow(static_cast<int64_t>(x.size()), x.data(), y.data());
    for (size_t i = 0; i < x.size(); i++)
      ASSERT_EQ(y[i], dp_element_encode(kind.dtype, static_cast<double>(x[i]), false)) << std::hex << bits[i];
  }
}

}  // namespace
