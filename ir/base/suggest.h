// "Did you mean ...?": the known word nearest to a mistyped one.
#ifndef DP_IR_BASE_SUGGEST_H
#define DP_IR_BASE_SUGGEST_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *word;  // what was typed
  const char *best;  // the nearest candidate so far; NULL: none is near
  size_t distance;
} dp_suggest;

static inline dp_suggest dp_suggest_begin(const char *word) { return (dp_suggest){word, NULL, 0}; }
// Considers a candidate, which must outlive the suggestion. Near means that at most a third of the word's letters are
// wrong; a difference in case does not count. A word of up to three letters is not near to one with another first
// letter or another digit.
void dp_suggest_offer(dp_suggest *suggest, const char *candidate);
// "; did you mean 'Relu'?", or "" when nothing is near. Returns `text`.
char *dp_suggest_print(const dp_suggest *suggest, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
