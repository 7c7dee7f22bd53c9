// dp_arena: bump allocation in growing chunks, freed all at once. Large blocks are allocated apart, so that an array
// which grows gives back what it outgrew. Failure unwinds to dp_arena_run (see base.h).
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/base.h"
#include "ir/base/machine.h"

enum { FIRST_CHUNK_BYTES = 16 << 10, LAST_CHUNK_BYTES = 4 << 20, LARGE_BYTES = 256 << 10, ALIGNMENT = 16 };
enum { FIRST_INNER_BYTES = 1 << 10 };  // arenas within others may be many and small

typedef struct chunk {
  struct chunk *next;
  size_t used_bytes, size_bytes;
  _Alignas(ALIGNMENT) unsigned char data[];
} chunk;

typedef struct large {
  struct large *next;
  size_t bytes;
  _Alignas(ALIGNMENT) unsigned char data[];
} large;

typedef struct adopted {
  struct adopted *next;
  void *block;
} adopted;

struct dp_arena {
  chunk *chunks;      // newest first
  large *larges;      // likewise
  adopted *adoptees;  // blocks from malloc; the list itself is in the chunks
  size_t cap_bytes, total_bytes, next_chunk_bytes;
  jmp_buf *unwind;
  dp_arena *outer;                  // NULL: none
  dp_arena *inner, *next, **place;  // the first arena within; the next one beside it; what points to this one
};

dp_arena *dp_arena_create(size_t cap_bytes) {
  dp_arena *arena = calloc(1, sizeof *arena);
  if (!arena) return NULL;
  arena->cap_bytes = cap_bytes;
  arena->next_chunk_bytes = FIRST_CHUNK_BYTES;
  return arena;
}

static _Noreturn void give_up(dp_arena *arena) {
  for (; arena; arena = arena->outer)
    if (arena->unwind) longjmp(*arena->unwind, 1);
  fprintf(stderr, "out of memory\n");
  fflush(stdout);
  _Exit(DP_EX_MEMORY);  // at once: other threads may use what handlers of `exit` destroy
}

static void count_bytes(dp_arena *arena, size_t more, size_t less) {
  for (; arena; arena = arena->outer) arena->total_bytes += more - less;
}

dp_arena *dp_arena_create_within(dp_arena *outer) {
  dp_arena *arena = dp_arena_create(0);
  if (!arena) give_up(outer);
  arena->next_chunk_bytes = FIRST_INNER_BYTES;
  arena->outer = outer;
  arena->next = outer->inner;
  arena->place = &outer->inner;
  if (arena->next) arena->next->place = &arena->next;
  outer->inner = arena;
  return arena;
}

static void leave_outer(dp_arena *arena) {
  count_bytes(arena->outer, 0, arena->total_bytes);
  *arena->place = arena->next;
  if (arena->next) arena->next->place = arena->place;
}

void dp_arena_destroy(dp_arena *arena) {
  if (!arena) return;
  while (arena->inner) dp_arena_destroy(arena->inner);
  if (arena->outer) leave_outer(arena);
  for (large *l = arena->larges, *next; l; l = next) {
    next = l->next;
    free(l);
  }
  for (adopted *a = arena->adoptees; a; a = a->next) free(a->block);
  for (chunk *c = arena->chunks, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  free(arena);
}

size_t dp_arena_bytes(const dp_arena *arena) { return arena->total_bytes; }

dp_status dp_arena_run(dp_arena *arena, dp_status (*fn)(void *arg), void *arg) {
  jmp_buf here, *outer = arena->unwind;
  if (setjmp(here)) {
    arena->unwind = outer;
    return dp_fail(DP_EX_MEMORY, "out of memory after %zu bytes%s", arena->total_bytes,
                   arena->cap_bytes ? " (the limit for an input of this size)" : "");
  }
  arena->unwind = &here;
  dp_status status = fn(arg);
  arena->unwind = outer;
  return status;
}

// Zeroed; NULL: there is no memory.
static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (memory) dp_machine_want_large_pages(memory, bytes);
  return memory;
}

// The most that may be allocated still.
static size_t bytes_left(const dp_arena *arena) {
  size_t left = SIZE_MAX;
  for (; arena; arena = arena->outer)
    if (arena->cap_bytes && arena->cap_bytes - arena->total_bytes < left) left = arena->cap_bytes - arena->total_bytes;
  return left;
}

