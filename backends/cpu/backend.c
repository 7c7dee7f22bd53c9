// See backend.h.
#include "backends/cpu/backend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backends/cpu/target.h"

// Straight from the kernel: zeroed, and what a plan never touches costs nothing.
static void *allocate(uint64_t bytes, uint64_t alignment) {
  (void)alignment;  // pages are aligned to more than any kernel asks
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static void release(void *memory, uint64_t bytes) {
  if (memory) munmap(memory, bytes);
}

// oneDNN is not instrumented, so the thread sanitizer is told what each step reads and writes. A step in several parts is
// our own code, which it sees.
#if defined(__SANITIZE_THREAD__)
void __tsan_read_range(void *first, unsigned long bytes);
void __tsan_write_range(void *first, unsigned long bytes);

static dp_status announce(void *watch, const dp_range *ranges, int count, int parts) {
  (void)watch;
  for (int i = 0; i < count && parts == 1; i++)
    (ranges[i].written ? __tsan_write_range : __tsan_read_range)((void *)(uintptr_t)ranges[i].first, ranges[i].bytes);
  return DP_OK;
}
#define ENTER announce
#else
#define ENTER NULL
#endif

const dp_backend dp_backend_cpu = {
    .name = "cpu",
    .target = &dp_target_cpu,
    .computes = true,
    .allocate = allocate,
    .release = release,
    .enter = ENTER,
};
