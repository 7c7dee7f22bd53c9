// See table.h.
#include "backends/cpu/onednn/table.h"

#include <string.h>

#include "backends/cpu/onednn/isa.h"

dp_status dp_isa_table(const dp_kernel_spec *spec, const void *avx2, const void *avx512, void **state) {
  const char *isa = dp_isa_hold_default();
  if (!isa) return dp_fail(EX_UNAVAILABLE, "this machine has neither AVX2 nor AVX-512, which %s needs", spec->op->name);
  *state = (void *)(uintptr_t)(strcmp(isa, "avx512") ? avx2 : avx512);
  return DP_OK;
}
