// Disjoint spans of bytes in order. See spans.h.
#include "ir/verify/spans.h"

#include <string.h>

enum { CHUNK = 64 };

typedef struct chunk {
  struct chunk *next_free;
  int count;  // at least 1 while it is in use
  dp_span spans[CHUNK];
} chunk;

struct dp_spans {
  dp_arena *arena;
  size_t count;
  chunk **chunks;
  chunk *free;
};

dp_spans *dp_spans_create(dp_arena *arena) {
  dp_spans *spans = dp_alloc(arena, sizeof *spans);
  spans->arena = arena;
  return spans;
}

dp_span_at dp_spans_find(const dp_spans *spans, uint64_t byte) {
  size_t low = 0, high = spans->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const chunk *c = spans->chunks[middle];
    if (c->spans[c->count - 1].end > byte)
      high = middle;
    else
      low = middle + 1;
  }
  dp_span_at at = {low, 0};
  if (low == spans->count) return at;
  const chunk *c = spans->chunks[low];
  int first = 0, end = c->count;
  while (first < end) {
    int middle = (first + end) / 2;
    if (c->spans[middle].end > byte)
      end = middle;
    else
      first = middle + 1;
  }
  at.index = first;
  return at;
}

dp_span *dp_spans_get(const dp_spans *spans, dp_span_at at) {
  return at.chunk < spans->count ? &spans->chunks[at.chunk]->spans[at.index] : NULL;
}

dp_span_at dp_spans_next(const dp_spans *spans, dp_span_at at) {
  if (++at.index == spans->chunks[at.chunk]->count) at = (dp_span_at){at.chunk + 1, 0};
  return at;
}

// ---- changing -------------------------------------------------------------------------------------------------------

static void insert_chunk(dp_spans *spans, size_t index, chunk *c) {
  spans->chunks = dp_grow(spans->arena, spans->chunks, spans->count, sizeof(chunk *));
  memmove(&spans->chunks[index + 1], &spans->chunks[index], (spans->count - index) * sizeof(chunk *));
  spans->chunks[index] = c;
  spans->count++;
}

static chunk *new_chunk(dp_spans *spans) {
  chunk *c = spans->free;
  if (!c) return dp_alloc(spans->arena, sizeof *c);
  spans->free = c->next_free;
  c->count = 0;
  return c;
}

// Inserts before the span at `at`; returns where the new span is.
static dp_span_at insert(dp_spans *spans, dp_span_at at, const dp_span *span) {
  if (at.chunk == spans->count) {
    if (!spans->count || spans->chunks[spans->count - 1]->count == CHUNK)
      insert_chunk(spans, spans->count, new_chunk(spans));
    at.chunk = spans->count - 1;
    at.index = spans->chunks[at.chunk]->count;
  }
  chunk *c = spans->chunks[at.chunk];
  if (c->count == CHUNK) {
    chunk *right = new_chunk(spans);
    right->count = CHUNK / 2;
    c->count = CHUNK - CHUNK / 2;
    memcpy(right->spans, &c->spans[c->count], (size_t)right->count * sizeof(dp_span));
    insert_chunk(spans, at.chunk + 1, right);
    if (at.index > c->count) {
      at.chunk++;
      at.index -= c->count;
      c = right;
    }
  }
  memmove(&c->spans[at.index + 1], &c->spans[at.index], (size_t)(c->count - at.index) * sizeof(dp_span));
  c->spans[at.index] = *span;
  c->count++;
  return at;
}

// Returns where the next span is.
static dp_span_at erase(dp_spans *spans, dp_span_at at) {
  chunk *c = spans->chunks[at.chunk];
  c->count--;
  memmove(&c->spans[at.index], &c->spans[at.index + 1], (size_t)(c->count - at.index) * sizeof(dp_span));
  if (!c->count) {
    spans->count--;
    memmove(&spans->chunks[at.chunk], &spans->chunks[at.chunk + 1], (spans->count - at.chunk) * sizeof(chunk *));
    c->next_free = spans->free;
    spans->free = c;
    return (dp_span_at){at.chunk, 0};
  }
  return at.index < c->count ? at : (dp_span_at){at.chunk + 1, 0};
}

void dp_spans_put(dp_spans *spans, const dp_span *span) {
  dp_span_at at = dp_spans_find(spans, span->begin);
  dp_span *s = dp_spans_get(spans, at);
  if (s && s->begin < span->begin) {
    dp_span right = *s;
    s->end = span->begin;
    s->content = 0;
    at = dp_spans_next(spans, at);
    if (right.end > span->end) {
      right.begin = span->end;
      right.content = 0;
      at = insert(spans, at, &right);
    }
  }
  while ((s = dp_spans_get(spans, at)) && s->begin < span->end) {
    if (s->end > span->end) {
      s->begin = span->end;
      s->content = 0;
      break;
    }
    at = erase(spans, at);
  }
  insert(spans, at, span);
}
