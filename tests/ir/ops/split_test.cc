// Split equals whole: for every sharding rule of every sample, on 1, 2, 3 and 5 devices, and for every two rules on two
// mesh axes, the shards' results make up the result on one device. Shards may be empty.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "backends/cpu/target.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

// One rule for each mesh axis.
using Rows = std::vector<dp_sharding_rule>;

std::string Print(const dp_node *node, const Rows &rules) {
  std::string text;
  char one[64];
  for (const dp_sharding_rule &rule : rules) {
    for (int i = 0; i < node->n_inputs; i++) text += " " + std::string(dp_placement_print(rule.in[i], one, sizeof one));
    text += " ->";
    for (int i = 0; i < node->n_outputs; i++)
      text += " " + std::string(dp_placement_print(rule.out[i], one, sizeof one));
    text += ";";
  }
  return text;
}

// a + b or a - b in the type's own arithmetic.
double Sum(dp_dtype dtype, double a, double b, bool minus) {
  if (dp_type_is_float(dtype)) return minus ? a - b : a + b;
  // Stored and read again, so that it wraps.
  Tensor sum = MakeTensor(dtype, {1}, {minus ? a - b : a + b});
  return sum.Get(0);
}

bool IsSum(dp_placement p) { return p.kind == DP_PARTIAL && p.reduction == DP_SUM; }
bool IsMax(dp_placement p) { return p.kind == DP_PARTIAL && p.reduction == DP_MAX; }

class Split : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    c_ = GetParam();
    built_.reset(new Built(c_));
    ASSERT_EQ(built_->error, "");
  }

  // Cuts a whole operand into shards, device by device. Partial sums are distributed randomly along their axes.
  std::vector<Tensor> Distribute(const dp_value *value, const Tensor &whole,
                                 const std::vector<dp_placement> &placements);
  // Assembles a result from its shards.
  Tensor Join(const dp_value *value, const std::vector<Tensor> &parts, const std::vector<dp_placement> &placements);
  // The operands and the results on one device.
  void RunWhole(int64_t n);
  void RunSplit(const Rows &rules, const std::vector<int64_t> &sizes);
  bool Legal(const Rows &rules, const dp_mesh &mesh);
  static std::vector<dp_placement> In(const Rows &rules, int i) {
    std::vector<dp_placement> placements;
    for (const dp_sharding_rule &rule : rules) placements.push_back(rule.in[i]);
    return placements;
  }
  static std::vector<dp_placement> Out(const Rows &rules, int i) {
    std::vector<dp_placement> placements;
    for (const dp_sharding_rule &rule : rules) placements.push_back(rule.out[i]);
    return placements;
  }

  Case c_{};
  std::unique_ptr<Built> built_;
  dp_mesh mesh_{};
  int64_t n_ = 0;
  std::vector<Tensor> in_, whole_;
};

std::vector<Tensor> Split::Distribute(const dp_value *value, const Tensor &whole,
                                      const std::vector<dp_placement> &placements) {
  // Addends by the coordinates along the axes of partial sums; the last one gets the remainder.
  std::vector<Tensor> addends, parts;
  std::vector<size_t> addend_of;
  int64_t coordinate[DP_MAX_MESH], devices = dp_mesh_devices(&mesh_);
  for (int64_t device = 0; device < devices; device++) {
    dp_mesh_coordinate(&mesh_, device, coordinate);
    size_t which = 0;
    for (int a = 0; a < mesh_.n_axes; a++)
      if (IsSum(placements[size_t(a)])) which = which * size_t(mesh_.axes[a].size) + size_t(coordinate[a]);
    addend_of.push_back(which);
  }
  Tensor rest = whole;
  for (size_t which = 0; which < addend_of.back(); which++) {
    Tensor addend = DrawNumbers(c_, std::string(value->name) + " addend " + std::to_string(which), *value->type, n_);
    for (int64_t i = 0; i < rest.Count(); i++) {
      if (DP_BIT(addend.dtype) & DP_UNSIGNED) addend.Set(i, double(i % 20));
      rest.Set(i, Sum(rest.dtype, rest.Get(i), addend.Get(i), true));
    }
    addends.push_back(addend);
  }
  addends.push_back(rest);
  for (int64_t device = 0; device < devices; device++) {
    dp_mesh_coordinate(&mesh_, device, coordinate);
    Tensor part = MakePart(*value->type, n_, placements.data(), mesh_, coordinate);
    Cut(addends[addend_of[size_t(device)]], &part);
    // For a partial maximum, some devices hold something smaller.
    for (int a = 0; a < mesh_.n_axes; a++)
      for (int64_t i = 0; IsMax(placements[size_t(a)]) && i < part.Count(); i++)
        if (i % mesh_.axes[a].size != coordinate[a] && dp_type_is_float(part.dtype)) part.Set(i, part.Get(i) - 1);
    parts.push_back(part);
  }
  return parts;
}

