// What is done around attention by a library, which knows no infinities: a key that is hidden has a score so low that
// its probability is 0, and a row all of whose scores are that low is found by its statistics.
#ifndef DP_BACKENDS_CUDA_DEVICE_ATTENTION_AROUND_H
#define DP_BACKENDS_CUDA_DEVICE_ATTENTION_AROUND_H

// A library's scores are float32. -infinity becomes DP_ATTENTION_HIDDEN; other numbers of a mask are made no lower than
// DP_ATTENTION_LOWEST, which lies as far above as scores without a mask can be. Both are powers of two: engines
// multiply scores by log2(e) before they take the largest from them, maybe in one rounding, and a row of nothing but
// these is to give 0 all the same.
#define DP_ATTENTION_HIDDEN -0x1p123f
#define DP_ATTENTION_LOWEST -0x1p100f
// Statistics below this are of rows that see no key.
#define DP_ATTENTION_BLIND -1e36f

// y[batch, heads, length, keys], float32, from a mask of type T that is added, or a bool one (attention_mask.cu).
typedef struct {
  float *y;
  const void *mask;
  long long count, heads, length, keys;
  long long stride[4];  // elements of the mask; 0 where it is broadcast
} dp_attention_mask_arguments;

// Rows of y, of type T, that see no key become 0 or NaN, and their statistics -infinity or NaN (attention_rows.cu).
typedef struct {
  void *y;  // [batch, length, heads, size]
  float *lse;
  const float *given_lse;  // [batch, heads, length]; lse may be the same, or NULL
  long long count, heads, length, size;
  int zero_rows;
} dp_attention_rows_arguments;

// Statistics of rows that see no key, -infinity, become so large that the gradient finds probabilities of 0
// (attention_statistics.cu).
typedef struct {
  float *y;
  const float *lse;
  long long count;
} dp_attention_statistics_arguments;

#endif
