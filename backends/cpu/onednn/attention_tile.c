// Tiles of attention's scores. See attention_tile.h.
#include "backends/cpu/onednn/attention_tile.h"

#include "backends/cpu/onednn/attention_product.h"
#include "backends/cpu/onednn/primitive.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "backends/cpu/onednn/table.h"
#include "backends/cpu/vector/attention_rows.h"
#include "backends/cpu/vector/lanes.h"

bool dp_attention_match(const dp_kernel_spec *spec, int q) {
  return spec->inputs[q].dtype == DP_FLOAT32 && spec->inputs[q].local.extents[3] > 0;
}

dp_status dp_attention_prepare(const dp_kernel_spec *spec, void **state) {
  DP_TRY(dp_isa_table(spec, &dp_attention_rows_avx2, &dp_attention_rows_avx512, state));
  return dp_sgemm_code_prepare();
}

static const void *operand(int64_t count, const float *tile, void *room) {
  (void)count, (void)room;
  return tile;
}

static double dot(int64_t count, const void *x, const void *y) {
  const float *a = x, *b = y;
  double lanes[LANES] = {0};
  EACH_IN_LANES(count, i, lanes, (double)a[i] * (double)b[i]);
  return total(lanes);
}

const dp_attention_type dp_attention_float32 = {
    .bytes = sizeof(float),
    .few_rows = DP_TILE_ROWS / 4,
    .multiply = dp_attention_product,
    .room_bytes = dp_attention_product_bytes,
    .operand = operand,
    .dot = dot,
};

// Of a short sequence, a larger block's rows would together see nearly all keys where attention is causal; of a long
// one, larger products gain more.
int64_t dp_attention_block_rows(const dp_attention *a, const dp_attention_type *type) {
  enum { SHORT = 256 };
  return dp_attention_may_hide(a) && a->length <= SHORT ? type->few_rows : DP_TILE_ROWS;
}

static void add_mask(const dp_attention *a, const float *mask, int64_t keys, float *s) {
  const int64_t stride = a->mask_stride[3];
  if (stride == 1)
    for (int64_t j = 0; j < keys; j++) s[j] += mask[j];
  else
    for (int64_t j = 0; j < keys; j++) s[j] += mask[j * stride];
}

static void replace_masked(const dp_attention *a, const bool *mask, int64_t keys, float *s) {
  const float masked = (float)a->masked;
  const int64_t stride = a->mask_stride[3];
  if (stride == 1)
    for (int64_t j = 0; j < keys; j++) s[j] = mask[j] ? s[j] : masked;
  else
    for (int64_t j = 0; j < keys; j++) s[j] = mask[j * stride] ? s[j] : masked;
}

// How many keys of the tile, from its first on, a row may see.
static int64_t seen_in(const dp_attention *a, const dp_attention_tile *t, int64_t row) {
  const int64_t seen = dp_attention_seen(a, t->row + row) - t->key;
  return seen < 0 ? 0 : dp_min_i64(seen, t->keys);
}

static int64_t mask_at(const dp_attention *a, const dp_attention_tile *t, int64_t row) {
  return dp_attention_mask(a, t->batch, t->head, t->row + row) + t->key * a->mask_stride[3];
}

dp_status dp_attention_tile_scores(const dp_attention *a, const dp_attention_type *type, const dp_attention_tile *t,
                                   const void *q, const void *k, const void *mask, float *s, void *room) {
  q = dp_attention_at(type, q, dp_attention_query(a, t->batch, t->head, t->row, a->size));
  k = dp_attention_at(type, k, dp_attention_key(a, t->batch, t->group, a->size) + t->key * a->groups * a->size);
  DP_TRY(type->multiply(false, true, t->rows, t->keys, a->size, (float)a->scale, q, a->heads * a->size, k,
                        a->groups * a->size, 0, s, t->keys, room));
  for (int64_t i = 0; i < t->rows && a->mask; i++) {
    if (a->mask == DP_BOOL)
      replace_masked(a, (const bool *)mask + mask_at(a, t, i), t->keys, s + i * t->keys);
    else
      add_mask(a, (const float *)mask + mask_at(a, t, i), t->keys, s + i * t->keys);
  }
  for (int64_t i = 0; i < t->rows && a->causal; i++)
    for (int64_t j = seen_in(a, t, i); j < t->keys; j++) s[i * t->keys + j] = -INFINITY;
  return DP_OK;
}

int64_t dp_attention_tile_shown(const dp_attention *a, const dp_attention_tile *t, int64_t row) {
  if (a->causal) return seen_in(a, t, row);
  return a->mask == DP_BOOL ? 0 : t->keys;
}

bool dp_attention_tile_hides(const dp_attention *a, const dp_attention_tile *t, const void *mask, int64_t row,
                             int64_t key) {
  if (a->causal) return key >= seen_in(a, t, row);
  return a->mask == DP_BOOL && !((const bool *)mask)[mask_at(a, t, row) + key * a->mask_stride[3]];
}

int64_t dp_attention_tile_seen(const dp_attention *a, const dp_attention_tile *t, const void *mask) {
  const dp_attention_tile whole = {t->batch, t->head, t->group, t->row, 0, t->rows, a->keys};
  int64_t seen = 0;
  if (a->causal) return dp_attention_seen(a, t->row + t->rows - 1);
  if (a->mask != DP_BOOL) return a->keys;
  // The last row of a causal mask sees most.
  for (int64_t i = t->rows - 1; i >= 0; i--) {
    int64_t key = a->keys;
    while (key > seen && dp_attention_tile_hides(a, &whole, mask, i, key - 1)) key--;
    seen = key;
  }
  return seen;
}

bool dp_attention_tile_ends(const dp_attention *a, const dp_attention_tile *t, const float *most) {
  static const float least = -88;  // whose exponential is 0 (backends/cpu/vector/exp.h)
  if (a->causal) return true;
  for (int64_t i = 0; i < t->rows; i++)
    if (!((float)a->masked - most[i] < least)) return false;
  return true;
}

void dp_attention_tile_keep(const dp_attention *a, const dp_attention_rows *rows, const dp_attention_tile *t,
                            const dp_random *random, int64_t row, float keep[DP_TILE_KEYS]) {
  // u >= ratio, where u is an integer times 2^-24
  const dp_attention_dropout dropout = {.seed = random->seed,
                                        .step = random->step,
                                        .name = random->name,
                                        .least = (int32_t)ceil(a->ratio * 0x1p24),
                                        .kept = (float)(1 / (1 - a->ratio))};
  const int64_t first = dp_attention_score_row(a, t->batch, t->head, t->row + row) * a->keys + t->key;
  for (int64_t done = 0; done < t->keys;) {
    int64_t index, run = dp_random_run(random->local, first + done, &index);
    run = dp_min_i64(run, t->keys - done);
    rows->keep(&dropout, (uint64_t)index, run, keep + done);
    done += run;
  }
}
