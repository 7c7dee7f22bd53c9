// The transforms of Winograd's convolution F(4x4, 3x3). See winograd.h.
#include "backends/cpu/vector/winograd.h"

#include <string.h>

#include "backends/cpu/vector/isa.h"

#if defined(__AVX512F__)
enum { WIDTH = 16 };
#else
enum { WIDTH = 8 };
#endif

typedef float lanes __attribute__((vector_size(WIDTH * sizeof(float))));

// Each takes a line of a matrix through one of the paper's, for a vector of channels.

static inline void patch_line(const lanes x[6], lanes y[6]) {
  const lanes even = x[4] - 4 * x[2], odd = x[3] - 4 * x[1], second = x[4] - x[2], twice = 2 * (x[3] - x[1]);
  y[0] = 4 * x[0] - 5 * x[2] + x[4];
  y[1] = even + odd;
  y[2] = even - odd;
  y[3] = second + twice;
  y[4] = second - twice;
  y[5] = 4 * x[1] - 5 * x[3] + x[5];
}

static inline void weights_line(const lanes x[3], lanes y[6]) {
  const lanes ends = x[0] + x[2], wide = x[0] + 4 * x[2], twice = 2 * x[1];
  y[0] = x[0] * 0.25f;
  y[1] = (ends + x[1]) * (-1 / 6.0f);
  y[2] = (ends - x[1]) * (-1 / 6.0f);
  y[3] = (wide + twice) * (1 / 24.0f);
  y[4] = (wide - twice) * (1 / 24.0f);
  y[5] = x[2];
}

static inline void tile_line(const lanes x[6], lanes y[4]) {
  const lanes sum = x[1] + x[2], less = x[1] - x[2], sum2 = x[3] + x[4], less2 = x[3] - x[4];
  y[0] = x[0] + sum + sum2;
  y[1] = less + 2 * less2;
  y[2] = sum + 4 * sum2;
  y[3] = less + 8 * less2 + x[5];
}

static inline void tile_grad_line(const lanes x[4], lanes y[6]) {
  const lanes even = x[0] + x[2], odd = x[1] + x[3], even2 = x[0] + 4 * x[2], odd2 = 2 * x[1] + 8 * x[3];
  y[0] = x[0];
  y[1] = even + odd;
  y[2] = even - odd;
  y[3] = even2 + odd2;
  y[4] = even2 - odd2;
  y[5] = x[3];
}

static inline void weights_grad_line(const lanes x[6], lanes y[3]) {
  const lanes near = (x[1] + x[2]) * (1 / 6.0f), far = x[3] + x[4];
  y[0] = x[0] * 0.25f - near + far * (1 / 24.0f);
  y[1] = (x[2] - x[1]) * (1 / 6.0f) + (x[3] - x[4]) * (1 / 12.0f);
  y[2] = far * (1 / 6.0f) - near + x[5];
}

// Columns first, then rows. FROM, TO: the sides of x and y.
#define TRANSFORM(NAME, FROM, TO)                                                                              \
  static void NAME(int64_t channels, const float *x, int64_t x_row, int64_t x_column, float *y, int64_t y_row, \
                   int64_t y_column) {                                                                         \
    for (int64_t c = 0; c < channels; c += WIDTH) {                                                            \
      lanes from[FROM], half[TO][FROM], to[TO];                                                                \
      for (int j = 0; j < (FROM); j++) {                                                                       \
        for (int i = 0; i < (FROM); i++) memcpy(&from[i], x + i * x_row + j * x_column + c, sizeof from[i]);   \
        NAME##_line(from, to);                                                                                 \
        for (int i = 0; i < (TO); i++) half[i][j] = to[i];                                                     \
      }                                                                                                        \
      for (int i = 0; i < (TO); i++) {                                                                         \
        NAME##_line(half[i], to);                                                                              \
        for (int j = 0; j < (TO); j++) memcpy(y + i * y_row + j * y_column + c, &to[j], sizeof to[j]);         \
      }                                                                                                        \
    }                                                                                                          \
  }

TRANSFORM(patch, 6, 6)
TRANSFORM(weights, 3, 6)
TRANSFORM(tile, 6, 4)
TRANSFORM(tile_grad, 4, 6)
TRANSFORM(weights_grad, 6, 3)

const dp_vector_winograd DP_FOR_ISA(dp_vector_winograd_) = {
    .patch = patch,
    .weights = weights,
    .tile = tile,
    .tile_grad = tile_grad,
    .weights_grad = weights_grad,
};
