// float16 and bfloat16 on CUDA where samples do not go: every conversion at its boundaries, NaN and infinities, sums
// that rounding at each step would ruin, and what collectives add up.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cuda/backend.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/gpu/queue.h"
#include "backends/cuda/target.h"
#include "ir/graph/element.h"
#include "runtime/comm/transfer.h"
#include "tests/cuda/library_kernels.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
const dp_dtype kHalves[] = {DP_FLOAT16, DP_BFLOAT16};

// All 65,536 of them.
std::vector<double> Every(dp_dtype dtype) {
  std::vector<double> all;
  for (int bits = 0; bits < 1 << 16; bits++) all.push_back(dp_element_decode(dtype, uint16_t(bits)));
  return all;
}

// What lies on, and a little beside, the middle of every two neighbours, and around the largest.
std::vector<double> Boundaries(dp_dtype dtype) {
  std::vector<double> all = {0, -0.0, kNan, kInfinity, -kInfinity, 1e300, -1e300, 1e-300, -1e-300, 3.4e38, 1e-45};
  for (int bits = 1; bits < 1 << 15; bits++) {
    const double low = dp_element_decode(dtype, uint16_t(bits - 1)), high = dp_element_decode(dtype, uint16_t(bits));
    if (!std::isfinite(low) || std::isnan(high)) continue;
    const double middle = std::isinf(high) ? low * (1 + 0x1p-9) : (low + high) / 2;
    // The second is between the middle and every float32 beside it.
    for (double x : {middle, middle * (1 + 0x1p-40), middle * (1 - 0x1p-40), middle * (1 + 0x1p-20), low})
      all.push_back(bits % 2 ? x : -x);
  }
  return all;
}

// Whole numbers on and beside the middle of two neighbours, where those are whole.
std::vector<int64_t> Integers(dp_dtype dtype, bool has_sign) {
  std::vector<int64_t> all = {0, 1, 2047, 2048, 2049, 2050, 2051, 65519, 65520, 65521, 257, 258, 259, 261};
  for (int bits = 1; bits < 1 << 15; bits++) {
    const double low = dp_element_decode(dtype, uint16_t(bits - 1)), high = dp_element_decode(dtype, uint16_t(bits));
    if (low < 1e3 || !(high < 9e18)) continue;
    for (int64_t beside : {-1, 0, 1}) {
      all.push_back(int64_t((low + high) / 2) + beside);
      if (has_sign) all.push_back(-all.back());
    }
  }
  return all;
}

std::string TypeName(dp_dtype dtype) { return dp_type_name(dtype); }

Ready DrawOf(const std::string &op, const std::string &domain, const std::string &inputs, const std::string &attrs,
             size_t n) {
  return Draw({op, domain, inputs, attrs, int64_t(n), 1});
}

// Runs the selected kernel and the reference; `bits`: every bit counts, else neighbours will do.
void Compare(Ready *ready, bool bits) {
  ASSERT_EQ(ready->built->error, "");
  ASSERT_EQ(OpenDevice(), "");
  const Spec spec(ready->built->node, ready->in, ready->out);
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &spec, false);
  ASSERT_NE(kernel, nullptr);
  SCOPED_TRACE(kernel->name);
  const Outcome expected = RunReference(ready->built->node, ready->in, ready->out);
  const Outcome found = RunKernel(kernel, spec, ready->in, ready->out);
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(found.error, "");
  for (size_t i = 0; i < found.results.size(); i++) ExpectSame(expected.results[i], found.results[i], bits);
}

void Cast(dp_dtype from, dp_dtype to, const std::vector<double> &numbers) {
  SCOPED_TRACE(TypeName(from) + " to " + TypeName(to));
  Ready ready = DrawOf("Cast", "", TypeName(from) + "[N]", "to=" + TypeName(to), numbers.size());
  for (size_t i = 0; i < numbers.size(); i++) ready.in[0].Set(int64_t(i), numbers[i]);
  Compare(&ready, true);
}

