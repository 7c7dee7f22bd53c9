// Communication between random placements on random meshes; checks each element on each device.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "ir/file/proto.h"
#include "runtime/exec/pool.h"
#include "runtime/exec/program.h"
#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Arena;
using dp_test::Message;

constexpr int64_t kBatch = 7;
constexpr uint64_t kRoom = 1 << 14;  // bytes of each arena, at least

template <typename T>
T *New(dp_arena *arena, void (*init)(T *)) {
  T *message = static_cast<T *>(dp_alloc(arena, sizeof *message));
  init(message);
  return message;
}

template <typename T>
T **List(dp_arena *arena, const std::vector<T *> &items) {
  return static_cast<T **>(dp_memdup(arena, items.data(), items.size() * sizeof(T *)));
}

struct Side {
  dp_placement at[DP_MAX_MESH] = {};
  Dp__Space space = DP__SPACE__TRANSIENT;
};

// One value with two placements, and the instruction that converts it from one to the other.
struct Conversion {
  dp_type type{};
  dp_mesh mesh{};
  int64_t n = 0;
  Side from, to;
  int axis = -1;  // -1: between host and devices
};

// The index of the element in the whole tensor, by local index.
int64_t WholeIndex(const dp_local &local, int64_t i) {
  int64_t whole = 0, stride = 1;
  for (int d = local.rank - 1; d >= 0; d--) {
    whole += stride * dp_local_to_whole(&local, d, i % local.extents[d]);
    i /= local.extents[d];
    stride *= local.whole[d];
  }
  return whole;
}

// The memory of all devices, filled with different numbers on each.
class Machine {
 public:
  Machine(const Conversion &c, std::mt19937 *random, uint64_t room = kRoom) : room(room), c_(c) {
    int64_t devices = dp_mesh_devices(&c.mesh);
    for (int64_t d = 0; d < devices; d++) {
      memory_.push_back(Fill(random));
      pointers_.push_back({nullptr, memory_.back().data(), 0, room, {}, 0, nullptr, 0});
    }
    for (auto &host : host_) host = Fill(random);
    before_ = memory_;
    for (int64_t d = 0; d < devices; d++) {
      dp_local local = Local(c.from, d);
      for (int64_t i = 0; i < dp_local_count(&local); i++) held_[{d, WholeIndex(local, i)}] = i;
    }
    backend_.name = "test";
    backend_.computes = true;
    dp_memory_.backend = &backend_;
    dp_memory_.n_devices = static_cast<int>(devices);
    dp_memory_.devices = pointers_.data();
    dp_memory_.host_input[0] = host_[0].data();
    dp_memory_.host_input[1] = host_[1].data();
    dp_memory_.host_output[0] = host_[2].data();
  }

  // Runs the instruction with the operand at 0 and the result at `result_offset` of their spaces.
  std::string Run(uint64_t result_offset, int slot, int workers) {
    Arena arena;
    dp_model *model = dp_model_create(arena, "m");
    dp_graph *graph = dp_graph_create(model, "g");
    dp_graph_add_value(graph, DP_VALUE_INPUT, "x", c_.type);
    Dp__Program *program = New(arena, dp__program__init);
    program->n_tensors = 2;
    program->tensors = List<Dp__DeviceTensor>(arena, {Tensor(arena, c_.from, 0), Tensor(arena, c_.to, result_offset)});
    Dp__Instruction *in = New(arena, dp__instruction__init);
    uint32_t operand = 1, result = 2, axis = static_cast<uint32_t>(c_.axis);
    in->op = dp_strdup(arena, "conversion");
    in->n_inputs = in->n_outputs = 1;
    in->inputs = static_cast<uint32_t *>(dp_memdup(arena, &operand, sizeof operand));
    in->outputs = static_cast<uint32_t *>(dp_memdup(arena, &result, sizeof result));
    in->communication = New(arena, dp__communication__init);
    in->communication->n_axes = c_.axis >= 0;
    in->communication->axes = static_cast<uint32_t *>(dp_memdup(arena, &axis, sizeof axis));
    Dp__Stream *stream = New(arena, dp__stream__init);
    stream->name = dp_strdup(arena, "comm");
    stream->n_instructions = 1;
    stream->instructions = List<Dp__Instruction>(arena, {in});
    program->n_streams = 1;
    program->streams = List<Dp__Stream>(arena, {stream});
    // One role for all devices.
    std::vector<int> devices(static_cast<size_t>(dp_memory_.n_devices)), of_device(devices.size());
    std::iota(devices.begin(), devices.end(), 0);
    dp_role_devices role = {nullptr, dp_memory_.n_devices, devices.data()};
    dp_role_map roles = {1, dp_memory_.n_devices, &role, of_device.data()};
    dp_binding binding = {};
    binding.memory = &dp_memory_;
    binding.mesh = &c_.mesh;
    binding.roles = &roles;
    binding.in_rank_order = true;
    dp_node *node = nullptr, **nodes = &node;
    dp_role_program part = {program, graph, &nodes};
    dp_bound bound = {};
    std::string message = Message(dp_bound_make(arena, &binding, &part, c_.n, &bound));
    if (message.empty()) {
      bound.slot = slot;
      dp_pool *pool = nullptr;
      dp_pool_state *state = nullptr;
      message = Message(dp_pool_create(workers, &pool));
      if (message.empty()) message = Message(dp_pool_prepare(pool, &bound.task_graph, &state));
      if (message.empty()) message = Message(dp_pool_run(pool, &bound.task_graph, state));
      dp_pool_destroy(pool);
      dp_pool_release(state);
    }
    dp_bound_release(&bound);
    return message;
  }

