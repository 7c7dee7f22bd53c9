// Normalisation of the rows that consist of the dims from attribute `axis` on, by backends/cpu/vector/normalization.h.
#ifndef DP_BACKENDS_CPU_FAST_NORMALIZATION_H
#define DP_BACKENDS_CPU_FAST_NORMALIZATION_H

#include "backends/cpu/reference/normalization.h"

// Whether all operands and results are float32.
bool dp_fast_normalization_match(const dp_kernel_spec *spec);
// At load: *state is what dp_fast_normalization_run calls.
dp_status dp_fast_normalization_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;
// rows: of dp_normalization_rows_inner, with bias and results as the operator has them.
dp_status dp_fast_normalization_run(const dp_call *call, const dp_normalization_rows *rows,
                                    const void *state) DP_MUST_USE;

#endif
