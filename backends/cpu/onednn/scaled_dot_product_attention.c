// dp.ScaledDotProductAttention, a tile of the scores at a time; in float32 by attention_product.h.
//
// The softmax is online: each tile of keys rescales what the tiles before it gave by exp(old maximum - new maximum).
// Milakov, Gimelshein: "Online normalizer calculation for softmax", 2018.
#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/attention_tile.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "backends/cpu/vector/attention_rows.h"

enum { Q, K, V, MASK, SEED };

// What one part works with: a tile of scores, the unscaled rows of Y, for each row its maximum and sum so far, and the
// room for products.
typedef struct {
  float *scores, *y, *most, *sum;
  void *room;
} workspace;

static int64_t own_bytes(const dp_attention *a) {
  int64_t numbers = dp_attention_tile_rows(a) * (dp_attention_tile_keys(a) + a->v_size + 2);
  return (int64_t)dp_align_up((uint64_t)numbers * sizeof(float), DP_CPU_ALIGNMENT);
}

static int64_t part_bytes(const dp_attention *a, const dp_attention_type *type) {
  return own_bytes(a) + dp_attention_room_bytes(a, type);
}

static workspace workspace_at(const dp_attention *a, const dp_attention_type *type, void *scratch, int part) {
  float *first = (float *)((char *)scratch + part * part_bytes(a, type));
  workspace w = {.scores = first, .room = (char *)first + own_bytes(a)};
  w.y = w.scores + dp_attention_tile_rows(a) * dp_attention_tile_keys(a);
  w.most = w.y + dp_attention_tile_rows(a) * a->v_size;
  w.sum = w.most + dp_attention_tile_rows(a);
  return w;
}

uint64_t dp_attention_scratch_bytes(const dp_kernel_spec *spec, const dp_attention_type *type) {
  dp_attention a = dp_attention_of(spec, Q, MASK);
  return (uint64_t)(part_bytes(&a, type) * spec->threads);
}

// ---- a block of rows ------------------------------------------------------------------------------------------------

static void soften_tile(const dp_attention *a, const dp_attention_rows *rows, const dp_attention_tile *t,
                        const dp_random *random, workspace *w) {
  float keep[DP_TILE_KEYS];
  for (int64_t i = 0; i < t->rows; i++) {
    float *s = w->scores + i * t->keys, *y = w->y + i * a->v_size;
    const float factor = rows->soften(s, t->keys, &w->most[i], &w->sum[i]);
    if (t->key && factor != 1)
      for (int64_t c = 0; c < a->v_size; c++) y[c] *= factor;
    if (a->ratio == 0) continue;
    dp_attention_tile_keep(a, rows, t, random, i, keep);
    for (int64_t j = 0; j < t->keys; j++) s[j] *= keep[j];
  }
}

static void store(const dp_attention *a, const dp_attention_type *type, const dp_attention_tile *t, const workspace *w,
                  void *y, float *lse) {
  for (int64_t i = 0; i < t->rows; i++) {
    void *to = dp_attention_to(type, y, dp_attention_query(a, t->batch, t->head, t->row + i, a->v_size));
    float *row = type->round ? w->y + i * a->v_size : to;
    const bool masked = w->sum[i] == 0;
    const bool zero = (masked && (a->zero_rows || !a->keys)) || (a->zero_nan && isnan(w->sum[i]));
    const float sum = masked ? NAN : w->sum[i];  // as softmax has it
    for (int64_t c = 0; c < a->v_size; c++) row[c] = zero ? 0 : w->y[i * a->v_size + c] / sum;
    if (type->round) type->round(a->v_size, row, to);
    if (lse) lse[dp_attention_score_row(a, t->batch, t->head, t->row + i)] = zero ? -INFINITY : w->most[i] + logf(sum);
  }
}

static dp_status run_block(const dp_call *call, const dp_attention *a, const dp_attention_type *type,
                           const dp_attention_rows *rows, const dp_random *random, dp_attention_tile *t, workspace *w) {
  const void *v = dp_attention_at(type, call->in[V], dp_attention_key(a, t->batch, t->group, a->v_size));
  const void *mask = a->mask ? call->in[MASK] : NULL;
  for (int64_t i = 0; i < t->rows; i++) w->most[i] = -INFINITY, w->sum[i] = 0;
  const int64_t seen = dp_attention_tile_seen(a, t, mask);
  for (t->key = 0; t->key < a->keys; t->key += t->keys) {
    if (t->key >= seen && dp_attention_tile_ends(a, t, w->most)) break;
    t->keys = dp_min_i64(DP_TILE_KEYS, (t->key < seen ? seen : a->keys) - t->key);
    DP_TRY(dp_attention_tile_scores(a, type, t, call->in[Q], call->in[K], mask, w->scores, w->room));
    soften_tile(a, rows, t, random, w);
    if (a->v_size)
      DP_TRY(type->multiply(false, false, t->rows, a->v_size, t->keys, 1,
                            type->operand(t->rows * t->keys, w->scores, w->room), t->keys,
                            dp_attention_at(type, v, t->key * a->groups * a->v_size), a->groups * a->v_size,
                            t->key ? 1 : 0, w->y, a->v_size, w->room));
  }
  store(a, type, t, w, call->out[0], dp_has_out(call->spec, 1) ? call->out[1] : NULL);
  return DP_OK;
}

dp_status dp_attention_run(const dp_attention_type *type, const dp_call *call, const void *state) {
  const dp_attention a = dp_attention_of(call->spec, Q, MASK);
  const dp_random random = dp_attention_random(call, &a, SEED);
  const int64_t most = dp_attention_block_rows(&a, type), blocks = (a.length + most - 1) / most;
  workspace w = workspace_at(&a, type, call->scratch, call->part);
  int64_t lo, hi;
  dp_part_range(a.batch * a.heads * blocks, call->part, call->parts, &lo, &hi);
  for (int64_t block = lo; block < hi; block++) {
    dp_attention_tile t = {.batch = block / blocks / a.heads, .head = block / blocks % a.heads};
    t.group = t.head / a.each;
    t.row = block % blocks * most;
    t.rows = dp_min_i64(most, a.length - t.row);
    DP_TRY(run_block(call, &a, type, state, &random, &t, &w));
  }
  return DP_OK;
}

// ---- the kernel -----------------------------------------------------------------------------------------------------

static bool match(const dp_kernel_spec *spec) { return dp_attention_match(spec, Q); }

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  return dp_attention_scratch_bytes(spec, &dp_attention_float32);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  return dp_attention_run(&dp_attention_float32, &(dp_call){spec, in, out, scratch, part, parts}, state);
}

const dp_kernel dp_kernel_onednn_ScaledDotProductAttention = {
    .name = "cpu.onednn.dp.ScaledDotProductAttention",
    .op = "ScaledDotProductAttention",
    .domain = "dp",
    .priority = 10,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .isa = true,
    .expect = dp_sgemm_code_expect,
    .prepare = dp_attention_prepare,
    .run = run,
};
