// Random values of type T: shift + scale * number. NUMBER(word, lane) draws one.
#include "backends/cuda/device/random.h"

DP_KERNEL(dp_random_arguments) {
  DP_DRAW_EACH(((T *)a.y)[i] = PUT(dp_times_plus(a.scale, NUMBER(word, lane), a.shift));)
}