  dp_local Local(const Side &side, int64_t device) const {
    int64_t at[DP_MAX_MESH];
    dp_mesh_coordinate(&c_.mesh, device, at);
    return dp_shard_range(&c_.type.shape, side.at, &c_.mesh, at, c_.n);
  }
  // The position of the whole's element in the device's part of the operand, or -1.
  int64_t Held(int64_t device, int64_t whole) const {
    auto found = held_.find({device, whole});
    return found == held_.end() ? -1 : found->second;
  }
  const char *Before(int64_t device) const { return before_[static_cast<size_t>(device)].data(); }
  const char *After(int64_t device) const { return memory_[static_cast<size_t>(device)].data(); }
  const char *Host(int i) const { return host_[i].data(); }

  const uint64_t room;

 private:
  // Small integers in 16-bit types: float results would show errors, and no sum of integers overflows.
  std::vector<char> Fill(std::mt19937 *random) const {
    std::vector<char> bytes(room);
    size_t size = dp_type_bytes(c_.type.dtype);
    for (size_t i = 0; i + size <= room; i += size) {
      double number = static_cast<double>((*random)() % 20);
      if (dp_type_is_float(c_.type.dtype)) number = number / 7 - 1;
      if (c_.type.dtype == DP_BOOL) number = number > 9;
      dp_element_set(c_.type.dtype, &bytes[i], number);
    }
    return bytes;
  }
  Dp__DeviceTensor *Tensor(dp_arena *arena, const Side &side, uint64_t offset) const {
    Dp__DeviceTensor *t = New(arena, dp__device_tensor__init);
    t->n_placements = static_cast<size_t>(c_.mesh.n_axes);
    t->placements = dp_proto_from_placements(arena, side.at, c_.mesh.n_axes);
    t->space = side.space;
    t->offset = offset;
    return t;
  }

  const Conversion &c_;
  std::vector<std::vector<char>> memory_, before_;
  std::vector<char> host_[3];
  std::map<std::pair<int64_t, int64_t>, int64_t> held_;
  std::vector<dp_device_memory> pointers_;
  dp_backend backend_{};
  dp_memory dp_memory_{};
};

// Calls visit(device, element index) for the elements at `whole` in the parts of the devices that differ from `device`
// only along the axis, in rank order.
void InGroup(const Machine &m, const Conversion &c, int64_t device, int64_t whole,
             const std::function<void(int64_t, int64_t)> &visit) {
  int64_t mine[DP_MAX_MESH], other[DP_MAX_MESH];
  dp_mesh_coordinate(&c.mesh, device, mine);
  for (int64_t d = 0; d < dp_mesh_devices(&c.mesh); d++) {
    dp_mesh_coordinate(&c.mesh, d, other);
    bool member = true;
    for (int a = 0; a < c.mesh.n_axes; a++) member &= a == c.axis || mine[a] == other[a];
    int64_t i = member ? m.Held(d, whole) : -1;
    if (i >= 0) visit(d, i);
  }
}

