// See draw.h.
#include "tools/run/draw.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/data/order.h"

static int by_score(const void *a, const void *b) {
  const dp_dprun_scored *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->token < y->token ? -1 : x->token > y->token;
}

// In [0, 1), with 53 random bits.
static double uniform(uint64_t seed, int64_t at) {
  uint32_t random[4];
  dp_order_random(seed, 0, dp_hash_name("dp.generate"), (uint64_t)at, random);
  return ((double)(random[0] >> 5) * 67108864 + (random[1] >> 6)) * 0x1p-53;
}

static dp_status check(const dp_dprun_scored *scored, int64_t n) {
  bool possible = false;
  for (int64_t i = 0; i < n; i++) {
    if (isnan(scored[i].score) || scored[i].score == INFINITY)
      return dp_fail(EX_DATAERR, "the model gives token %lld the score %g: nothing can be drawn",
                     (long long)scored[i].token, scored[i].score);
    possible |= scored[i].score > -INFINITY;
  }
  return possible ? DP_OK : dp_fail(EX_DATAERR, "the model gives every token the score -inf: nothing can be drawn");
}

dp_status dp_dprun_draw(const dp_dprun_drawing *drawing, int64_t at, dp_dprun_scored *scored, int64_t n,
                        int64_t *token) {
  DP_TRY(check(scored, n));
  qsort(scored, (size_t)n, sizeof *scored, by_score);
  *token = scored[0].token;
  if (drawing->temperature == 0) return DP_OK;
  if (drawing->top_k && drawing->top_k < n) n = drawing->top_k;
  const double highest = scored[0].score;
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    scored[i].score = exp((scored[i].score - highest) / drawing->temperature);
    sum += scored[i].score;
  }
  // Where rounding leaves a rest, the last token that is possible takes it.
  double rest = uniform(drawing->seed, at) * sum;
  for (int64_t i = 0; i < n && scored[i].score > 0 && rest >= 0; i++) {
    *token = scored[i].token;
    rest -= scored[i].score;
  }
  return DP_OK;
}
