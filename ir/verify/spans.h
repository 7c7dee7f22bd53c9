// A map from bytes to what is known of them: disjoint spans in order of their bytes. Private to the checker.
//
// Spans are kept in chunks of bounded size, so any sequence of operations, however chosen, takes near linear time.
#ifndef DP_IR_VERIFY_SPANS_H
#define DP_IR_VERIFY_SPANS_H

#include "ir/base/base.h"
#include "ir/base/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint64_t begin, end;
  uint32_t content;                  // what is there whole; 0: nothing, or what is left of a span that was cut
  uint32_t writer;                   // the instruction that wrote it last, plus 1; 0: none
  uint32_t reads[DP_LIMIT_STREAMS];  // since then: position, from 1, of the last reader in each stream; 0: none
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
// Enters a span, which must not be empty. Others lose what they share with it: what is left of one that is cut keeps
// its writer and its readers and loses its content.
void dp_spans_put(dp_spans *spans, const dp_span *span);

#ifdef __cplusplus
}
#endif
#endif