template <typename T>
void Fold(bool first, dp_reduction reduction, char *into, const char *from) {
  T a, b;
  memcpy(&a, into, sizeof a);
  memcpy(&b, from, sizeof b);
  a = first ? b : static_cast<T>(reduction == DP_SUM ? a + b : std::max(a, b));
  memcpy(into, &a, sizeof a);
}

void FoldAny(dp_dtype dtype, bool first, dp_reduction reduction, char *into, const char *from) {
  switch (dtype) {
    case DP_FLOAT32:
      return Fold<float>(first, reduction, into, from);
    case DP_FLOAT64:
      return Fold<double>(first, reduction, into, from);
    case DP_INT64:
      return Fold<int64_t>(first, reduction, into, from);
    case DP_INT32:
      return Fold<int32_t>(first, reduction, into, from);
    default:
      return Fold<uint8_t>(first, reduction, into, from);
  }
}

// ---- random cases ---------------------------------------------------------------------------------------------------

int64_t Pick(std::mt19937 *random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>((*random)() % static_cast<uint64_t>(high - low + 1));
}

dp_placement RandomPlacement(std::mt19937 *random, int rank) {
  int64_t kind = Pick(random, 0, rank ? 3 : 1);
  if (kind == 0) return dp_replicate();
  if (kind == 1) return dp_partial(Pick(random, 0, 3) ? DP_SUM : DP_MAX);
  return dp_shard_in(static_cast<int>(Pick(random, 0, rank - 1)), Pick(random, 1, 2), Pick(random, 1, 2));
}

Conversion RandomValue(std::mt19937 *random) {
  static const char *const kNames[] = {"a", "b", "c"};
  static const dp_dtype kTypes[] = {DP_FLOAT32, DP_FLOAT64, DP_INT64, DP_INT32, DP_UINT8, DP_BOOL};
  Conversion c;
  c.mesh.n_axes = static_cast<int>(Pick(random, 1, 3));
  for (int a = 0; a < c.mesh.n_axes; a++) c.mesh.axes[a] = {kNames[a], Pick(random, 1, 3)};
  c.type.dtype = kTypes[Pick(random, 0, 5)];
  c.type.shape.rank = static_cast<int>(Pick(random, 0, 4));
  for (int d = 0; d < c.type.shape.rank; d++)
    c.type.shape.dims[d] = d == 0 && Pick(random, 0, 1) ? dp_dim{Pick(random, 1, 2), 0} : dp_dim_of(Pick(random, 1, 4));
  c.n = Pick(random, 0, kBatch);
  for (int a = 0; a < c.mesh.n_axes; a++) c.from.at[a] = RandomPlacement(random, c.type.shape.rank);
  c.to = c.from;
  return c;
}

bool Legal(const Conversion &c) {
  for (const Side *p : {&c.from, &c.to})
    if (!Message(dp_placement_check(&c.type.shape, p->at, &c.mesh)).empty()) return false;
  return true;
}

// A conversion on one axis, of a dim that no later axis splits too.
bool RandomConversion(std::mt19937 *random, Conversion *c) {
  *c = RandomValue(random);
  c->axis = static_cast<int>(Pick(random, 0, c->mesh.n_axes - 1));
  c->to.at[c->axis] = RandomPlacement(random, c->type.shape.rank);
  const dp_placement &a = c->from.at[c->axis], &b = c->to.at[c->axis];
  if (b.kind == DP_PARTIAL || dp_placement_equal(a, b) || !Legal(*c)) return false;
  if (a.kind == DP_PARTIAL && c->type.dtype == DP_BOOL) return false;
  for (int later = c->axis + 1; later < c->mesh.n_axes; later++)
    for (const dp_placement *p : {&a, &b})
      if (p->kind == DP_SHARD && c->from.at[later].kind == DP_SHARD && c->from.at[later].dim == p->dim) return false;
  return true;
}

