// Transfers of our own between devices on several GPUs, against the CPU's: sums and lists of copies that are larger
// than the memory through which a GPU gets what it does not reach, for every way in which three GPUs may reach each
// other.
#include <cstring>

#include "backends/cuda/backend.h"
#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/staging.h"
#include "runtime/comm/transfer.h"
#include "tests/cuda/steer.h"

namespace dp_test {
namespace {

constexpr int kDevices = 4;
const char *const kMap = "0,1,1,2";  // of three GPUs
const char *const kPeers[] = {"all", "none", "0-1", "0-2,1-2"};

void Must(dp_status status) {
  EXPECT_EQ(status, DP_OK) << dp_status_message(status);
  dp_status_free(status);
}

// A value on one device: its memory there, and what it should hold.
struct Shard {
  int device;
  dp_local local;
  char *far = nullptr;
  std::vector<char> expected;
};

class CudaTransfers : public testing::TestWithParam<const char *> {
 protected:
  CudaTransfers() {
    DP_STEER(dp_standin_devices)(3, GetParam());
    DP_STEER(dp_standin_seed)(5);
    Must(dp_cuda_gpus_choose(nullptr));
    Must(dp_cuda_gpus_map(kMap));
    Must(dp_backend_cuda.attach(kDevices));
    for (int d = 0; d < kDevices; d++) Must(calls_->create(d, true, &queues_[d]));
    arena_ = dp_arena_create(0);
    mesh_.n_axes = 1;
    mesh_.axes[0].name = "x";
    mesh_.axes[0].size = kDevices;
  }
  ~CudaTransfers() override {
    for (dp_queue *queue : queues_) calls_->destroy(queue);
    dp_backend_cuda.detach();
    dp_arena_destroy(arena_);
    EXPECT_EQ(DP_STEER(dp_standin_count)().device_allocations, 0);
    EXPECT_EQ(DP_STEER(dp_standin_count)().events, 0);
    EXPECT_EQ(DP_STEER(dp_standin_count)().pending, 0);
    DP_STEER(dp_standin_devices)(1, "all");
  }
  // The shards of a tensor, filled with numbers of their own.
  std::vector<Shard> Make(const std::vector<int64_t> &extents, dp_placement placement, int first = 0,
                          int count = kDevices) {
    dp_shape shape = {};
    shape.rank = static_cast<int>(extents.size());
    for (int d = 0; d < shape.rank; d++) shape.dims[d] = dp_dim_of(extents[static_cast<size_t>(d)]);
    std::vector<Shard> shards;
    for (int d = first; d < first + count; d++) {
      int64_t at[DP_MAX_MESH] = {d};
      Shard shard = {d, dp_shard_range(&shape, &placement, &mesh_, at, 0), nullptr, {}};
      shard.expected.resize(static_cast<size_t>(dp_local_count(&shard.local)) * sizeof(float));
      auto *numbers = reinterpret_cast<float *>(shard.expected.data());
      for (size_t i = 0; i < shard.expected.size() / sizeof(float); i++)
        numbers[i] = 1.0f / static_cast<float>(1 + (seen_++ * 7919) % 65521);
      shard.far = static_cast<char *>(dp_backend_cuda.allocate({false, d}, shard.expected.size(), 256));
      Must(dp_backend_cuda.upload(d, shard.far, shard.expected.data(), shard.expected.size()));
      shards.push_back(std::move(shard));
    }
    return shards;
  }
  static std::vector<dp_shard_view> Views(std::vector<Shard> *shards, bool far) {
    std::vector<dp_shard_view> views;
    for (Shard &shard : *shards) views.push_back({far ? shard.far : shard.expected.data(), shard.local});
    return views;
  }
  // Runs the transfer on the GPUs, and the same on the CPU, and compares what every device has then.
  void Compare(const dp_transfer *far, const dp_transfer *near, std::vector<std::vector<Shard> *> all) {
    const int devices[] = {0, 1, 2, 3};
    void *state = nullptr;
    Must(calls_->transfer_prepare(devices, kDevices, far, &state));
    Must(calls_->ready());
    Must(calls_->transfer_enqueue(queues_, state, 0));
    int instruction;
    for (dp_queue *queue : queues_) Must(calls_->finish(queue, &instruction));
    for (int part = 0; part < near->n_parts; part++) dp_transfer_run(near, 0, part);
    for (std::vector<Shard> *shards : all)
      for (Shard &shard : *shards) {
        std::vector<char> found(shard.expected.size());
        Must(dp_backend_cuda.download(shard.device, found.data(), shard.far, found.size()));
        EXPECT_TRUE(found == shard.expected) << "device " << shard.device;
        dp_backend_cuda.release({false, shard.device}, shard.far, found.size());
      }
    calls_->transfer_release(state);
  }

