// Cuts micro-batches out of a value and recombines them, pieces and partial results, in random order, for random
// shapes, splits and numbers of samples. Checks every element.
#include <gtest/gtest.h>

#include <cstring>
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

int64_t Pick(std::mt19937 *random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>((*random)() % static_cast<uint64_t>(high - low + 1));
}

template <typename T>
T *New(dp_arena *arena, void (*init)(T *)) {
  T *message = static_cast<T *>(dp_alloc(arena, sizeof *message));
  init(message);
  return message;
}

// A program of one stream on mesh micro=m, data=d, and the devices' memory. A tensor has its own `room` bytes unless it
// is placed over another.
class Chain {
 public:
  Chain(const dp_type &type, int64_t micro, int64_t data, int64_t n, uint64_t room = 1 << 16)
      : type_(type), n_(n), room_(room) {
    mesh.n_axes = 2;
    mesh.axes[0] = {DP_MESH_MICRO, micro};
    mesh.axes[1] = {"data", data};
    dp_model *model = dp_model_create(arena_, "m");
    graph_ = dp_graph_create(model, "g");
    dp_graph_add_value(graph_, DP_VALUE_INPUT, "x", type);
    dp__program__init(&program_);
    dp__stream__init(&stream_);
    stream_.name = const_cast<char *>("compute");
  }

  // Returns the tensor's number. count 0: it belongs to no micro-batches. over: the tensor at whose bytes it is placed,
  // or -1.
  uint32_t Tensor(dp_placement on, dp_placement data, int64_t first, int64_t count, int64_t over = -1) {
    const dp_placement at[] = {on, data};
    Dp__DeviceTensor *t = New(arena_, dp__device_tensor__init);
    t->n_placements = 2;
    t->placements = dp_proto_from_placements(arena_, at, 2);
    t->space = DP__SPACE__TRANSIENT;
    t->offset = over < 0 ? rooms_++ * room_ : tensors_[static_cast<size_t>(over)]->offset;
    if (count) {
      t->micro = New(arena_, dp__micro_set__init);
      t->micro->first = static_cast<uint32_t>(first);
      t->micro->count = static_cast<uint32_t>(count);
      t->micro->of = static_cast<uint32_t>(mesh.axes[0].size);
    }
    tensors_.push_back(t);
    return static_cast<uint32_t>(tensors_.size()) - 1;
  }
  void Step(const std::vector<uint32_t> &operands, uint32_t result) {
    Dp__Instruction *in = New(arena_, dp__instruction__init);
    in->op = const_cast<char *>("step");
    in->n_inputs = operands.size();
    in->n_outputs = 1;
    in->inputs = static_cast<uint32_t *>(dp_memdup(arena_, operands.data(), operands.size() * sizeof(uint32_t)));
    for (size_t i = 0; i < operands.size(); i++) in->inputs[i]++;
    result++;
    in->outputs = static_cast<uint32_t *>(dp_memdup(arena_, &result, sizeof result));
    in->communication = New(arena_, dp__communication__init);
    in->communication->n_axes = 1;
    in->communication->axes = static_cast<uint32_t *>(dp_alloc(arena_, sizeof(uint32_t)));  // 0: micro
    steps_.push_back(in);
  }

  // The bytes of a tensor on a device, as numbers of the type.
  char *Bytes(size_t device, uint32_t tensor) {
    memory_.resize(static_cast<size_t>(mesh.axes[1].size));
    memory_[device].resize(rooms_ * room_);
    return &memory_[device][tensors_[tensor]->offset];
  }
  dp_local Local(size_t device, dp_placement on, dp_placement data, int64_t micro) const {
    const dp_placement at[DP_MAX_MESH] = {on, data};
    int64_t coordinate[DP_MAX_MESH] = {micro, static_cast<int64_t>(device)};
    return dp_shard_range(&type_.shape, at, &mesh, coordinate, n_);
  }

