// What the files of the stand-in share. One lock protects all of it; standin_enter takes it.
#ifndef DP_TESTS_CUDA_STANDIN_STATE_H
#define DP_TESTS_CUDA_STANDIN_STATE_H

#include <stdbool.h>
#include <stddef.h>

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
  STANDIN_ILLEGAL_STATE = 401,    // CUDA_ERROR_ILLEGAL_STATE
  STANDIN_NOT_SUPPORTED = 801,    // CUDA_ERROR_NOT_SUPPORTED
};

enum { STANDIN_MOST_DEVICES = 8 };

// ---- settings.c -----------------------------------------------------------------------------------------------------

typedef struct {
  uint64_t seed, fail_call, fail_error, memory_bytes, devices, driver;
  uint64_t capability[STANDIN_MOST_DEVICES];
  bool peers[STANDIN_MOST_DEVICES][STANDIN_MOST_DEVICES];  // can access each other
  const char *report, *trace;
  int stall_device;  // -1: nothing stalls
  int64_t stall_number;
  char stall_what[64];
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

// STANDIN_UNCAPTURED: the call may not be made while streams are captured, as the mode of their capture has it.
typedef enum { STANDIN_ANY, STANDIN_INITIALIZED, STANDIN_CONTEXT, STANDIN_UNCAPTURED } standin_needs;

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
extern _Thread_local int standin_current;  // the device of the current context; -1: there is none

// ---- device.c -------------------------------------------------------------------------------------------------------

// Whether what runs on a device can access another one's memory.
bool standin_reaches(int device, int other);
void standin_forget_peers(void);                // what contexts have enabled
int standin_context_device(CUcontext context);  // -1: it is no context that is retained

// ---- memory.c -------------------------------------------------------------------------------------------------------

typedef enum { STANDIN_DEVICE, STANDIN_PINNED } standin_kind;

typedef struct {
  standin_kind kind;
  int device;  // in whose context it was allocated
  bool freed;
  char *map;  // guard, pages, guard
  size_t map_bytes;
  char *data;  // ends at the end of the pages, but for its alignment
  size_t bytes;
  bool open;                // to the operation that runs
  ptrdiff_t opened_before;  // the block that was opened before it, by number; -1: none
} standin_block;

// The block that this address lies in or just beside, or NULL.
const standin_block *standin_block_at(const void *address);
// Whether the device may access these bytes by a copy: CUDA_SUCCESS with *block set (NULL: pageable host memory), or
// what the copy is refused with.
CUresult standin_span(const void *address, size_t bytes, const standin_block **block);
void standin_open(uint64_t devices);  // memory of these devices can be accessed, a bit for each...
void standin_close(void);             // ... and no longer
// Called when an operation touches what it cannot access. Whether it can now, since this is memory of the device.
bool standin_open_block(const void *address);

// ---- execute.c ------------------------------------------------------------------------------------------------------

// Runs work(context) as a device does. What it touches wrongly is said, and becomes the sticky error. everywhere: it
// reaches all devices.
void standin_execute(int device, bool everywhere, void (*work)(void *context), void *context);
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
  int64_t number;         // of the operation in its stream
  dp_standin_gate *gate;  // NULL; or it is the gate's, and of no stream
} standin_marker;

extern double standin_host_ns;

bool standin_is_stream(CUstream stream);  // NULL is one
bool standin_is_blocking(CUstream stream);
int standin_device_of(CUstream stream);
// The operation that a stream gets next reaches all devices.
void standin_call_everywhere(const char *what);
bool standin_called_everywhere(void);
// Puts work on a stream, or makes a node of it if the stream is captured. On an error the caller keeps the context.
CUresult standin_enqueue(CUstream stream, void (*work)(void *context), void *context, void (*release)(void *context),
                         double duration_ns);
// Puts work on a stream that is not captured, and does nothing else; `after` (or NULL) is waited for. Every argument
// but the stream may be NULL or 0.
void standin_append(CUstream stream, void (*work)(void *context), void *context, void (*release)(void *context),
                    double duration_ns, standin_marker *after);
// What the next operation of a stream is called, for dp_standin_slices; it must last.
void standin_call(const char *what);
const char *standin_called(void);
// Makes a stream that is not captured wait for a marker.
void standin_wait(CUstream stream, standin_marker *marker);
// A stream of the stand-in's own, which goes when it is empty. Slices tell it as the other one.
CUstream standin_detached(CUstream shown);
void standin_run_eagerly(void);  // what the seed runs at a call that enqueues
// Marks the end of a stream as it is now. The caller owns a reference.
standin_marker *standin_mark(CUstream stream);
void standin_unref(standin_marker *marker);      // NULL is allowed
void standin_run_until(standin_marker *marker);  // and moves the host's clock there
void standin_run_some(standin_marker *marker);   // some of what `marker` needs, a few tens of operations
void standin_drain(CUstream stream);             // all of a stream
void standin_give_up(void);                      // drops all that is pending
void standin_rank_streams(void);                 // draws their ranks anew
void standin_stream_halt(CUstream stream);

// ---- gate.c ---------------------------------------------------------------------------------------------------------

bool standin_gate_is_open(const dp_standin_gate *gate, double *time_ns);
// Whether the setting has it that an operation never ends; counts those that it may mean.
bool standin_stalls(int device, const char *what);
int standin_gate_arrivals(const dp_standin_gate *gate, standin_marker *const **arrived);

// ---- capture.c ------------------------------------------------------------------------------------------------------

// Nodes of a captured graph, by number.
typedef struct {
  int n;
  int *nodes;
} standin_points;
void standin_points_clear(standin_points *set);

// Where in a capture an event was recorded.
typedef struct {
  int64_t capture;  // 0: in none
  standin_points after;
} standin_captured_at;

bool standin_captured(CUstream stream);
// Adds a node, as standin_enqueue adds an operation.
CUresult standin_capture_add(CUstream stream, void (*work)(void *context), void *context,
                             void (*release)(void *context), double duration_ns);
// Records where the captured stream is, and makes a stream wait for that.
CUresult standin_capture_record(CUstream stream, standin_captured_at *at);
CUresult standin_capture_wait(CUstream stream, const standin_captured_at *at);
// What asking such an event is refused with; its capture is invalid from now on.
CUresult standin_capture_touch(const standin_captured_at *at);
// Something is refused that makes the stream's capture invalid, or every capture, if there is one; returns the error.
CUresult standin_capture_refuse(CUstream stream, CUresult error);
CUresult standin_capture_refuse_all(CUresult error);
// What a call is refused with that this thread may not make during its captures; and one that uses the stream, if that
// is the default stream, which would wait for captured ones.
CUresult standin_capture_unsafe(void);
CUresult standin_capture_implicit(CUstream stream);
void standin_capture_forget(CUstream stream);  // it is destroyed
void standin_capture_reset(void);

#endif
