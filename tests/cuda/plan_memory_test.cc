// The memory of a plan on the GPU, as the driver's stand-in records it: the arenas of every device and of the host are
// allocated as the plan says, to the byte. What comes beside them, tables of transfers and of updates on the device and
// a word of each stream on the host, comes before the second step of the same number of samples. Nothing is left at the
// end.
#include <cstring>

#include "backends/registry.h"
#include "ir/graph/mesh.h"
#include "runtime/session.h"
#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const struct {
  const char *name, *text, *options;
} kPlans[] = {
    {"One", kCnn, ""},
    {"Data", kMlp, "strategy=data devices=8"},
    {"ZeroOne", kBlock, "strategy=zero zero-stage=1 devices=2"},
    {"ZeroTwo", kCnn, "strategy=zero zero-stage=2 devices=4"},
    {"ZeroThree", kSquares, "strategy=zero zero-stage=3 devices=4"},
    {"Tensor", kBlock, "strategy=tensor devices=2"},
    {"Pipeline", kCnn, "strategy=pipeline devices=4 microbatches=4"},
    {"DataAndTensor", kMlp, "mesh=data:2,tensor:4 strategy=tensor"},
    {"DataAndPipeline", kBlock, "mesh=data:2,pipe:2 strategy=pipeline microbatches=4"},
};

// Since `first`, on the host or on the device.
std::vector<uint64_t> Allocated(size_t first, bool pinned) {
  std::vector<dp_standin_allocation> all(DP_STEER(dp_standin_allocations)(nullptr, 0));
  DP_STEER(dp_standin_allocations)(all.data(), all.size());
  std::vector<uint64_t> bytes;
  for (size_t i = first; i < all.size(); i++)
    if ((all[i].pinned != 0) == pinned) bytes.push_back(all[i].bytes);
  return bytes;
}

// Where the plan has no memory of a kind, nothing is allocated.
void Expect(uint64_t bytes, std::vector<uint64_t> *expected) {
  if (bytes) expected->push_back(bytes);
}

// Micro-batches are times, not devices.
int64_t Size(const Dp__MeshAxis *axis) { return strcmp(axis->name, DP_MESH_MICRO) ? axis->size : 1; }

int64_t Devices(const Plan &plan) {
  int64_t devices = 1;
  for (size_t a = 0; a < plan->n_mesh; a++) devices *= Size(plan->mesh[a]);
  return devices;
}

bool Runs(const Plan &plan, const Dp__Role *role, int64_t device) {
  for (size_t a = 0; a < plan->n_mesh; a++) {
    int64_t coordinate = device;
    for (size_t later = a + 1; later < plan->n_mesh; later++) coordinate /= Size(plan->mesh[later]);
    coordinate %= Size(plan->mesh[a]);
    const Dp__AxisRange *range = role->devices[a];
    if (coordinate < range->first || coordinate >= range->first + range->count) return false;
  }
  return true;
}

std::vector<uint64_t> ArenasOfDevices(const Plan &plan) {
  std::vector<uint64_t> expected;
  for (int64_t d = 0; d < Devices(plan); d++)
    for (size_t r = 0; r < plan->n_roles; r++)
      if (Runs(plan, plan->roles[r], d))
        for (Dp__Space space :
             {DP__SPACE__PERSISTENT, DP__SPACE__TRANSIENT, DP__SPACE__DEVICE_INPUT, DP__SPACE__DEVICE_INPUT})
          Expect(ArenaBytes(plan->roles[r], space), &expected);
  return expected;
}

// Two blocks for all roles, of inputs and of outputs.
std::vector<uint64_t> ArenasOfHost(const Plan &plan) {
  uint64_t input = 0, output = 0;
  for (size_t r = 0; r < plan->n_roles; r++) {
    input = std::max(input, ArenaBytes(plan->roles[r], DP__SPACE__HOST_INPUT));
    output = std::max(output, ArenaBytes(plan->roles[r], DP__SPACE__HOST_OUTPUT));
  }
  std::vector<uint64_t> expected;
  for (uint64_t bytes : {input, input, output, output}) Expect(bytes, &expected);
  return expected;
}

// How many transfers and instructions of many updates the plan has at most, on all devices, for one number of samples.
size_t Tables(const Plan &plan) {
  size_t count = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (const Location &at : Instructions(plan, plan->roles[r]->programs[p]->name, r))
        count += !*At(plan, at)->kernel || !strncmp(At(plan, at)->kernel, "cuda.updates.", 13);
  return count * static_cast<size_t>(Devices(plan));
}

class CudaPlanMemory : public testing::TestWithParam<int> {};

