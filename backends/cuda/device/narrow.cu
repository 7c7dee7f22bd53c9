// Casts elements. FROM_NARROW: 1 if the operand has a narrow type, whose numbers are looked up. TO: what the result is,
// 0 of type T, 1 a narrow float, 2 a narrow power of two, 3 a narrow integer, 4 a narrow integer without sign. T: the
// type that is not narrow; IS_FLOAT, IS_UNSIGNED (uint64) and IS_BOOL of T.
#include "backends/cuda/device/elementwise.h"
#include "backends/cuda/device/narrow.h"

// The number, or one that is rounded to a narrow float as it is.
DP_DEVICE double LOCAL(value_at)(const dp_narrow_arguments *a, dp_i64 i) {
  if (FROM_NARROW) return (double)a->from[((const unsigned char *)a->x)[i]];
  const W x = GET(((const T *)a->x)[i]);
  if (IS_FLOAT) return (double)x;
  return IS_UNSIGNED ? (double)dp_unsigned_to_odd((dp_u64)x) : (double)dp_signed_to_odd((dp_i64)x);
}

DP_DEVICE dp_u64 LOCAL(integer_at)(const dp_narrow_arguments *a, dp_i64 i) {
  if (!FROM_NARROW && !IS_FLOAT) return (dp_u64)GET(((const T *)a->x)[i]);
  return (dp_u64)dp_signed_of(LOCAL(value_at)(a, i));
}

// The code of the last number that is not above `magnitude`, which is not below the first.
DP_DEVICE int LOCAL(code_below)(const dp_narrow_arguments *a, double magnitude) {
  int code = 0, end = a->most + 1;
  while (end - code > 1) {
    const int middle = (code + end) / 2;
    if ((double)a->to[middle] <= magnitude)
      code = middle;
    else
      end = middle;
  }
  return code;
}

// To nearest, ties to the even code.
DP_DEVICE int LOCAL(float_code)(const dp_narrow_arguments *a, double x) {
  const dp_i64 minus = x < 0 || (x == 0 && 1 / x < 0);
  const double magnitude = fabs(x);
  if (x != x) return a->nan;
  int code = LOCAL(code_below)(a, magnitude);
  const double next = code == a->most ? a->limit : (double)a->to[code + 1];
  const double middle = ((double)a->to[code] + next) / 2;
  if (magnitude > middle || (magnitude == middle && code % 2)) code++;
  if (code > a->most) return a->over[minus];
  if (!minus) return code;
  return code ? code | a->sign : a->minus_zero;
}

DP_DEVICE int LOCAL(scale_code)(const dp_narrow_arguments *a, double x) {
  if (x != x || x < 0) return a->nan;
  if (x < (double)a->to[0]) return 0;
  const int code = LOCAL(code_below)(a, x);
  const double power = (double)a->to[code];
  const int next = a->up ? x > power : a->down ? 0 : x >= 1.5 * power;
  return code + next > a->most ? a->most : code + next;
}

DP_KERNEL(dp_narrow_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {
    if (TO == 0) {
      const double x = LOCAL(value_at)(&a, i);
      ((T *)a.y)[i] = IS_BOOL       ? PUT(x != 0)
                      : IS_FLOAT    ? PUT(x)
                      : IS_UNSIGNED ? PUT(dp_unsigned_of(x))
                                    : PUT(dp_signed_of(x));
    } else if (TO < 3) {
      const double x = LOCAL(value_at)(&a, i);
      ((unsigned char *)a.y)[i] = (unsigned char)(TO == 1 ? LOCAL(float_code)(&a, x) : LOCAL(scale_code)(&a, x));
    } else {
      const dp_u64 high = LOCAL(integer_at)(&a, i) << a.unused_bits;
      ((unsigned char *)a.y)[i] =
          (unsigned char)(TO == 3 ? (dp_u64)((dp_i64)high >> a.unused_bits) : high >> a.unused_bits);
    }
  }
}