void Check(const Machine &m, const Conversion &c, uint64_t result_offset) {
  size_t size = dp_type_bytes(c.type.dtype);
  bool reduces = c.from.at[c.axis].kind == DP_PARTIAL;
  for (int64_t d = 0; d < dp_mesh_devices(&c.mesh); d++) {
    dp_local local = m.Local(c.to, d);
    for (int64_t i = 0; i < dp_local_count(&local); i++) {
      char expected[8] = {};
      int count = 0;
      InGroup(m, c, d, WholeIndex(local, i), [&](int64_t source, int64_t k) {
        // Not a reduction. Each member that has the element has different numbers here; the device takes its own or the
        // only one.
        if (!reduces && c.from.at[c.axis].kind == DP_REPLICATE && source != d) return;
        FoldAny(c.type.dtype, !count++, c.from.at[c.axis].reduction, expected, m.Before(source) + k * size);
      });
      ASSERT_GT(count, 0);
      ASSERT_TRUE(reduces || count == 1);
      ASSERT_EQ(memcmp(expected, m.After(d) + result_offset + i * size, size), 0)
          << "device " << d << ", element " << i;
    }
    // Bytes after it are unchanged.
    uint64_t end = result_offset + static_cast<uint64_t>(dp_local_count(&local)) * size;
    ASSERT_EQ(memcmp(m.Before(d) + end, m.After(d) + end, m.room - end), 0);
  }
}

