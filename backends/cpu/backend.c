// See backend.h.
#include "backends/cpu/backend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/cpu/target.h"

// Mapped straight from the operating system: zeroed, and memory that a plan never touches costs nothing.
static void *allocate(dp_place place, uint64_t bytes, uint64_t alignment) {
  (void)place, (void)alignment;  // pages are aligned more than any kernel needs
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static void release(dp_place place, void *memory, uint64_t bytes) {
  (void)place;
  if (memory) munmap(memory, bytes);
}

// Counts whole pages, less the part of the last page that lies beyond the end.
static uint64_t resident(const void *memory, uint64_t bytes) {
  enum { PAGES = 4096 };
  const int64_t page = sysconf(_SC_PAGESIZE), all = (int64_t)bytes;
  unsigned char there[PAGES];
  int64_t found = 0;
  for (int64_t at = 0; at < all; at += PAGES * page) {
    int64_t length = dp_min_i64(all - at, PAGES * page);
    if (mincore((char *)(uintptr_t)memory + at, (size_t)length, there)) return bytes;
    for (int64_t i = 0; i * page < length; i++)
      if (there[i] & 1) found += dp_min_i64(page, length - i * page);
  }
  return (uint64_t)found;
}

// oneDNN is not instrumented, so tell ThreadSanitizer what each step reads and writes. A step in several parts is our
// own code, which it sees.
#if defined(__SANITIZE_THREAD__)
void __tsan_read_range(void *first, unsigned long bytes);
void __tsan_write_range(void *first, unsigned long bytes);

static dp_status announce(void *detector, const dp_range *ranges, int count, int parts) {
  (void)detector;
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
    .resident = resident,
    .memory = dp_backend_host_memory,
    .enter = ENTER,
};
