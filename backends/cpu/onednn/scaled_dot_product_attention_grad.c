// dp.ScaledDotProductAttentionGrad, a tile of the scores at a time; in float32 by attention_product.h. A group's heads
// and their queries are summed in order by one part, so that the number of parts does not change any bit.
#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/attention_tile.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "backends/cpu/vector/attention_rows.h"

enum { DY, Q, K, V, Y, LSE, MASK, SEED };
enum { DQ, DK, DV, DMASK };

// Rows of a gradient as they are summed, so many elements apart: results, or float32 in scratch.
typedef struct {
  float *first;
  int64_t row;
} sums;

// What one part works with: two tiles of the scores' extents, P and then its gradient, and sum(dY Y) of each row; the
// room for products; the sums of a block of queries and of a group's keys.
typedef struct {
  float *p, *ds, *through;
  void *room;
  sums dq, dk, dv;
} workspace;

static int64_t tile_numbers(const dp_attention *a) { return dp_attention_tile_rows(a) * dp_attention_tile_keys(a); }

static int64_t own_bytes(const dp_attention *a) {
  return (int64_t)dp_align_up((uint64_t)(2 * tile_numbers(a) + dp_attention_tile_rows(a)) * sizeof(float),
                              DP_CPU_ALIGNMENT);
}

static int64_t sums_bytes(const dp_attention *a, const dp_attention_type *type) {
  const int64_t numbers = dp_attention_tile_rows(a) * a->size + a->keys * (a->size + a->v_size);
  return type->round ? (int64_t)dp_align_up((uint64_t)numbers * sizeof(float), DP_CPU_ALIGNMENT) : 0;
}

static int64_t part_bytes(const dp_attention *a, const dp_attention_type *type) {
  return own_bytes(a) + sums_bytes(a, type) + dp_attention_room_bytes(a, type);
}

static workspace workspace_at(const dp_attention *a, const dp_attention_type *type, void *scratch, int part) {
  float *first = (float *)((char *)scratch + part * part_bytes(a, type));
  workspace w = {.p = first, .ds = first + tile_numbers(a), .through = first + 2 * tile_numbers(a)};
  w.dq = (sums){(float *)((char *)first + own_bytes(a)), a->size};
  w.dk = (sums){w.dq.first + dp_attention_tile_rows(a) * a->size, a->size};
  w.dv = (sums){w.dk.first + a->keys * a->size, a->v_size};
  w.room = (char *)w.dq.first + sums_bytes(a, type);
  return w;
}

uint64_t dp_attention_grad_scratch_bytes(const dp_kernel_spec *spec, const dp_attention_type *type) {
  dp_attention a = dp_attention_of(spec, Q, MASK);
  return (uint64_t)(part_bytes(&a, type) * spec->threads);
}

// ---- sums -----------------------------------------------------------------------------------------------------------

// Points sums at the rows of a result from element `at` on, unless they are rounded to it.
static void place_sums(const dp_attention_type *type, void *result, int64_t at, int64_t row, sums *s) {
  if (!type->round) *s = (sums){(float *)result + at, row};
}

static void round_sums(const dp_attention_type *type, const sums *s, int64_t rows, int64_t size, void *result,
                       int64_t at, int64_t row) {
  for (int64_t i = 0; i < rows && type->round; i++)
    type->round(size, s->first + i * s->row, dp_attention_to(type, result, at + i * row));
}

static void zero_sums(const sums *s, int64_t first, int64_t rows, int64_t size) {
  for (int64_t i = first; i < rows; i++) dp_zero(s->first + i * s->row, size * (int64_t)sizeof(float));
}

// ---- a tile ---------------------------------------------------------------------------------------------------------

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
    for (int64_t j = dp_attention_tile_shown(a, t, i); j < t->keys; j++)
      if (dp_attention_tile_hides(a, t, call->in[MASK], i, j)) ds[j] = 0;
  }
}

static void find_through(const dp_call *call, const dp_attention *a, const dp_attention_type *type,
                         const dp_attention_tile *t, float *through) {
  for (int64_t i = 0; i < t->rows; i++) {
    const int64_t at = dp_attention_query(a, t->batch, t->head, t->row + i, a->v_size);
    through[i] =
        (float)type->dot(a->v_size, dp_attention_at(type, call->in[DY], at), dp_attention_at(type, call->in[Y], at));
  }
}

