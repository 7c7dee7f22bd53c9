// Functions of our own that run on GPUs. Kernels add them when they are prepared and launch them when they are
// enqueued. From when it is added, a function is compiled on another thread, once for each kind of GPU, for the GPU
// that the thread uses; all are loaded, each onto the GPUs that it was added for, before the first launch.
#ifndef DP_BACKENDS_CUDA_FUNCTION_H
#define DP_BACKENDS_CUDA_FUNCTION_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_cuda_function dp_cuda_function;

// Adds a function, or finds it if the same text was added before. `defines` is put before `source`: lines "#define T
// float". `source` is the text of a file of backends/cuda/device, as the build embeds it, or
// made by the caller; see prelude.h for how it is written. Both texts are copied. The function lives as long as
// the process. `name` appears in profiles and errors; it is an identifier. DP_EX_MEMORY.
dp_status dp_cuda_function_add(const char *name, const char *defines, const char *source,
                               const dp_cuda_function **function) DP_MUST_USE;

// The same for a kernel whose only state is the function, which is never freed.
dp_status dp_cuda_function_state(const char *name, const char *defines, const char *source, void **state) DP_MUST_USE;

// Puts one launch on the queue, whose GPU is current: blocks x threads, and the function's only argument, a struct of
// `bytes` bytes, which is copied. No blocks: nothing is launched. EX_UNAVAILABLE: the driver refuses.
dp_status dp_cuda_launch(dp_queue *queue, const dp_cuda_function *function, int64_t blocks, int threads,
                         const void *arguments, size_t bytes) DP_MUST_USE;

enum { DP_CUDA_THREADS = 256 };  // of a block, where nothing asks for another number
// Blocks for a function whose threads take one element each.
static inline int64_t dp_cuda_blocks(int64_t elements) { return (elements + DP_CUDA_THREADS - 1) / DP_CUDA_THREADS; }

// Where functions report data that an operator does not take, and the number of the instruction at hand, plus 1, which
// claims it: fault.h. The first report stands.
struct dp_cuda_fault;
struct dp_cuda_fault *dp_cuda_queue_fault(const dp_queue *queue);
uint64_t dp_cuda_queue_instruction(const dp_queue *queue);

// The queue's stream (a CUstream), for libraries.
void *dp_cuda_queue_stream(const dp_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
