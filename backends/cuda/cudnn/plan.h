// Plans of cuDNN: a graph, and the engine that computes it. Of convolutions and their gradients, which are graphs of
// one operation, everything is here; attention_graph.h has the others.
#ifndef DP_BACKENDS_CUDA_CUDNN_PLAN_H
#define DP_BACKENDS_CUDA_CUDNN_PLAN_H

#include "backends/cuda/cudnn/descriptor.h"
#include "ir/graph/type.h"
#include "ir/kernel/calibration.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { DP_CUDNN_CONV, DP_CUDNN_GRAD_INPUT, DP_CUDNN_GRAD_WEIGHT } dp_cudnn_kind;

// Dense tensors x (N, C, ...), w (M, C/groups, ...), y (N, M, ...), or their gradients; with channels_last, what
// follows the first dim lies in the order (..., C). The number of groups is C over
// C/groups. All extents > 0.
typedef struct {
  dp_cudnn_kind kind;
  dp_dtype dtype;  // a float; 16 bits are summed in float32
  bool channels_last;
  bool tf32;                 // operands of float32 may be rounded to TF32
  bool winograd;             // convolutions of float32 may be Winograd's
  int spatial;               // 2 or 3
  int64_t x[5], w[5], y[5];  // 2 + spatial extents
  int64_t pad_begin[3], pad_end[3], stride[3], dilation[3];
  uint64_t workspace;  // bytes: engines that need more are passed over
  // What follows a convolution, in this order: a tensor like y is added, one number for each of its channels is, and
  // Relu is taken of what comes out. Not for float64.
  bool residual, bias, relu;
} dp_cudnn_spec;

// Addresses on the device; NULL: the graph has no such tensor. Which of x, w, y is written depends on the kind.
typedef struct {
  const void *x, *w, *y, *bias, *residual;
} dp_cudnn_tensors;

// What a plan is made of stays with it.
enum { DP_CUDNN_MOST_DESCRIPTORS = 128 };
typedef struct {
  const dp_cudnn_calls *calls;
  cudnnBackendDescriptor_t descriptors[DP_CUDNN_MOST_DESCRIPTORS];
  int n_descriptors;
  cudnnBackendDescriptor_t plan;
  int64_t workspace_bytes, engine;  // engine: cuDNN's number
  bool tensor_cores;                // the engine uses them, so it rounds float32 to TF32
  bool winograd;                    // the engine's algorithm is Winograd's
  int place;                        // of its configuration among those that the heuristics name
} dp_cudnn_plan;

// 0, float32's, for types that cuDNN's graphs are not made of here.
cudnnDataType_t dp_cudnn_data_type(dp_dtype dtype);

// Which configurations of engines will do, among those that cuDNN's heuristics name, counted from 0 in their order.
typedef struct {
  int from;            // none before this one
  const char *choice;  // the one that dp_cudnn_plan_choice would describe so; NULL: any
} dp_cudnn_wanted;

// Chooses the first engine of cuDNN's heuristics that fits into the workspace, gives the same bits in every run, and
// computes in the operands' precision: no FFT, no Winograd unless spec->winograd, no tensor cores for float32 unless
// spec->tf32. For the
// device of the process's handle, or, without a handle, for the one that `device` describes: a finalised
// CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR (cuDNN 9.8). *found: whether there is one; otherwise nothing is kept.
// wanted NULL: the first that will do. EX_UNAVAILABLE, DP_EX_MEMORY.
dp_status dp_cudnn_plan_make(const dp_cudnn_calls *calls, cudnnHandle_t handle, cudnnBackendDescriptor_t device,
                             const dp_cudnn_spec *spec, const dp_cudnn_wanted *wanted, dp_cudnn_plan *plan,
                             bool *found) DP_MUST_USE;
// The two steps of which it consists, for graphs of other kinds. Adds a descriptor to what the plan is made of:
cudnnStatus_t dp_cudnn_plan_add(dp_cudnn_plan *plan, int type, size_t count, const dp_cudnn_attribute *attributes,
                                cudnnBackendDescriptor_t *made);
// looks for an engine, if the graph could be made (`status`); what an engine is held to is `limits`: its dtype and
// workspace, and nothing else of it. `what` is planned, in words. Takes *plan over, and releases it if none is found.
dp_status dp_cudnn_plan_search(dp_cudnn_plan *plan, cudnnHandle_t handle, cudnnBackendDescriptor_t device,
                               const dp_cudnn_spec *limits, const dp_cudnn_wanted *wanted, cudnnStatus_t status,
                               cudnnBackendDescriptor_t graph, const char *what, bool *found) DP_MUST_USE;
// choose.c: the one that the plan's calibration names, else the first; while a calibration is made, the fastest.
// EX_CONFIG: cuDNN does not offer what the calibration names.
dp_status dp_cudnn_plan_choose(const dp_cudnn_calls *calls, cudnnHandle_t handle, const dp_cudnn_spec *spec,
                               dp_cudnn_plan *plan, bool *found) DP_MUST_USE;
// "configuration 3, engine 12": by its place among those that the heuristics name.
void dp_cudnn_plan_choice(const dp_cudnn_plan *plan, char *text, size_t room);
// choose.c: what cuDNN is asked, less the addresses: "cuDNN gradient of weight float32 x 64,3,8,8 ...".
void dp_cudnn_describe_call(const dp_cudnn_spec *spec, char text[DP_CALIBRATION_TEXT]);
void dp_cudnn_plan_release(dp_cudnn_plan *plan);
// Puts it on a stream. Any thread may call this at any time. workspace: of plan->workspace_bytes.
dp_status dp_cudnn_plan_enqueue(const dp_cudnn_plan *plan, cudaStream_t stream, const dp_cudnn_tensors *at,
                                void *workspace) DP_MUST_USE;
// The same for any graph: `count` addresses by the numbers that its tensors have. Those of numbers that it has by value
// are the host's; they are read at once.
dp_status dp_cudnn_plan_put(const dp_cudnn_plan *plan, cudaStream_t stream, int64_t count, const int64_t *ids,
                            const void *const *data, void *workspace) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
