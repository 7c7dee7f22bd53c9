// Sums of floats in float64.
#ifndef DP_BACKENDS_CPU_VECTOR_LANES_H
#define DP_BACKENDS_CPU_VECTOR_LANES_H

#include <stdint.h>

// Sums are taken in lanes, since compilers may not reorder them.
enum { LANES = 16 };

static inline double total(const double lanes[LANES]) {
  double sum = 0;
  for (int i = 0; i < LANES; i++) sum += lanes[i];
  return sum;
}

// Adds TERM, an expression of `at`, for each of `count` elements to the lanes.
#define EACH_IN_LANES(count, at, lanes, TERM)   \
  do {                                          \
    int64_t j_ = 0;                             \
    for (; j_ + LANES <= (count); j_ += LANES)  \
      for (int i_ = 0; i_ < LANES; i_++) {      \
        const int64_t at = j_ + i_;             \
        (lanes)[i_] += (TERM);                  \
      }                                         \
    for (int i_ = 0; j_ + i_ < (count); i_++) { \
      const int64_t at = j_ + i_;               \
      (lanes)[i_] += (TERM);                    \
    }                                           \
  } while (0)

// Lanes of one row, so that they stay in registers while it lasts; a row shorter than they are has no need of them.
#define ADD_ROW(count, at, lanes, TERM)                               \
  do {                                                                \
    double sums_[LANES] = {0};                                        \
    if ((count) < LANES) {                                            \
      for (int64_t at = 0; at < (count); at++) (lanes)[at] += (TERM); \
      break;                                                          \
    }                                                                 \
    EACH_IN_LANES(count, at, sums_, TERM);                            \
    for (int i = 0; i < LANES; i++) (lanes)[i] += sums_[i];           \
  } while (0)

#endif
