// Collectives of boxes on one GPU, against the CPU's: sums, maxima and copies of shards in types of 1 to 8 bytes, whose
// rows and addresses are multiples of 16 bytes, or not; how many launches they take.
#include <cstring>
#include <set>

#include "backends/cuda/backend.h"
#include "backends/cuda/gpu/gpus.h"
#include "runtime/comm/transfer.h"
#include "tests/cuda/steer.h"

namespace dp_test {
namespace {

constexpr int kDevices = 4;

void Must(dp_status status) {
  EXPECT_EQ(status, DP_OK) << dp_status_message(status);
  dp_status_free(status);
}

// A tensor's shards, on the GPU and as they should be. Those on the GPU begin `shift` elements behind a multiple of 256
// bytes.
struct Shards {
  std::vector<dp_shard_view> far, near;
  std::vector<std::vector<char>> bytes;
  std::vector<char *> memory;
};

class Boxes : public testing::TestWithParam<dp_dtype> {
 protected:
  Boxes() {
    DP_STEER(dp_standin_seed)(7);
    Must(dp_cuda_gpus_choose("0"));
    Must(dp_backend_cuda.attach(kDevices));
    Must(calls_->create(0, true, &queue_));
    arena_ = dp_arena_create(0);
    mesh_.n_axes = 1;
    mesh_.axes[0].name = "x";
    mesh_.axes[0].size = kDevices;
  }
  ~Boxes() override {
    calls_->destroy(queue_);
    dp_backend_cuda.detach();
    dp_arena_destroy(arena_);
    EXPECT_EQ(DP_STEER(dp_standin_count)().device_allocations, 0);
  }
  static size_t Each() { return dp_type_bytes(GetParam()); }

  Shards Make(const std::vector<int64_t> &extents, dp_placement placement, const std::vector<int> &shifts) {
    dp_shape shape = {};
    shape.rank = static_cast<int>(extents.size());
    for (int d = 0; d < shape.rank; d++) shape.dims[d] = dp_dim_of(extents[static_cast<size_t>(d)]);
    Shards shards;
    for (int d = 0; d < kDevices; d++) {
      int64_t at[DP_MAX_MESH] = {d};
      const dp_local local = dp_shard_range(&shape, &placement, &mesh_, at, 0);
      std::vector<char> bytes(static_cast<size_t>(dp_local_count(&local)) * Each());
      for (size_t i = 0; i < bytes.size() / Each(); i++)
        dp_element_set(
            GetParam(), reinterpret_cast<uint8_t *>(&bytes[i * Each()]),
            dp_type_is_float(GetParam()) ? 1.0 / double(1 + (seen_++ * 7919) % 65521) : double(seen_++ % 31));
      const size_t shift = static_cast<size_t>(shifts[static_cast<size_t>(d)]) * Each();
      auto *memory = static_cast<char *>(dp_backend_cuda.allocate({false, d}, bytes.size() + shift + 1, 256));
      Must(dp_backend_cuda.upload(d, memory + shift, bytes.data(), bytes.size()));
      shards.far.push_back({memory + shift, local});
      shards.memory.push_back(memory);
      shards.bytes.push_back(std::move(bytes));
    }
    for (int d = 0; d < kDevices; d++) {
      const auto k = static_cast<size_t>(d);
      shards.near.push_back({shards.bytes[k].data(), shards.far[k].local});
    }
    return shards;
  }

