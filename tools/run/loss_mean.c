// See loss_mean.h.
#include "tools/run/loss_mean.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 24 };

static const char *name_of(char text[NAME_BYTES], const char *what, int term) {
  snprintf(text, NAME_BYTES, "%s/%d", what, term);
  return text;
}

dp_loss_mean dp_loss_mean_open(dp_arena *arena, dp_session *session, int program) {
  dp_loss_mean mean = {.session = session, .program = program};
  char name[NAME_BYTES];
  while (program >= 0 && dp_session_output(session, program, name_of(name, "term", mean.n_terms), NULL)) mean.n_terms++;
  mean.terms = dp_alloc_n(arena, (size_t)mean.n_terms + 1, sizeof *mean.terms);
  return mean;
}

void dp_loss_mean_reset(dp_loss_mean *mean) {
  memset(mean->terms, 0, ((size_t)mean->n_terms + 1) * sizeof *mean->terms);
}

static void add(dp_loss_mean *mean, int i, const char *loss, const char *over) {
  const double weight = dp_session_number(mean->session, mean->program, over);
  mean->terms[i].over += weight;
  if (weight > 0) mean->terms[i].sum += weight * dp_session_number(mean->session, mean->program, loss);
}

void dp_loss_mean_add(dp_loss_mean *mean) {
  char loss[NAME_BYTES], over[NAME_BYTES];
  if (!mean->n_terms) add(mean, 0, "loss", "count");
  for (int i = 0; i < mean->n_terms; i++) add(mean, i, name_of(loss, "term", i), name_of(over, "over", i));
}

bool dp_loss_mean_lacks_labels(const dp_loss_mean *mean) {
  for (int i = 0; i == 0 || i < mean->n_terms; i++)
    if (!(mean->terms[i].over > 0)) return true;
  return false;
}

double dp_loss_mean_value(const dp_loss_mean *mean) {
  double value = 0;
  for (int i = 0; i == 0 || i < mean->n_terms; i++) value += mean->terms[i].sum / mean->terms[i].over;
  return isnan(value) ? NAN : value;
}