  std::string Run(int workers) {
    std::vector<dp_device_memory> pointers;
    for (auto &bytes : memory_) pointers.push_back({nullptr, bytes.data(), 0, bytes.size(), {}, 0, nullptr, 0});
    dp_backend backend = {};
    backend.name = "test";
    backend.computes = true;
    dp_memory memory = {};
    memory.backend = &backend;
    memory.n_devices = static_cast<int>(pointers.size());
    memory.devices = pointers.data();
    program_.n_tensors = tensors_.size();
    program_.tensors = tensors_.data();
    stream_.n_instructions = steps_.size();
    stream_.instructions = steps_.data();
    Dp__Stream *streams[] = {&stream_};
    program_.n_streams = 1;
    program_.streams = streams;
    std::vector<int> devices(pointers.size()), of_device(pointers.size());
    std::iota(devices.begin(), devices.end(), 0);
    dp_role_devices role = {nullptr, memory.n_devices, devices.data()};
    dp_role_map roles = {1, memory.n_devices, &role, of_device.data()};
    dp_binding binding = {};
    binding.memory = &memory;
    binding.mesh = &mesh;
    binding.roles = &roles;
    binding.in_rank_order = true;
    std::vector<dp_node *> none(steps_.size());
    dp_node *const *nodes = none.data();
    dp_role_program part = {&program_, graph_, &nodes};
    dp_bound bound = {};
    dp_pool *pool = nullptr;
    dp_pool_state *state = nullptr;
    std::string message = Message(dp_bound_make(arena_, &binding, &part, n_, &bound));
    if (message.empty()) message = Message(dp_pool_create(workers, &pool));
    if (message.empty()) message = Message(dp_pool_prepare(pool, &bound.task_graph, &state));
    if (message.empty()) message = Message(dp_pool_run(pool, &bound.task_graph, state));
    dp_pool_destroy(pool);
    dp_pool_release(state);
    dp_bound_release(&bound);
    return message;
  }

  dp_mesh mesh{};

 private:
  const dp_type type_;
  const int64_t n_;
  const uint64_t room_;
  Arena arena_;
  dp_graph *graph_;
  Dp__Program program_;
  Dp__Stream stream_;
  std::vector<Dp__DeviceTensor *> tensors_;
  std::vector<Dp__Instruction *> steps_;
  std::vector<std::vector<char>> memory_;
  size_t rooms_ = 0;
};

struct Case {
  dp_type type{};
  int64_t micro = 0, devices = 0, n = 0;
  dp_placement on{}, data{};
};

// Types that hold the numbers below exactly.
Case RandomCase(std::mt19937 *random, dp_placement_kind kind) {
  static const dp_dtype kTypes[] = {DP_FLOAT32, DP_FLOAT64, DP_INT64, DP_INT32};
  Case c;
  c.type.dtype = kTypes[Pick(random, 0, 3)];
  c.type.shape.rank = static_cast<int>(Pick(random, 1, 3));
  c.micro = Pick(random, 2, 6);
  c.devices = Pick(random, 1, 3);
  bool large = Pick(random, 0, 9) == 0;
  for (int d = 0; d < c.type.shape.rank; d++) c.type.shape.dims[d] = dp_dim_of(Pick(random, 1, large ? 14 : 4));
  int dim = static_cast<int>(Pick(random, 0, c.type.shape.rank - 1)), other = (dim + 1) % c.type.shape.rank;
  int64_t outer = Pick(random, 1, 2), unit = Pick(random, 1, 2);
  c.type.shape.dims[dim] = dp_dim{outer * unit, 0};  // this many times n
  c.n = Pick(random, 0, 8);
  c.on = kind == DP_SHARD ? dp_shard_in(dim, outer, unit) : dp_partial(Pick(random, 0, 1) ? DP_SUM : DP_MAX);
  if (other != dim && Pick(random, 0, 1)) c.data = dp_shard(other);
  return c;
}

