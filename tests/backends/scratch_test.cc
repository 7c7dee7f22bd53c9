// Scratch is declared before any device exists, for the largest shard at the largest n. Checks that no shard on any
// device, at any n, needs more: for every kernel that takes scratch, every sample of every operator, and every shard of
// small splits on one axis and on two; and for convolutions of usual sizes, where oneDNN has more algorithms to choose
// from. Of the samples in types that are converted, one in six in the usual run; with DP_FULL all.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>

#include "backends/cpu/target.h"
#include "ir/graph/op.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

// One sharding rule for each axis of the mesh.
using Rules = std::vector<const dp_sharding_rule *>;

// A spec with its operands; it points into itself.
struct Spec {
  dp_kernel_spec spec;
  dp_kernel_operand inputs[DP_MAX_OPERANDS], outputs[DP_MAX_OPERANDS];
};

class Scratch : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    built_ = std::make_unique<Built>(GetParam());
    ASSERT_EQ(built_->error, "");
    batch_ = std::max<int64_t>(2 * built_->n, 1);
    for (int64_t n = 0; n <= batch_; n++)
      if (n <= 5 || n >= batch_ - 1 || n == built_->n) counts_.push_back(n);
  }

  // The shard of operand or result i on the device at `coordinate`; false if a tensor cannot be placed like this.
  bool Place(const dp_value *value, const std::vector<dp_placement> &placements, const int64_t *coordinate, int64_t n,
             dp_kernel_operand *operand) const {
    dp_status status = dp_placement_check(&value->type.shape, placements.data(), &mesh_);
    const bool legal = !status;
    dp_status_free(status);
    if (legal)
      *operand = {value->type.dtype, true, dp_shard_range(&value->type.shape, placements.data(), &mesh_, coordinate, n),
                  DP_LAYOUT_PLAIN};
    return legal;
  }

  bool Make(const Rules &rules, int64_t device, int64_t n, int threads, Spec *made) const {
    const dp_node *node = built_->node;
    int64_t coordinate[DP_MAX_MESH] = {0};
    dp_mesh_coordinate(&mesh_, device, coordinate);
    *made = {};
    dp_kernel_spec *spec = &made->spec;
    spec->inputs = made->inputs;
    spec->outputs = made->outputs;
    spec->op = node->op;
    spec->node = node;
    spec->threads = threads;
    spec->winograd = true;
    spec->n_inputs = node->n_inputs;
    spec->n_outputs = node->n_outputs;
    std::vector<dp_placement> placements(DP_MAX_MESH);
    for (int i = 0; i < node->n_inputs + node->n_outputs; i++) {
      const bool input = i < node->n_inputs;
      const int k = input ? i : i - node->n_inputs;
      const dp_value *value = input ? node->inputs[k] : node->outputs[k];
      for (size_t a = 0; a < rules.size(); a++) placements[a] = input ? rules[a]->in[k] : rules[a]->out[k];
      if (value && !Place(value, placements, coordinate, n, input ? &made->inputs[k] : &made->outputs[k])) return false;
    }
    return true;
  }

  void Hold(const Rules &rules, const std::vector<int64_t> &sizes, int threads) {
    mesh_.n_axes = int(sizes.size());
    for (size_t a = 0; a < sizes.size(); a++) {
      mesh_.axes[a] = {a ? "tensor" : "data", sizes[a]};
      if (!dp_sharding_rule_holds_on(rules[a], &mesh_.axes[a])) return;
    }
    const int64_t devices = dp_mesh_devices(&mesh_);
    Spec largest, part;
    if (!Make(rules, devices - 1, batch_, threads, &largest)) return;
    for (const dp_kernel *const *k = dp_target_cpu.kernels; *k; k++) {
      if (!(*k)->scratch_bytes || !dp_kernel_computes(*k, built_->node->op) || !dp_kernel_takes(*k, &largest.spec))
        continue;
      if ((*k)->match && !(*k)->match(&largest.spec)) continue;
      const uint64_t declared = (*k)->scratch_bytes(&largest.spec);
      for (int64_t device = 0; device < devices; device++)
        for (int64_t n : counts_) {
          ASSERT_TRUE(Make(rules, device, n, threads, &part));
          ASSERT_TRUE(!(*k)->match || (*k)->match(&part.spec)) << (*k)->name;
          ASSERT_LE((*k)->scratch_bytes(&part.spec), declared)
              << (*k)->name << ", device " << device << " of " << testing::PrintToString(sizes) << ", n = " << n
              << " of " << batch_ << ", threads " << threads;
        }
    }
  }

  void HoldAll() {
    const dp_placement views[] = {dp_shard_in(0, 2, 1), dp_shard_in(0, 1, 2), dp_shard_in(0, 2, 3)};
    dp_sharding_rules rules;
    dp_op_sharding_rules_at(built_->arena, built_->node, 3, views, &rules);
    for (int r = 0; r < rules.count && !HasFailure(); r++) {
      for (int threads : {1, 3})
        for (int64_t devices : {2, 3, 5}) Hold({&rules.rules[r]}, {devices}, threads);
      for (int s = 0; s < rules.count && !HasFailure(); s++) Hold({&rules.rules[r], &rules.rules[s]}, {2, 3}, 2);
    }
  }

  std::unique_ptr<Built> built_;
  dp_mesh mesh_{};
  int64_t batch_ = 0;
  std::vector<int64_t> counts_;  // numbers of samples
};

