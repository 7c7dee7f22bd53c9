// The transforms of Winograd's convolution F(4x4, 3x3) on floats, compiled once for each instruction set: Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308, section 4.3.
#ifndef DP_BACKENDS_CPU_VECTOR_WINOGRAD_H
#define DP_BACKENDS_CPU_VECTOR_WINOGRAD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A tile of 4 x 4 results takes a patch of 6 x 6 elements, and is made of 36 products. Rows of channels are whole
// vectors of either instruction set.
enum { DP_WINOGRAD_TILE = 4, DP_WINOGRAD_PATCH = 6, DP_WINOGRAD_POINTS = 36, DP_WINOGRAD_CHANNELS = 16 };

// y = T x T' for each of `channels` channels, a multiple of DP_WINOGRAD_CHANNELS, that lie side by side. Row i and
// column j of x begin at x + i * x_row + j * x_column. The two lie apart.
typedef void (*dp_winograd_transform)(int64_t channels, const float *x, int64_t x_row, int64_t x_column, float *y,
                                      int64_t y_row, int64_t y_column);

// From the paper's matrices: a patch of x (6, T = B'), the weights (3 to 6, G), and a tile of y (6 to 4, A'). The
// gradients are the transposed ones: of a tile of dy (4 to 6, A), and of the weights (6 to 3, G').
typedef struct {
  dp_winograd_transform patch, weights, tile, tile_grad, weights_grad;
} dp_vector_winograd;

extern const dp_vector_winograd dp_vector_winograd_avx2, dp_vector_winograd_avx512;

#ifdef __cplusplus
}
#endif
#endif
