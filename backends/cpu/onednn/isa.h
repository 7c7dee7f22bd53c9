// The instruction sets that oneDNN's kernels and their scratch are chosen for.
#ifndef DP_BACKENDS_CPU_ONEDNN_ISA_H
#define DP_BACKENDS_CPU_ONEDNN_ISA_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// "avx512", "avx2", or NULL when the machine has neither and only reference kernels can run. With "avx512", oneDNN may
// use the AVX-512 core (F, BW, CD, DQ, VL), and extensions only for bfloat16, so that a plan in float32 means the same
// on every such machine. ONEDNN_MAX_CPU_ISA and DNNL_MAX_CPU_ISA can hide instruction sets.
const char *dp_isa_of_machine(void);
// What plans name whose kernels also use AVX-512's instructions for bfloat16. oneDNN is held to the same as with
// "avx512", whose kernels hand it float32 alone: it has the same kernels for that either way, and one process can run
// plans for both.
#define DP_ISA_BF16 "avx512_bf16"
// Whether kernels may use those: this machine has them, and `isa` is that, or NULL for this machine's.
bool dp_isa_allows_bf16(const char *isa);
// Whether `isa` is AVX-512, with or without those. NULL: what dp_isa_hold_default returns.
bool dp_isa_is_avx512(const char *isa);
// Holds oneDNN to `isa` for the rest of the process. EX_UNAVAILABLE when the machine lacks it, EX_CONFIG when it is
// held to another one already, EX_DATAERR for a name that is none of these.
dp_status dp_isa_hold(const char *isa) DP_MUST_USE;
// Limits oneDNN to the machine's instruction set, unless it is limited already. Call it before any use of oneDNN.
// Returns the one that it is held to, NULL if the machine has neither. Thread-safe.
const char *dp_isa_hold_default(void);
// Whether oneDNN is held to AVX-512, or to AVX2; false before it is held. Without a lock.
bool dp_isa_holds_avx512(void);
bool dp_isa_holds_avx2(void);

#ifdef __cplusplus
}
#endif
#endif
