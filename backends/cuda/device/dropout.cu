// Dropout of elements of type T.
#include "backends/cuda/device/random.h"

DP_KERNEL(dp_random_arguments) {
  DP_DRAW_EACH(((T *)a.y)[i] =
                   PUT(dp_draw_uniform(word[lane]) >= a.ratio ? GET(((const T *)a.x)[i]) * (W)a.kept : (W)0);)
}
