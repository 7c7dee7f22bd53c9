// The code of oneDNN's matrix products, which it generates at the first of them: a few hundredths of a second.
#ifndef DP_BACKENDS_CPU_ONEDNN_SGEMM_CODE_H
#define DP_BACKENDS_CPU_ONEDNN_SGEMM_CODE_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Begins to generate it on a thread of its own, and returns at once. Only after the instruction set is chosen (isa.h),
// as a kernel's `expect` is called.
void dp_sgemm_code_expect(void);
// Returns when it is there. Called at load so that no step waits for it.
dp_status dp_sgemm_code_prepare(void) DP_MUST_USE;
// Returns when the thread has ended.
void dp_sgemm_code_settle(void);

#ifdef __cplusplus
}
#endif
#endif
