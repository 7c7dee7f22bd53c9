// Preloaded into a program: counts what its own code allocates, and lets one of these allocations fail. What libraries
// that are linked as shared objects allocate is not counted: how they fail is theirs.
//
//   STARVE_LOG=FILE   receives, at the end, how many allocations there were
//   STARVE_AT=N       the N-th of them fails, counted from 1; none: none does
//   STARVE_REST=1     so do all after it, those of libraries excepted
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static uintptr_t first, end;  // of the program's code; 0: not known yet
static long at;
static bool rest;
static atomic_long count;

static int find_program(struct dl_phdr_info *info, size_t bytes, void *context) {
  (void)bytes, (void)context;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    first = info->dlpi_addr + part->p_vaddr;
    end = first + part->p_memsz;
  }
  return 1;  // the program is listed first
}

__attribute__((constructor)) static void begin(void) {
  const char *number = getenv("STARVE_AT");
  at = number ? atol(number) : 0;
  rest = getenv("STARVE_REST") != NULL;
  dl_iterate_phdr(find_program, NULL);
}

__attribute__((destructor)) static void write_log(void) {
  char text[32];
  const char *path = getenv("STARVE_LOG");
  const int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
  const int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&count));
  if (fd < 0 || write(fd, text, (size_t)length) != length) return;
  close(fd);
}

static bool fails(const void *caller) {
  if ((uintptr_t)caller < first || (uintptr_t)caller >= end) return false;
  const long number = atomic_fetch_add(&count, 1) + 1;
  if (!at || number < at || (number > at && !rest)) return false;
  errno = ENOMEM;
  return true;
}

#define FAILS fails(__builtin_return_address(0))
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *malloc(size_t bytes) { return FAILS ? NULL : __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) { return FAILS ? NULL : __libc_calloc(n, bytes); }
void *realloc(void *block, size_t bytes) { return FAILS ? NULL : __libc_realloc(block, bytes); }
void *memalign(size_t alignment, size_t bytes) { return FAILS ? NULL : __libc_memalign(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return FAILS ? NULL : __libc_memalign(alignment, bytes); }

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  void *memory = FAILS ? NULL : __libc_memalign(alignment, bytes);
  if (memory) *block = memory;
  return memory ? 0 : ENOMEM;
}

char *strndup(const char *text, size_t most) {
  const size_t length = strnlen(text, most);
  char *copy = FAILS ? NULL : __libc_malloc(length + 1);
  if (copy) memcpy(copy, text, length), copy[length] = 0;
  return copy;
}

char *strdup(const char *text) {
  const size_t bytes = strlen(text) + 1;
  char *copy = FAILS ? NULL : __libc_malloc(bytes);
  return copy ? memcpy(copy, text, bytes) : NULL;
}

FILE *open_memstream(char **text, size_t *bytes) { return FAILS ? NULL : REAL(open_memstream)(text, bytes); }

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return FAILS ? MAP_FAILED : REAL(mmap)(address, bytes, protection, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context) {
  return FAILS ? EAGAIN : REAL(pthread_create)(thread, attributes, run, context);
}
