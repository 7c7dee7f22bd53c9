// The stand-in of CUDA's driver: a libcuda.so.1 without a GPU, for tests. This header has what it offers beyond the
// driver's own calls: to tests, which steer it, and to the stand-ins of libraries (cuBLASLt, cuDNN, NVRTC), which work
// on its streams.
//
// Time. What is enqueued runs when somebody must wait for it: cuStreamSynchronize, cuEventSynchronize, cuEventQuery,
// cuCtxSynchronize, and copies to the host. Then the heads of the streams are picked in an order drawn from the seed,
// and nothing holds an operation back but the stream's order and the events that it waits for. Seed 0 runs what is
// waited for and nothing else. Other seeds may also run more than that, or run operations as soon as they are enqueued,
// or prefer some streams over others. So a missing wait gives wrong results under some seed, and equal seeds and calls
// give the same order.
//
// What runs on streams runs on the thread that waits, one operation at a time, under one lock. A virtual clock tells
// what would have run at the same time on a GPU: a stream's operation begins when the one before it, the events it
// waits for, and the host's call are through. The host's own clock moves by 1 us a call and by what it waits for.
//
// Memory. Device memory is 0xff when it is allocated, is reserved for good when it is freed, and can be accessed by
// operations alone. The host that touches it ends with a message, as long as no operation runs on another thread at
// that moment. An operation that touches what is freed or was never allocated gives CUDA_ERROR_ILLEGAL_ADDRESS, for
// good, and a message. Copies follow the driver's documentation: pageable host memory is read when a copy from it is
// enqueued (which then is late like others), and a copy to it waits. cuMemsetD8 does not wait. cuMemFree does not wait
// either, though the driver's may: memory that is in use is not to be freed. Not seen: a function that touches
// pageable memory.
//
// Several devices. Streams, events, modules, handles of libraries and device memory belong to the context that was
// current when they were made. What the programming guide says of calls with another current context holds: a launch
// into a stream of another device fails, and so does recording an event there, and the time between events of two
// devices; waiting and asking do not. Where it says nothing, the call is refused. An operation reaches its own device's
// memory and that of devices whose access its context has enabled; another one's is an illegal address.
// cuMemcpyPeerAsync alone reaches any two.
//
// Functions run thread by thread, or, where the threads of a block work together (DP_BLOCK_KERNEL), as fibers that are
// switched at barriers. Blocks, and threads between barriers, run in an order drawn from the seed. DP_SHARED is 0xff
// when a block begins. A barrier that some threads of a block reach in another line of the text than others fails, and
// so does what a warp does together. More than 48 KiB of DP_SHARED, or 4,096 bytes of arguments, do not load; more
// threads than a DP_BOUNDED_KERNEL is for are refused. Not seen: how many registers a function takes, and shared memory
// that a warp's threads pass on without a barrier.
//
// Capture. What a captured stream gets becomes a node of a graph; waiting for an event that was recorded in the capture
// makes a stream part of it. A node that is launched waits for the nodes before it, and for nothing else. Arguments are
// those of the capture, memory is that of the launch. What makes a capture invalid, or a stream that is not joined, is
// refused as the driver's documentation has it: waiting for a captured stream or event, for the device, allocating, or
// using pageable memory.
//
// Settings, read from the environment when the library is loaded:
//   DP_STANDIN_SEED=N        the seed; 0
//   DP_STANDIN_CODE=FOLDER   where NVRTC's keeps what it has compiled (kept.h); nowhere
//   DP_STANDIN_FAIL=K:E      call number K (from 1) returns error E; calls that release do release
//   DP_STANDIN_MEMORY=BYTES  of each device; 2 GiB
//   DP_STANDIN_DEVICES=N     0 to 8; 1
//   DP_STANDIN_PEERS=PAIRS   which devices can access each other's memory: all, none, or like 0-1,2-3; all
//   DP_STANDIN_DRIVER=N      the driver's version; 13000
//   DP_STANDIN_CAPABILITY=N  compute capability; 90. 90,80: of each device, the last one of the rest
//   DP_STANDIN_NAME=TEXT     the devices' name
//   DP_STANDIN_BLASLT=N      cuBLASLt's version; 130100
//   DP_STANDIN_CUDNN=N       cuDNN's version; 91900
//   DP_STANDIN_NCCL=N        NCCL's version; 22809. It has memory windows whatever the version
//   DP_STANDIN_NCCL_CALL=K   call number K of NCCL fails, not counting ncclCommGetAsyncError
//   DP_STANDIN_NCCL_FAIL=D:N   the group call of NCCL number N (from 1) that device D takes part in fails at once;
//   DP_STANDIN_NCCL_LATE=D:N   it fails while it is under way, and device D's communicator tells of it;
//   DP_STANDIN_NCCL_STALL=D:N  the stream of device D stands still before it
//   DP_STANDIN_STALL=D:W:N   on device D the stream stands still before operation number N (from 1) whose name, as
//                            slices have it, contains W
//   DP_STANDIN_REPORT=FILE   where dp_standin_report writes when the process ends
//   DP_STANDIN_TRACE=FILE    a line for each call: its number and name
//   DP_STANDIN_LATE_MS=N     how long NVRTC, cuBLASLt and cuDNN each take to load; 0
#ifndef DP_TESTS_CUDA_STANDIN_STANDIN_H
#define DP_TESTS_CUDA_STANDIN_STANDIN_H

