// What the runtime needs from a backend: devices with memory, kernels, and either nothing more, because kernels run at
// once on the threads that call them, or queues, because the devices work by themselves.
//
// Nothing but the backend touches a device's bytes, unless they are the host's.
#ifndef DP_RUNTIME_BASE_BACKEND_H
#define DP_RUNTIME_BASE_BACKEND_H

#include <stdio.h>

#include "ir/kernel/calibration.h"
#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// A range of bytes that a step reads or writes.
typedef struct {
  const char *first;
  uint64_t bytes;
  bool written;
} dp_range;

// Whether the two have bytes in common, which one of them writes.
static inline bool dp_range_conflicts(const dp_range *a, const dp_range *b) {
  return (a->written || b->written) && a->first < b->first + b->bytes && b->first < a->first + a->bytes;
}

// Where memory is: on a device of the plan, or on the host, where every device reaches it.
typedef struct {
  bool host;
  int device;  // of the plan; not used on the host
} dp_place;

struct dp_transfer;  // runtime/comm/transfer.h
typedef struct dp_event dp_event;
typedef struct dp_captured dp_captured;

// Queues of the devices. Calls return at once unless they say otherwise; what a device cannot do shows when it is
// waited for. One thread at a time may call them.
typedef struct {
  // A queue of the device, in which steps are done in order. urgent: it goes before queues that are not, as
  // communication that others wait for should. EX_UNAVAILABLE.
  dp_status (*create)(int device, bool urgent, dp_queue **queue);
  void (*destroy)(dp_queue *queue);
  // An event of the device; timed: it notes when it occurs. EX_UNAVAILABLE.
  dp_status (*event_create)(int device, bool timed, dp_event **event);
  void (*event_destroy)(dp_event *event);
  // The event occurs when all that the queue holds now is done.
  dp_status (*signal)(dp_queue *queue, dp_event *event);
  // The time between two timed events that have occurred. EX_UNAVAILABLE.
  dp_status (*elapsed)(dp_event *begin, dp_event *end, double *ns);
  // What the queue gets from now on is done after the event.
  dp_status (*wait)(dp_queue *queue, dp_event *event);
  // Made at load: whatever makes the transfer between these devices (in rank order) fast. *state is released with the
  // program.
  dp_status (*transfer_prepare)(const int *devices, int n_devices, const struct dp_transfer *transfer, void **state);
  void (*transfer_release)(void *state);
  // Whether every device takes part in the transfer on a queue of its own, for itself. NULL: none does.
  bool (*transfer_spreads)(const void *state);
  // queues: of each of the devices. If the transfer spreads, each device begins and ends its part on its own queue.
  // Otherwise it begins when the first queue comes to it, and is over when that one is through; others may do parts of
  // it in between: nothing that they got later begins before it is over.
  dp_status (*transfer_enqueue)(dp_queue *const *queues, void *state, int slot);
  // Called when kernels and transfers of a program have been prepared: loads what they share.
  dp_status (*ready)(void);
  // What kernels and transfers that this thread has prepared since the last call have chosen, such as engines of
  // libraries; for people. "": nothing. It stays valid until the thread's next call.
  const char *(*chosen)(void);
  // What is enqueued from now on belongs to this instruction, a number of the caller's. Errors name it.
  void (*begin)(dp_queue *queue, int instruction);
  // What this queue gets from now on, and queues that wait for events signalled in the capture, is not done but noted,
  // until capture_end, which comes in any case; before it, every such queue has been waited for by this one. NULL: the
  // backend does not capture. EX_UNAVAILABLE.
  dp_status (*capture_begin)(dp_queue *queue);
  // *captured: what was noted, in the order that the queues and events gave; NULL after a failure.
  dp_status (*capture_end)(dp_queue *queue, dp_captured **captured);
  // The queue does what was captured; any number of times, one after the other.
  dp_status (*replay)(dp_queue *queue, dp_captured *captured);
  void (*capture_release)(dp_captured *captured);  // no replay of it is under way
  // Blocks until the event has occurred as signalled last. EX_UNAVAILABLE: the device has failed.
  dp_status (*await)(dp_event *event);
  // Which instruction has told that it cannot take its data, as far as the host knows; -1: none. It stays so until
  // finish tells the same in words. Does not block.
  int (*reported)(dp_queue *queue);
  // Blocks until the queue is empty. EX_DATAERR: an operator cannot take the data; *instruction: which one, or -1.
  // EX_UNAVAILABLE: the device has failed.
  dp_status (*finish)(dp_queue *queue, int *instruction);
} dp_queue_calls;

