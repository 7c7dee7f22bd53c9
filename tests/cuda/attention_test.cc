// Attention by cuDNN against the CPU's reference, on the stand-in, which computes from the graphs as finalised.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "backends/cuda/cudnn/attention_step.h"
#include "backends/cuda/gpu/choices.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

constexpr char kForward[] = "cuda.cudnn.dp.ScaledDotProductAttention",
               kGradient[] = "cuda.cudnn.dp.ScaledDotProductAttentionGrad";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What keys a mask hides, besides what it is drawn as.
enum class Hidden { kNone, kLater, kRow, kSome };

struct Attention {
  std::string type;
  int64_t n, length, heads, size, keys, groups, v_size;
  std::string mask, attrs;  // mask: "" or a type with a shape
  Hidden hidden = Hidden::kNone;

  std::string Of(int64_t rows, int64_t count, int64_t width) const { return type + Shape("N", {rows, count, width}); }
  std::string Operands() const {
    return Of(length, heads, size) + ", " + Of(keys, groups, size) + ", " + Of(keys, groups, v_size);
  }
  std::string Mask() const { return mask.empty() ? "" : ", " + mask; }
  Problem Forward() const { return {"ScaledDotProductAttention", "dp", Operands() + Mask(), attrs, n, double(keys)}; }
  Problem Gradient() const {
    const std::string y = Of(length, heads, v_size);
    return {"ScaledDotProductAttentionGrad",
            "dp",
            y + ", " + Operands() + ", " + y + ", float32" + Shape("N", {heads, length}) + Mask(),
            attrs,
            n,
            double(keys)};
  }
  // Half a unit in the last place, relative.
  double Rounding() const { return type == "float16" ? std::ldexp(1, -11) : std::ldexp(1, -8); }
};

const Attention kCases[] = {
    {"bfloat16", 2, 64, 4, 64, 64, 4, 64, "", "scale=0.125"},
    {"float16", 2, 16, 2, 128, 16, 2, 128, "", "scale=0.1"},
    {"bfloat16", 3, 7, 2, 8, 9, 2, 8, "", ""},
    {"bfloat16", 2, 5, 6, 16, 7, 2, 24, "", "scale=0.25"},                   // grouped, other sizes of values
    {"float16", 2, 5, 4, 8, 7, 1, 8, "", "scale=0.5"},                       // all heads share one group
    {"bfloat16", 2, 1, 2, 64, 33, 2, 64, "", "scale=0.125"},                 // one query
    {"bfloat16", 2, 6, 2, 8, 1, 2, 8, "", ""},                               // one key
    {"bfloat16", 2, 9, 2, 8, 9, 2, 8, "bfloat16[9,9]", "", Hidden::kLater},  // causal, as ONNX's Attention is
    {"float16", 2, 9, 2, 8, 9, 2, 8, "float32[9,9]", "", Hidden::kLater},    // as with --precision
    {"bfloat16", 2, 9, 4, 8, 9, 2, 8, "bool[9,9]", "masked_rows=\"zero\"", Hidden::kLater},
    {"bfloat16", 2, 5, 2, 8, 6, 2, 8, "bool[N,1,1,6]", "masked_rows=\"zero\"", Hidden::kSome},
    {"bfloat16", 3, 5, 2, 8, 6, 2, 8, "bool[N,2,5,6]", "masked_rows=\"zero\"", Hidden::kRow},
    {"float16", 3, 5, 4, 8, 6, 2, 8, "float16[4,5,6]", "masked_rows=\"zero\"", Hidden::kRow},
    {"bfloat16", 3, 5, 2, 8, 6, 2, 8, "float32[N,2,1,6]", "masked_rows=\"zero\"", Hidden::kRow},
    {"bfloat16", 3, 5, 2, 8, 6, 2, 8, "float32[5,1]", "", Hidden::kNone},
    {"bfloat16", 3, 5, 2, 8, 6, 2, 8, "float32[5,6]", "", Hidden::kRow},  // NaN in one row
    {"bfloat16", 2, 64, 4, 64, 64, 4, 64, "", "scale=0.125, is_causal=1"},
    {"float16", 2, 9, 2, 128, 9, 2, 128, "", "scale=0.1, is_causal=1"},    // odd lengths
    {"bfloat16", 2, 7, 6, 16, 7, 2, 24, "", "is_causal=1"},                // grouped
    {"float16", 2, 5, 4, 8, 11, 1, 8, "", "scale=0.5, is_causal=1"},       // more keys than queries
    {"bfloat16", 2, 11, 2, 8, 5, 2, 8, "", "is_causal=1"},                 // fewer keys
    {"bfloat16", 2, 1, 2, 64, 33, 2, 64, "", "scale=0.125, is_causal=1"},  // one query: one key
    {"bfloat16", 2, 6, 2, 8, 1, 2, 8, "", "is_causal=1"},                  // one key
    {"float16", 2, 9, 4, 8, 9, 2, 8, "", "is_causal=1, masked_rows=\"zero\""},
};