#include <stdint.h>
#include <stdio.h>

#include "backends/cuda/api/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DP_STANDIN_EXPORT __attribute__((visibility("default")))

// ---- for tests ------------------------------------------------------------------------------------------------------

// What is not released yet, and what has been done. Bytes as the program asked for them.
typedef struct {
  int64_t calls;       // of the driver and of the libraries
  int64_t operations;  // that ran on streams
  int64_t pending;     // that did not run yet
  int64_t device_allocations, device_bytes;
  int64_t host_allocations, host_bytes;
  int64_t streams, events, modules, contexts;
  int64_t graphs;   // and executable ones
  int64_t handles;  // of libraries: dp_standin_handles
} dp_standin_counts;

DP_STANDIN_EXPORT dp_standin_counts dp_standin_count(void);

typedef struct {
  size_t bytes;  // as the program asked for them
  int pinned;    // on the host; 0: on the device
  int freed;
  int device;  // of whose context
} dp_standin_allocation;

// Copies what is known of the first `room` allocations since the library was loaded, in their order. Returns how many
// there were.
DP_STANDIN_EXPORT size_t dp_standin_allocations(dp_standin_allocation *to, size_t room);
// Writes the counts, a line "name value" each, and the clock. Returns how many things are not released.
DP_STANDIN_EXPORT int64_t dp_standin_report(FILE *file);
// Starts the order anew from a seed. Operations that are pending stay so.
DP_STANDIN_EXPORT void dp_standin_seed(uint64_t seed);
// The call with this number (from 1; see dp_standin_counts.calls) returns `error`. 0: none.
DP_STANDIN_EXPORT void dp_standin_fail(int64_t call, int error);
// How many devices there are, and which access each other's memory, as in DP_STANDIN_PEERS; forgets what contexts have
// enabled.
DP_STANDIN_EXPORT void dp_standin_devices(int devices, const char *peers);
// Each device's memory, for allocations to come.
DP_STANDIN_EXPORT void dp_standin_memory(size_t bytes);
// The host's clock, in ns.
DP_STANDIN_EXPORT double dp_standin_clock(void);
// The device takes so many times as long for everything.
DP_STANDIN_EXPORT void dp_standin_slow(double factor);
// What ran on a stream, or in a graph that was captured from it, on the virtual clock. what: "upload" and "download"
// (copies from and to the host), "copy", "peer copy", "fill", "library", "nccl" and what it does, or the name of a
// function.
typedef struct {
  const char *what;
  const void *stream;
  int device;
  double begin_ns, end_ns;
} dp_standin_slice;
// Records what runs from now on, until the slices are asked for. They last until the next recording.
DP_STANDIN_EXPORT void dp_standin_record(void);
DP_STANDIN_EXPORT int64_t dp_standin_slices(const dp_standin_slice **slices);
// Between tests of one process: forgets a sticky error, the failure asked for, and what is pending; calls count from 0.
DP_STANDIN_EXPORT void dp_standin_reset(void);

