// The CPU as a target. See target.h.
#include "backends/cpu/target.h"

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/isa.h"
#include "ir/base/machine.h"

// All devices are threads of one machine, which share its cores.
static int threads(int64_t devices) { return (int)dp_max_i64(1, dp_machine_cores() / devices); }

// Those that oneDNN's convolutions compute in.
static dp_layout blocks(const char *isa) {
  if (!isa) return DP_LAYOUT_PLAIN;
  return dp_isa_is_avx512(isa) ? DP_LAYOUT_NCHW16C : DP_LAYOUT_NCHW8C;
}

const dp_target dp_target_cpu = {
    .name = "cpu",
    .kernels = dp_cpu_kernels,
    .isa = dp_isa_of_machine,
    .set_isa = dp_isa_hold,
    .alignment = DP_CPU_ALIGNMENT,
    // A core computes about 20 GFLOP/s and reads 10 GB/s. The link is slow, like a 4 Gbit/s network, because
    // overestimating a collective is harmless while underestimating one stalls computation.
    .costs = {.start_ns = 1e3, .flops_per_ns = 20, .bytes_per_ns = 10, .latency_ns = 20e3, .link_bytes_per_ns = 0.5},
    .threads = threads,
    .thread_work = 1 << 15,
    .channel_bytes = 1 << 20,  // a core still finds several values of a channel in the cache
    .blocks = blocks,
    .fast_math = {"winograd"},
    .chunk_bytes = 8 << 20,  // more than a core's share of the cache
};
