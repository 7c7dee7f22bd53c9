// See resized.h.
#include "runtime/data/resized.h"

#include <math.h>

#include "ir/base/base.h"
#include "ir/base/philox.h"
#include "ir/graph/type.h"
#include "runtime/data/order.h"

enum { ATTEMPTS = 10 };

static const double narrowest = 3.0 / 4, widest = 4.0 / 3;

// A number in [low, high).
static double between(double low, double high, uint32_t random) {
  return low + (high - low) * dp_philox_uniform(random);
}

// A number in [0, count).
static int64_t below(uint32_t random, int64_t count) { return (int64_t)((uint64_t)random * (uint64_t)count >> 32); }

static dp_part_of_picture middle(int64_t height, int64_t width) {
  const double ratio = (double)width / (double)height;
  dp_part_of_picture p = {.height = height, .width = width};
  if (ratio < narrowest) p.height = llrint((double)width / narrowest);
  if (ratio > widest) p.width = llrint((double)height * widest);
  p.top = (height - p.height) / 2;
  p.left = (width - p.width) / 2;
  return p;
}

dp_part_of_picture dp_resized_choose(double area_min, double area_max, int64_t height, int64_t width, uint64_t seed,
                                     int64_t epoch, int64_t sample) {
  const uint32_t name = dp_hash_name("dp.augment.resized");
  for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
    uint32_t random[4];
    dp_order_random(seed, (uint32_t)epoch, name + attempt, (uint64_t)sample, random);
    const double area = between(area_min, area_max, random[0]) * (double)height * (double)width;
    const double ratio = exp(between(log(narrowest), log(widest), random[1]));
    dp_part_of_picture p = {.height = llrint(sqrt(area / ratio)), .width = llrint(sqrt(area * ratio))};
    if (p.height < 1 || p.height > height || p.width < 1 || p.width > width) continue;
    p.top = below(random[2], height - p.height + 1);
    p.left = below(random[3], width - p.width + 1);
    return p;
  }
  return middle(height, width);
}

// Between which two pixels of a part's side a pixel of the whole side lies, and the share of the second.
typedef struct {
  int64_t first, second;
  double share;
} neighbours;

static neighbours find(int64_t at, int64_t whole, int64_t begin, int64_t part) {
  const double place = fmax((double)part / (double)whole * ((double)at + 0.5) - 0.5, 0);
  const int64_t first = (int64_t)place;
  return (neighbours){begin + first, begin + dp_min_i64(first + 1, part - 1), place - (double)first};
}

typedef struct {
  dp_dtype dtype;
  int64_t channels, height, width;
  const dp_part_of_picture *part;
  const void *from;
  void *to;
} enlarging;

static double mix(neighbours y, neighbours x, double a, double b, double c, double d) {
  const double above = a + (b - a) * x.share, under = c + (d - c) * x.share;
  return above + (under - above) * y.share;
}

// GET(i): element i of `from` as a double; PUT(i, v) sets that of `to`.
#define ENLARGE(name, GET, PUT)                                                                \
  static void name(const enlarging *e) {                                                       \
    const int64_t k = e->channels, w = e->width;                                               \
    for (int64_t i = 0; i < e->height; i++) {                                                  \
      const neighbours y = find(i, e->height, e->part->top, e->part->height);                  \
      for (int64_t j = 0; j < w; j++) {                                                        \
        const neighbours x = find(j, w, e->part->left, e->part->width);                        \
        const int64_t a = (y.first * w + x.first) * k, b = (y.first * w + x.second) * k;       \
        const int64_t c = (y.second * w + x.first) * k, d = (y.second * w + x.second) * k;     \
        for (int64_t m = 0; m < k; m++)                                                        \
          PUT((i * w + j) * k + m, mix(y, x, GET(a + m), GET(b + m), GET(c + m), GET(d + m))); \
      }                                                                                        \
    }                                                                                          \
  }

#define GET_BYTE(i) ((const uint8_t *)e->from)[i]
#define PUT_BYTE(i, v) (((uint8_t *)e->to)[i] = (uint8_t)rint(v))
ENLARGE(enlarge_bytes, GET_BYTE, PUT_BYTE)

#define GET_FLOAT(i) (double)((const float *)e->from)[i]
#define PUT_FLOAT(i, v) (((float *)e->to)[i] = (float)(v))
ENLARGE(enlarge_floats, GET_FLOAT, PUT_FLOAT)

static double get(const enlarging *e, int64_t i) {
  return dp_element_get(e->dtype, (const char *)e->from + (size_t)i * dp_type_bytes(e->dtype));
}

static void put(const enlarging *e, int64_t i, double value) {
  dp_element_set(e->dtype, (char *)e->to + (size_t)i * dp_type_bytes(e->dtype),
                 dp_type_is_float(e->dtype) ? value : rint(value));
}

#define GET_ANY(i) get(e, i)
#define PUT_ANY(i, v) put(e, i, v)
ENLARGE(enlarge_any, GET_ANY, PUT_ANY)

void dp_resized_enlarge(dp_dtype dtype, int64_t channels, int64_t height, int64_t width, const dp_part_of_picture *part,
                        const void *from, void *to) {
  const enlarging e = {dtype, channels, height, width, part, from, to};
  if (dtype == DP_UINT8)
    enlarge_bytes(&e);
  else if (dtype == DP_FLOAT32)
    enlarge_floats(&e);
  else
    enlarge_any(&e);
}
