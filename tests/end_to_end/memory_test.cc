// The memory of a device: allocations equal the plan's figures to the byte and are the same on every device, and device
// 0 uses no more than the others, because the loss is computed where the activations are.
#include <algorithm>

#include "backends/cpu/backend.h"
#include "ir/file/proto.h"
#include "tests/end_to_end/training.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {
namespace {

std::vector<uint64_t> *allocations;

void *Allocate(dp_place place, uint64_t bytes, uint64_t alignment) {
  allocations->push_back(bytes);
  return dp_backend_cpu.allocate(place, bytes, alignment);
}

uint64_t ArenaBytes(const Plan &plan, Dp__Space space) {
  for (size_t i = 0; i < plan->roles[0]->n_arenas; i++)
    if (plan->roles[0]->arenas[i]->space == space) return plan->roles[0]->arenas[i]->bytes;
  return 0;
}

class Memory : public testing::TestWithParam<std::tuple<const char *, int>> {
 protected:
  int Devices() const { return std::get<1>(GetParam()); }
  Plan MakePlan() const {
    return Compile(ReadText(std::string("examples/") + std::get<0>(GetParam()) + ".dpt"),
                   "batch=64 strategy=data devices=" + std::to_string(Devices()));
  }
};

TEST_P(Memory, AllocationsAreThePlansFigures) {
  Plan plan = MakePlan();
  std::vector<uint64_t> made;
  allocations = &made;
  dp_backend backend = dp_backend_cpu;
  backend.allocate = Allocate;
  dp_session *session = nullptr;
  dp_session_options options = {};
  options.workers = 1;
  Must(dp_session_create(plan.get(), &backend, &options, &session));
  std::vector<uint64_t> expected;
  for (int d = 0; d < Devices(); d++) {
    expected.push_back(ArenaBytes(plan, DP__SPACE__PERSISTENT));
    expected.push_back(ArenaBytes(plan, DP__SPACE__TRANSIENT));
  }
  expected.insert(expected.end(), 2, ArenaBytes(plan, DP__SPACE__HOST_INPUT));  // one is filled while the other is read
  expected.push_back(ArenaBytes(plan, DP__SPACE__HOST_OUTPUT));
  EXPECT_EQ(made, expected);
  for (Dp__Space space : {DP__SPACE__PERSISTENT, DP__SPACE__TRANSIENT})
    EXPECT_EQ(dp_session_bytes(session, space), uint64_t(Devices()) * ArenaBytes(plan, space));
  dp_session_destroy(session);
  allocations = nullptr;
}

// What threads need for themselves is little beside the network: each copies its share of large weights, and of a head
// no more threads sum up than there are chunks of rows.
TEST(MemoryOfThreads, IsLittleBesideTheNetwork) {
  const struct {
    const char *network;
    double of_8, of_16, of_64;
  } most[] = {{"resnet18", 1.1, 1.1, 1.25}, {"vgg11", 1.2, 1.3, 1.4}, {"gpt4", 1.4, 1.4, 1.4}};
  for (const auto &m : most) {
    const std::string text = ReadText(std::string("examples/") + m.network + ".dpt");
    const auto bytes = [&](int threads) {
      const Plan plan = Compile(text, "batch=32 threads=" + std::to_string(threads));
      return double(ArenaBytes(plan, DP__SPACE__TRANSIENT) + ArenaBytes(plan, DP__SPACE__PERSISTENT));
    };
    const double one = bytes(1);
    EXPECT_LE(bytes(8), m.of_8 * one) << m.network;
    EXPECT_LE(bytes(16), m.of_16 * one) << m.network;
    EXPECT_LE(bytes(64), m.of_64 * one) << m.network;
  }
}

// Bytes in use on a device at n: those of all its tensors in arenas.
uint64_t InUse(const dp_session *session, const Plan &plan, const std::string &name, int device, int64_t n) {
  const Dp__Program *program = plan->roles[0]->programs[FindProgram(plan, name)];
  const dp_graph *graph = dp_session_graph(session, dp_session_find(session, name.c_str()));
  const dp_model *model = dp_session_model(session);
  int64_t at[DP_MAX_MESH];
  dp_mesh_coordinate(&model->mesh, device, at);
  uint64_t bytes = 0;
  for (size_t t = 0; t < program->n_tensors; t++) {
    const Dp__DeviceTensor *tensor = program->tensors[t];
    if (tensor->space != DP__SPACE__TRANSIENT && tensor->space != DP__SPACE__PERSISTENT) continue;
    const dp_shape &shape = graph->values[tensor->value]->type->shape;
    dp_placement placements[DP_MAX_MESH];
    Must(dp_proto_to_placements(tensor->n_placements, tensor->placements, &shape, &model->mesh, placements));
    dp_local local = dp_shard_range(&shape, placements, &model->mesh, at, n);
    uint64_t here = uint64_t(dp_local_count(&local)) * dp_type_bytes(dp_dtype(tensor->dtype));
    EXPECT_LE(here, tensor->bytes);
    bytes += here;
  }
  return bytes;
}

TEST_P(Memory, DeviceZeroHoldsNoMoreThanTheOthers) {
  Plan plan = MakePlan();
  // All devices run the same program.
  ASSERT_EQ(plan->n_roles, 1u);
  EXPECT_EQ(plan->roles[0]->devices[0]->first, 0);
  EXPECT_EQ(plan->roles[0]->devices[0]->count, Devices());
  dp_session *session = nullptr;
  dp_session_options options = {};
  Must(dp_session_create(plan.get(), &dp_backend_cpu, &options, &session));
  for (const char *program : {"train", "eval"})
    for (int64_t n : {64, 61, 7, 1})
      for (int d = 1; d < Devices(); d++)
        EXPECT_LE(InUse(session, plan, program, 0, n), InUse(session, plan, program, d, n))
            << program << ", device " << d << ", n = " << n;
  dp_session_destroy(session);
}

TEST_P(Memory, TheLossIsComputedWhereTheActivationsAre) {
  Plan plan = MakePlan();
  const Dp__Program *train = plan->roles[0]->programs[FindProgram(plan, "train")];
  int found = 0;
  for (const Location &location : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, location);
    if (std::string(in->op).rfind("SoftmaxCrossEntropyLoss", 0)) continue;
    found++;
    for (int operand : {0, 1}) {
      const Dp__DeviceTensor *t = train->tensors[in->inputs[operand] - 1];
      EXPECT_EQ(t->space, DP__SPACE__TRANSIENT);
      if (Devices() == 1) continue;
      EXPECT_EQ(t->placements[0]->kind, int(DP_SHARD)) << "operand " << operand << " of " << in->op;
    }
  }
  EXPECT_EQ(found, 2) << "expected the loss and its gradient";
}

INSTANTIATE_TEST_SUITE_P(, Memory, testing::Combine(testing::Values("mlp", "digits_cnn"), testing::Values(1, 2, 3, 8)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_on_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace dp_test
