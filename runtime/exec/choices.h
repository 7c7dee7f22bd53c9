// What a backend chooses for the steps of a program. Private to the runtime.
#ifndef DP_RUNTIME_EXEC_CHOICES_H
#define DP_RUNTIME_EXEC_CHOICES_H

#include <stdio.h>

#include "runtime/exec/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// Prints what the backend chooses for the instruction's steps: a line for all devices, or several where they differ.
// Each step is prepared once more, and released. Fails as preparing does, or with DP_EX_MEMORY.
dp_status dp_bound_print_choices(const dp_bound *bound, const Dp__Instruction *instruction, FILE *out) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
