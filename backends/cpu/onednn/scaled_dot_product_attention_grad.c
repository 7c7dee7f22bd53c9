// dp.ScaledDotProductAttentionGrad by oneDNN's sgemm, a tile of the scores at a time. A group's heads and their queries
// are summed in order by one part, so that the number of parts does not change any bit.
#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/attention_tile.h"
#include "backends/cpu/onednn/primitive.h"
#include "backends/cpu/vector/attention_rows.h"

enum { DY, Q, K, V, Y, LSE, MASK, SEED };
enum { DQ, DK, DV, DMASK };

// What one part works with: two tiles of the scores' extents, P and then its gradient, and sum(dY Y) of each row.
typedef struct {
  float *p, *ds, *through;
} workspace;

static int64_t tile_numbers(const dp_attention *a) { return dp_attention_tile_rows(a) * dp_attention_tile_keys(a); }

static int64_t part_bytes(const dp_attention *a) {
  return (int64_t)dp_align_up((uint64_t)(2 * tile_numbers(a) + dp_attention_tile_rows(a)) * sizeof(float),
                              DP_CPU_ALIGNMENT);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_attention a = dp_attention_of(spec, Q, MASK);
  return (uint64_t)(part_bytes(&a) * spec->threads);
}

static bool match(const dp_kernel_spec *spec) { return dp_attention_match(spec, Q); }

// From S and dP: dropout(P) in place of S and dS in place of dP.
static void differentiate(const dp_call *call, const dp_attention *a, const dp_attention_rows *rows,
                          const dp_attention_tile *t, const dp_random *random, const workspace *w) {
  const float *lse = (const float *)call->in[LSE] + dp_attention_score_row(a, t->batch, t->head, t->row);
  float keep[DP_TILE_KEYS];
  for (int64_t i = 0; i < t->rows; i++) {
    float *p = w->p + i * t->keys, *ds = w->ds + i * t->keys;
    if (a->zero_rows && lse[i] == -INFINITY) {
      dp_zero(p, t->keys * (int64_t)sizeof *p);
      dp_zero(ds, t->keys * (int64_t)sizeof *ds);
      continue;
    }
    if (a->ratio > 0) dp_attention_tile_keep(a, rows, t, random, i, keep);
    rows->differentiate(p, ds, a->ratio > 0 ? keep : NULL, t->keys, lse[i], w->through[i]);
    for (int64_t j = 0; j < t->keys && dp_attention_may_hide(a); j++)
      if (dp_attention_tile_hides(a, t, call->in[MASK], i, j)) ds[j] = 0;
  }
}

static void find_through(const dp_attention *a, const dp_attention_tile *t, const float *dy, const float *y,
                         float *through) {
  for (int64_t i = 0; i < t->rows; i++) {
    double sum = 0;
    for (int64_t c = 0; c < a->v_size; c++)
      sum += (double)dy[i * a->heads * a->v_size + c] * (double)y[i * a->heads * a->v_size + c];
    through[i] = (float)sum;
  }
}

// Adds what the tile gives to dQ, dK and dV. first: it is the first of its keys.
static dp_status add_tile(const dp_call *call, const dp_attention *a, const dp_attention_rows *rows,
                          const dp_attention_tile *t, const dp_random *random, bool first, const workspace *w) {
  const void *const *in = call->in;
  const int64_t q_row = a->heads * a->size, y_row = a->heads * a->v_size, k_row = a->groups * a->size;
  const int64_t v_row = a->groups * a->v_size, q = dp_attention_query(a, t->batch, t->head, t->row, a->size);
  const int64_t y = dp_attention_query(a, t->batch, t->head, t->row, a->v_size);
  const int64_t k = dp_attention_key(a, t->batch, t->group, a->size) + t->key * k_row;
  const int64_t v = dp_attention_key(a, t->batch, t->group, a->v_size) + t->key * v_row;
  const float *dy = (const float *)in[DY] + y, scale = (float)a->scale;
  DP_TRY(dp_attention_tile_scores(a, t, in[Q], in[K], a->mask ? in[MASK] : NULL, w->p));
  if (a->v_size)
    DP_TRY(dp_primitive_sgemm(false, true, t->rows, t->keys, a->v_size, 1, dy, y_row, (const float *)in[V] + v, v_row,
                              0, w->ds, t->keys, 1));
  else
    dp_zero(w->ds, t->rows * t->keys * (int64_t)sizeof(float));
  differentiate(call, a, rows, t, random, w);
  if (dp_has_out(call->spec, DMASK)) {
    float *dmask = call->out[DMASK];
    for (int64_t i = 0; i < t->rows; i++)
      dp_copy(dmask + dp_attention_score_row(a, t->batch, t->head, t->row + i) * a->keys + t->key, w->ds + i * t->keys,
              t->keys * (int64_t)sizeof(float));
  }
  if (a->v_size)
    DP_TRY(dp_primitive_sgemm(true, false, t->keys, a->v_size, t->rows, 1, w->p, t->keys, dy, y_row, first ? 0 : 1,
                              (float *)call->out[DV] + v, v_row, 1));
  DP_TRY(dp_primitive_sgemm(true, false, t->keys, a->size, t->rows, scale, w->ds, t->keys, (const float *)in[Q] + q,
                            q_row, first ? 0 : 1, (float *)call->out[DK] + k, k_row, 1));
  return dp_primitive_sgemm(false, false, t->rows, a->size, t->keys, scale, w->ds, t->keys, (const float *)in[K] + k,
                            k_row, t->key ? 1 : 0, (float *)call->out[DQ] + q, q_row, 1);
}