// The mask of a case: numbers below 1, and keys that are hidden.
void SetMask(const Attention &a, Tensor *mask) {
  if (a.mask.empty()) return;
  const bool selects = mask->dtype == DP_BOOL;
  const int64_t keys = mask->local.extents[mask->local.rank - 1];
  const int64_t rows = mask->local.rank > 1 ? mask->local.extents[mask->local.rank - 2] : 1;
  for (int64_t i = 0; i < mask->Count(); i++) {
    const int64_t j = i % keys, l = i / keys % rows;
    const bool hidden = (a.hidden == Hidden::kLater && j > l) || (a.hidden == Hidden::kRow && i / keys == 1) ||
                        (a.hidden == Hidden::kSome && i % 3 == 1);
    const double number = double(i * 7 % 11) / 8 - 0.5;
    mask->Set(i, selects ? !hidden : hidden ? -kInfinity : number);
  }
}

struct Made {
  Ready forward, gradient;
};

// The gradient of the mask is not asked for: the results are `count`.
void Ask(Ready *ready, int count) {
  ready->built->node->n_outputs = count;
  ready->out.resize(size_t(count));
}

// Forward and gradient on the same numbers: Y and LSE are the reference's.
Made Make(const Attention &a) {
  Made made{Draw(a.Forward()), Draw(a.Gradient())};
  EXPECT_EQ(made.forward.built->error, "");
  EXPECT_EQ(made.gradient.built->error, "");
  Ask(&made.gradient, 3);
  std::vector<Tensor> &in = made.forward.in, &of_gradient = made.gradient.in;
  if (!a.mask.empty()) SetMask(a, &in[3]);
  const Outcome whole = RunReference(made.forward.built->node, in, made.forward.out);
  EXPECT_EQ(whole.error, "");
  for (size_t i = 0; i < 3; i++) of_gradient[1 + i].bytes = in[i].bytes;
  for (size_t i = 0; i < 2; i++) of_gradient[4 + i].bytes = whole.results[i].bytes;
  if (!a.mask.empty()) of_gradient[6].bytes = in[3].bytes;
  return made;
}

// Probabilities, and the gradients of scores, are rounded before they are multiplied: by some units of the largest sum.
void ExpectClose(const Tensor &expected, const Tensor &found, double tolerance) {
  double largest = 1e-3;
  for (double x : Numbers(expected))
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double x = expected.Get(i), y = found.Get(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_NEAR(x, y, tolerance * largest) << "element " << i;
  }
}

void CheckOne(const char *kernel, const Ready &ready, double rounding, int n_statistics) {
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  const Outcome found = RunCuda(kernel, ready.built->node, ready.in, ready.out);
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(found.error, "");
  const size_t halves = found.results.size() - size_t(n_statistics);
  for (size_t i = 0; i < found.results.size(); i++) {
    SCOPED_TRACE("result " + std::to_string(i));
    ExpectClose(expected.results[i], found.results[i], i < halves ? 4 * rounding : 1e-5);
  }
}

void CheckBoth(const Attention &a) {
  SCOPED_TRACE(a.Forward().Print());
  const Made made = Make(a);
  CheckOne(kForward, made.forward, a.Rounding(), 1);
  CheckOne(kGradient, made.gradient, a.Rounding(), 0);
}

