// Element types as functions for GPUs spell them. See types.h.
#include "backends/cuda/kernels/types.h"

static const dp_cuda_type types[DP_MAX_TYPE + 1] = {
    [DP_FLOAT32] = {"float", "float", "float"},     [DP_FLOAT64] = {"double", "double", "double"},
    [DP_INT8] = {"signed char", "int", "unsigned"}, [DP_UINT8] = {"unsigned char", "int", "unsigned"},
    [DP_INT16] = {"short", "int", "unsigned"},      [DP_UINT16] = {"unsigned short", "int", "unsigned"},
    [DP_INT32] = {"int", "int", "unsigned"},        [DP_UINT32] = {"unsigned", "dp_i64", "dp_u64"},
    [DP_INT64] = {"dp_i64", "dp_i64", "dp_u64"},    [DP_UINT64] = {"dp_u64", "dp_u64", "dp_u64"},
    [DP_BOOL] = {"bool", "bool", "bool"},
};

static const dp_cuda_type moved[9] = {
    [1] = {"unsigned char", "unsigned char", "unsigned char"},
    [2] = {"unsigned short", "unsigned short", "unsigned short"},
    [4] = {"unsigned", "unsigned", "unsigned"},
    [8] = {"dp_u64", "dp_u64", "dp_u64"},
};

const dp_cuda_type *dp_cuda_type_of(dp_dtype dtype) {
  return types[dtype].stored ? &types[dtype] : &moved[dp_type_bytes(dtype)];
}

const char *dp_cuda_type_of_bytes(size_t bytes) { return moved[bytes].stored; }
