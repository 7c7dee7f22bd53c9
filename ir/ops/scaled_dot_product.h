// Shared by dp.ScaledDotProductAttention and its gradient: operands, their check, and where they may be split.
//
//   S = scale Q K' for each head, then the mask: added if it is a number; S or `masked` where it is bool.
//   P = softmax(S) along the keys; LSE = log(sum(exp(S))); Y = dropout(P) V.
//
//   Q, Y: [batch, length, heads, size]; K, V: [batch, keys, groups, size], where each group serves heads / groups
//   adjacent heads; LSE: [batch, heads, length]; the mask is broadcast to [batch, heads, length, keys];
//   it has the type of Q, or float32 where that has 16 bits.
//   With is_causal there is no mask: query i sees the keys up to i, however many there are of either.
#ifndef DP_IR_OPS_SCALED_DOT_PRODUCT_H
#define DP_IR_OPS_SCALED_DOT_PRODUCT_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DP_SCALED_DOT_PRODUCT "dp.ScaledDotProductAttention"
#define DP_SCALED_DOT_PRODUCT_GRAD "dp.ScaledDotProductAttentionGrad"

// Attributes of both. `masked` is -infinity if absent. masked_rows: what becomes of a row whose S is -infinity
// everywhere, "nan" as softmax has it, or "zero"; "zero_if_nan": one that has NaN is 0 too. ratio, key: as
// dp.Dropout's, for P. is_causal: as ONNX's Attention has it.
#define DP_SCALED_DOT_PRODUCT_ATTRS                                                                             \
  {                                                                                                             \
    DP_FLOAT_ATTR("scale", 1), {.name = "masked", .kind = DP_ATTR_FLOAT}, DP_STRING_ATTR("masked_rows", "nan"), \
        DP_FLOAT_ATTR("ratio", 0), DP_INT_ATTR("key", 0), DP_INT_ATTR("is_causal", 0),                          \
  }

typedef struct {
  dp_dim batch, length, heads, size, keys, groups, v_size;
} dp_scaled_dot_product;

// Checks the operands Q, K, V from `first` on, mask, seed and step from `mask` on, and the attributes. EX_DATAERR.
dp_status dp_scaled_dot_product_check(const dp_node *node, int first, int mask, dp_scaled_dot_product *e) DP_MUST_USE;
// The shape of the scores, and of the statistics: the type in which statistics of Q's type are kept.
dp_shape dp_scaled_dot_product_scores(const dp_scaled_dot_product *e);
dp_shape dp_scaled_dot_product_statistics(const dp_scaled_dot_product *e);
dp_dtype dp_scaled_dot_product_statistics_type(dp_dtype dtype);

// What an operand or result is, of the forward operator or of its gradient: its dims follow from it.
typedef enum {
  DP_SDP_QUERY,
  DP_SDP_QUERY_GRAD,
  DP_SDP_RESULT,  // Y and its gradient
  DP_SDP_KEY,
  DP_SDP_KEY_GRAD,
  DP_SDP_VALUE,
  DP_SDP_VALUE_GRAD,
  DP_SDP_MASK,
  DP_SDP_MASK_GRAD,
  DP_SDP_STATISTICS,
  DP_SDP_SCALAR,
} dp_scaled_dot_product_part;

// The mesh axis along which queries may be split, each device having all keys. On another axis that would be chosen
// instead of splitting weights, which are then whole on each device.
#define DP_CONTEXT_AXIS "context"

// Rules that split samples, queries, heads, or the size of V. in, out: what each operand and result is. With is_causal,
// the queries of a part follow one another: they see keys by their place in the whole sequence.
void dp_scaled_dot_product_sharding(dp_sharding_rules *rules, const dp_scaled_dot_product *e,
                                    const dp_scaled_dot_product_part *in, const dp_scaled_dot_product_part *out);
// `products`: how many products of the scores' shape it computes.
dp_cost dp_scaled_dot_product_cost(const dp_node *node, int64_t n, int first, double products);

#ifdef __cplusplus
}
#endif
#endif
