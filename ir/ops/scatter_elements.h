// How ScatterElements combines an update with the element there. For kernels too.
#ifndef DP_IR_OPS_SCATTER_ELEMENTS_H
#define DP_IR_OPS_SCATTER_ELEMENTS_H

#include "ir/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { DP_SCATTER_PUT, DP_SCATTER_ADD, DP_SCATTER_MUL, DP_SCATTER_MAX, DP_SCATTER_MIN } dp_scatter_mode;

dp_status dp_scatter_elements_mode(const dp_node *node, dp_scatter_mode *mode) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
