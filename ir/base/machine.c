// See machine.h.
//
// A process finds its groups in /proc/self/cgroup, one of each hierarchy, as paths from the hierarchy's root. A
// container may show paths that do not exist inside of it, where its own group is the root. So every folder on the way
// up counts, and those that are missing do not.
#define _GNU_SOURCE
#include "ir/base/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ---- control groups -------------------------------------------------------------------------------------------------

// Reads up to two numbers of a file. Returns how many there are; "max" is none.
static int read_numbers(const char *folder, const char *name, int64_t *first, int64_t *second) {
  char path[PATH_MAX];
  int written = snprintf(path, sizeof path, "%s/%s", folder, name), count = 0;
  FILE *file = written < (int)sizeof path ? fopen(path, "re") : NULL;
  if (!file) return 0;
  count = fscanf(file, "%" SCNd64 " %" SCNd64, first, second);
  fclose(file);
  return count < 0 ? 0 : count;
}

static int64_t cores_for(int64_t quota_us, int64_t period_us) {
  return quota_us > 0 && period_us > 0 ? quota_us / period_us + (quota_us % period_us > 0) : INT64_MAX;
}

typedef void take_limits(const char *folder, dp_machine_limits *limits);

static void take_version_2(const char *folder, dp_machine_limits *limits) {
  int64_t quota_us, period_us, bytes, none;
  if (read_numbers(folder, "cpu.max", &quota_us, &period_us) == 2)
    limits->cores = dp_min_i64(limits->cores, cores_for(quota_us, period_us));
  if (read_numbers(folder, "memory.max", &bytes, &none) && bytes > 0)
    limits->memory_bytes = dp_min_i64(limits->memory_bytes, bytes);
}

static void take_cpu(const char *folder, dp_machine_limits *limits) {
  int64_t quota_us, period_us, none;
  if (read_numbers(folder, "cpu.cfs_quota_us", &quota_us, &none) &&
      read_numbers(folder, "cpu.cfs_period_us", &period_us, &none))
    limits->cores = dp_min_i64(limits->cores, cores_for(quota_us, period_us));
}

static void take_memory(const char *folder, dp_machine_limits *limits) {
  int64_t bytes, none;
  if (read_numbers(folder, "memory.limit_in_bytes", &bytes, &none) && bytes > 0)
    limits->memory_bytes = dp_min_i64(limits->memory_bytes, bytes);
}

// Where hierarchies are mounted, and the controller by which a process's group in them is found; "" is version 2.
static const struct {
  const char *mount, *controller;
  take_limits *take;
} hierarchies[] = {{"", "", take_version_2},
                   {"/unified", "", take_version_2},
                   {"/cpu", "cpu", take_cpu},
                   {"/memory", "memory", take_memory}};

static void take_all(const char *mount, char *group, take_limits *take, dp_machine_limits *limits) {
  char folder[PATH_MAX];
  for (;;) {
    if (snprintf(folder, sizeof folder, "%s%s", mount, group) < (int)sizeof folder) take(folder, limits);
    char *last = strrchr(group, '/');
    if (!last) return;
    *last = '\0';
  }
}

// Whether a list of names with commas has the name; the empty list has "".
static bool has_controller(const char *list, size_t length, const char *name) {
  const size_t wanted = strlen(name);
  for (const char *at = list; at <= list + length;) {
    const char *comma = memchr(at, ',', (size_t)(list + length - at)), *end = comma ? comma : list + length;
    if ((size_t)(end - at) == wanted && !memcmp(at, name, wanted)) return true;
    at = end + 1;
  }
  return false;
}

// line: "4:memory:/group", or "0::/group" of version 2.
static void take_line(const char *root, const char *line, dp_machine_limits *limits) {
  const char *list = strchr(line, ':'), *path = list ? strchr(++list, ':') : NULL;
  if (!path) return;
  for (size_t h = 0; h < sizeof hierarchies / sizeof *hierarchies; h++) {
    char mount[PATH_MAX], group[PATH_MAX];
    if (!has_controller(list, (size_t)(path - list), hierarchies[h].controller)) continue;
    int a = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, hierarchies[h].mount),
        b = snprintf(group, sizeof group, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
    if (a < (int)sizeof mount && b < (int)sizeof group) take_all(mount, group, hierarchies[h].take, limits);
  }
}

dp_machine_limits dp_machine_limits_of(const char *root) {
  dp_machine_limits limits = {INT64_MAX, INT64_MAX};
  char path[PATH_MAX], line[PATH_MAX + 256];
  int written = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = written < (int)sizeof path ? fopen(path, "re") : NULL;
  if (!file) return limits;
  while (fgets(line, sizeof line, file)) take_line(root, line, &limits);
  fclose(file);
  return limits;
}

static dp_machine_limits own;

static void read_own(void) { own = dp_machine_limits_of(""); }

// Those of this process, read once.
static const dp_machine_limits *own_limits(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_own);
  return &own;
}

// ---- the machine ----------------------------------------------------------------------------------------------------

// Processors of the affinity mask, which has room for more than the machine may have; 0: the system does not say.
static int64_t affinity(void) {
  enum { MOST = 1 << 16 };
  unsigned long mask[MOST / CHAR_BIT / sizeof(unsigned long)];
  memset(mask, 0, sizeof mask);
  if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)mask)) return 0;
  return CPU_COUNT_S(sizeof mask, (cpu_set_t *)mask);
}

int64_t dp_machine_cores(void) {
  int64_t cores = affinity();
  if (!cores) cores = sysconf(_SC_NPROCESSORS_ONLN);
  return dp_max_i64(1, dp_min_i64(cores, own_limits()->cores));
}

int64_t dp_machine_memory(void) {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const int64_t all = pages > 0 && page > 0 ? pages * page : INT64_MAX;
  return dp_min_i64(all, own_limits()->memory_bytes);
}

void dp_machine_want_large_pages(void *memory, size_t bytes) {
  const uintptr_t first = dp_align_up((uintptr_t)memory, DP_LARGE_PAGE),
                  end = ((uintptr_t)memory + bytes) & ~(uintptr_t)(DP_LARGE_PAGE - 1);
  if (first < end) madvise((void *)first, end - first, MADV_HUGEPAGE);  // refused by systems without them
}

void dp_machine_discard(void *memory, size_t bytes) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = dp_align_up((uintptr_t)memory, page),
                  end = ((uintptr_t)memory + bytes) & ~(page - 1);
  if (first < end) madvise((void *)first, end - first, MADV_DONTNEED);
}
