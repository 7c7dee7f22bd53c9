// The instruction sets for oneDNN. See isa.h.
#include "backends/cpu/onednn/isa.h"

#include <string.h>

#include "dnnl.h"

static bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

static bool has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const char *dp_isa_of_machine(void) { return has_avx512() ? "avx512" : has_avx2() ? "avx2" : NULL; }

dp_status dp_isa_hold(const char *isa) {
  bool avx512 = !strcmp(isa, "avx512");
  if (!avx512 && strcmp(isa, "avx2"))
    return dp_fail(EX_USAGE, "there is no instruction set '%s' here; avx2 and avx512 are known", isa);
  if (avx512 ? !has_avx512() : !has_avx2())
    return dp_fail(EX_UNAVAILABLE, "this machine lacks %s; compile the plan again with --isa=%s", isa,
                   has_avx2() ? "avx2" : "avx2 on a machine that has it");
  dnnl_cpu_isa_t wanted = avx512 ? dnnl_cpu_isa_avx512_core : dnnl_cpu_isa_avx2;
  // oneDNN takes a limit only before its first use.
  if (dnnl_set_max_cpu_isa(wanted) != dnnl_success && dnnl_get_effective_cpu_isa() != wanted)
    return dp_fail(EX_CONFIG, "kernels were chosen for another instruction set than %s in this process already", isa);
  return DP_OK;
}
