// Mutates protobuf messages and keeps them well-formed: changes, drops, repeats or replaces a field, and corrects the
// lengths of all that contain it. Without this, nearly every input would end at its first wrong length.
//
// libFuzzer calls LLVMFuzzerCustomMutator instead of its own mutations; every fourth time those are used anyway.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t max_bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max_bytes, unsigned seed);

enum { MAX_FIELDS = 4096, MAX_DEPTH = 12 };

// A field: its tag at `begin`, its content in [content, end).
typedef struct {
  size_t begin, content, end;
  int holder;  // the field that contains it; -1: none
  int wire;
} field;

typedef struct {
  const uint8_t *data;
  field fields[MAX_FIELDS];
  int count;
} walk;

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static int read_varint(const uint8_t *data, size_t *at, size_t end, uint64_t *number) {
  *number = 0;
  for (int shift = 0; shift < 64 && *at < end; shift += 7) {
    uint8_t byte = data[(*at)++];
    *number |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return 1;
  }
  return 0;
}

// Collects the fields of [at, end); returns 0, and no fields, if it is not a message.
static int visit(walk *w, size_t at, size_t end, int holder, int depth) {
  int first = w->count;
  while (at < end && w->count < MAX_FIELDS) {
    field f = {.begin = at, .holder = holder};
    uint64_t tag, length = 0;
    int good = read_varint(w->data, &at, end, &tag) && tag >> 3;
    f.wire = (int)(tag & 7);
    f.content = at;
    if (f.wire == 0) good = good && read_varint(w->data, &at, end, &length);
    if (f.wire == 1) at += 8;
    if (f.wire == 5) at += 4;
    if (f.wire == 2) {
      good = good && read_varint(w->data, &at, end, &length) && length <= end - at;
      f.content = at;
      if (good) at += length;
    }
    if (!good || at > end || f.wire == 3 || f.wire == 4 || f.wire > 5) {
      w->count = first;
      return 0;
    }
    f.end = at;
    w->fields[w->count++] = f;
    if (f.wire == 2 && depth < MAX_DEPTH) visit(w, f.content, f.end, w->count - 1, depth + 1);
  }
  return 1;
}

static size_t put_varint(uint8_t *at, uint64_t number) {
  size_t n = 0;
  for (; number > 127; number >>= 7) at[n++] = (uint8_t)(number | 128);
  at[n++] = (uint8_t)number;
  return n;
}

// Replaces [begin, end) of data and corrects the lengths of `holder` and all that contain it. 0: it does not fit.
static size_t splice(uint8_t *data, size_t bytes, size_t max_bytes, const walk *w, int holder, size_t begin, size_t end,
                     const uint8_t *with, size_t with_bytes) {
  while (holder >= 0) {
    // The whole content of the holder is what gets replaced, preceded by its length.
    const field *h = &w->fields[holder];
    size_t content = (begin - h->content) + with_bytes + (h->end - end);
    uint8_t *whole = malloc(content + 10);
    if (!whole) return 0;
    size_t n = put_varint(whole, content);
    memcpy(whole + n, data + h->content, begin - h->content);
    memcpy(whole + n + (begin - h->content), with, with_bytes);
    memcpy(whole + n + (begin - h->content) + with_bytes, data + end, h->end - end);
    size_t tag = h->begin;
    uint64_t number;
    if (!read_varint(data, &tag, bytes, &number)) {
      free(whole);
      return 0;
    }
    size_t result = splice(data, bytes, max_bytes, w, h->holder, tag, h->end, whole, n + content);
    free(whole);
    return result;
  }
  size_t total = begin + with_bytes + (bytes - end);
  if (total > max_bytes) return 0;
  memmove(data + begin + with_bytes, data + end, bytes - end);
  memcpy(data + begin, with, with_bytes);
  return total;
}

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   18,
                                   28,
                                   255,
                                   1u << 16,
                                   INT32_MAX,
                                   1ull << 31,
                                   1ull << 32,
                                   INT64_MAX,
                                   1ull << 63,
                                   UINT64_MAX,
                                   UINT64_MAX - 1,
                                   UINT64_MAX - 6,
                                   1ull << 40,
                                   4194305};

// Writes a changed copy of f to `out`, with tag and length. Returns its bytes.
static size_t change(const uint8_t *data, const field *f, uint8_t *out, size_t room, uint32_t *state) {
  size_t tag = f->begin;
  uint64_t number;
  read_varint(data, &tag, f->end, &number);
  memcpy(out, data + f->begin, tag - f->begin);
  size_t n = tag - f->begin, length = f->end - f->content;
  if (f->wire == 0)
    return n + put_varint(out + n, next(state) % 3 ? numbers[next(state) % (sizeof numbers / 8)] : next(state) % 40);
  if (length + 64 > room) return 0;
  uint8_t *content = malloc(length + 64);
  if (!content) return 0;
  memcpy(content, data + f->content, length);
  size_t changed = LLVMFuzzerMutate(content, length, f->wire == 2 ? length + 64 : length);
  if (f->wire == 2) n += put_varint(out + n, changed);
  if (f->wire != 2) changed = length;
  memcpy(out + n, content, changed);
  free(content);
  return n + changed;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max_bytes, unsigned seed) {
  static walk w;
  static uint8_t out[1 << 16];
  uint32_t state = seed;
  w.data = data;
  w.count = 0;
  visit(&w, 0, bytes, -1, 0);
  if (!w.count || next(&state) % 4 == 0) return LLVMFuzzerMutate(data, bytes, max_bytes);
  const field *f = &w.fields[next(&state) % (unsigned)w.count], *g = &w.fields[next(&state) % (unsigned)w.count];
  size_t result = 0, n;
  switch (next(&state) % 6) {
    case 0:  // dropped
      result = splice(data, bytes, max_bytes, &w, f->holder, f->begin, f->end, out, 0);
      break;
    case 1:  // repeated
      if ((n = f->end - f->begin) > sizeof out) break;
      memcpy(out, data + f->begin, n);
      result = splice(data, bytes, max_bytes, &w, f->holder, f->end, f->end, out, n);
      break;
    case 2:  // replaced by another
      if ((n = g->end - g->begin) > sizeof out) break;
      memcpy(out, data + g->begin, n);
      result = splice(data, bytes, max_bytes, &w, f->holder, f->begin, f->end, out, n);
      break;
    default:
      n = change(data, f, out, sizeof out - 16, &state);
      if (n) result = splice(data, bytes, max_bytes, &w, f->holder, f->begin, f->end, out, n);
  }
  return result ? result : LLVMFuzzerMutate(data, bytes, max_bytes);
}