typedef struct dp_backend {
  const char *name;          // "cpu"
  const dp_target *target;   // its kernels, by the names that plans use
  bool computes;             // false: kernels, copies and reductions are skipped
  bool describes_transfers;  // whether transfers are described though nothing computes, for who reads them
  // A plan that names this kernel has been read: begins what the plan will need, on other threads, and returns at once.
  // May be called again. What fails shows where it is needed, and what is not needed after all does not. NULL: nothing
  // is slow to begin with.
  void (*expect)(const dp_kernel *kernel);
  // A session of a plan for so many devices begins, or ends: decides where each of them is. Between the two, the calls
  // below take devices up to that number. EX_CONFIG, EX_UNAVAILABLE. NULL: there is nothing to decide.
  dp_status (*attach)(int n_devices);
  void (*detach)(void);
  // What this thread prepares from now on is for that device of the plan. Returns the number of the physical device, as
  // `chip` does. NULL: all devices are alike.
  int (*use)(int device);
  // Which physical device that device of the plan is on: kernels of two devices share what is prepared, and their
  // events one clock, if these numbers are equal. NULL: all are on one.
  int (*chip)(int device);
  // What kernels prepare from now on takes the choices of a plan; NULL: libraries choose by themselves. It must live as
  // long as what is prepared meanwhile. EX_CONFIG: it was measured on another device, or with other libraries. NULL:
  // there is nothing to choose.
  dp_status (*calibrate)(const dp_calibration *calibration);
  // What that physical device is called in traces: "GPU 1"; it stays valid until the thread's next call. NULL: devices
  // of the plan are all there is.
  const char *(*chip_name)(int device);
  // Ends what `expect` and the preparation of kernels have begun on other threads: a process must not end while a
  // library is at work, since its own destructors run then. NULL: there is nothing.
  void (*settle)(void);
  // Zeroed memory; NULL when out of memory. The host's is such that devices read and write it quickly.
  void *(*allocate)(dp_place place, uint64_t bytes, uint64_t alignment);
  // Why this thread's last `allocate` gave NULL; the caller has the status then. DP_OK, or NULL: there was no room.
  dp_status (*refusal)(void);
  void (*release)(dp_place place, void *memory, uint64_t bytes);
  // How many bytes of a block occupy physical memory now; NULL: all of them.
  uint64_t (*resident)(const void *memory, uint64_t bytes);
  // Which memory a place is in, numbered from 0, below DP_BACKEND_MEMORIES, and how many bytes it has. Several devices
  // may share one.
  int (*memory)(dp_place place, uint64_t *bytes);
  // What that memory is called; it stays valid until the thread's next call. NULL: this machine's.
  const char *(*memory_name)(int memory);
  // Prints where the devices of the attached session are, for people. NULL: there is nothing to say.
  void (*describe)(FILE *out);
  // Copies between the host and a device; returns when done. NULL: device memory is the host's, which uses it directly.
  dp_status (*upload)(int device, void *to, const void *from, uint64_t bytes);
  dp_status (*download)(int device, void *to, const void *from, uint64_t bytes);
  const dp_queue_calls *queues;  // NULL: kernels run at once
  // Called around every part of every step, by the worker that runs it; NULL: nothing to call. `detector` comes from
  // detector_create, one for each session. All parts of a step pass the same `ranges`.
  void *(*detector_create)(void);
  void (*detector_destroy)(void *detector);
  dp_status (*enter)(void *detector, const dp_range *ranges, int count, int part, int parts);
  void (*leave)(void *detector, const dp_range *ranges, int count);
} dp_backend;

enum { DP_BACKEND_MEMORIES = 65 };

// The memory of this machine, as memory number 0 of the host.
int dp_backend_host_memory(dp_place place, uint64_t *bytes);

// `allocate` and `release` of backends whose devices' memory is only addresses: none is taken until it is touched.
void *dp_backend_reserve(dp_place place, uint64_t bytes, uint64_t alignment);
void dp_backend_unreserve(dp_place place, void *memory, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