// The gradients of keys from `first` on.
static void zero_keys(const dp_call *call, const dp_attention *a, int64_t batch, int64_t group, int64_t first) {
  float *dk = (float *)call->out[DK] + dp_attention_key(a, batch, group, a->size);
  float *dv = (float *)call->out[DV] + dp_attention_key(a, batch, group, a->v_size);
  for (int64_t j = first; j < a->keys; j++) {
    dp_zero(dk + j * a->groups * a->size, a->size * (int64_t)sizeof(float));
    dp_zero(dv + j * a->groups * a->v_size, a->v_size * (int64_t)sizeof(float));
  }
}

// Where there are no queries or no keys, the sums over them are 0.
static void zero_group(const dp_call *call, const dp_attention *a, int64_t batch, int64_t group) {
  zero_keys(call, a, batch, group, 0);
  for (int64_t h = group * a->each; h < (group + 1) * a->each; h++)
    for (int64_t l = 0; l < a->length; l++)
      dp_zero((float *)call->out[DQ] + dp_attention_query(a, batch, h, l, a->size), a->size * (int64_t)sizeof(float));
}

// The gradients of the tile's rows for what was left out, from its key on.
static void zero_scores(const dp_call *call, const dp_attention *a, const dp_attention_tile *t) {
  float *dmask = call->out[DMASK];
  for (int64_t i = 0; i < t->rows; i++)
    dp_zero(dmask + dp_attention_score_row(a, t->batch, t->head, t->row + i) * a->keys + t->key,
            (a->keys - t->key) * (int64_t)sizeof *dmask);
}

static dp_status run_group(const dp_call *call, const dp_attention *a, const dp_attention_rows *rows,
                           const dp_random *random, int64_t group, const workspace *w) {
  dp_attention_tile t = {.batch = group / a->groups, .group = group % a->groups};
  if (!a->length || !a->keys || !a->each) zero_group(call, a, t.batch, t.group);
  for (t.head = t.group * a->each; t.head < (t.group + 1) * a->each; t.head++)
    for (t.row = 0; t.row < a->length; t.row += t.rows) {
      const int64_t y = dp_attention_query(a, t.batch, t.head, t.row, a->v_size);
      const bool first = t.head == t.group * a->each && !t.row;
      t.rows = dp_min_i64(DP_TILE_ROWS, a->length - t.row);
      find_through(a, &t, (const float *)call->in[DY] + y, (const float *)call->in[Y] + y, w->through);
      const float *lse = (const float *)call->in[LSE] + dp_attention_score_row(a, t.batch, t.head, t.row);
      const int64_t seen = dp_attention_tile_seen(a, &t, a->mask ? call->in[MASK] : NULL);
      for (t.key = 0; t.key < a->keys; t.key += t.keys) {
        if (t.key >= seen && dp_attention_tile_ends(a, &t, lse)) break;
        t.keys = dp_min_i64(DP_TILE_KEYS, (t.key < seen ? seen : a->keys) - t.key);
        DP_TRY(add_tile(call, a, rows, &t, random, first, w));
      }
      if (first) zero_keys(call, a, t.batch, t.group, t.key);
      if (dp_has_out(call->spec, DMASK)) zero_scores(call, a, &t);
    }
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_call call = {spec, in, out, scratch, part, parts};
  const dp_attention a = dp_attention_of(spec, Q, MASK);
  const dp_random random = dp_attention_random(&call, &a, SEED);
  float *own = (float *)((char *)scratch + part * part_bytes(&a));
  const workspace w = {own, own + tile_numbers(&a), own + 2 * tile_numbers(&a)};
  int64_t lo, hi;
  dp_part_range(a.batch * a.groups, part, parts, &lo, &hi);
  for (int64_t group = lo; group < hi; group++) DP_TRY(run_group(&call, &a, state, &random, group, &w));
  return DP_OK;
}

const dp_kernel dp_kernel_onednn_ScaledDotProductAttentionGrad = {
    .name = "cpu.onednn.dp.ScaledDotProductAttentionGrad",
    .op = "ScaledDotProductAttentionGrad",
    .domain = "dp",
    .priority = 10,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .isa = true,
    .prepare = dp_attention_prepare,
    .run = run,
};