Tensor Split::Join(const dp_value *value, const std::vector<Tensor> &parts,
                   const std::vector<dp_placement> &placements) {
  Tensor whole = MakeWhole(*value->type, n_);
  std::vector<int> seen(size_t(whole.Count()));
  int64_t coordinate[DP_MAX_MESH];
  int addends = 1;
  bool maximum = false;
  for (int a = 0; a < mesh_.n_axes; a++) {
    if (placements[size_t(a)].kind == DP_PARTIAL) addends *= int(mesh_.axes[a].size);
    maximum |= IsMax(placements[size_t(a)]);
  }
  for (size_t device = 0; device < parts.size(); device++) {
    dp_mesh_coordinate(&mesh_, int64_t(device), coordinate);
    bool copy = false;  // whether another device, at coordinate 0, holds the same
    for (int a = 0; a < mesh_.n_axes; a++)
      if (placements[size_t(a)].kind == DP_REPLICATE && coordinate[a]) {
        copy = true;
        coordinate[a] = 0;
      }
    if (copy) {
      EXPECT_EQ(parts[device].bytes, parts[size_t(dp_mesh_device(&mesh_, coordinate))].bytes);
      continue;
    }
    for (int64_t i = 0; i < parts[device].Count(); i++) {
      int64_t at = WholeIndex(parts[device].local, i);
      double number = parts[device].Get(i), before = whole.Get(at);
      if (seen[size_t(at)]++) number = maximum ? std::fmax(before, number) : Sum(whole.dtype, before, number, false);
      whole.Set(at, number);
    }
  }
  for (int count : seen) EXPECT_EQ(count, addends);
  return whole;
}

// Compares only float32 with a tolerance, since a partial sum is not exact.
void Compare(const Tensor &found, const Tensor &expected, bool rounded) {
  bool half = found.dtype == DP_FLOAT16 || found.dtype == DP_BFLOAT16;
  double tolerance = !dp_type_is_float(found.dtype) ? 0 : half ? 0x1p-5 : rounded ? 1e-5 : 1e-12;
  for (int64_t i = 0; i < expected.Count(); i++) {
    double e = expected.Get(i);
    ASSERT_EQ(std::isnan(found.Get(i)), std::isnan(e)) << "element " << i;
    if (std::isnan(e)) continue;
    ASSERT_NEAR(found.Get(i), e, tolerance * (1 + std::fabs(e))) << "element " << i;
  }
}

void Split::RunWhole(int64_t n) {
  const dp_node *node = built_->node;
  n_ = n;
  in_.clear();
  whole_.clear();
  std::vector<const Tensor *> from;
  std::vector<Tensor *> to;
  for (int i = 0; i < node->n_inputs; i++)
    in_.push_back(node->inputs[i] ? DrawOperand(c_, i, *node->inputs[i]->type, n) : Tensor());
  for (int i = 0; i < node->n_inputs; i++) from.push_back(node->inputs[i] ? &in_[size_t(i)] : nullptr);
  for (int i = 0; i < node->n_outputs; i++) whole_.push_back(MakeWhole(*node->outputs[i]->type, n));
  for (Tensor &tensor : whole_) to.push_back(&tensor);
  ASSERT_EQ(RunNode(dp_target_cpu, node, from, to), "");
}

bool Split::Legal(const Rows &rules, const dp_mesh &mesh) {
  const dp_node *node = built_->node;
  dp_status status = DP_OK;
  for (int i = 0; i < node->n_inputs && !status; i++)
    if (node->inputs[i]) status = dp_placement_check(&node->inputs[i]->type->shape, In(rules, i).data(), &mesh);
  for (int i = 0; i < node->n_outputs && !status; i++)
    status = dp_placement_check(&node->outputs[i]->type->shape, Out(rules, i).data(), &mesh);
  dp_status_free(status);
  return !status;
}

