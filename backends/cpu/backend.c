// See backend.h.
#include "backends/cpu/backend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/cpu/onednn/sgemm_code.h"
#include "backends/cpu/target.h"
#include "ir/base/machine.h"
#include "ir/base/tsan.h"

// A mapping whose first byte is aligned to a large page. No page reaches beyond its end.
static char *map_aligned(uint64_t bytes) {
  const int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (!bytes || bytes > UINT64_MAX - 2 * DP_LARGE_PAGE) return MAP_FAILED;
  char *whole = mmap(NULL, bytes + DP_LARGE_PAGE, protection, flags, -1, 0);
  if (whole == MAP_FAILED) return whole;
  char *memory = (char *)dp_align_up((uintptr_t)whole, DP_LARGE_PAGE);
  const uint64_t before = (uint64_t)(memory - whole), held = dp_align_up(bytes, (uint64_t)sysconf(_SC_PAGESIZE));
  if (before) munmap(whole, before);
  munmap(memory + held, bytes + DP_LARGE_PAGE - before - held);
  return memory;
}

// Mapped straight from the operating system: zeroed, and memory that a plan never touches costs nothing but the rest of
// a page. Pages are large where the system has such, since a first step would spend much of its time on small ones.
static void *allocate(dp_place place, uint64_t bytes, uint64_t alignment) {
  (void)place, (void)alignment;  // pages are aligned more than any kernel needs
  char *memory = map_aligned(bytes);
  if (memory == MAP_FAILED) return NULL;
  dp_machine_want_large_pages(memory, bytes);
  return memory;
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
// own code, which it sees; under --config=tsanlong it does not, and parts are told of as well. Which bytes a part uses
// is not known here: each says it of its share of every range, so that all of them together have said it of the whole,
// and the rest of what the step does is left out. What a step both reads and writes is only written, or its parts would
// seem to race.
#if defined(__SANITIZE_THREAD__)
#if !defined(DP_STEPS_UNSEEN)
#define DP_STEPS_UNSEEN 0
#endif
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static bool written_too(const dp_range *ranges, int count, const dp_range *read) {
  for (int i = 0; i < count; i++)
    if (dp_range_conflicts(&ranges[i], read)) return true;
  return false;
}

static dp_status enter(void *detector, const dp_range *ranges, int count, int part, int parts) {
  (void)detector;
  const uint64_t p = (uint64_t)part, all = (uint64_t)parts;
  for (int i = 0; i < count && (parts == 1 || DP_STEPS_UNSEEN); i++) {
    const uint64_t from = ranges[i].bytes * p / all, to = ranges[i].bytes * (p + 1) / all;
    void *first = (void *)(uintptr_t)(ranges[i].first + from);
    if (ranges[i].written)
      dp_tsan_write(first, to - from);
    else if (!written_too(ranges, count, &ranges[i]))
      dp_tsan_read(first, to - from);
  }
  if (DP_STEPS_UNSEEN) {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  return DP_OK;
}

static void leave(void *detector, const dp_range *ranges, int count) {
  (void)detector, (void)ranges, (void)count;
  if (!DP_STEPS_UNSEEN) return;
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#define ENTER enter
#define LEAVE leave
#else
#define ENTER NULL
#define LEAVE NULL
#endif

static void expect(const dp_kernel *kernel) {
  if (kernel->expect) kernel->expect();
}

const dp_backend dp_backend_cpu = {
    .name = "cpu",
    .target = &dp_target_cpu,
    .computes = true,
    .expect = expect,
    .settle = dp_sgemm_code_settle,
    .allocate = allocate,
    .release = release,
    .resident = resident,
    .memory = dp_backend_host_memory,
    .enter = ENTER,
    .leave = LEAVE,
};