static void copy_mask_gradient(const dp_call *call, const dp_attention *a, const dp_attention_tile *t,
                               const float *ds) {
  float *dmask = call->out[DMASK];
  for (int64_t i = 0; i < t->rows; i++)
    dp_copy(dmask + dp_attention_score_row(a, t->batch, t->head, t->row + i) * a->keys + t->key, ds + i * t->keys,
            t->keys * (int64_t)sizeof(float));
}

// Adds what the tile gives to dQ, dK and dV. first: it is the first of its keys.
static dp_status add_tile(const dp_call *call, const dp_attention *a, const dp_attention_type *type,
                          const dp_attention_rows *rows, const dp_attention_tile *t, const dp_random *random,
                          bool first, const workspace *w) {
  const void *const *in = call->in;
  const int64_t q_row = a->heads * a->size, y_row = a->heads * a->v_size, k_row = a->groups * a->size;
  const int64_t v_row = a->groups * a->v_size, count = t->rows * t->keys;
  const void *q = dp_attention_at(type, in[Q], dp_attention_query(a, t->batch, t->head, t->row, a->size));
  const void *dy = dp_attention_at(type, in[DY], dp_attention_query(a, t->batch, t->head, t->row, a->v_size));
  const void *k = dp_attention_at(type, in[K], dp_attention_key(a, t->batch, t->group, a->size) + t->key * k_row);
  const void *v = dp_attention_at(type, in[V], dp_attention_key(a, t->batch, t->group, a->v_size) + t->key * v_row);
  const float scale = (float)a->scale, before = first ? 0 : 1;
  DP_TRY(dp_attention_tile_scores(a, type, t, in[Q], in[K], a->mask ? in[MASK] : NULL, w->p, w->room));
  if (a->v_size)
    DP_TRY(
        type->multiply(false, true, t->rows, t->keys, a->v_size, 1, dy, y_row, v, v_row, 0, w->ds, t->keys, w->room));
  else
    dp_zero(w->ds, count * (int64_t)sizeof(float));
  differentiate(call, a, rows, t, random, w);
  if (dp_has_out(call->spec, DMASK)) copy_mask_gradient(call, a, t, w->ds);
  const void *p = type->operand(count, w->p, w->room);
  if (a->v_size)
    DP_TRY(type->multiply(true, false, t->keys, a->v_size, t->rows, 1, p, t->keys, dy, y_row, before,
                          w->dv.first + t->key * w->dv.row, w->dv.row, w->room));
  const void *ds = type->operand(count, w->ds, w->room);  // in place of p
  DP_TRY(type->multiply(true, false, t->keys, a->size, t->rows, scale, ds, t->keys, q, q_row, before,
                        w->dk.first + t->key * w->dk.row, w->dk.row, w->room));
  return type->multiply(false, false, t->rows, a->size, t->keys, scale, ds, t->keys, k, k_row, t->key ? 1 : 0,
                        w->dq.first, w->dq.row, w->room);
}

// The gradients of the tile's rows for what was left out, from its key on.
static void zero_scores(const dp_call *call, const dp_attention *a, const dp_attention_tile *t) {
  float *dmask = call->out[DMASK];
  for (int64_t i = 0; i < t->rows; i++)
    dp_zero(dmask + dp_attention_score_row(a, t->batch, t->head, t->row + i) * a->keys + t->key,
            (a->keys - t->key) * (int64_t)sizeof *dmask);
}

// ---- a group --------------------------------------------------------------------------------------------------------

// Where there are no keys, the sums over them are 0.
static void zero_queries(const dp_call *call, const dp_attention *a, const dp_attention_type *type, int64_t batch,
                         int64_t group) {
  for (int64_t h = group * a->each; h < (group + 1) * a->each; h++)
    for (int64_t l = 0; l < a->length; l++)
      dp_zero(dp_attention_to(type, call->out[DQ], dp_attention_query(a, batch, h, l, a->size)), a->size * type->bytes);
}

