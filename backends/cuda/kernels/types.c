// Element types as functions for GPUs spell them. See types.h.
#include "backends/cuda/kernels/types.h"

#define PLAIN(STORED, COMPUTED, WRAPPED)                                                               \
  {                                                                                                    \
    STORED, COMPUTED, WRAPPED,                                                                         \
        "#define T " STORED "\n#define W " COMPUTED "\n#define GET(x) (x)\n#define PUT(x) ((T)(x))\n", \
        "#define U " STORED "\n#define GET_U(x) (x)\n#define PUT_U(x) ((U)(x))\n", ""                  \
  }
#define HALF(STORED)                                                    \
  {                                                                     \
    STORED, "float", "float",                                           \
        "#define T " STORED "\n#define W float\n#define GET(x) " STORED \
        "_get(x)\n"                                                     \
        "#define PUT(x) " STORED "_put((float)(x))\n",                  \
        "#define U " STORED "\n#define GET_U(x) " STORED                \
        "_get(x)\n"                                                     \
        "#define PUT_U(x) " STORED "_put((float)(x))\n",                \
        "#define PAIR(low, high) " STORED                               \
        "_pair(low, high)\n"                                            \
        "#define OF_PAIR(pair, upper) " STORED                          \
        "_of_pair(pair, upper)\n"                                       \
        "#define PAIR_MAX(x, y) " STORED "_pair_max(x, y)\n"            \
  }

static const dp_cuda_type types[DP_MAX_TYPE + 1] = {
    [DP_FLOAT32] = PLAIN("float", "float", "float"),
    [DP_FLOAT64] = PLAIN("double", "double", "double"),
    [DP_FLOAT16] = HALF("dp_float16"),
    [DP_BFLOAT16] = HALF("dp_bfloat16"),
    [DP_INT8] = PLAIN("signed char", "int", "unsigned"),
    [DP_UINT8] = PLAIN("unsigned char", "int", "unsigned"),
    [DP_INT16] = PLAIN("short", "int", "unsigned"),
    [DP_UINT16] = PLAIN("unsigned short", "int", "unsigned"),
    [DP_INT32] = PLAIN("int", "int", "unsigned"),
    [DP_UINT32] = PLAIN("unsigned", "dp_i64", "dp_u64"),
    [DP_INT64] = PLAIN("dp_i64", "dp_i64", "dp_u64"),
    [DP_UINT64] = PLAIN("dp_u64", "dp_u64", "dp_u64"),
    [DP_BOOL] = PLAIN("bool", "bool", "bool"),
};

static const dp_cuda_type moved[9] = {
    [1] = PLAIN("unsigned char", "unsigned char", "unsigned char"),
    [2] = PLAIN("unsigned short", "unsigned short", "unsigned short"),
    [4] = PLAIN("unsigned", "unsigned", "unsigned"),
    [8] = PLAIN("dp_u64", "dp_u64", "dp_u64"),
};

const dp_cuda_type *dp_cuda_type_of(dp_dtype dtype) {
  return types[dtype].stored ? &types[dtype] : dp_cuda_type_moved(dtype);
}

const dp_cuda_type *dp_cuda_type_moved(dp_dtype dtype) { return &moved[dp_type_bytes(dtype)]; }

const char *dp_cuda_type_of_bytes(size_t bytes) { return moved[bytes].stored; }
