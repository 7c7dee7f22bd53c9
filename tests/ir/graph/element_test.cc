// Elements of every type: narrow floats against a search through all their values, and numbers written out by hand.
#include "ir/graph/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ir/graph/type.h"

namespace {

const double kInfinity = INFINITY;

double Stored(dp_dtype dtype, double value) {
  uint8_t element[8] = {};
  dp_element_set(dtype, element, value);
  return dp_element_get(dtype, element);
}

TEST(Element, NumbersWrittenByHand) {
  const struct {
    dp_dtype dtype;
    uint16_t bits;
    double value;
  } known[] = {
      // IEEE 754's binary16: 1, its neighbour, the largest, the least normal and subnormal.
      {DP_FLOAT16, 0x3c00, 1},
      {DP_FLOAT16, 0x3c01, 1 + 0x1p-10},
      {DP_FLOAT16, 0x7bff, 65504},
      {DP_FLOAT16, 0x0400, 0x1p-14},
      {DP_FLOAT16, 0x8001, -0x1p-24},
      {DP_FLOAT16, 0xfc00, -kInfinity},
      {DP_BFLOAT16, 0x3f80, 1},
      {DP_BFLOAT16, 0xc049, -3.140625},
      {DP_BFLOAT16, 0x7f7f, 0x1.fep127},
      {DP_BFLOAT16, 0x0001, 0x1p-133},
      // From "FP8 formats for deep learning" (2022) for the first two formats of 8 bits, from ONNX's tables for the
      // others.
      {DP_FLOAT8E4M3FN, 0x7e, 448},
      {DP_FLOAT8E4M3FN, 0x08, 0x1p-6},
      {DP_FLOAT8E4M3FN, 0x01, 0x1p-9},
      {DP_FLOAT8E5M2, 0x7b, 57344},
      {DP_FLOAT8E5M2, 0x7c, kInfinity},
      {DP_FLOAT8E5M2, 0x01, 0x1p-16},
      {DP_FLOAT8E4M3FNUZ, 0x7f, 240},
      {DP_FLOAT8E4M3FNUZ, 0x01, 0x1p-10},
      {DP_FLOAT8E5M2FNUZ, 0xff, -57344},
      {DP_FLOAT8E5M2FNUZ, 0x01, 0x1p-17},
      {DP_FLOAT4E2M1, 0x7, 6},
      {DP_FLOAT4E2M1, 0x9, -0.5},
      {DP_FLOAT8E8M0, 0x00, 0x1p-127},
      {DP_FLOAT8E8M0, 0x80, 2},
  };
  for (const auto &k : known) {
    EXPECT_EQ(dp_element_decode(k.dtype, k.bits), k.value) << dp_type_name(k.dtype);
    EXPECT_EQ(dp_element_encode(k.dtype, k.value, false), k.bits) << dp_type_name(k.dtype) << " " << k.value;
  }
}

struct Float {
  dp_dtype dtype;
  int codes;
};

class NarrowFloat : public testing::TestWithParam<Float> {};

// Every value rounds to itself.
TEST_P(NarrowFloat, CodesReturn) {
  Float f = GetParam();
  for (int code = 0; code < f.codes; code++) {
    double value = dp_element_decode(f.dtype, uint16_t(code));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(Stored(f.dtype, value)));
    else
      EXPECT_EQ(dp_element_encode(f.dtype, value, false), code);
  }
}

// Any number rounds to the nearest value; a tie rounds to the even code.
TEST_P(NarrowFloat, RoundsToTheNearest) {
  Float f = GetParam();
  std::vector<double> numbers;
  for (int code = 0; code < f.codes / 2; code++) {
    double value = dp_element_decode(f.dtype, uint16_t(code));
    if (std::isfinite(value)) numbers.push_back(value);
  }
  std::mt19937_64 random(7);
  for (size_t i = 0; i + 1 < numbers.size(); i += 1 + size_t(f.codes) / 2048) {
    double low = numbers[i], high = numbers[i + 1], middle = low / 2 + high / 2;
    ASSERT_LT(low, high);
    EXPECT_EQ(Stored(f.dtype, middle), i % 2 ? high : low) << middle;
    EXPECT_EQ(Stored(f.dtype, std::nextafter(middle, 0)), low);
    EXPECT_EQ(Stored(f.dtype, std::nextafter(middle, kInfinity)), high);
    EXPECT_EQ(Stored(f.dtype, -middle), -Stored(f.dtype, middle));
    double between = low + (high - low) * std::uniform_real_distribution<double>(0, 1)(random);
    EXPECT_EQ(Stored(f.dtype, between), between < middle ? low : high) << between;
  }
}