  const dp_queue_calls *calls_ = dp_backend_cuda.queues;
  dp_queue *queues_[kDevices] = {};
  dp_arena *arena_ = nullptr;
  dp_mesh mesh_ = {};
  uint64_t seen_ = 0;
};

// Two tensors at a time, in place: each GPU's share is larger than its staging memory can hold at once.
TEST_P(CudaTransfers, AllReduce) {
  std::vector<Shard> a = Make({5000003}, dp_replicate()), b = Make({2999999}, dp_replicate());
  const auto views = [&](bool far) {
    std::vector<dp_shard_view> both = Views(&a, far), second = Views(&b, far);
    both.insert(both.end(), second.begin(), second.end());
    return both;
  };
  const auto make = [&](bool far) {
    const auto both = views(far);
    return dp_transfer_reduce(arena_, DP_FLOAT32, DP_REGION_SUM, 2, kDevices, both.data(), kDevices, both.data());
  };
  ASSERT_GT(8000002 / 3 * sizeof(float) * 4, size_t{DP_CUDA_STAGING_BYTES});
  Compare(make(true), make(false), {&a, &b});
}

// From one device to all others, and from one to one.
TEST_P(CudaTransfers, Copies) {
  std::vector<Shard> from = Make({700001}, dp_replicate(), 2, 1), to = Make({700001}, dp_replicate());
  std::vector<Shard> one = Make({70001}, dp_replicate(), 0, 1), other = Make({70001}, dp_replicate(), 3, 1);
  const auto broadcast = [&](bool far) {
    return dp_transfer_reduce(arena_, DP_FLOAT32, DP_REGION_COPY, 1, 1, Views(&from, far).data(), kDevices,
                              Views(&to, far).data());
  };
  const auto send = [&](bool far) {
    return dp_transfer_reduce(arena_, DP_FLOAT32, DP_REGION_COPY, 1, 1, Views(&one, far).data(), 1,
                              Views(&other, far).data());
  };
  Compare(broadcast(true), broadcast(false), {&from, &to});
  Compare(send(true), send(false), {&one, &other});
}

// Sums of columns: what a GPU needs of another one lies apart in more memory than it has for it.
TEST_P(CudaTransfers, ReduceScatterOfColumns) {
  std::vector<Shard> from = Make({2500, 4099}, dp_replicate()), to = Make({2500, 4099}, dp_shard(1));
  const auto make = [&](bool far) {
    return dp_transfer_shards(arena_, DP_FLOAT32, DP_REGION_SUM, kDevices, Views(&from, far).data(), kDevices,
                              Views(&to, far).data());
  };
  ASSERT_GT(from[0].expected.size(), size_t{DP_CUDA_STAGING_BYTES});
  Compare(make(true), make(false), {&from, &to});
}

// From columns to rows, and all columns to everyone.
TEST_P(CudaTransfers, OtherShards) {
  std::vector<Shard> columns = Make({301, 1013, 3}, dp_shard(1)), rows = Make({301, 1013, 3}, dp_shard(0));
  std::vector<Shard> parts = Make({37, 41, 5}, dp_shard(2)), whole = Make({37, 41, 5}, dp_replicate());
  const auto turn = [&](bool far) {
    return dp_transfer_shards(arena_, DP_FLOAT32, DP_REGION_COPY, kDevices, Views(&columns, far).data(), kDevices,
                              Views(&rows, far).data());
  };
  const auto gather = [&](bool far) {
    return dp_transfer_shards(arena_, DP_FLOAT32, DP_REGION_COPY, kDevices, Views(&parts, far).data(), kDevices,
                              Views(&whole, far).data());
  };
  Compare(turn(true), turn(false), {&columns, &rows});
  Compare(gather(true), gather(false), {&parts, &whole});
}

INSTANTIATE_TEST_SUITE_P(Peers, CudaTransfers, testing::ValuesIn(kPeers));

}  // namespace
}  // namespace dp_test