// Rows of one head. first: of its group.
static dp_status add_block(const dp_call *call, const dp_attention *a, const dp_attention_type *type,
                           const dp_attention_rows *rows, const dp_random *random, dp_attention_tile *t, bool first,
                           workspace *w) {
  const int64_t q = dp_attention_query(a, t->batch, t->head, t->row, a->size), q_row = a->heads * a->size;
  const float *lse = (const float *)call->in[LSE] + dp_attention_score_row(a, t->batch, t->head, t->row);
  const int64_t seen = dp_attention_tile_seen(a, t, a->mask ? call->in[MASK] : NULL);
  place_sums(type, call->out[DQ], q, q_row, &w->dq);
  find_through(call, a, type, t, w->through);
  for (t->key = 0; t->key < a->keys; t->key += t->keys) {
    if (t->key >= seen && dp_attention_tile_ends(a, t, lse)) break;
    t->keys = dp_min_i64(DP_TILE_KEYS, (t->key < seen ? seen : a->keys) - t->key);
    DP_TRY(add_tile(call, a, type, rows, t, random, first, w));
  }
  round_sums(type, &w->dq, t->rows, a->size, call->out[DQ], q, q_row);
  if (first) zero_sums(&w->dk, t->key, a->keys, a->size);
  if (first) zero_sums(&w->dv, t->key, a->keys, a->v_size);
  if (dp_has_out(call->spec, DMASK)) zero_scores(call, a, t);
  return DP_OK;
}

static dp_status run_group(const dp_call *call, const dp_attention *a, const dp_attention_type *type,
                           const dp_attention_rows *rows, const dp_random *random, int64_t group, workspace *w) {
  dp_attention_tile t = {.batch = group / a->groups, .group = group % a->groups};
  const int64_t k = dp_attention_key(a, t.batch, t.group, a->size), k_row = a->groups * a->size;
  const int64_t v = dp_attention_key(a, t.batch, t.group, a->v_size), v_row = a->groups * a->v_size;
  if (!a->keys) zero_queries(call, a, type, t.batch, t.group);
  if (!a->keys) return DP_OK;
  place_sums(type, call->out[DK], k, k_row, &w->dk);
  place_sums(type, call->out[DV], v, v_row, &w->dv);
  if (!a->length || !a->each) zero_sums(&w->dk, 0, a->keys, a->size);
  if (!a->length || !a->each) zero_sums(&w->dv, 0, a->keys, a->v_size);
  for (t.head = t.group * a->each; t.head < (t.group + 1) * a->each; t.head++)
    for (t.row = 0; t.row < a->length; t.row += t.rows) {
      const bool first = t.head == t.group * a->each && !t.row;
      t.rows = dp_min_i64(dp_attention_block_rows(a, type), a->length - t.row);
      DP_TRY(add_block(call, a, type, rows, random, &t, first, w));
    }
  round_sums(type, &w->dk, a->keys, a->size, call->out[DK], k, k_row);
  round_sums(type, &w->dv, a->keys, a->v_size, call->out[DV], v, v_row);
  return DP_OK;
}

dp_status dp_attention_grad_run(const dp_attention_type *type, const dp_call *call, const void *state) {
  const dp_attention a = dp_attention_of(call->spec, Q, MASK);
  const dp_random random = dp_attention_random(call, &a, SEED);
  workspace w = workspace_at(&a, type, call->scratch, call->part);
  int64_t lo, hi;
  dp_part_range(a.batch * a.groups, call->part, call->parts, &lo, &hi);
  for (int64_t group = lo; group < hi; group++) DP_TRY(run_group(call, &a, type, state, &random, group, &w));
  return DP_OK;
}

// ---- the kernel -----------------------------------------------------------------------------------------------------

static bool match(const dp_kernel_spec *spec) { return dp_attention_match(spec, Q); }

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  return dp_attention_grad_scratch_bytes(spec, &dp_attention_float32);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  return dp_attention_grad_run(&dp_attention_float32, &(dp_call){spec, in, out, scratch, part, parts}, state);
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
    .expect = dp_sgemm_code_expect,
    .prepare = dp_attention_prepare,
    .run = run,
};
