// The mean loss over several batches.
//
// A loss may be a sum of means. Each batch's mean weighs as much as what it divides by, the number of its labels or
// their total weight, so that the mean over all batches is that of one large batch.
#ifndef DP_TOOLS_RUN_LOSS_MEAN_H
#define DP_TOOLS_RUN_LOSS_MEAN_H

#include "runtime/session.h"

typedef struct {
  double sum, over;
} dp_loss_mean_term;

typedef struct {
  dp_session *session;
  int program;
  int n_terms;  // that the program gives; 0: one, its loss over its count of labels
  dp_loss_mean_term *terms;
} dp_loss_mean;

// Of a program that gives losses (docs/plan.md); program < 0: of none. Begins with no batch. Lives in the arena.
dp_loss_mean dp_loss_mean_open(dp_arena *arena, dp_session *session, int program);
void dp_loss_mean_reset(dp_loss_mean *mean);
// Adds the results of the program's run that ended last. A mean over no labels does not count.
void dp_loss_mean_add(dp_loss_mean *mean);
// Whether a term had no labels in any batch, because all were to be ignored or weigh nothing.
bool dp_loss_mean_lacks_labels(const dp_loss_mean *mean);
// NaN if a term had no labels in any batch. NaN has no sign here, which processors set as they like.
double dp_loss_mean_value(const dp_loss_mean *mean);

#endif