TEST(Halves, EveryNumberIsReadAndMovedAsItIs) {
  for (dp_dtype from : kHalves) {
    for (dp_dtype to : {DP_FLOAT32, DP_FLOAT64, DP_FLOAT16, DP_BFLOAT16, DP_BOOL}) Cast(from, to, Every(from));
    std::vector<double> small;
    for (double x : Every(from))
      if (std::fabs(x) < 100) small.push_back(x);
    for (dp_dtype to : {DP_INT8, DP_UINT8, DP_INT32, DP_INT64, DP_UINT64}) Cast(from, to, small);
    // Bits that are no number's are moved too.
    Ready ready = DrawOf("Where", "", "bool[N], " + TypeName(from) + "[N], " + TypeName(from) + "[N]", "", 1 << 16);
    for (int i = 0; i < 1 << 16; i++)
      for (size_t k : {1, 2}) {
        const uint16_t bits = uint16_t(k == 1 ? i : ~i);
        std::memcpy(&ready.in[k].bytes[size_t(i) * 2], &bits, 2);
      }
    Compare(&ready, true);
  }
}

TEST(Halves, RoundToNearestEven) {
  for (dp_dtype to : kHalves) {
    for (dp_dtype from : {DP_FLOAT64, DP_FLOAT32, DP_FLOAT16, DP_BFLOAT16}) Cast(from, to, Boundaries(to));
    for (dp_dtype from : {DP_INT64, DP_UINT64, DP_INT32, DP_UINT32}) {
      const std::vector<int64_t> numbers = Integers(to, from == DP_INT64);
      SCOPED_TRACE(TypeName(from) + " to " + TypeName(to));
      Ready ready = DrawOf("Cast", "", TypeName(from) + "[N]", "to=" + TypeName(to), numbers.size());
      const size_t bytes = dp_type_bytes(from);
      for (size_t i = 0; i < numbers.size(); i++) std::memcpy(&ready.in[0].bytes[i * bytes], &numbers[i], bytes);
      Compare(&ready, true);
    }
  }
}

// One operator after the other rounds to 16 bits, with infinities and NaN on the way; what needs no function of C is
// exact.
TEST(Halves, OperatorsRoundOnce) {
  for (dp_dtype dtype : kHalves) {
    const std::string t = TypeName(dtype);
    const std::vector<double> x = Boundaries(dtype);
    for (const char *op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Neg", "Relu", "Sqrt", "Abs", "Round"}) {
      SCOPED_TRACE(op);
      const bool two = std::strchr("ASMD", *op) && std::string(op) != "Abs" && std::string(op) != "Sqrt";
      Ready ready = DrawOf(op, "", t + "[N]" + (two ? ", " + t + "[N]" : ""), "", x.size());
      for (size_t i = 0; i < x.size(); i++) {
        ready.in[0].Set(int64_t(i), x[i]);
        if (two) ready.in[1].Set(int64_t(i), x[(i * 7919 + 13) % x.size()]);
      }
      Compare(&ready, true);
    }
  }
}

// What a number near the exact one is rounded to: functions for 16 bits have a relative error of 2e-5, or 4e-6 for
// results in float16's range (backends/cuda/device/halves.h). By pairs, and one by one.
void ExpectRounded(dp_dtype dtype, double exact, double error, double found, double x) {
  const double low = dp_element_decode(dtype, dp_element_encode(dtype, exact * (1 - error), false));
  const double high = dp_element_decode(dtype, dp_element_encode(dtype, exact * (1 + error), false));
  if (std::isnan(exact))
    EXPECT_TRUE(std::isnan(found)) << x;
  else
    EXPECT_TRUE(found == low || found == high) << x << ": " << found << ", not " << exact;
}

TEST(Halves, FunctionsOfEveryNumberAreExact) {
  ASSERT_EQ(OpenDevice(), "");
  const struct {
    const char *op;
    double (*of)(double);
  } functions[] = {{"Erf", [](double x) { return std::erf(x); }},
                   {"Exp", [](double x) { return std::exp(x); }},
                   {"Gelu", [](double x) { return x * 0.5 * std::erfc(-x * std::sqrt(0.5)); }}};
  for (dp_dtype dtype : kHalves)
    for (const auto &f : functions)
      for (size_t alone : {0, 1}) {  // of what 16 bytes hold
        SCOPED_TRACE(f.op + (" " + TypeName(dtype)));
        std::vector<double> x = Every(dtype);
        x.resize(x.size() - alone);
        Ready ready = DrawOf(f.op, "", TypeName(dtype) + "[N]", "", x.size());
        for (size_t i = 0; i < x.size(); i++) ready.in[0].Set(int64_t(i), x[i]);
        TensorOffset() = alone * 2;
        const Spec spec(ready.built->node, ready.in, ready.out);
        const Outcome found = RunKernel(dp_kernel_select(&dp_target_cuda, &spec, false), spec, ready.in, ready.out);
        TensorOffset() = 0;
        ASSERT_EQ(found.error, "");
        for (size_t i = 0; i < x.size(); i++)
          ExpectRounded(dtype, f.of(x[i]), dtype == DP_FLOAT16 ? 4e-6 : 2e-5, found.results[0].Get(int64_t(i)), x[i]);
      }
}

