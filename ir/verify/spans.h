// A map from bytes to what is known of them: disjoint spans in order of their bytes. Private to the checker.
//
// Kept in chunks of a bounded number of spans, so that any sequence of operations takes near linear time, whoever chose
// it.
#ifndef DP_IR_VERIFY_SPANS_H
#define DP_IR_VERIFY_SPANS_H

#include "ir/base/base.h"
#include "ir/base/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint64_t begin, end;
  uint32_t content;                  // what is there whole; 0: nothing, or the rest of what was cut
  uint32_t writer;                   // the instruction that wrote it last, plus 1; 0: none
  uint32_t reads[DP_LIMIT_STREAMS];  // since then: of each stream the place, from 1, of the last that reads; 0: none
} dp_span;

typedef struct dp_spans dp_spans;

// Where a span is; valid until the next put.
typedef struct {
  size_t chunk;
  int index;
} dp_span_at;

dp_spans *dp_spans_create(dp_arena *arena);
// The first span that ends after `byte`; dp_spans_get gives NULL for it when there is none.
dp_span_at dp_spans_find(const dp_spans *spans, uint64_t byte);
dp_span *dp_spans_get(const dp_spans *spans, dp_span_at at);
dp_span_at dp_spans_next(const dp_spans *spans, dp_span_at at);
// Enters a span, not empty; others lose what they have in common with it. What is left of one that is cut keeps its
// writer and reads but has no content.
void dp_spans_put(dp_spans *spans, const dp_span *span);

#ifdef __cplusplus
}
#endif
#endif
