// One token drawn by its scores.
#ifndef DP_TOOLS_RUN_DRAW_H
#define DP_TOOLS_RUN_DRAW_H

#include "ir/base/base.h"

typedef struct {
  double temperature;  // the scores are divided by it; 0: the highest score wins
  int64_t top_k;       // only the tokens with the k highest scores are drawn; 0: all
  uint64_t seed;
} dp_dprun_drawing;

// A token and its score, a logit: -inf for one that is never drawn.
typedef struct {
  double score;
  int64_t token;
} dp_dprun_scored;

// Draws a token with the probabilities softmax(score / temperature) over the k highest. Of equal scores, the lower
// token counts as higher. What is drawn depends on scores, seed and `at`, the number of the draw from 0, alone. Sorts
// `scored` (n >= 1). EX_DATAERR: a score is NaN or inf, or all are -inf.
dp_status dp_dprun_draw(const dp_dprun_drawing *drawing, int64_t at, dp_dprun_scored *scored, int64_t n,
                        int64_t *token) DP_MUST_USE;

#endif