TEST(Attention, EqualsTheReference) {
  for (const Attention &a : kCases) {
    CheckBoth(a);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Statistics that nobody asks for are in the scratch, if a mask needs them.
TEST(Attention, WithoutStatistics) {
  for (const char *mask : {"", ", bool[N,1,5,6]"}) {
    Ready ready = Draw({"ScaledDotProductAttention", "dp",
                        "bfloat16[N,5,2,8], bfloat16[N,6,2,8], bfloat16[N,6,2,8]" + std::string(mask),
                        "masked_rows=\"zero\"", 2, 6});
    Ask(&ready, 1);
    if (*mask) SetMask(kCases[11], &ready.in[3]);
    CheckOne(kForward, ready, std::ldexp(1, -8), 0);
  }
}

bool Matches(const Ready &ready, const dp_kernel *kernel) {
  return kernel->match(std::make_unique<Spec>(ready.built->node, ready.in, ready.out).get());
}

bool MatchesForward(const Attention &a) {
  return Matches(Draw(a.Forward()), &dp_kernel_cuda_cudnn_ScaledDotProductAttention);
}

bool MatchesGradient(const Attention &a, int results = 3) {
  Ready ready = Draw(a.Gradient());
  Ask(&ready, results);
  return Matches(ready, &dp_kernel_cuda_cudnn_ScaledDotProductAttentionGrad);
}

// What cuDNN does not compute, or not with the operator's meaning.
TEST(Attention, IsLeftToOurOwn) {
  Attention a = kCases[0];
  EXPECT_TRUE(MatchesForward(a) && MatchesGradient(a));
  EXPECT_FALSE(MatchesGradient(a, 4));  // the mask's gradient
  a.type = "float32";
  EXPECT_FALSE(MatchesForward(a) || MatchesGradient(a));
  a = kCases[0];
  a.size = 12;
  EXPECT_FALSE(MatchesForward(a) || MatchesGradient(a));
  a = kCases[0];
  a.v_size = 136;
  EXPECT_FALSE(MatchesForward(a) || MatchesGradient(a));
  a = kCases[0];
  a.mask = "bool[64,64]";
  EXPECT_TRUE(MatchesForward(a));
  EXPECT_FALSE(MatchesGradient(a));  // a row without keys is NaN, but its hidden keys have no gradient
  Attention causal = kCases[0];
  causal.attrs = "is_causal=1";
  EXPECT_TRUE(MatchesForward(causal) && MatchesGradient(causal));
  a.attrs = "masked=-2.5";
  EXPECT_FALSE(MatchesForward(a) || MatchesGradient(a));
  a.attrs = "masked_rows=\"zero_if_nan\"";
  EXPECT_FALSE(MatchesForward(a) || MatchesGradient(a));
  Problem p = kCases[0].Forward();
  p.inputs += ", float32[64,64], int64[], int64[]";
  p.attrs = "ratio=0.25, key=3";
  EXPECT_FALSE(Matches(Draw(p), &dp_kernel_cuda_cudnn_ScaledDotProductAttention));
}

// More heads than a workspace holds: several samples at a time, or several heads.
TEST(Attention, GoesPartByPart) {
  const Attention samples = {"bfloat16", 513, 4, 128, 8, 8, 128, 8, "float32[N,1,4,8]", "", Hidden::kSome};
  const Attention groups = {"bfloat16", 1, 4, 66560, 8, 8, 33280, 8, "float32[66560,4,8]", "", Hidden::kSome};
  const Attention causal = {"bfloat16", 513, 4, 128, 8, 8, 128, 8, "", "is_causal=1"};
  for (const Attention &a : {samples, groups, causal}) {
    dp_cuda_choices();
    const Made made = Make(a);
    CheckOne(kGradient, made.gradient, a.Rounding(), 0);
    const std::string choices = dp_cuda_choices();
    EXPECT_TRUE(choices.find(" parts") != std::string::npos || choices.find("to be wrong") != std::string::npos)
        << choices;
  }
}

// Heads over two devices: each computes its own, from the tensors that it has.
TEST(Attention, OfSomeHeads) {
  const Attention a = {"bfloat16", 2, 5, 8, 8, 7, 4, 16, "float32[N,8,5,7]", "", Hidden::kSome};
  const Made made = Make(a);
  const dp_mesh mesh{1, {{"tensor", 2}}};
  struct Way {
    const char *kernel;
    const Ready *ready;
    std::vector<int> in, out;  // the dims that heads are in
  };
  for (const Way &way : {Way{kForward, &made.forward, {2, 2, 2, 1}, {2, 1}},
                         Way{kGradient, &made.gradient, {2, 2, 2, 2, 2, 1, 1}, {2, 2, 2}}}) {
    const dp_node *node = way.ready->built->node;
    const Outcome whole = RunCuda(way.kernel, node, way.ready->in, way.ready->out);
    ASSERT_EQ(whole.error, "");
    for (int64_t device = 0; device < 2; device++) {
      const int64_t coordinate[DP_MAX_MESH] = {device};
      std::vector<Tensor> in, out, expected;
      for (size_t i = 0; i < way.in.size(); i++) {
        const dp_placement split = dp_shard(way.in[i]);
        in.push_back(MakePart(*node->inputs[i]->type, a.n, &split, mesh, coordinate));
        Cut(way.ready->in[i], &in.back());
      }
      for (size_t i = 0; i < way.out.size(); i++) {
        const dp_placement split = dp_shard(way.out[i]);
        out.push_back(MakePart(*node->outputs[i]->type, a.n, &split, mesh, coordinate));
        expected.push_back(out.back());
        Cut(whole.results[i], &expected.back());
      }
      const Outcome part = RunCuda(way.kernel, node, in, out);
      ASSERT_EQ(part.error, "");
      for (size_t i = 0; i < out.size(); i++) EXPECT_EQ(part.results[i].bytes, expected[i].bytes) << i;
    }
  }
}

// Parts with no sample, and no key.
TEST(Attention, OfNothing) {
  Attention a = kCases[2];
  a.n = 0;
  CheckBoth(a);
  a = kCases[2];
  a.keys = 0;
  a.attrs = "masked_rows=\"zero\"";
  CheckBoth(a);
  a.attrs = "is_causal=1";
  CheckBoth(a);
}

// Queries over devices, with all keys: they see those up to their place in the whole sequence.
TEST(Attention, OfSomeQueries) {
  const Attention a = {"bfloat16", 2, 11, 4, 8, 9, 2, 16, "", "is_causal=1"};
  const Made made = Make(a);
  const dp_node *forward = made.forward.built->node, *gradient = made.gradient.built->node;
  const Outcome whole = RunCuda(kForward, forward, made.forward.in, made.forward.out);
  const Outcome gradients = RunCuda(kGradient, gradient, made.gradient.in, made.gradient.out);
  ASSERT_EQ(whole.error + gradients.error, "");
  std::vector<double> dk(size_t(gradients.results[1].Count())), dv(size_t(gradients.results[2].Count()));
  const dp_mesh mesh{1, {{"context", 3}}};
  for (int64_t device = 0; device < 3; device++) {
    const int64_t coordinate[DP_MAX_MESH] = {device};
    const auto part = [&](const dp_value *value, int dim, const Tensor &of) {
      const dp_placement split = dp_shard(dim);
      Tensor t = MakePart(*value->type, a.n, &split, mesh, coordinate);
      Cut(of, &t);
      return t;
    };
    std::vector<Tensor> in = made.forward.in, out = whole.results;
    in[0] = part(forward->inputs[0], 1, in[0]);
    out = {part(forward->outputs[0], 1, whole.results[0]), part(forward->outputs[1], 2, whole.results[1])};
    const Outcome some = RunCuda(kForward, forward, in, out);
    ASSERT_EQ(some.error, "");
    for (size_t i = 0; i < out.size(); i++) EXPECT_EQ(some.results[i].bytes, out[i].bytes) << i;
    in = made.gradient.in;
    for (int i : {0, 1, 4}) in[size_t(i)] = part(gradient->inputs[i], 1, in[size_t(i)]);
    in[5] = part(gradient->inputs[5], 2, in[5]);
    out = gradients.results;
    out[0] = part(gradient->outputs[0], 1, out[0]);
    const Outcome of_some = RunCuda(kGradient, gradient, in, out);
    ASSERT_EQ(of_some.error, "");
    EXPECT_EQ(of_some.results[0].bytes, out[0].bytes);
    for (size_t i = 0; i < dk.size(); i++) dk[i] += of_some.results[1].Get(int64_t(i));
    for (size_t i = 0; i < dv.size(); i++) dv[i] += of_some.results[2].Get(int64_t(i));
  }
  for (size_t i = 0; i < dk.size(); i++) ASSERT_NEAR(dk[i], gradients.results[1].Get(int64_t(i)), 0.02) << i;
  for (size_t i = 0; i < dv.size(); i++) ASSERT_NEAR(dv[i], gradients.results[2].Get(int64_t(i)), 0.06) << i;
}

// Where cuDNN has no engine, our own function computes, in the scratch that the plan has, and says so.
TEST(Attention, FallsBack) {
  if (!IsStandin()) GTEST_SKIP() << kSteers;
  setenv("DP_STANDIN_CUDNN_ATTENTION", "0", 1);
  Attention causal = kCases[0];
  causal.attrs = "is_causal=1";
  for (const Attention &a : {kCases[0], kCases[9], causal}) {
    dp_cuda_choices();
    CheckBoth(a);
    EXPECT_NE(std::string(dp_cuda_choices()).find("no engine of cuDNN's"), std::string::npos);
  }
  unsetenv("DP_STANDIN_CUDNN_ATTENTION");
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsStandin()) GTEST_SKIP() << kSteers;
    ASSERT_EQ(OpenDevice(), "");
    ASSERT_EQ(dp_cudnn_load(&calls), DP_OK);
    ASSERT_EQ(dp_cudnn_open(&handle), DP_OK);
    held = Standin().count().handles;
    a.dtype = DP_BFLOAT16;
    a.batch = 2;
    a.length = 5;
    a.keys = 7;
    a.heads = a.all_heads = 4;
    a.groups = 2;
    a.size = a.v_size = 8;
    a.rows[0] = a.gradient_rows[0] = 32;
    for (int i : {1, 2}) a.rows[i] = a.gradient_rows[i] = 16;
    a.statistics = true;
    a.workspace = 1 << 20;
  }
  // All descriptors have been destroyed.
  void TearDown() override { EXPECT_EQ(IsStandin() ? Standin().count().handles : held, held); }
  // The engine's number; -1: none.
  int64_t Engine() {
    dp_cudnn_plan plan{};
    bool found = false;
    dp_status status = dp_cudnn_attention_plan(calls, handle, nullptr, &a, &plan, &found);
    EXPECT_EQ(std::string(dp_status_message(status)), "");
    dp_status_free(status);
    if (!found) return -1;
    EXPECT_LE(uint64_t(plan.workspace_bytes), a.workspace);
    const int64_t engine = plan.engine;
    dp_cudnn_plan_release(&plan);
    return engine;
  }
  const dp_cudnn_calls *calls = nullptr;
  cudnnHandle_t handle = nullptr;
  int64_t held = 0;
  dp_cudnn_attention a{};
};