TEST_P(CudaPlanMemory, IsWhatThePlanSays) {
  const auto &c = kPlans[GetParam()];
  const Plan plan = Compile(c.text, std::string("target=cuda batch=8 ") + c.options);
  const std::vector<int64_t> numbers = {8, 5, 1};
  const size_t first = DP_STEER(dp_standin_allocations)(nullptr, 0);
  {
    Training training(plan);
    for (int64_t n : numbers) {
      training.Train(0, n);
      training.Evaluate(0, n);
    }
    const size_t made = DP_STEER(dp_standin_allocations)(nullptr, 0);
    const dp_standin_counts held = DP_STEER(dp_standin_count)();
    for (int64_t n : numbers) {
      training.Train(8, n);
      training.Evaluate(8, n);
    }
    EXPECT_EQ(DP_STEER(dp_standin_allocations)(nullptr, 0), made) << "a later step allocates";
    const dp_standin_counts now = DP_STEER(dp_standin_count)();
    EXPECT_EQ(now.streams, held.streams);
    EXPECT_EQ(now.events, held.events);
    EXPECT_EQ(now.modules, held.modules);
    EXPECT_EQ(now.handles, held.handles);

    std::vector<uint64_t> device = Allocated(first, false), host = Allocated(first, true);
    const std::vector<uint64_t> on_devices = ArenasOfDevices(plan), on_host = ArenasOfHost(plan);
    ASSERT_GE(device.size(), on_devices.size());
    ASSERT_GE(host.size(), on_host.size());
    const auto tables = device.begin() + static_cast<std::ptrdiff_t>(on_devices.size());
    const auto words = host.begin() + static_cast<std::ptrdiff_t>(on_host.size());
    EXPECT_EQ(std::vector<uint64_t>(device.begin(), tables), on_devices);
    EXPECT_EQ(std::vector<uint64_t>(host.begin(), words), on_host);
    EXPECT_EQ(host.end() - words, now.streams);
    for (auto word = words; word != host.end(); word++) EXPECT_LE(*word, 64u);
    EXPECT_LE(static_cast<size_t>(device.end() - tables), Tables(plan) * (numbers.size() + 1));
    for (auto table = tables; table != device.end(); table++) EXPECT_LE(*table, 64u << 10);
    for (Dp__Space space : {DP__SPACE__PERSISTENT, DP__SPACE__TRANSIENT}) EXPECT_GT(training.Allocated(space), 0u);
  }
  const dp_standin_counts left = DP_STEER(dp_standin_count)();
  EXPECT_EQ(left.device_allocations, 0);
  EXPECT_EQ(left.device_bytes, 0);
  EXPECT_EQ(left.host_allocations, 0);
  EXPECT_EQ(left.host_bytes, 0);
  EXPECT_EQ(left.streams, 0);
  EXPECT_EQ(left.events, 0);
  EXPECT_EQ(left.pending, 0);
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// With one sample, operands have the extents of others that they do not have with more.
const char *const kOfOne[] = {
    R"(model channels {
  parameter w: float32[8,4] = kaiming_uniform()
  input h: float32[N,6,8]
  input z: float32[N,6,4]
  input c: float32[N,1,4]
  p = MatMul(h, w)
  s1 = Sigmoid(z)
  s2 = Tanh(z)
  s3 = Relu(z)
  u = Add(p, c)
  a = Mul(u, s1)
  b = Mul(a, s2)
  y = Add(b, s3)
  output y
})",
    R"(model positions {
  parameter w: float32[8,4] = kaiming_uniform()
  parameter at: float32[1,6,4] = ones
  input h: float32[N,6,8]
  input z: float32[N,6,4]
  p = MatMul(h, w)
  s1 = Sigmoid(z)
  u = Add(p, at)
  y = Mul(u, s1)
  output y
})",
    R"(model squeezed {
  parameter w: float32[16,1] = kaiming_uniform(8)
  parameter b: float32[1] = kaiming_uniform(8)
  input x: float32[N,16]
  input t: float32[N]
  p = MatMul(x, w)
  s = Squeeze(p) {axes=[1]}
  g = Sigmoid(t)
  u = Add(s, b)
  y = Mul(u, g)
  output y
})",
};

TEST(CudaScratch, IsEnoughForAnyNumberOfSamples) {
  const dp_backend *backend = nullptr;
  Must(dp_backend_find("cuda")->open(nullptr, &backend));
  for (const char *text : kOfOne)
    for (const char *options : {"devices=1 batch=4", "strategy=data devices=2 batch=3"}) {
      SCOPED_TRACE(testing::Message() << text << options);
      const Plan plan = Compile(text, std::string("target=cuda mode=infer ") + options);
      dp_session_options how = {};
      how.workers = 1;
      dp_session *session = nullptr;
      Must(dp_session_create(plan.get(), backend, &how, &session));
      for (int64_t n = 1; n <= int64_t(plan->batch); n++) {
        dp_status status = dp_session_prepare(session, dp_session_find(session, "infer"), n);
        EXPECT_EQ(status, DP_OK) << n << " samples: " << dp_status_message(status);
        dp_status_free(status);
      }
      dp_session_destroy(session);
    }
}

INSTANTIATE_TEST_SUITE_P(Plans, CudaPlanMemory, testing::Range(0, int(std::size(kPlans))),
                         [](const auto &info) { return kPlans[info.param].name; });

}  // namespace
}  // namespace dp_test
