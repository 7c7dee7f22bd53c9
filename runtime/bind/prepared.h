// What kernels prepare at load, shared by the instructions and devices whose specs are equal. Private to the runtime.
#ifndef DP_RUNTIME_BIND_PREPARED_H
#define DP_RUNTIME_BIND_PREPARED_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether two operands have the same type, layout and shard, and the same dims depend on the number of samples.
bool dp_kernel_operand_equal(const dp_kernel_operand *a, const dp_kernel_operand *b);

typedef struct dp_prepared dp_prepared;

// DP_EX_MEMORY.
dp_status dp_prepared_create(dp_prepared **prepared) DP_MUST_USE;
// Releases every state.
void dp_prepared_destroy(dp_prepared *prepared);

// The state of a kernel that shares it (shares_state): that of an equal spec before, on the same physical device
// (dp_backend.chip), or a new one. The spec must outlive `prepared`, which keeps the state. Fails as the kernel does,
// or with DP_EX_MEMORY.
dp_status dp_prepared_state(dp_prepared *prepared, const dp_kernel *kernel, const dp_kernel_spec *spec, int chip,
                            void **state) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