// ---- for the stand-ins of libraries ---------------------------------------------------------------------------------

// Puts work(context) on a stream (NULL: the default stream). It runs once, as late as other operations, or each time
// that a graph is launched that was captured from the stream; it may access device memory, must not make calls of CUDA,
// and takes `duration_ns` on the virtual clock. Its stack has 1 MiB. It must hold nothing that an illegal address would
// leave behind, since it is left at once then. `release` (NULL: nothing to do) gets the context afterwards, whether the
// work ran or was given up, or when the graph goes. On an error neither is called, and the caller keeps the context.
DP_STANDIN_EXPORT CUresult dp_standin_enqueue(CUstream stream, void (*work)(void *context), void *context,
                                              void (*release)(void *context), double duration_ns);
// The same; what: what slices call it, which must last. dp_standin_enqueue has them call it "library".
DP_STANDIN_EXPORT CUresult dp_standin_enqueue_as(const char *what, CUstream stream, void (*work)(void *context),
                                                 void *context, void (*release)(void *context), double duration_ns);
// Streams that wait for each other, as the ranks of a collective do: a gate is open when all streams that arrive at it
// have done what they held when they did. First all streams arrive, then they wait: what a stream gets from then on
// runs when the gate is open. Freed when nothing waits any more.
typedef struct dp_standin_gate dp_standin_gate;
DP_STANDIN_EXPORT dp_standin_gate *dp_standin_gate_make(void);
DP_STANDIN_EXPORT void dp_standin_gate_free(dp_standin_gate *gate);
DP_STANDIN_EXPORT CUresult dp_standin_gate_arrive(dp_standin_gate *gate, CUstream stream);
DP_STANDIN_EXPORT CUresult dp_standin_gate_wait(dp_standin_gate *gate, CUstream stream);
DP_STANDIN_EXPORT void dp_standin_gate_shut(dp_standin_gate *gate);  // it stays shut, whoever arrives...
DP_STANDIN_EXPORT void dp_standin_gate_open(dp_standin_gate *gate);  // ... until this opens it
// The stream stands still before what it got last, if it still holds that, as behind a function that never ends. What
// it gets from now on does not run either. Whoever waits for it ends the process with a message; asking whether an
// event has occurred still answers.
DP_STANDIN_EXPORT void dp_standin_halt(CUstream stream);
// Each call of a library begins with this: it counts, and returns the error that the call is told to fail with, or the
// sticky error, or CUDA_SUCCESS. A call that releases something does so in any case.
DP_STANDIN_EXPORT CUresult dp_standin_call(const char *name);
// The device of the calling thread's context, and of a stream; -1: there is none.
DP_STANDIN_EXPORT int dp_standin_device(void);
DP_STANDIN_EXPORT int dp_standin_device_of(CUstream stream);
// A library's version from the setting `name`, else `otherwise`: 130100 is 13.1.0. property: libraryPropertyType.
// False: there is no such property.
DP_STANDIN_EXPORT int dp_standin_version(const char *name, int otherwise, int property, int *value);
// Adds to the count of handles that the library has given out: 1, or -1 when one is destroyed.
DP_STANDIN_EXPORT void dp_standin_handles(int change);

#ifdef __cplusplus
}
#endif
#endif