// 5,000 small numbers after a large one: added one by one in 16 bits they would all be lost.
TEST(Halves, SumsAreNotRoundedOnTheWay) {
  for (dp_dtype dtype : kHalves) {
    const std::string t = TypeName(dtype);
    const auto small = [](int64_t i) { return i % 5000 ? 0.001 : 8.0; };
    const struct {
      const char *op, *domain;
      std::string inputs, attrs;
      bool bits;
    } cases[] = {{"ReduceSum", "", t + "[N,5000]", "axes=[1]", true},
                 {"ReduceMean", "", t + "[5000,N]", "axes=[0]", true},
                 {"ReduceL2", "", t + "[N,5000]", "axes=[1]", true},
                 {"CumSum", "", t + "[N,5000]", "axis=1", true},
                 {"Softmax", "", t + "[N,5000]", "axis=1", false},
                 {"LogSoftmax", "", t + "[N,5000]", "axis=1", false},
                 {"LayerNormalization", "", t + "[N,5000], " + t + "[5000]", "", false},
                 {"MatMul", "", t + "[N,5000], " + t + "[5000,3]", "", false},
                 {"GlobalAveragePool", "", t + "[N,2,50,50]", "", true},
                 {"BatchNormalization", "", t + "[N,2,2500], " + t + "[2], " + t + "[2], " + t + "[2], " + t + "[2]",
                  "training_mode=1", false}};
    for (const auto &c : cases) {
      SCOPED_TRACE(c.op + (" " + t));
      Ready ready = DrawOf(c.op, c.domain, c.inputs, c.attrs, 3);
      for (int64_t i = 0; i < ready.in[0].Count(); i++) ready.in[0].Set(i, small(i));
      Compare(&ready, c.bits);
    }
    // Many updates of one element, in more than one round of a block.
    for (int width : {3, 1500}) {
      const std::string w = std::to_string(width);
      Ready ready = DrawOf("GatherGrad", "dp", t + "[N," + w + "], int64[N]", "shape=[4," + w + "]", 700);
      for (int64_t i = 0; i < ready.in[0].Count(); i++) ready.in[0].Set(i, i < width ? 8.0 : 0.001);
      for (int64_t i = 0; i < 700; i++) ready.in[1].Set(i, i % 3 ? 2 : -1);
      Compare(&ready, true);
    }
    for (const char *reduction : {"add", "mul", "max", "min"}) {
      Ready ready = DrawOf("ScatterElements", "", t + "[3], int64[N], " + t + "[N]",
                           std::string("reduction=\"") + reduction + "\"", 700);
      for (int64_t i = 0; i < 3; i++) ready.in[0].Set(i, 8);
      for (int64_t i = 0; i < 700; i++) {
        ready.in[1].Set(i, i % 3);
        ready.in[2].Set(i, i == 5 ? kNan : *reduction == 'm' && reduction[1] == 'u' ? 1.001 : 0.001);
      }
      Compare(&ready, true);
    }
  }
}

// ---- collectives ----------------------------------------------------------------------------------------------------