static void *add_large(dp_arena *arena, size_t bytes) {
  large *l = bytes > bytes_left(arena) ? NULL : allocate(sizeof *l + bytes);
  if (!l) give_up(arena);
  l->bytes = bytes;
  l->next = arena->larges;
  arena->larges = l;
  count_bytes(arena, bytes, 0);
  return l->data;
}

static void free_large(dp_arena *arena, const void *data) {
  for (large **at = &arena->larges, *l; (l = *at); at = &l->next) {
    if (l->data != data) continue;
    *at = l->next;
    count_bytes(arena, 0, l->bytes);
    free(l);
    return;
  }
}

void dp_arena_discard(dp_arena *arena, void *data, size_t bytes) {
  const uintptr_t at = (uintptr_t)data;
  for (const large *l = arena->larges; l; l = l->next) {
    const uintptr_t first = (uintptr_t)l->data;
    if (at >= first && at - first <= l->bytes && bytes <= l->bytes - (at - first)) dp_machine_discard(data, bytes);
  }
}

static void add_chunk(dp_arena *arena, size_t bytes) {
  const size_t left = bytes_left(arena);
  size_t size = bytes > arena->next_chunk_bytes ? bytes : arena->next_chunk_bytes;
  if (bytes > left) give_up(arena);
  if (size > left) size = left;
  chunk *c = allocate(sizeof *c + size);
  if (!c) give_up(arena);
  c->size_bytes = size;
  c->next = arena->chunks;
  arena->chunks = c;
  count_bytes(arena, size, 0);
  if (arena->next_chunk_bytes < LAST_CHUNK_BYTES) arena->next_chunk_bytes *= 2;
}

// alignment: a power of two up to ALIGNMENT. Most blocks are small, and so are many of their elements.
static void *allocate_aligned(dp_arena *arena, size_t bytes, size_t alignment) {
  static const _Alignas(ALIGNMENT) unsigned char nothing[ALIGNMENT];
  if (!bytes) return (void *)nothing;
  if (bytes > SIZE_MAX / 4) give_up(arena);
  if (bytes >= LARGE_BYTES) return add_large(arena, bytes);
  chunk *c = arena->chunks;
  size_t begin = c ? dp_align_up(c->used_bytes, alignment) : 0;
  if (!c || c->size_bytes < begin + bytes) {
    add_chunk(arena, bytes);
    c = arena->chunks;
    begin = 0;
  }
  c->used_bytes = begin + bytes;
  return c->data + begin;
}

void *dp_alloc(dp_arena *arena, size_t bytes) { return allocate_aligned(arena, bytes, ALIGNMENT); }

void *dp_alloc_n(dp_arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) give_up(arena);
  const size_t lowest_bit = size & -size;  // a type's size is a multiple of its alignment
  return allocate_aligned(arena, bytes, size && lowest_bit < ALIGNMENT ? lowest_bit : ALIGNMENT);
}

void *dp_arena_adopt(dp_arena *arena, void *block) {
  adopted *a = dp_alloc(arena, sizeof *a);
  *a = (adopted){arena->adoptees, block};
  arena->adoptees = a;
  return block;
}

void *dp_memdup(dp_arena *arena, const void *data, size_t bytes) {
  void *copy = dp_alloc(arena, bytes);
  if (bytes) memcpy(copy, data, bytes);
  return copy;
}

char *dp_strndup(dp_arena *arena, const char *text, size_t length) {
  char *copy = dp_alloc_n(arena, length + 1, 1);
  memcpy(copy, text, length);
  return copy;
}

char *dp_strdup(dp_arena *arena, const char *text) { return dp_strndup(arena, text, strlen(text)); }

char *dp_printf(dp_arena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = dp_alloc_n(arena, length < 0 ? 1 : (size_t)length + 1, 1);
  if (length >= 0) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

void *dp_grow(dp_arena *arena, void *array, size_t count, size_t size) {
  if (!dp_is_full(count)) return array;
  void *larger = dp_alloc_n(arena, count ? 2 * count : 4, size);
  if (count) memcpy(larger, array, count * size);
  if (count * size >= LARGE_BYTES) free_large(arena, array);
  return larger;
}
