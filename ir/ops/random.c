// Shared by the operators that draw random numbers. See random.h.
#include "ir/ops/random.h"

dp_status dp_random_check(const dp_node *node, int seed, int step) {
  dp_shape scalar = {0};
  int64_t key = dp_node_int(node, "key", 0);
  if (key < 0 || key > UINT32_MAX)
    return dp_fail(EX_DATAERR, "key is %lld where a number of 32 bits is expected", (long long)key);
  if (dp_common_operand(node, step)) DP_TRY(dp_common_expect("step", dp_common_shape(node, step), &scalar));
  return dp_common_expect("seed", dp_common_shape(node, seed), &scalar);
}

dp_status dp_random_infer_made(dp_node *node, uint32_t types) {
  dp_shape shape;
  int64_t dtype = dp_node_int(node, "dtype", DP_FLOAT32);
  if (dtype < 0 || dtype > DP_MAX_TYPE || !(DP_BIT(dtype) & types))
    return dp_fail(EX_DATAERR, "dtype is %lld, which is not supported here", (long long)dtype);
  DP_TRY(dp_common_shape_attr(node, "shape", &shape));
  dp_common_set(node, 0, (dp_dtype)dtype, &shape);
  return DP_OK;
}

void dp_random_sharding(dp_sharding_rules *rules) {
  const dp_shape *shape = &rules->node->outputs[0]->type->shape;
  for (int d = 0; d < shape->rank; d++) dp_sharding_split(rules, shape->dims[d], (int[]){DP_WHOLE, DP_WHOLE}, &d);
}
