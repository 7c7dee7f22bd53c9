// See convert.h.
#include "runtime/data/convert.h"

#include <math.h>
#include <string.h>

// A type as what it holds without loss: integers of so many bits, with or without a sign.
static const struct {
  int bits;
  bool has_sign;
} ranges[DP_MAX_TYPE + 1] = {
    [DP_BOOL] = {1, false},    [DP_UINT8] = {8, false},   [DP_INT8] = {7, true},     [DP_UINT16] = {16, false},
    [DP_INT16] = {15, true},   [DP_UINT32] = {32, false}, [DP_INT32] = {31, true},   [DP_UINT64] = {64, false},
    [DP_INT64] = {63, true},   [DP_FLOAT16] = {11, true}, [DP_BFLOAT16] = {8, true}, [DP_FLOAT32] = {24, true},
    [DP_FLOAT64] = {53, true},
};

bool dp_convert_is_exact(dp_dtype from, dp_dtype to) {
  if (from == to) return true;
  if (dp_type_is_float(from)) return to == DP_FLOAT64 || (to == DP_FLOAT32 && from != DP_FLOAT64);
  return ranges[from].bits && ranges[from].bits <= ranges[to].bits && (ranges[to].has_sign || !ranges[from].has_sign);
}

// Converting back tells. Integers are compared by bits, because a double cannot hold the largest.
bool dp_convert_keeps(dp_dtype from, const void *element, dp_dtype to, bool *rounded) {
  uint64_t there = 0, back_bits = 0;
  const double x = dp_element_get(from, element);
  dp_element_set(to, &there, x);
  const double back = dp_element_get(to, &there);
  dp_element_set(from, &back_bits, back);
  if (!dp_type_is_float(from)) return !memcmp(&back_bits, element, dp_type_bytes(from));
  if (back == x || (back != back && x != x)) return true;
  *rounded = true;
  return dp_type_is_float(to) && isfinite(back) && isfinite(x);
}

// ---- many -----------------------------------------------------------------------------------------------------------

// Loops for what data and inputs usually are.
#define LOOP(T, U)                                                                \
  static void from_##T##_to_##U(const void *source, void *target, size_t count) { \
    const T *from = source;                                                       \
    U *to = target;                                                               \
    for (size_t i = 0; i < count; i++) to[i] = (U)from[i];                        \
  }
LOOP(uint8_t, float)
LOOP(uint8_t, int64_t)
LOOP(uint8_t, int32_t)
LOOP(uint16_t, int64_t)
LOOP(uint16_t, int32_t)
LOOP(uint32_t, int64_t)
LOOP(int32_t, int64_t)
LOOP(double, float)
LOOP(float, double)

static const struct {
  dp_dtype from, to;
  void (*run)(const void *source, void *target, size_t count);
} loops[] = {
    {DP_UINT8, DP_FLOAT32, from_uint8_t_to_float},   {DP_UINT8, DP_INT64, from_uint8_t_to_int64_t},
    {DP_UINT8, DP_INT32, from_uint8_t_to_int32_t},   {DP_UINT16, DP_INT64, from_uint16_t_to_int64_t},
    {DP_UINT16, DP_INT32, from_uint16_t_to_int32_t}, {DP_UINT32, DP_INT64, from_uint32_t_to_int64_t},
    {DP_INT32, DP_INT64, from_int32_t_to_int64_t},   {DP_FLOAT64, DP_FLOAT32, from_double_to_float},
    {DP_FLOAT32, DP_FLOAT64, from_float_to_double},
};

void dp_convert(dp_dtype from, const void *source, dp_dtype to, void *target, size_t count) {
  for (size_t i = 0; i < DP_COUNT(loops); i++)
    if (loops[i].from == from && loops[i].to == to) {
      loops[i].run(source, target, count);
      return;
    }
  const size_t from_bytes = dp_type_bytes(from), to_bytes = dp_type_bytes(to);
  for (size_t i = 0; i < count; i++)
    dp_element_set(to, (char *)target + i * to_bytes, dp_element_get(from, (const char *)source + i * from_bytes));
}