INSTANTIATE_TEST_SUITE_P(Element, NarrowFloat,
                         testing::Values(Float{DP_FLOAT16, 65536}, Float{DP_BFLOAT16, 65536},
                                         Float{DP_FLOAT8E4M3FN, 256}, Float{DP_FLOAT8E4M3FNUZ, 256},
                                         Float{DP_FLOAT8E5M2, 256}, Float{DP_FLOAT8E5M2FNUZ, 256},
                                         Float{DP_FLOAT4E2M1, 16}),
                         [](const testing::TestParamInfo<Float> &info) { return dp_type_name(info.param.dtype); });

// ONNX's table of casts: saturated and not.
TEST(Element, BeyondTheRange) {
  for (double beyond : {1e6, kInfinity}) {
    EXPECT_EQ(dp_element_encode(DP_FLOAT8E4M3FN, beyond, true), 0x7e);
    EXPECT_EQ(dp_element_encode(DP_FLOAT8E4M3FN, -beyond, true), 0xfe);
    EXPECT_EQ(dp_element_encode(DP_FLOAT8E4M3FN, -beyond, false), 0xff);
    EXPECT_EQ(dp_element_encode(DP_FLOAT8E4M3FNUZ, beyond, false), 0x80);
    EXPECT_EQ(dp_element_encode(DP_FLOAT8E5M2, beyond, true), 0x7b);
    EXPECT_EQ(dp_element_encode(DP_FLOAT8E5M2, -beyond, false), 0xfc);
    EXPECT_EQ(dp_element_encode(DP_FLOAT8E5M2FNUZ, beyond, false), 0x80);
    EXPECT_EQ(dp_element_encode(DP_FLOAT4E2M1, -beyond, false), 0xf);
    EXPECT_EQ(Stored(DP_FLOAT16, beyond), kInfinity);
  }
  EXPECT_EQ(Stored(DP_FLOAT16, 65519.99), 65504) << "nearer to the largest than to 2^16";
  EXPECT_EQ(Stored(DP_FLOAT16, 65520), kInfinity);
  EXPECT_EQ(Stored(DP_BFLOAT16, 1e39), kInfinity);
  EXPECT_EQ(Stored(DP_BFLOAT16, 1e300), kInfinity);
  EXPECT_EQ(dp_element_encode(DP_FLOAT8E4M3FNUZ, -1e-9, true), 0) << "there is no -0";
  EXPECT_EQ(dp_element_encode(DP_FLOAT8E4M3FN, -1e-9, true), 0x80);
}

TEST(Element, IntegersTruncateAndWrap) {
  EXPECT_EQ(Stored(DP_INT8, -3.9), -3);
  EXPECT_EQ(Stored(DP_INT8, 200), -56);
  EXPECT_EQ(Stored(DP_UINT16, -1), 65535);
  EXPECT_EQ(Stored(DP_INT4, 7), 7);
  EXPECT_EQ(Stored(DP_INT4, 9), -7);
  EXPECT_EQ(Stored(DP_UINT4, -1), 15);
  EXPECT_EQ(Stored(DP_INT2, 2), -2);
  EXPECT_EQ(Stored(DP_UINT2, 5), 1);
  uint8_t byte = 0xa9;  // the high bits are ignored
  EXPECT_EQ(dp_element_get(DP_INT4, &byte), -7);
  EXPECT_EQ(dp_element_get(DP_UINT4, &byte), 9);
  EXPECT_EQ(dp_element_get(DP_INT2, &byte), 1);
  EXPECT_EQ(Stored(DP_UINT64, 0x1.8p63), 0x1.8p63);
  EXPECT_EQ(Stored(DP_UINT64, 1e30), 0x1p64);
  EXPECT_EQ(Stored(DP_INT64, 1e30), 0x1p63);
  EXPECT_EQ(Stored(DP_INT32, NAN), 0);
  EXPECT_EQ(Stored(DP_BOOL, 0.5), 1);
}

}  // namespace