// The engine that is named first is not deterministic.
TEST_F(Graphs, TakeAnEngineThatWillDo) {
  EXPECT_EQ(Engine(), 204);
  a.gradient = true;
  EXPECT_EQ(Engine(), 204);
  a.workspace = 1000;  // less than it wants
  EXPECT_EQ(Engine(), -1);
}

TEST_F(Graphs, MayBeCausal) {
  a.causal = true;
  for (int64_t first : {0, 3}) {
    a.first = first;
    a.gradient = false;
    EXPECT_EQ(Engine(), 204);
    a.gradient = true;
    EXPECT_EQ(Engine(), 204);
  }
}

TEST_F(Graphs, HaveHeadsOfSomeSizesAlone) {
  a.size = 12;
  EXPECT_EQ(Engine(), -1);
  a.size = 136;
  EXPECT_EQ(Engine(), -1);
}

// Every call fails once: each ends with one sentence, or the result is right all the same; no descriptor is left.
TEST_F(Graphs, EveryCallMayFail) {
  const Standin standin;
  const Made made = Make(kCases[9]);
  for (const auto &[kernel, ready] : {std::pair(kForward, &made.forward), std::pair(kGradient, &made.gradient)}) {
    const Outcome whole = RunCuda(kernel, ready->built->node, ready->in, ready->out);
    ASSERT_EQ(whole.error, "");
    standin.reset();
    RunCuda(kernel, ready->built->node, ready->in, ready->out);
    const int64_t count = standin.count().calls;
    int64_t failed = 0;
    for (int64_t i = 1; i <= count; i += 7) {
      standin.reset();
      standin.fail(i, CUDA_ERROR_OUT_OF_MEMORY);
      const Outcome outcome = RunCuda(kernel, ready->built->node, ready->in, ready->out);
      EXPECT_EQ(standin.count().handles, held) << "call " << i;
      failed += !outcome.error.empty();
      if (!outcome.error.empty()) continue;
      EXPECT_EQ(Numbers(outcome.results[0]), Numbers(whole.results[0])) << "call " << i;
    }
    standin.reset();
    EXPECT_GT(failed, count / 7 / 4);
  }
}

}  // namespace
}  // namespace dp_test