void Split::RunSplit(const Rows &rules, const std::vector<int64_t> &sizes) {
  const dp_node *node = built_->node;
  SCOPED_TRACE(Print(node, rules) + " mesh " + testing::PrintToString(sizes) + ", n = " + std::to_string(n_));
  mesh_.n_axes = int(sizes.size());
  for (size_t a = 0; a < sizes.size(); a++) {
    mesh_.axes[a] = {a ? "tensor" : "data", sizes[a]};
    if (!dp_sharding_rule_holds_on(&rules[a], &mesh_.axes[a])) return;
  }
  // Two axes may view a dim differently; placement refuses that.
  if (rules.size() > 1 && !Legal(rules, mesh_)) return;
  ASSERT_TRUE(Legal(rules, mesh_));
  std::vector<std::vector<Tensor>> parts, results(size_t(node->n_outputs));
  for (int i = 0; i < node->n_inputs; i++)
    parts.push_back(node->inputs[i] ? Distribute(node->inputs[i], in_[size_t(i)], In(rules, i))
                                    : std::vector<Tensor>());
  int64_t coordinate[DP_MAX_MESH];
  for (int64_t device = 0; device < dp_mesh_devices(&mesh_); device++) {
    dp_mesh_coordinate(&mesh_, device, coordinate);
    std::vector<const Tensor *> from;
    std::vector<Tensor> out(size_t(node->n_outputs));
    std::vector<Tensor *> to;
    for (int i = 0; i < node->n_inputs; i++)
      from.push_back(node->inputs[i] ? &parts[size_t(i)][size_t(device)] : nullptr);
    for (int i = 0; i < node->n_outputs; i++) {
      out[size_t(i)] = MakePart(*node->outputs[i]->type, n_, Out(rules, i).data(), mesh_, coordinate);
      to.push_back(&out[size_t(i)]);
    }
    ASSERT_EQ(RunNode(dp_target_cpu, node, from, to, 1, c_.float64), "");
    for (int i = 0; i < node->n_outputs; i++) results[size_t(i)].push_back(out[size_t(i)]);
  }
  for (int i = 0; i < node->n_outputs; i++) {
    SCOPED_TRACE("result " + std::to_string(i));
    Tensor joined = Join(node->outputs[i], results[size_t(i)], Out(rules, i));
    Compare(joined, whole_[size_t(i)], !c_.float64 || joined.dtype == DP_FLOAT32);
  }
}

TEST_P(Split, EqualsWhole) {
  // Besides the plain view: blocks, units, and both.
  const dp_placement given[] = {dp_shard_in(0, 2, 1), dp_shard_in(0, 1, 2), dp_shard_in(0, 1, 3),
                                dp_shard_in(0, 2, 3), dp_shard_in(0, 3, 1), dp_shard_in(0, 1, 6)};
  dp_sharding_rules rules;
  dp_op_sharding_rules_at(built_->arena, built_->node, 6, given, &rules);
  std::vector<int64_t> sizes = {built_->n};
  if (built_->n > 1) sizes.push_back(1);
  for (int64_t n : sizes) {
    RunWhole(n);
    for (int r = 0; r < rules.count && !HasFailure(); r++)
      for (int64_t devices : {1, 2, 3, 5}) RunSplit({rules.rules[r]}, {devices});
  }
}

bool HasMax(const dp_node *node, const dp_sharding_rule &rule) {
  for (int i = 0; i < node->n_inputs; i++)
    if (IsMax(rule.in[i])) return true;
  return false;
}

class SplitOnTwoAxes : public Split {};

TEST_P(SplitOnTwoAxes, EqualsWhole) {
  dp_sharding_rules rules;
  dp_op_sharding_rules(built_->arena, built_->node, &rules);
  RunWhole(built_->n);
  for (int r = 1; r < rules.count; r++)
    for (int s = 1; s < rules.count && !HasFailure(); s++) {
      // A maximum of sums is not the sum of maxima, so no tensor is both.
      if (HasMax(built_->node, rules.rules[r]) || HasMax(built_->node, rules.rules[s])) continue;
      RunSplit({rules.rules[r], rules.rules[s]}, {2, 2});
      RunSplit({rules.rules[r], rules.rules[s]}, {2, 3});
    }
}

// exact: skips samples with float32 operands.
std::vector<Case> Cases(bool exact) {
  std::vector<Case> cases;
  for (const Case &c : AllCases(true)) {
    if (IsReplaced(c.op)) continue;
    bool float32 = !c.float64 && std::string(c.sample->inputs).find("float32") != std::string::npos;
    if (!exact || !float32) cases.push_back(c);
  }
  return cases;
}

std::string NameOf(const testing::TestParamInfo<Case> &info) { return TestName(info.param); }

INSTANTIATE_TEST_SUITE_P(Ops, Split, testing::ValuesIn(Cases(false)), NameOf);
INSTANTIATE_TEST_SUITE_P(Ops, SplitOnTwoAxes, testing::ValuesIn(Cases(true)), NameOf);

}  // namespace
}  // namespace dp_test