TEST(Conversion, AnyPlacementToAnyOther) {
  std::mt19937 random(1);
  int done = 0, kinds[3][2] = {};
  for (int trial = 0; trial < 20000 && done < 500; trial++) {
    Conversion c;
    if (!RandomConversion(&random, &c)) continue;
    done++;
    kinds[c.from.at[c.axis].kind][c.to.at[c.axis].kind]++;
    Machine m(c, &random);
    ASSERT_EQ(m.Run(kRoom / 2, 0, 1 + trial % 3), "");
    Check(m, c, kRoom / 2);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(done, 500);
  for (auto &row : {kinds[DP_SHARD], kinds[DP_PARTIAL]})
    for (int k = 0; k < 2; k++) EXPECT_GT(row[k], 20);
  EXPECT_GT(kinds[DP_REPLICATE][DP_SHARD], 20);
}

TEST(Conversion, AllReduceInPlaceOfManyParts) {
  for (dp_dtype dtype : {DP_FLOAT32, DP_FLOAT64, DP_INT64}) {
    std::mt19937 random(3);
    Conversion c;
    c.type = {dtype, {2, {dp_dim_of(5), dp_dim_of(dtype == DP_FLOAT32 ? 3001 : 1501)}}};
    c.mesh.n_axes = 2;
    c.mesh.axes[0] = {"a", 2};
    c.mesh.axes[1] = {"b", 3};
    c.axis = 1;
    c.from.at[1] = dp_partial(DP_SUM);
    Machine m(c, &random, 1 << 16);
    ASSERT_EQ(m.Run(0, 0, 3), "");
    size_t size = dp_type_bytes(dtype), count = static_cast<size_t>(dp_shape_count(&c.type.shape, 0));
    for (int64_t d = 0; d < 6; d++)
      for (size_t i = 0; i < count; i++) {
        char expected[8];
        for (int64_t r = 0; r < 3; r++) FoldAny(dtype, !r, DP_SUM, expected, m.Before(d / 3 * 3 + r) + i * size);
        ASSERT_EQ(memcmp(expected, m.After(d) + i * size, size), 0);
      }
  }
}

// Parts cut all tensors as if they were one: some end within a tensor, some contain several, and one tensor is empty.
TEST(Conversion, AllReduceOfSeveralTensors) {
  const std::vector<int64_t> counts = {1, 40000, 0, 3, 16384, 7, 2000};
  const int members = 3;
  std::mt19937 random(9);
  Arena arena;
  std::vector<std::vector<float>> operands, results;
  std::vector<dp_shard_view> from, to;
  for (int64_t count : counts)
    for (int m = 0; m < members; m++) {
      std::vector<float> numbers(static_cast<size_t>(count) + 1);
      for (float &x : numbers) x = static_cast<float>(random() % 1000) / 7;
      operands.push_back(numbers);
      results.push_back(numbers);  // the last number must not change
    }
  for (size_t v = 0; v < operands.size(); v++) {
    dp_local local = {};
    local.rank = 1;
    local.whole[0] = local.extents[0] = local.hi[0] = local.k[0] = counts[v / members];
    local.outer[0] = local.unit[0] = 1;
    from.push_back({reinterpret_cast<char *>(operands[v].data()), local});
    to.push_back({reinterpret_cast<char *>(results[v].data()), local});
  }
  for (bool in_place : {false, true}) {
    std::vector<std::vector<float>> before = operands;
    dp_transfer *t = dp_transfer_reduce(arena, DP_FLOAT32, DP_REGION_SUM, static_cast<int>(counts.size()), members,
                                        from.data(), members, in_place ? from.data() : to.data());
    EXPECT_EQ(t->n_parts, 4);  // of 58,395 elements, at most 16,384 each
    for (int part = t->n_parts; part-- > 0;) dp_transfer_run(t, 0, part);
    for (size_t v = 0; v < before.size(); v++) {
      const std::vector<float> &found = in_place ? operands[v] : results[v];
      size_t first = v / members * members, count = static_cast<size_t>(counts[v / members]);
      for (size_t i = 0; i < count; i++)
        ASSERT_EQ(found[i], (before[first][i] + before[first + 1][i]) + before[first + 2][i]) << v << " " << i;
      ASSERT_EQ(found[count], before[v][count]);
    }
  }
}

// From either copy of the inputs on the host to devices with any placement except Partial, and back.
TEST(Conversion, HostToDevicesAndBack) {
  std::mt19937 random(5);
  int done = 0;
  for (int trial = 0; trial < 5000 && done < 200; trial++) {
    Conversion down = RandomValue(&random);
    for (int a = 0; a < down.mesh.n_axes; a++) {
      down.from.at[a] = dp_replicate();
      if (down.to.at[a].kind == DP_PARTIAL) down.to.at[a] = dp_replicate();
    }
    down.from.space = DP__SPACE__HOST_INPUT;
    if (!Legal(down)) continue;
    done++;
    size_t size = dp_type_bytes(down.type.dtype);
    Machine m(down, &random);
    ASSERT_EQ(m.Run(0, trial % 2, 2), "");
    for (int64_t d = 0; d < dp_mesh_devices(&down.mesh); d++) {
      dp_local local = m.Local(down.to, d);
      for (int64_t i = 0; i < dp_local_count(&local); i++)
        ASSERT_EQ(memcmp(m.After(d) + i * size, m.Host(trial % 2) + WholeIndex(local, i) * size, size), 0);
    }
    Conversion up = down;
    up.from.space = DP__SPACE__TRANSIENT;
    up.to.space = DP__SPACE__HOST_OUTPUT;
    std::swap(up.from.at, up.to.at);
    Machine back(up, &random);
    ASSERT_EQ(back.Run(64, 0, 3), "");
    for (int64_t d = 0; d < dp_mesh_devices(&up.mesh); d++) {
      int64_t at[DP_MAX_MESH];
      dp_mesh_coordinate(&up.mesh, d, at);
      bool speaks = true;  // copies differ here, which shows whose is taken
      for (int a = 0; a < up.mesh.n_axes; a++) speaks &= up.from.at[a].kind == DP_SHARD || at[a] == 0;
      dp_local local = back.Local(up.from, d);
      for (int64_t i = 0; speaks && i < dp_local_count(&local); i++)
        ASSERT_EQ(memcmp(back.Before(d) + i * size, back.Host(2) + 64 + WholeIndex(local, i) * size, size), 0);
    }
  }
  EXPECT_EQ(done, 200);
}

TEST(Conversion, SumsOfBoolsAreRefused) {
  std::mt19937 random(7);
  Conversion c;
  c.type = {DP_BOOL, {1, {dp_dim_of(4)}}};
  c.mesh.n_axes = 1;
  c.mesh.axes[0] = {"a", 2};
  c.axis = 0;
  c.from.at[0] = dp_partial(DP_SUM);
  Machine m(c, &random);
  EXPECT_NE(m.Run(0, 0, 1).find("conversion cannot reduce elements of type bool"), std::string::npos);
}

}  // namespace
