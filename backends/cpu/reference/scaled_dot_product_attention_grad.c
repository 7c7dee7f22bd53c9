// dp.ScaledDotProductAttentionGrad, a row of the scores at a time. The heads of a group and their queries are summed in
// order, so that the number of parts does not change any bit.
#ifndef T
#include "backends/cpu/reference/attention.h"

enum { DY, Q, K, V, Y, LSE, MASK, SEED };
enum { DQ, DK, DV, DMASK };

#define T float
#include __FILE__
#define T double
#include __FILE__

// Of each part: scores, what dropout keeps, a row of dQ, and dK and dV of a group.
static int64_t numbers(const dp_attention *a) { return a->keys * (2 + a->size + a->v_size) + a->size; }

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
    groups_float(&call, &a, s);
  else
    groups_double(&call, &a, s);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_ScaledDotProductAttentionGrad = {
    .name = "cpu.reference.dp.ScaledDotProductAttentionGrad",
    .op = "ScaledDotProductAttentionGrad",
    .domain = "dp",
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .run = run,
};

#else

// Where one row finds its data: its rows of the operands with the queries' layout, and its group's of those with the
// keys'.
typedef struct {
  const T *dy, *q, *k, *v, *y;
  double lse;
  const char *mask;
  int64_t seen;
  T *dq, *dmask;
} FN(row);

static void FN(add_row)(const dp_attention *a, const FN(row) * r, const double *keep, double *s, double *dq, double *dk,
                        double *dv) {
  const bool blind = a->zero_rows && r->lse == -INFINITY;
  double through = 0;
  FN(dp_attention_scores)(a, r->q, r->k, r->mask, r->seen, s);
  for (int64_t c = 0; c < a->v_size; c++) through += (double)r->dy[c] * (double)r->y[c];
  for (int64_t c = 0; c < a->size; c++) dq[c] = 0;
  for (int64_t j = 0; j < r->seen; j++) {
    const T *k = r->k + j * a->groups * a->size, *v = r->v + j * a->groups * a->v_size;
    double p = blind ? 0 : exp(s[j] - r->lse), dp = 0;
    for (int64_t c = 0; c < a->v_size; c++) {
      dp += (double)r->dy[c] * (double)v[c];
      dv[j * a->v_size + c] += p * keep[j] * (double)r->dy[c];
    }
    double ds = blind ? 0 : p * (keep[j] * dp - through);
    if (a->mask == DP_BOOL && !((const bool *)r->mask)[j * a->mask_stride[3]]) ds = 0;
    if (r->dmask) r->dmask[j] = (T)ds;
    for (int64_t c = 0; c < a->size; c++) {
      dq[c] += a->scale * ds * (double)k[c];
      dk[j * a->size + c] += a->scale * ds * (double)r->q[c];
    }
  }
  for (int64_t j = r->seen; r->dmask && j < a->keys; j++) r->dmask[j] = 0;
  for (int64_t c = 0; c < a->size; c++) r->dq[c] = (T)dq[c];
}

static void FN(store)(const dp_attention *a, const double *sums, int64_t size, T *first) {
  for (int64_t j = 0; j < a->keys; j++)
    for (int64_t c = 0; c < size; c++) first[j * a->groups * size + c] = (T)sums[j * size + c];
}

static void FN(groups)(const dp_call *call, const dp_attention *a, double *s) {
  const void *const *in = call->in;
  double *keep = s + a->keys, *dq = keep + a->keys, *dk = dq + a->size, *dv = dk + a->keys * a->size;
  T *dmask = dp_has_out(call->spec, DMASK) ? call->out[DMASK] : NULL;
  const dp_random random = dp_attention_random(call, a, SEED);
  int64_t lo, hi;
  dp_part_range(a->batch * a->groups, call->part, call->parts, &lo, &hi);
  for (int64_t group = lo; group < hi; group++) {
    int64_t b = group / a->groups, g = group % a->groups;
    int64_t k = dp_attention_key(a, b, g, a->size), v = dp_attention_key(a, b, g, a->v_size);
    for (int64_t i = 0; i < a->keys * (a->size + a->v_size); i++) dk[i] = 0;
    for (int64_t h = g * a->each; h < (g + 1) * a->each; h++)
      for (int64_t l = 0; l < a->length; l++) {
        int64_t row = dp_attention_score_row(a, b, h, l), q = dp_attention_query(a, b, h, l, a->size);
        int64_t y = dp_attention_query(a, b, h, l, a->v_size);
        FN(row)
        r = {(const T *)in[DY] + y,
             (const T *)in[Q] + q,
             (const T *)in[K] + k,
             (const T *)in[V] + v,
             (const T *)in[Y] + y,
             (double)((const T *)in[LSE])[row],
             NULL,
             dp_attention_seen(a, l),
             (T *)call->out[DQ] + q,
             dmask ? dmask + row * a->keys : NULL};
        if (a->mask) r.mask = (const char *)in[MASK] + dp_attention_mask(a, b, h, l) * (int64_t)dp_type_bytes(a->mask);
        dp_attention_keep(a, &random, row, keep);
        FN(add_row)(a, &r, keep, s, dq, dk, dv);
      }
    FN(store)(a, dk, a->size, (T *)call->out[DK] + k);
    FN(store)(a, dv, a->v_size, (T *)call->out[DV] + v);
  }
}
#undef T
#endif
