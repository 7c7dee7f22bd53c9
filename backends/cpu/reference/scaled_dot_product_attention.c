// dp.ScaledDotProductAttention, a row of the scores at a time.
#ifndef T
#include "backends/cpu/reference/attention.h"

enum { Q, K, V, MASK, SEED };

#define T float
#include __FILE__
#define T double
#include __FILE__

// Of each part: scores, what dropout keeps, and a row of Y.
static int64_t numbers(const dp_attention *a) { return 2 * a->keys + a->v_size; }

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_attention a = dp_attention_of(spec, Q, MASK);
  return (uint64_t)(numbers(&a) * spec->threads) * sizeof(double);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  const dp_call call = {spec, in, out, scratch, part, parts};
  dp_attention a = dp_attention_of(spec, Q, MASK);
  double *s = (double *)scratch + part * numbers(&a);
  if (spec->inputs[Q].dtype == DP_FLOAT32)
    rows_float(&call, &a, s);
  else
    rows_double(&call, &a, s);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_ScaledDotProductAttention = {
    .name = "cpu.reference.dp.ScaledDotProductAttention",
    .op = "ScaledDotProductAttention",
    .domain = "dp",
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .run = run,
};

#else

// exp(s - LSE) in place of s, [seen]; the log of their sum.
static double FN(softmax)(const dp_attention *a, int64_t seen, double *s) {
  double most = -INFINITY, sum = 0;
  bool blind = a->zero_rows;
  for (int64_t j = 0; j < seen; j++) {
    if (s[j] > most) most = s[j];
    blind &= s[j] == -INFINITY;
  }
  // Unless such rows are 0, only -infinity makes the sum NaN, as in Softmax; so do NaN and +infinity.
  for (int64_t j = 0; j < seen; j++) sum += s[j] = blind ? 0 : exp(s[j] - most);
  blind |= a->zero_nan && isnan(sum);
  for (int64_t j = 0; j < seen; j++) s[j] = blind ? 0 : s[j] / sum;
  return blind || !a->keys ? -INFINITY : most + log(sum);
}

static void FN(rows)(const dp_call *call, const dp_attention *a, double *s) {
  const T *q = call->in[Q], *k = call->in[K], *v = call->in[V];
  T *y = call->out[0], *lse = dp_has_out(call->spec, 1) ? call->out[1] : NULL;
  double *keep = s + a->keys, *sums = keep + a->keys;
  const dp_random random = dp_attention_random(call, a, SEED);
  int64_t lo, hi;
  dp_part_range(a->batch * a->heads * a->length, call->part, call->parts, &lo, &hi);
  for (int64_t row = lo; row < hi; row++) {
    int64_t l = row % a->length, h = row / a->length % a->heads, b = row / a->length / a->heads, g = h / a->each;
    const int64_t seen = dp_attention_seen(a, l);
    const char *mask = call->spec->n_inputs > MASK ? call->in[MASK] : NULL;
    if (a->mask) mask += dp_attention_mask(a, b, h, l) * (int64_t)dp_type_bytes(a->mask);
    FN(dp_attention_scores)
    (a, q + dp_attention_query(a, b, h, l, a->size), k + dp_attention_key(a, b, g, a->size), mask, seen, s);
    double log_sum = FN(softmax)(a, seen, s);
    if (lse) lse[row] = (T)log_sum;
    dp_attention_keep(a, &random, row, keep);
    for (int64_t c = 0; c < a->v_size; c++) sums[c] = 0;
    for (int64_t j = 0; j < seen; j++) {
      const T *v_row = v + dp_attention_key(a, b, g, a->v_size) + j * a->groups * a->v_size;
      for (int64_t c = 0; c < a->v_size; c++) sums[c] += s[j] * keep[j] * (double)v_row[c];
    }
    T *y_row = y + dp_attention_query(a, b, h, l, a->v_size);
    for (int64_t c = 0; c < a->v_size; c++) y_row[c] = (T)sums[c];
  }
}
#undef T
#endif
