// ONNX's operators that draw numbers: RandomUniform, RandomNormal, their likes, Bernoulli. Specialized, in inference
// too, into dp.RandomUniform or dp.RandomNormal, whose numbers depend on the run's seed, the step, the node's name and
// the element's index in the whole tensor (ir/base/philox.h). ONNX's attribute `seed` is accepted and ignored.
#ifndef DP_IR_OPS_DRAW_H
#define DP_IR_OPS_DRAW_H

#include "ir/ops/random.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DP_DRAW_SEED_ATTR \
  { .name = "seed", .kind = DP_ATTR_FLOAT }

// Result 0: of operand 0's shape and, without attribute dtype, of its type, one of `types`.
dp_status dp_draw_infer_like(dp_node *node, uint32_t types);
// Numbers of result 0's shape and of type dtype: in [low, high); of that mean and standard deviation.
dp_value *dp_draw_uniform(dp_builder *builder, const dp_node *node, dp_dtype dtype, double low, double high);
dp_value *dp_draw_normal(dp_builder *builder, const dp_node *node, dp_dtype dtype, double mean, double scale);

#ifdef __cplusplus
}
#endif
#endif
