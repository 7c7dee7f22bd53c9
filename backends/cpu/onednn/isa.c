// The instruction sets that oneDNN may use. See isa.h.
#include "backends/cpu/onednn/isa.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dnnl.h"

static const char *most_allowed(void) {
  const char *most = getenv("ONEDNN_MAX_CPU_ISA");
  return most ? most : getenv("DNNL_MAX_CPU_ISA");
}

// Whether the user allows the ISA through oneDNN's own variable, which dnnl_set_max_cpu_isa would override. Like
// oneDNN, it ignores unknown values.
static bool allows(bool avx512) {
  const char *most = most_allowed();
  if (!most) return true;
  const bool none = !strcasecmp(most, "SSE41") || !strcasecmp(most, "AVX"), avx2 = !strncasecmp(most, "AVX2", 4);
  return !none && !(avx512 && avx2);
}

static bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && allows(false); }

static bool has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && allows(true);
}

// These values allow AVX-512 without its instructions for bfloat16.
static bool allows_bf16(void) {
  static const char *const less[] = {"AVX512_MIC", "AVX512_MIC_4OPS", "AVX512_CORE", "AVX512_CORE_VNNI"};
  const char *most = most_allowed();
  for (size_t i = 0; most && i < sizeof less / sizeof *less; i++)
    if (!strcasecmp(most, less[i])) return false;
  return true;
}

bool dp_isa_allows_bf16(const char *isa) {
  return (!isa || !strcmp(isa, DP_ISA_BF16)) && has_avx512() && __builtin_cpu_supports("avx512bf16") && allows_bf16();
}

const char *dp_isa_of_machine(void) { return has_avx512() ? "avx512" : has_avx2() ? "avx2" : NULL; }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const char *) held;  // written with the lock held

// Without instructions for bfloat16 oneDNN has other kernels for it, and the same for float32.
static dnnl_cpu_isa_t most_of(bool avx512) {
  if (!avx512) return dnnl_cpu_isa_avx2;
  return dp_isa_allows_bf16(NULL) ? dnnl_cpu_isa_avx512_core_bf16 : dnnl_cpu_isa_avx512_core;
}

// oneDNN accepts a limit only before its first use, and dp_isa_hold_default comes before that.
static dp_status hold(const char *isa) {
  bool avx512 = !strcmp(isa, "avx512");
  if (held && strcmp(held, isa))
    return dp_fail(EX_CONFIG,
                   "this process already runs kernels for %s, so it cannot run a plan for %s: start another process",
                   held, isa);
  if (!held && dnnl_set_max_cpu_isa(most_of(avx512)) != dnnl_success)
    return dp_fail(EX_SOFTWARE, "oneDNN was used before its instruction set was chosen");
  held = avx512 ? "avx512" : "avx2";
  return DP_OK;
}

dp_status dp_isa_hold(const char *isa) {
  const bool bf16 = !strcmp(isa, DP_ISA_BF16);
  if (bf16 && has_avx512() && !dp_isa_allows_bf16(isa))
    return dp_fail(EX_UNAVAILABLE, "this machine lacks %s: compile the plan for it (dpc compile MODEL --isa=avx512)",
                   isa);
  const char *of_library = bf16 ? "avx512" : isa;
  bool avx512 = !strcmp(of_library, "avx512");
  if (!avx512 && strcmp(isa, "avx2"))
    return dp_fail(EX_DATAERR, "the instruction set '%s' is unknown; this program knows avx2, avx512 and " DP_ISA_BF16,
                   isa);
  if (avx512 ? !has_avx512() : !has_avx2())
    return dp_fail(EX_UNAVAILABLE, "this machine lacks %s: compile the plan for it (dpc compile MODEL%s)", isa,
                   has_avx2() ? " --isa=avx2" : ", here");
  pthread_mutex_lock(&lock);
  dp_status status = hold(of_library);
  pthread_mutex_unlock(&lock);
  return status;
}

const char *dp_isa_hold_default(void) {
  const char *isa = dp_isa_of_machine();
  pthread_mutex_lock(&lock);
  if (isa && !held) dp_status_free(hold(isa));
  isa = held;
  pthread_mutex_unlock(&lock);
  return isa;
}

bool dp_isa_is_avx512(const char *isa) {
  if (!isa) isa = dp_isa_hold_default();
  return isa && (!strcmp(isa, "avx512") || !strcmp(isa, DP_ISA_BF16));
}

static bool is_held(const char *isa) {
  const char *now = atomic_load_explicit(&held, memory_order_relaxed);
  return now && !strcmp(now, isa);
}

bool dp_isa_holds_avx2(void) { return is_held("avx2"); }
bool dp_isa_holds_avx512(void) { return is_held("avx512"); }