  // Runs the conversion on the GPU and on the CPU, and compares. Returns how many launches there were.
  int64_t Compare(dp_region_action action, Shards *from, Shards *to) {
    const auto make = [&](bool far) {
      return dp_transfer_shards(arena_, GetParam(), action, kDevices, (far ? from->far : from->near).data(), kDevices,
                                (far ? to->far : to->near).data());
    };
    const int devices[] = {0, 1, 2, 3};
    void *state = nullptr;
    Must(calls_->transfer_prepare(devices, kDevices, make(true), &state));
    Must(calls_->ready());
    DP_STEER(dp_standin_record)();
    dp_queue *const queues[] = {queue_, queue_, queue_, queue_};
    Must(calls_->transfer_enqueue(queues, state, 0));
    int by;
    Must(calls_->finish(queue_, &by));
    const dp_standin_slice *slices;
    const int64_t launches = DP_STEER(dp_standin_slices)(&slices);
    const dp_transfer *near = make(false);
    for (int part = 0; part < near->n_parts; part++) dp_transfer_run(near, 0, part);
    for (Shards *shards : {from, to})
      for (size_t d = 0; d < kDevices; d++) {
        std::vector<char> found(shards->bytes[d].size());
        Must(dp_backend_cuda.download(int(d), found.data(), shards->far[d].data, found.size()));
        EXPECT_TRUE(found == shards->bytes[d]) << "device " << d;
      }
    calls_->transfer_release(state);
    return launches;
  }
  void Release(Shards *shards) {
    for (int d = 0; d < kDevices; d++) dp_backend_cuda.release({false, d}, shards->memory[static_cast<size_t>(d)], 0);
  }

  const dp_queue_calls *calls_ = dp_backend_cuda.queues;
  dp_queue *queue_ = nullptr;
  dp_arena *arena_ = nullptr;
  dp_mesh mesh_ = {};
  uint64_t seen_ = 0;
};

const std::vector<std::vector<int64_t>> kExtents = {{64},    {4096},  {67},     {20011},     {3},
                                                    {8, 64}, {5, 24}, {33, 70}, {4, 6, 128}, {7, 3, 5}};
// Elements by which each device's memory is past a multiple of 256 bytes.
const std::vector<std::vector<int>> kShifts = {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 3, 2}, {16, 32, 0, 16}};

TEST_P(Boxes, ReduceScatter) {
  for (const auto &extents : kExtents)
    for (const auto &shifts : kShifts)
      for (int dim : {0, int(extents.size()) - 1})
        for (dp_region_action action : {DP_REGION_SUM, DP_REGION_MAX}) {
          SCOPED_TRACE(testing::PrintToString(extents) + " " + testing::PrintToString(shifts));
          Shards from = Make(extents, dp_replicate(), shifts), to = Make(extents, dp_shard(dim), kShifts[0]);
          Compare(action, &from, &to);
          Release(&from);
          Release(&to);
        }
}

TEST_P(Boxes, Copies) {
  for (const auto &extents : kExtents)
    for (const auto &shifts : kShifts) {
      const int last = int(extents.size()) - 1;
      SCOPED_TRACE(testing::PrintToString(extents) + " " + testing::PrintToString(shifts));
      const std::pair<dp_placement, dp_placement> ways[] = {{dp_shard(0), dp_replicate()},
                                                            {dp_shard(last), dp_replicate()},
                                                            {dp_shard(0), dp_shard(last)},
                                                            {dp_replicate(), dp_shard(last)}};
      for (const auto &[here, there] : ways) {
        Shards from = Make(extents, here, shifts), to = Make(extents, there, kShifts[2]);
        Compare(DP_REGION_COPY, &from, &to);
        Release(&from);
        Release(&to);
      }
    }
}

// One launch does it all where bytes lie well; otherwise another one takes what is left at the ends.
TEST_P(Boxes, TakeOneLaunch) {
  const int elements = 4 * 16 * 100;
  for (int more : {0, 4}) {
    const std::vector<int64_t> extents = {elements + more};
    const int expected = more * int(Each()) % 64 ? 2 : 1;
    Shards whole = Make(extents, dp_replicate(), kShifts[0]), parts = Make(extents, dp_shard(0), kShifts[0]);
    EXPECT_LE(Compare(DP_REGION_SUM, &whole, &parts), expected);
    EXPECT_LE(Compare(DP_REGION_COPY, &parts, &whole), expected);
    Release(&whole);
    Release(&parts);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Boxes,
                         testing::Values(DP_UINT8, DP_INT16, DP_BFLOAT16, DP_FLOAT32, DP_INT32, DP_FLOAT64, DP_INT64),
                         [](const auto &info) { return std::string(dp_type_name(info.param)); });

}  // namespace
}  // namespace dp_test
