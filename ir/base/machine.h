// How much of this machine a process may use: what a container, a batch system or taskset leaves to it, which may be
// far less than the machine has.
#ifndef DP_IR_BASE_MACHINE_H
#define DP_IR_BASE_MACHINE_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Processors that the calling thread may run on (sched_setaffinity, cpusets), at most as many as the quota of its
// control groups pays for, rounded up. At least 1. Control groups are read once in a process. Thread-safe.
int64_t dp_machine_cores(void);
// Bytes of physical memory, at most as many as its control groups may have. Thread-safe.
int64_t dp_machine_memory(void);

// Asks the system for large pages in memory that is going to be touched for the first time, as far as whole ones lie in
// it. On small ones that takes longer than what is done with the memory. Thread-safe.
enum { DP_LARGE_PAGE = 2 << 20 };  // bytes
void dp_machine_want_large_pages(void *memory, size_t bytes);
// Gives the system back the whole pages in memory that nobody reads any more. Who touches them again finds zeros or
// what was there. Thread-safe.
void dp_machine_discard(void *memory, size_t bytes);

// What control groups allow, of either version and of all groups above them (cgroups(7)); INT64_MAX: they set no limit.
typedef struct {
  int64_t cores, memory_bytes;
} dp_machine_limits;

// root: the folder that holds proc/self/cgroup and sys/fs/cgroup, "" for the system's own.
dp_machine_limits dp_machine_limits_of(const char *root);

#ifdef __cplusplus
}
#endif
#endif
