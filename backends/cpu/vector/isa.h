// The name of a table for the instruction set that a file is compiled for: DP_ISA, as the build says.
#ifndef DP_BACKENDS_CPU_VECTOR_ISA_H
#define DP_BACKENDS_CPU_VECTOR_ISA_H

#define DP_ISA_PASTE_(a, b) a##b
#define DP_ISA_PASTE(a, b) DP_ISA_PASTE_(a, b)
#define DP_FOR_ISA(NAME) DP_ISA_PASTE(NAME, DP_ISA)

// Before a loop whose results lie on its operands or apart from them: no iteration waits for another.
#if defined(__clang__)
#define DP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DP_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