// The value of an element of the whole, and what micro-batch j adds to it; integers, so that sums are exact.
double NumberOf(int64_t whole, int64_t j) {
  return static_cast<double>((whole * 7 + j * 13 + whole * j % 5) % 101 - 50);
}

int64_t WholeIndex(const dp_local &local, int64_t i) {
  int64_t whole = 0, stride = 1;
  for (int d = local.rank - 1; d >= 0; d--) {
    whole += stride * dp_local_to_whole(&local, d, i % local.extents[d]);
    i /= local.extents[d];
    stride *= local.whole[d];
  }
  return whole;
}

void Fill(const dp_local &local, dp_dtype dtype, int64_t j, char *bytes) {
  for (int64_t i = 0; i < dp_local_count(&local); i++)
    dp_element_set(dtype, bytes + static_cast<size_t>(i) * dp_type_bytes(dtype), NumberOf(WholeIndex(local, i), j));
}

// Combines [first, first + count) in a random order; returns the tensor's number.
uint32_t Unite(std::mt19937 *random, Chain *chain, const Case &c, const std::vector<uint32_t> &pieces, int64_t first,
               int64_t count) {
  if (count == 1) return pieces[static_cast<size_t>(first)];
  int64_t left = Pick(random, 0, 1) ? count - 1 : Pick(random, 1, count - 1);
  uint32_t a = Unite(random, chain, c, pieces, first, left);
  uint32_t b = Unite(random, chain, c, pieces, first + left, count - left);
  bool all = count == c.micro, wide = c.on.kind == DP_PARTIAL || left > 1;
  uint32_t to = chain->Tensor(all ? dp_replicate() : c.on, c.data, first, all ? 0 : count,
                              wide && Pick(random, 0, 1) ? static_cast<int64_t>(a) : -1);
  chain->Step({a, b}, to);
  return to;
}

void CheckWhole(Chain *chain, const Case &c, uint32_t tensor, bool sums) {
  size_t size = dp_type_bytes(c.type.dtype);
  for (size_t d = 0; d < static_cast<size_t>(c.devices); d++) {
    dp_local local = chain->Local(d, dp_replicate(), c.data, 0);
    const char *bytes = chain->Bytes(d, tensor);
    for (int64_t i = 0; i < dp_local_count(&local); i++) {
      int64_t whole = WholeIndex(local, i);
      double expected = NumberOf(whole, 0);
      for (int64_t j = 1; j < c.micro && sums; j++) {
        double more = NumberOf(whole, j);
        expected = c.on.reduction == DP_SUM ? expected + more : std::max(expected, more);
      }
      ASSERT_EQ(dp_element_get(c.type.dtype, bytes + static_cast<size_t>(i) * size), expected)
          << "device " << d << ", " << i;
    }
  }
}

TEST(Accumulate, PartialResultsOfAllMicroBatches) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; trial++) {
    Case c = RandomCase(&random, DP_PARTIAL);
    Chain chain(c.type, c.micro, c.devices, c.n);
    std::vector<uint32_t> pieces;
    for (int64_t j = 0; j < c.micro; j++) pieces.push_back(chain.Tensor(c.on, c.data, j, 1));
    uint32_t result = Unite(&random, &chain, c, pieces, 0, c.micro);
    for (size_t d = 0; d < static_cast<size_t>(c.devices); d++)
      for (int64_t j = 0; j < c.micro; j++)
        Fill(chain.Local(d, c.on, c.data, j), c.type.dtype, j, chain.Bytes(d, pieces[static_cast<size_t>(j)]));
    ASSERT_EQ(chain.Run(1 + trial % 3), "");
    CheckWhole(&chain, c, result, true);
    if (HasFatalFailure()) return;
  }
}