TEST_P(Scratch, OfTheLargestPartIsEnoughForEveryPart) { HoldAll(); }

// Whether any kernel of the operator takes scratch.
bool TakesScratch(const Case &c) {
  if (IsReplaced(c.op) || dp_op_is(c.op, DP_OP_COMMUNICATION)) return false;
  if (c.to) return true;  // through the wide types
  for (const dp_kernel *const *k = dp_target_cpu.kernels; *k; k++)
    if ((*k)->op && (*k)->scratch_bytes && dp_kernel_computes(*k, c.op)) return true;
  return false;
}

std::vector<Case> OfSamples() {
  std::vector<Case> cases;
  int converted = 0;
  for (const std::vector<Case> &all : {AllCases(true), TypeCases()})
    for (const Case &c : all)
      if (TakesScratch(c) && (!c.to || getenv("DP_FULL") || converted++ % 6 == 0)) cases.push_back(c);
  return cases;
}

std::string NameOf(const testing::TestParamInfo<Case> &info) { return TestName(info.param); }

INSTANTIATE_TEST_SUITE_P(Samples, Scratch, testing::ValuesIn(OfSamples()), NameOf);

// Channels with all remainders modulo 2, 3 and 5 devices and vectors of 8 and 16.
std::vector<Case> OfUsualSizes() {
  static std::vector<std::string> texts;
  static std::vector<dp_sample> samples;
  static std::vector<const dp_op *> ops;
  struct {
    int64_t c, m, group, kernel, image, stride;
  } const convolutions[] = {{3, 16, 1, 3, 12, 1},  {16, 33, 1, 3, 9, 1},  {21, 34, 1, 3, 8, 2},  {17, 31, 1, 1, 7, 1},
                            {50, 67, 1, 3, 5, 1},  {24, 24, 24, 3, 8, 1}, {36, 72, 12, 3, 6, 1}, {80, 26, 1, 3, 10, 1},
                            {8, 129, 1, 1, 14, 1}, {48, 50, 2, 3, 7, 1},  {66, 131, 1, 3, 8, 1}, {65, 65, 1, 5, 9, 2},
                            {18, 10, 1, 3, 16, 1}};
  texts.reserve(1000);
  samples.reserve(1000);
  auto text = [](std::string t) { return texts.emplace_back(std::move(t)).c_str(); };
  auto add = [&](const char *domain, const char *op, std::string inputs, std::string attrs) {
    dp_sample sample{};
    sample.inputs = text(std::move(inputs));
    sample.attrs = text(std::move(attrs));
    sample.n = 9;
    samples.push_back(sample);
    ops.push_back(dp_op_find(domain, op));
  };
  for (const auto &v : convolutions) {
    auto shape = [](const std::string &first, int64_t channels, int64_t extent) {
      const std::string e = std::to_string(extent);
      return "[" + first + "," + std::to_string(channels) + "," + e + "," + e + "]";
    };
    const int64_t pad = v.kernel / 2;
    const std::string x = shape("N", v.c, v.image), w = shape(std::to_string(v.m), v.c / v.group, v.kernel),
                      y = shape("N", v.m, (v.image - 1) / v.stride + 1), p = std::to_string(pad),
                      s = std::to_string(v.stride),
                      attrs = "group=" + std::to_string(v.group) + ", pads=[" + p + "," + p + "," + p + "," + p +
                              "], strides=[" + s + "," + s + "]";
    for (const std::string type : {"float32", "bfloat16"}) {
      if (type == "bfloat16" && !getenv("DP_FULL") && v.c % 21 && v.c % 24) continue;
      add("", "Conv", type + x + ", " + type + w + ", " + type + "[" + std::to_string(v.m) + "]", attrs);
      add("dp", "ConvGradInput", type + w + ", " + type + y, "shape=" + x + ", " + attrs);
      add("dp", "ConvGradWeight", type + x + ", " + type + y, "shape=" + w + ", " + attrs);
    }
    add("", "AveragePool", "float32" + x, "kernel_shape=[3,3], strides=[2,2]");
    add("", "GlobalAveragePool", "float32" + x, "");
  }
  // Channels and extents that depend on the number of samples.
  add("", "AveragePool", "float32[3,N,9,9]", "kernel_shape=[3,3], strides=[2,2]");
  add("", "GlobalAveragePool", "float32[3,N,7,7]", "");
  add("", "GlobalAveragePool", "float32[3,5,N,7]", "");
  std::vector<Case> cases;
  for (size_t i = 0; i < samples.size(); i++) cases.push_back({ops[i], &samples[i], int(i), false});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Usual, Scratch, testing::ValuesIn(OfUsualSizes()), NameOf);

// Every kernel that takes scratch must be among the cases, except those of regions, which region_test.cc draws.
TEST(ScratchKernels, AllAreReached) {
  std::set<std::string> names;
  for (const Case &c : OfSamples())
    for (const dp_kernel *const *k = dp_target_cpu.kernels; *k; k++)
      if ((*k)->scratch_bytes && dp_kernel_computes(*k, c.op)) names.insert((*k)->name);
  for (const dp_kernel *const *k = dp_target_cpu.kernels; *k; k++) {
    const bool of_regions = (*k)->op && !strcmp((*k)->op, "Region");
    if ((*k)->scratch_bytes && !of_regions) {
      EXPECT_TRUE(names.count((*k)->name)) << (*k)->name;
    }
  }
}

}  // namespace
}  // namespace dp_test
