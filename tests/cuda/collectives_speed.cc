// Bytes and time of collectives between devices, beside those of the driver's own copies. A program for
// tools/gpu_check:
//
//   collectives_speed DEVICES GPUS MIB
//
// DEVICES of a plan share GPUS as dprun --device=cuda:GPUS has it; each holds MIB. A line for each collective: on one
// GPU, what it reads and writes; on several, what each GPU must at least send (2 (g - 1) / g of the bytes for an
// all-reduce, (g - 1) / g for the others), beside a copy between two GPUs. With a GPU for each device, NCCL's too.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cuda/backend.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/nccl/library.h"
#include "runtime/comm/transfer.h"

namespace {

constexpr int kMostDevices = 64, kRepeats = 10;
const dp_queue_calls *const kCalls = dp_backend_cuda.queues;

void Must(dp_status status) {
  if (!status) return;
  fprintf(stderr, "collectives_speed: %s\n", dp_status_message(status));
  exit(1);
}

void Must(CUresult result) { Must(dp_cuda_check(result, "copying")); }

struct Device {
  dp_queue *queue;
  char *whole, *part;  // of MIB, and of its part of it
  dp_event *begin, *end;
};

class Speed {
 public:
  Speed(int devices, const char *gpus, int64_t bytes) : n_(devices), elements_(bytes / 4 / devices * devices) {
    Must(dp_cuda_gpus_choose(gpus));
    Must(dp_backend_cuda.attach(n_));
    arena_ = dp_arena_create(0);
    mesh_.n_axes = 1;
    mesh_.axes[0].name = "x";
    mesh_.axes[0].size = n_;
    for (int d = 0; d < n_; d++) {
      Device *device = &devices_[d];
      numbers_[d] = d;
      Must(kCalls->create(d, true, &device->queue));
      Must(kCalls->event_create(d, true, &device->begin));
      Must(kCalls->event_create(d, true, &device->end));
      device->whole = Allocate(d, Bytes());
      device->part = Allocate(d, Bytes() / static_cast<uint64_t>(n_));
    }
  }
  ~Speed() {
    for (int d = 0; d < n_; d++) {
      dp_backend_cuda.release({false, d}, devices_[d].whole, Bytes());
      dp_backend_cuda.release({false, d}, devices_[d].part, Bytes() / static_cast<uint64_t>(n_));
      kCalls->event_destroy(devices_[d].begin);
      kCalls->event_destroy(devices_[d].end);
      kCalls->destroy(devices_[d].queue);
    }
    dp_arena_destroy(arena_);
    dp_backend_cuda.detach();
  }

  void Run() {
    copy_gbs_ = Copy();
    const dp_shard_view *whole = Views(dp_replicate(), true), *parts = Views(dp_shard(0), false);
    for (bool ours : {true, false}) {
      if (!ours && (Gpus() < n_ || n_ < 2)) break;
      const char *by = ours ? "ours" : dp_nccl_description();
      Time("all-reduce", by, ours, 2 * n_, 2,
           dp_transfer_reduce(arena_, DP_FLOAT32, DP_REGION_SUM, 1, n_, whole, n_, whole));
      Time("reduce-scatter", by, ours, n_ + 1, 1,
           dp_transfer_shards(arena_, DP_FLOAT32, DP_REGION_SUM, n_, whole, n_, parts));
      Time("all-gather", by, ours, n_ + 1, 1,
           dp_transfer_shards(arena_, DP_FLOAT32, DP_REGION_COPY, n_, parts, n_, whole));
    }
  }

 private:
  uint64_t Bytes() const { return static_cast<uint64_t>(elements_) * 4; }
  int Gpus() const { return dp_cuda_gpus_count(); }
  double MiB() const { return static_cast<double>(Bytes()) / (1 << 20); }

  static char *Allocate(int device, uint64_t bytes) {
    auto *memory = static_cast<char *>(dp_backend_cuda.allocate({false, device}, bytes, 256));
    if (!memory) Must(dp_fail(DP_EX_MEMORY, "no memory for %llu bytes", static_cast<unsigned long long>(bytes)));
    return memory;
  }

  const dp_shard_view *Views(dp_placement placement, bool whole) {
    dp_shape shape = {};
    shape.rank = 1;
    shape.dims[0] = dp_dim_of(elements_);
    auto *views = static_cast<dp_shard_view *>(dp_alloc_n(arena_, static_cast<size_t>(n_), sizeof(dp_shard_view)));
    for (int d = 0; d < n_; d++) {
      int64_t at[DP_MAX_MESH] = {d};
      views[d] = {whole ? devices_[d].whole : devices_[d].part, dp_shard_range(&shape, &placement, &mesh_, at, 0)};
    }
    return views;
  }

