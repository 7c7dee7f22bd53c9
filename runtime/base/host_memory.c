// The memory of the machine, which virtual devices share with the host.
#include <unistd.h>

#include "runtime/base/backend.h"

int dp_backend_host_memory(dp_place place, uint64_t *bytes) {
  (void)place;
  *bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  return 0;
}
