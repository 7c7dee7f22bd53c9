// Several elements that a thread reads or writes at once: a struct of the alignment that one instruction needs.
#ifndef DP_BACKENDS_CUDA_DEVICE_VECTORS_H
#define DP_BACKENDS_CUDA_DEVICE_VECTORS_H

enum { DP_VECTOR_BYTES = 16 };  // that one instruction moves

// DP_UNROLL, DP_UNROLL_BY(times): before a loop whose turns are written out, all of them or so many at a time.
#ifdef __CUDACC__
#define DP_ALIGNED(bytes) __align__(bytes)
#define DP_UNROLL _Pragma("unroll")
#define DP_UNROLL_BY(times) DP_PRAGMA(unroll times)
#define DP_PRAGMA(text) _Pragma(#text)
#else
#define DP_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define DP_UNROLL
#define DP_UNROLL_BY(times)
#endif

// Defines VECTOR, of COUNT elements of TYPE, and how one is read and written: at once where `aligned`, else one by one.
#define DP_VECTOR(VECTOR, LOAD, STORE, TYPE, COUNT)                    \
  typedef struct DP_ALIGNED((COUNT) * sizeof(TYPE)) {                  \
    TYPE e[COUNT];                                                     \
  } VECTOR;                                                            \
  DP_DEVICE VECTOR LOAD(const TYPE *from, dp_i64 aligned) {            \
    VECTOR v;                                                          \
    if (aligned) return *(const VECTOR *)from;                         \
    DP_UNROLL                                                          \
    for (int dp_l = 0; dp_l < (COUNT); dp_l++) v.e[dp_l] = from[dp_l]; \
    return v;                                                          \
  }                                                                    \
  DP_DEVICE void STORE(TYPE *to, VECTOR v, dp_i64 aligned) {           \
    if (aligned) {                                                     \
      *(VECTOR *)to = v;                                               \
      return;                                                          \
    }                                                                  \
    DP_UNROLL                                                          \
    for (int dp_l = 0; dp_l < (COUNT); dp_l++) to[dp_l] = v.e[dp_l];   \
  }

#endif
