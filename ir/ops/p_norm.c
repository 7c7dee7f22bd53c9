// The p-norm of many elements. See p_norm.h.
#include "ir/ops/p_norm.h"

dp_status dp_p_norm_check(const dp_node *node) {
  int64_t p = dp_node_int(node, "p", 2);
  if (p < 1 || p > 1 << 20) return dp_fail(EX_DATAERR, "p is %lld where 1 to %d is expected", (long long)p, 1 << 20);
  return DP_OK;
}

dp_value *dp_p_norm_power(dp_builder *b, dp_value *x, int64_t p) {
  if (p == 2) return dp_build2(b, "Mul", x, x);
  dp_value *size = dp_build1(b, "Abs", x);
  return p == 1 ? size : dp_elementwise_with(b, "Pow", size, (double)p);
}

dp_value *dp_p_norm_root(dp_builder *b, dp_value *x, int64_t p) {
  if (p == 1) return x;
  return p == 2 ? dp_build1(b, "Sqrt", x) : dp_elementwise_with(b, "Pow", x, 1 / (double)p);
}
