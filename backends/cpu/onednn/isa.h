// The instruction sets for which oneDNN's kernels and their scratch are chosen.
#ifndef DP_BACKENDS_CPU_ONEDNN_ISA_H
#define DP_BACKENDS_CPU_ONEDNN_ISA_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// "avx512", "avx2", or NULL when the machine has neither: then only reference kernels are used. Under "avx512" oneDNN may
// use AVX-512 core (F, BW, CD, DQ, VL) and no extension, so that a plan means the same on every such machine. What
// ONEDNN_MAX_CPU_ISA or DNNL_MAX_CPU_ISA hides the machine does not have.
const char *dp_isa_of_machine(void);
// Holds oneDNN to `isa` for the rest of the process. EX_UNAVAILABLE when the machine lacks it, EX_CONFIG when it is held to
// another one already, EX_DATAERR for a name that is none of these.
dp_status dp_isa_hold(const char *isa) DP_MUST_USE;
// Holds oneDNN to the machine's, unless it is held already: before any use of oneDNN. May be called by several threads.
void dp_isa_hold_default(void);

#ifdef __cplusplus
}
#endif
#endif
