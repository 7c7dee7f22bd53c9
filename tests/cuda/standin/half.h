// Floats of 16 bits, for the stand-ins of libraries: by dp_element_*, which tests of ir/graph prove.
#ifndef DP_TESTS_CUDA_STANDIN_HALF_H
#define DP_TESTS_CUDA_STANDIN_HALF_H

#include "ir/graph/element.h"

#define STANDIN_SAME(x) (x)
static inline float standin_get_float16(uint16_t x) { return (float)dp_element_decode(DP_FLOAT16, x); }
static inline float standin_get_bfloat16(uint16_t x) { return (float)dp_element_decode(DP_BFLOAT16, x); }
static inline uint16_t standin_put_float16(float x) { return dp_element_encode(DP_FLOAT16, (double)x, false); }
static inline uint16_t standin_put_bfloat16(float x) { return dp_element_encode(DP_BFLOAT16, (double)x, false); }

#endif
