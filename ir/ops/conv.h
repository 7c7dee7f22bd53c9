// Convolution and its two gradients share one set of rules: each takes two of x, w, y and gives the third.
#ifndef DP_IR_OPS_CONV_H
#define DP_IR_OPS_CONV_H

#include "ir/ops/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DP_CONV_ATTRS                                                                       \
  DP_STRING_ATTR("auto_pad", "NOTSET"), DP_INTS_ATTR("dilations"), DP_INT_ATTR("group", 1), \
      DP_INTS_ATTR("kernel_shape"), DP_INTS_ATTR("pads"), DP_INTS_ATTR("strides")

// The shape of y from those of x [N, C, ...] and w [M, C/group, ...].
dp_status dp_conv_result(const dp_node *node, const dp_shape *x, const dp_shape *w, dp_geometry *geometry, dp_shape *y);

// The positions of x, w, y (and the bias, an operand) in a node: operand i >= 0, result 0: DP_CONV_RESULT;
// DP_CONV_ABSENT.
enum { DP_CONV_RESULT = -1, DP_CONV_ABSENT = -2 };
typedef struct {
  int x, w, y, bias;
} dp_conv_positions;
// Rows by sample, by groups, by output channel and by input channel.
void dp_conv_sharding(dp_sharding_rules *rules, dp_conv_positions positions);
// Two operations per product, for the node with these shapes.
dp_cost dp_conv_cost(const dp_node *node, int64_t n, const dp_shape *w, const dp_shape *y);

#ifdef __cplusplus
}
#endif
#endif