TEST(Accumulate, PiecesSideBySide) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 500; trial++) {
    Case c = RandomCase(&random, DP_SHARD);
    Chain chain(c.type, c.micro, c.devices, c.n);
    // Half of them are cut out of the whole on the device, half are made as pieces.
    bool cut = trial % 2;
    uint32_t whole = chain.Tensor(dp_replicate(), c.data, 0, 0);
    std::vector<uint32_t> pieces;
    for (int64_t j = 0; j < c.micro; j++) {
      pieces.push_back(chain.Tensor(c.on, c.data, j, 1));
      if (cut) chain.Step({whole}, pieces.back());
    }
    uint32_t result = Unite(&random, &chain, c, pieces, 0, c.micro);
    for (size_t d = 0; d < static_cast<size_t>(c.devices); d++) {
      if (cut) Fill(chain.Local(d, dp_replicate(), c.data, 0), c.type.dtype, 0, chain.Bytes(d, whole));
      for (int64_t j = 0; j < c.micro && !cut; j++)
        Fill(chain.Local(d, c.on, c.data, j), c.type.dtype, 0, chain.Bytes(d, pieces[static_cast<size_t>(j)]));
    }
    ASSERT_EQ(chain.Run(1 + trial % 3), "");
    CheckWhole(&chain, c, result, false);
    if (HasFatalFailure()) return;
  }
}

// Several parts of one step, in place or not, give the same bits: the float sums depend on the order.
TEST(Accumulate, InParts) {
  const int64_t rows = 200, columns = 300, micro = 3;  // 60,000 elements
  const dp_type type = {DP_FLOAT32, {2, {dp_dim_of(rows), dp_dim_of(columns)}}};
  for (bool in_place : {false, true})
    for (int workers : {1, 3}) {
      Case c;
      c.type = type;
      c.on = dp_partial(DP_SUM);
      Chain chain(type, micro, 1, 0, 1 << 18);
      std::vector<uint32_t> pieces;
      for (int64_t j = 0; j < micro; j++) pieces.push_back(chain.Tensor(c.on, c.data, j, 1));
      uint32_t two = chain.Tensor(c.on, c.data, 0, 2, in_place ? int64_t{pieces[0]} : -1);
      uint32_t all = chain.Tensor(dp_replicate(), c.data, 0, 0, in_place ? int64_t{two} : -1);
      chain.Step({pieces[0], pieces[1]}, two);
      chain.Step({two, pieces[2]}, all);
      std::vector<std::vector<float>> numbers;
      for (size_t j = 0; j < 3; j++) {
        numbers.emplace_back();
        for (int i = 0; i < rows * columns; i++)
          numbers[j].push_back(1.f / static_cast<float>(i + 3 + static_cast<int>(j) * 17));
        memcpy(chain.Bytes(0, pieces[j]), numbers[j].data(), numbers[j].size() * sizeof(float));
      }
      ASSERT_EQ(chain.Run(workers), "");
      std::vector<float> found(numbers[0].size());
      memcpy(found.data(), chain.Bytes(0, all), found.size() * sizeof(float));
      for (size_t i = 0; i < found.size(); i++)
        ASSERT_EQ(found[i], (numbers[0][i] + numbers[1][i]) + numbers[2][i]) << i;
    }
}

// If another axis splits the dim, each device has rows of every micro-batch, which are not a range of the whole.
TEST(Accumulate, ADimThatAnotherAxisDividesTooIsRefused) {
  Chain chain({DP_FLOAT32, {1, {dp_dim_of(8)}}}, 2, 2, 0);
  uint32_t a = chain.Tensor(dp_shard(0), dp_shard(0), 0, 1), b = chain.Tensor(dp_shard(0), dp_shard(0), 1, 1);
  chain.Step({a, b}, chain.Tensor(dp_replicate(), dp_shard(0), 0, 0));
  chain.Bytes(0, a);
  chain.Bytes(1, a);
  EXPECT_NE(chain.Run(1).find("'data' splits"), std::string::npos);
}

}  // namespace
