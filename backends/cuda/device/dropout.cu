// Dropout of elements of type T.
#include "backends/cuda/device/random.h"

DP_KERNEL(dp_random_arguments) {
  DP_DRAW_EACH(((T *)a.y)[i] = dp_draw_uniform(word[lane]) >= a.ratio ? ((const T *)a.x)[i] * (T)a.kept : (T)0;)
}
