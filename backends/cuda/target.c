// See target.h.
#include "backends/cuda/target.h"

#include "backends/cpu/target.h"
#include "backends/cuda/gpu/alignment.h"

static int threads(int64_t devices) {
  (void)devices;
  return 1;  // a GPU has its own
}

const dp_target dp_target_cuda = {
    .name = "cuda",
    .kernels = dp_cuda_kernels,
    .alignment = DP_CUDA_ALIGNMENT,
    // An H200: 50 TFLOP/s in float32, 4 TB/s, 3 us to launch; links of 400 GB/s between GPUs.
    .costs = {.start_ns = 3e3, .flops_per_ns = 50e3, .bytes_per_ns = 4e3, .latency_ns = 10e3, .link_bytes_per_ns = 400},
    .threads = threads,
    .thread_work = 1,
    .producers = true,
    .projections = true,
    .gradient_casts = true,
    .parameter_casts = true,
    .channel_ends = true,
    .channels_last = true,
    .chunk_bytes = 256 << 20,   // so that a chunk is work enough for a whole GPU
    .offload_bytes = 64 << 10,  // a copy over PCIe takes as long as it takes to begin one
    .fast_math = {"tf32", "winograd"},
    .uploads = true,
    .host = &dp_target_cpu,
};