  // The median time, in ms, of what `issue` enqueues: from the first device's beginning to its end.
  template <typename Issue>
  double Median(Issue issue) {
    std::vector<double> times;
    for (int i = 0; i < kRepeats; i++) {
      double ns;
      kCalls->begin(devices_[0].queue, 0);
      Must(kCalls->signal(devices_[0].queue, devices_[0].begin));
      issue();
      Must(kCalls->signal(devices_[0].queue, devices_[0].end));
      for (int d = 0, by; d < n_; d++) Must(kCalls->finish(devices_[d].queue, &by));
      Must(kCalls->elapsed(devices_[0].begin, devices_[0].end, &ns));
      if (i) times.push_back(ns * 1e-6);  // the first one warms up
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  // The rate of the driver's copies, in GB/s: on a GPU what is read and written, else what goes from the first GPU's
  // memory to the last one's.
  double Copy() {
    const dp_cuda_gpu *from = dp_cuda_gpu_of(0), *to = dp_cuda_gpu_of(n_ - 1);
    const auto source = reinterpret_cast<CUdeviceptr>(devices_[0].whole);
    const auto target = reinterpret_cast<CUdeviceptr>(devices_[n_ - 1].whole);
    auto *stream = static_cast<CUstream>(dp_cuda_queue_stream(devices_[0].queue));
    const double ms = Median([&] {
      Must(dp_cuda_gpu_use(from));
      Must(from == to ? dp_cu.cuMemcpyAsync(target, source, Bytes(), stream)
                      : dp_cu.cuMemcpyPeerAsync(target, to->context, source, from->context, Bytes(), stream));
    });
    const double gbs = (Gpus() > 1 ? 1 : 2) * static_cast<double>(Bytes()) / 1e6 / ms;
    printf("a copy of %.1f MiB %s: %.4f ms, %.1f GB/s\n", MiB(), Gpus() > 1 ? "between GPUs" : "on the GPU", ms, gbs);
    return gbs;
  }

  // passes: how often all the bytes are read or written on one GPU; sent: how often (g - 1) / g of them are sent.
  void Time(const char *what, const char *by, bool ours, int passes, int sent, dp_transfer *transfer) {
    void *state;
    transfer->what = what;
    transfer->in_rank_order = ours;
    Must(kCalls->transfer_prepare(numbers_, n_, transfer, &state));
    Must(kCalls->ready());
    dp_queue *queues[kMostDevices];
    for (int d = 0; d < n_; d++) queues[d] = devices_[d].queue;
    const double ms = Median([&] { Must(kCalls->transfer_enqueue(queues, state, 0)); });
    kCalls->transfer_release(state);
    const int g = Gpus();
    const double bytes = static_cast<double>(Bytes()) * (g > 1 ? sent * (g - 1.0) / g : passes);
    const double gbs = bytes / 1e6 / ms;
    printf("%s of %.1f MiB between %d devices on %d GPU%s, %s: %.4f ms, %.1f MiB %s, %.1f GB/s, %.0f %% of a copy's\n",
           what, MiB(), n_, g, g == 1 ? "" : "s", by, ms, bytes / (1 << 20), g > 1 ? "sent" : "read and written", gbs,
           100 * gbs / copy_gbs_);
  }

  int n_;
  int64_t elements_;  // of float32
  Device devices_[kMostDevices] = {};
  int numbers_[kMostDevices] = {};
  dp_arena *arena_ = nullptr;
  dp_mesh mesh_ = {};
  double copy_gbs_ = 0;
};

}  // namespace

int main(int argc, char **argv) {
  const int devices = argc == 4 ? atoi(argv[1]) : 0;
  const double mib = argc == 4 ? atof(argv[3]) : 0;
  if (devices < 2 || devices > kMostDevices || mib <= 0 || mib > 4096) {
    fprintf(stderr, "usage: collectives_speed DEVICES GPUS MIB, like 4 0,1 64: 2 to %d devices\n", kMostDevices);
    return 64;
  }
  dp_nccl_pin();
  Speed(devices, argv[2], static_cast<int64_t>(mib * (1 << 20))).Run();
  return 0;
}
