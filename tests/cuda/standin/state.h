// What the files of the stand-in share. One lock protects all of it; standin_enter takes it.
#ifndef DP_TESTS_CUDA_STANDIN_STATE_H
#define DP_TESTS_CUDA_STANDIN_STATE_H

#include <stdbool.h>

#include "tests/cuda/standin/standin.h"

// The driver's calls, as the backend declares them: a definition of another type does not compile.
#define DP_DECLARE(name, parameters) DP_STANDIN_EXPORT CUresult name parameters;
DP_CUDA_DRIVER_CALLS(DP_DECLARE)
#undef DP_DECLARE

// Errors and options that the backend has no use for.
enum {
  STANDIN_NOT_INITIALIZED = 3,    // CUDA_ERROR_NOT_INITIALIZED
  STANDIN_INVALID_IMAGE = 200,    // CUDA_ERROR_INVALID_IMAGE
  STANDIN_INVALID_CONTEXT = 201,  // CUDA_ERROR_INVALID_CONTEXT
  STANDIN_NO_BINARY = 209,        // CUDA_ERROR_NO_BINARY_FOR_GPU
  STANDIN_INVALID_HANDLE = 400,   // CUDA_ERROR_INVALID_HANDLE
  STANDIN_NOT_SUPPORTED = 801,    // CUDA_ERROR_NOT_SUPPORTED
};

// ---- settings.c -----------------------------------------------------------------------------------------------------

typedef struct {
  uint64_t seed, fail_call, fail_error, memory_bytes, devices, driver, capability;
  const char *report, *trace;
  bool refused;  // one is not understood
} standin_settings;

extern standin_settings standin_set;

// ---- draw.c ---------------------------------------------------------------------------------------------------------

uint64_t standin_draw(uint64_t n);  // in [0, n)
void standin_shuffle(int *items, int n);

// How a seed treats streams.
typedef struct {
  int others;   // in 8: how often what nobody waits for runs too while somebody waits
  int eager;    // in 8: how often something runs at a call that enqueues
  bool ranked;  // streams have ranks: the runnable one of the highest goes first
} standin_habit;

extern standin_habit standin_habits;

// ---- call.c ---------------------------------------------------------------------------------------------------------

typedef enum { STANDIN_ANY, STANDIN_INITIALIZED, STANDIN_CONTEXT } standin_needs;

// Begins a call: takes the lock, counts, and returns what the call is to fail with. standin_leave must follow.
CUresult standin_enter(const char *name, standin_needs needs);
// Ends a call: gives the lock back. A sticky error that came up meanwhile goes before CUDA_SUCCESS.
CUresult standin_leave(CUresult result);
void standin_lock(void);
void standin_unlock(void);
void standin_stick(CUresult error);  // every call returns it from now on
CUresult standin_stuck(void);
void standin_say(const char *format, ...) __attribute__((format(printf, 1, 2)));  // a line on stderr

extern dp_standin_counts standin_counts;
extern bool standin_initialized;
extern _Thread_local bool standin_context_current;

// ---- memory.c -------------------------------------------------------------------------------------------------------

typedef enum { STANDIN_DEVICE, STANDIN_PINNED } standin_kind;

typedef struct {
  standin_kind kind;
  bool freed;
  char *map;  // guard, pages, guard
  size_t map_bytes;
  char *data;  // ends at the end of the pages, but for its alignment
  size_t bytes;
} standin_block;

// The block that this address lies in or just beside, or NULL.
const standin_block *standin_block_at(const void *address);
// Whether the device may access these bytes by a copy: CUDA_SUCCESS with *block set (NULL: pageable host memory), or
// what the copy is refused with.
CUresult standin_span(const void *address, size_t bytes, const standin_block **block);
void standin_open(void);   // device memory can be accessed...
void standin_close(void);  // ... and no longer

// ---- execute.c ------------------------------------------------------------------------------------------------------

// Runs work(context) as the device does. What it touches wrongly is said, and becomes the sticky error.
void standin_execute(void (*work)(void *context), void *context);
// Ends the operation that is running with an error, from inside it. Does not return.
_Noreturn void standin_abandon(CUresult error);
// Abandons the operation if this is memory that has been freed since it was enqueued. Faults inside memcpy confuse
// the thread sanitizer.
void standin_check(const void *address);

// ---- stream.c -------------------------------------------------------------------------------------------------------

// A point of a stream: done when all before it has run. Counted references.
typedef struct standin_marker {
  int references;
  bool done;
  double time_ns;
  CUstream stream;
  int64_t number;  // of the operation in its stream
} standin_marker;

extern double standin_host_ns;

bool standin_is_stream(CUstream stream);  // NULL is one
// Puts work on a stream; `after` (or NULL) is waited for. Every argument but the stream may be NULL or 0.
// what: for dp_standin_slices; it must last.
void standin_enqueue(CUstream stream, const char *what, void (*work)(void *context), void *context,
                     void (*release)(void *context), double duration_ns, standin_marker *after);
// Marks the end of a stream as it is now. The caller owns a reference.
standin_marker *standin_mark(CUstream stream);
void standin_unref(standin_marker *marker);      // NULL is allowed
void standin_run_until(standin_marker *marker);  // and moves the host's clock there
void standin_run_some(standin_marker *marker);   // at most one operation that `marker` needs
void standin_drain(CUstream stream);             // all of a stream
void standin_give_up(void);                      // drops all that is pending
void standin_rank_streams(void);                 // draws their ranks anew

#endif
