// The rules that hold everywhere, stated once. Other headers state only what departs from them.
//
// Errors. A function that can fail for a reason outside our control returns dp_status; NULL is success. The function
// that first detects a fault words the message for the person who made the model, the plan or the data: where, what was
// expected, what was found, what to do. Callers propagate it with DP_TRY and may prefix a line of context. Outputs come
// last and are set only on success. Exit codes are those of <sysexits.h> plus DP_EX_PEER_LOST.
//
// Memory. The compiler allocates from one dp_arena per compilation and frees it once. dp_alloc never returns NULL: when
// memory or the arena's cap is exhausted, it unwinds to dp_arena_run, which returns a status with DP_EX_MEMORY. Callers
// keep ownership of the pointers they pass in; what a function returns lives in the arena it was given.
//
// Threads. Nothing here locks. An object may be used by one thread at a time; const objects by many.
#ifndef DP_IR_BASE_BASE_H
#define DP_IR_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sysexits.h>

#ifdef __cplusplus
extern "C" {
#endif

// Exit codes that <sysexits.h> lacks or names after something else.
enum {
  DP_EX_MEMORY = 71,     // out of memory (EX_OSERR)
  DP_EX_PEER_LOST = 76,  // a peer process was lost (EX_PROTOCOL)
};

typedef struct dp_error dp_error;
typedef dp_error *dp_status;  // NULL: success. Owned by whoever holds it; dp_status_free.

#define DP_OK ((dp_status)0)
#define DP_MUST_USE __attribute__((warn_unused_result))
#define DP_PRINTF(format_index, args_index) __attribute__((format(printf, format_index, args_index)))

// Returns from the calling function when `expr` is a failure.
#define DP_TRY(expr)                 \
  do {                               \
    dp_status dp_try_s_ = (expr);    \
    if (dp_try_s_) return dp_try_s_; \
  } while (0)

// A new failure with an exit code (EX_DATAERR, EX_USAGE ...) and a message. Never returns NULL.
dp_status dp_fail(int exit_code, const char *format, ...) DP_PRINTF(2, 3) DP_MUST_USE;
// Puts "context: " (formatted) before the message of a failure; NULL stays NULL.
dp_status dp_status_context(dp_status status, const char *format, ...) DP_PRINTF(2, 3) DP_MUST_USE;
int dp_status_code(dp_status status);             // exit code; 0 for NULL
const char *dp_status_message(dp_status status);  // "" for NULL; lives as long as the status
void dp_status_free(dp_status status);            // NULL is allowed

// ---- arena ----------------------------------------------------------------------------------------------------------

typedef struct dp_arena dp_arena;

// cap_bytes: the most it will hold; 0 for no cap. Returns NULL when there is no memory for the arena itself.
dp_arena *dp_arena_create(size_t cap_bytes);
// An arena whose memory goes back earlier, by dp_arena_destroy, or else with `outer`. Its bytes count in those of
// `outer`, and what does not fit unwinds as an allocation in `outer` does. Both are one object to threads.
dp_arena *dp_arena_create_within(dp_arena *outer);
void dp_arena_destroy(dp_arena *arena);  // NULL is allowed
size_t dp_arena_bytes(const dp_arena *arena);
// Gives the system back the pages of a large block, or of a part of one, that nobody reads or writes any more. The
// block counts in dp_arena_bytes as before. Memory that is not in a large block of this arena stays.
void dp_arena_discard(dp_arena *arena, void *data, size_t bytes);

// Runs fn(arg). When an allocation in `arena` fails meanwhile, unwinds to here and returns a failure with DP_EX_MEMORY.
// Calls may nest: the innermost catches. Without a surrounding run, a failing allocation ends the process with exit
// code 71.
dp_status dp_arena_run(dp_arena *arena, dp_status (*fn)(void *arg), void *arg) DP_MUST_USE;

// Zeroed memory, aligned to 16 bytes.
void *dp_alloc(dp_arena *arena, size_t bytes);
// Elements of a size, aligned as a type of that size may need. Overflow counts as out of memory.
void *dp_alloc_n(dp_arena *arena, size_t count, size_t size);
void *dp_memdup(dp_arena *arena, const void *data, size_t bytes);
// Makes the arena own a block from malloc: it is freed with the arena. Returns the block.
void *dp_arena_adopt(dp_arena *arena, void *block);
char *dp_strdup(dp_arena *arena, const char *text);
char *dp_strndup(dp_arena *arena, const char *text, size_t length);
char *dp_printf(dp_arena *arena, const char *format, ...) DP_PRINTF(2, 3);

// Whether a growing array has no room for one more element. The capacity follows from the count: powers of two, at
// least 4.
static inline bool dp_is_full(size_t count) { return count == 0 || (count >= 4 && (count & (count - 1)) == 0); }
// The array, with room for one more element. It may move; what was there before is then not to be used.
void *dp_grow(dp_arena *arena, void *array, size_t count, size_t size);
// Appends `item` to `array`, which has `count` elements, and increments the count.
#define DP_PUSH(arena, array, count, item)                                                                  \
  do {                                                                                                      \
    if (dp_is_full((size_t)(count))) (array) = dp_grow((arena), (array), (size_t)(count), sizeof *(array)); \
    (array)[(count)++] = (item);                                                                            \
  } while (0)

// ---- small things ---------------------------------------------------------------------------------------------------

#define DP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline int64_t dp_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dp_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline uint64_t dp_align_up(uint64_t x, uint64_t alignment) {
  return (x + alignment - 1) / alignment * alignment;
}

// Whether two texts are equal. Faster than strcmp where most have the same address or differ in the first letter.
static inline bool dp_is_same(const char *a, const char *b) { return a == b || (*a == *b && !strcmp(a, b)); }

uint64_t dp_hash64(const void *data, size_t bytes);  // XXH3, 64 bits
// The same with a seed that each process draws for itself, for tables alone: nobody can make up names or shapes that
// all come to one place. What is written or printed must not depend on it.
uint64_t dp_hash_table(const void *data, size_t bytes);
uint32_t dp_hash_name(const char *name);  // low 32 bits of XXH3_64 of the name: a counter word of philox.h

#ifdef __cplusplus
}
#endif
#endif
