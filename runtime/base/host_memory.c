// The memory of the machine, which virtual devices share with the host; and addresses without any.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "ir/base/machine.h"
#include "runtime/base/backend.h"

int dp_backend_host_memory(dp_place place, uint64_t *bytes) {
  (void)place;
  *bytes = (uint64_t)dp_machine_memory();
  return 0;
}

void *dp_backend_reserve(dp_place place, uint64_t bytes, uint64_t alignment) {
  (void)place, (void)alignment;  // pages are aligned more than any plan needs
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

void dp_backend_unreserve(dp_place place, void *memory, uint64_t bytes) {
  (void)place;
  munmap(memory, bytes);
}
