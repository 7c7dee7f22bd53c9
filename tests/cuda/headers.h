// Types whose layout we declare, for each library of CUDA, and their sizes: by our declarations and by the toolkit's.
#ifndef DP_TESTS_CUDA_HEADERS_H
#define DP_TESTS_CUDA_HEADERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DP_DRIVER_TYPES(X) \
  X(CUresult)              \
  X(CUdevice)              \
  X(CUdevice_attribute) X(CUdeviceptr) X(CUcontext) X(CUstream) X(CUgraph) X(CUgraphExec) X(CUstreamCaptureMode)
#define DP_NVRTC_TYPES(X) X(nvrtcResult) X(nvrtcProgram)
#define DP_BLASLT_TYPES(X)        \
  X(cublasStatus_t)               \
  X(cublasComputeType_t)          \
  X(cudaDataType_t)               \
  X(libraryPropertyType)          \
  X(cublasLtMatmulDescOpaque_t)   \
  X(cublasLtMatrixLayoutOpaque_t) \
  X(cublasLtMatmulPreferenceOpaque_t) X(cublasLtMatmulAlgo_t) X(cublasLtMatmulHeuristicResult_t)
#define DP_CUDNN_TYPES(X)         \
  X(cudnnStatus_t)                \
  X(cudnnBackendDescriptorType_t) \
  X(cudnnBackendAttributeName_t)  \
  X(cudnnBackendAttributeType_t)  \
  X(cudnnDataType_t)              \
  X(cudnnConvolutionMode_t) X(cudnnBackendHeurMode_t) X(cudnnBackendNumericalNote_t) X(cudnnBackendDescriptor_t)

#define DP_NCCL_TYPES(X) X(ncclResult_t) X(ncclDataType_t) X(ncclRedOp_t) X(ncclComm_t) X(ncclUniqueId) X(ncclWindow_t)

typedef struct {
  const char *library, *type;
  size_t bytes;
} dp_declared_type;

#define DP_DECLARED(library, type) {library, #type, sizeof(type)},

// What configurations of NCCL begin with; 0: there is no header of it.
unsigned dp_nccl_magic_ours(void);
unsigned dp_nccl_magic_toolkit(void);

// Both end with a type of NULL. The toolkit's list has the libraries of which there are headers, and may be empty.
extern const dp_declared_type dp_types_ours[], dp_types_toolkit[];

#ifdef __cplusplus
}
#endif
#endif