// Rooms on the device, filled with elements of 16 bits, and what is done to them.
class Collective : public testing::TestWithParam<std::tuple<dp_dtype, dp_region_action>> {
 protected:
  static constexpr int64_t kCount = 3000;
  void SetUp() override {
    ASSERT_EQ(OpenDevice(), "");
    const std::vector<double> numbers = Boundaries(Type());
    for (size_t r = 0; r < 3; r++) {
      held_.emplace_back(kCount);
      for (size_t i = 0; i < size_t(kCount); i++) {
        const double x = numbers[(i * 7919 * (r + 1) + r * 31) % numbers.size()];
        const double special = (i + r) % 17 == 0 ? kNan : (i + r) % 19 == 0 ? (i % 2 ? kInfinity : -kInfinity) : x;
        held_[r][i] = dp_element_encode(Type(), special, false);
      }
      rooms_.push_back(static_cast<char *>(dp_cuda_allocate({false, 0}, kCount * 2, 256)));
      Take(dp_cuda_upload(0, rooms_[r], held_[r].data(), kCount * 2));
    }
  }
  void TearDown() override {
    for (char *room : rooms_) dp_cuda_release({false, 0}, room, kCount * 2);
  }
  static dp_dtype Type() { return std::get<0>(GetParam()); }
  static dp_region_action Action() { return std::get<1>(GetParam()); }
  static void Take(dp_status status) {
    EXPECT_EQ(status, DP_OK) << dp_status_message(status);
    dp_status_free(status);
  }
  // A tensor that device `device` of two has whole, or a half of.
  dp_shard_view View(int room, bool half, int64_t device) {
    dp_shape shape{};
    shape.rank = 1;
    shape.dims[0] = dp_dim_of(kCount);
    dp_mesh mesh{1, {{"data", 2}}};
    const dp_placement at[DP_MAX_MESH] = {half ? dp_shard(0) : dp_replicate()};
    const int64_t coordinate[DP_MAX_MESH] = {device};
    return {rooms_[size_t(room)], dp_shard_range(&shape, at, &mesh, coordinate, 0)};
  }
  void Run(const dp_transfer *transfer) {
    void *state = nullptr;
    dp_queue *queue = nullptr;
    const int device = 0;
    int instruction;
    Take(dp_backend_cuda.queues->transfer_prepare(&device, 1, transfer, &state));
    Take(dp_cuda_functions_load());
    Take(dp_cuda_queue_create(0, false, &queue));
    Take(dp_backend_cuda.queues->transfer_enqueue(&queue, state, 0));
    Take(dp_cuda_queue_finish(queue, &instruction));
    dp_cuda_queue_destroy(queue);
    dp_backend_cuda.queues->transfer_release(state);
  }
  std::vector<uint16_t> Read(int room) {
    std::vector<uint16_t> found(kCount);
    Take(dp_cuda_download(0, found.data(), rooms_[size_t(room)], kCount * 2));
    return found;
  }
  Arena arena_;
  std::vector<std::vector<uint16_t>> held_;
  std::vector<char *> rooms_;
};

// In rank order, rounded after each: what the CPU's collectives do.
TEST_P(Collective, AllReduceHasTheCpusBits) {
  std::vector<dp_shard_view> views;
  for (int r = 0; r < 3; r++) views.push_back(View(r, false, 0));
  Run(dp_transfer_reduce(arena_, Type(), Action(), 1, 3, views.data(), 3, views.data()));
  std::vector<uint16_t> expected = held_[0];
  for (size_t r = 1; r < 3; r++) dp_region_run(Action(), Type(), expected.data(), held_[r].data(), kCount);
  for (int r = 0; r < 3; r++) EXPECT_EQ(Read(r), expected) << r;
}

// Each of two devices gets its half of the reduction.
TEST_P(Collective, ShardsHaveTheCpusBits) {
  const dp_shard_view from[] = {View(0, false, 0), View(1, false, 1)};
  const dp_shard_view to[] = {View(2, true, 0)};
  const std::vector<uint16_t> before = held_[2];
  Run(dp_transfer_shards(arena_, Type(), Action(), 2, from, 1, to));
  std::vector<uint16_t> expected = held_[0];
  dp_region_run(Action(), Type(), expected.data(), held_[1].data(), kCount);
  const int64_t mine = dp_local_count(&to[0].local);
  const std::vector<uint16_t> found = Read(2);
  EXPECT_EQ(std::vector<uint16_t>(found.begin(), found.begin() + mine),
            std::vector<uint16_t>(expected.begin(), expected.begin() + mine));
  EXPECT_EQ(std::vector<uint16_t>(found.begin() + mine, found.end()),
            std::vector<uint16_t>(before.begin() + mine, before.end()));
}

INSTANTIATE_TEST_SUITE_P(All, Collective,
                         testing::Combine(testing::ValuesIn(kHalves), testing::Values(DP_REGION_SUM, DP_REGION_MAX)));

}  // namespace
}  // namespace dp_test
