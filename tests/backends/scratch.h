// Scratch is declared before any device exists, for the largest shard at the largest n. The fixture checks that no
// shard on any device, at any n, needs more: for a case and every kernel of a target that takes scratch, every shard
// of small splits on one axis and on two.
#ifndef DP_TESTS_BACKENDS_SCRATCH_H
#define DP_TESTS_BACKENDS_SCRATCH_H

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph/op.h"
#include "ir/kernel/kernel.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {

// One sharding rule for each axis of the mesh.
using Rules = std::vector<const dp_sharding_rule *>;

// A spec with its operands; it points into itself.
struct Spec {
  dp_kernel_spec spec;
  dp_kernel_operand inputs[DP_MAX_OPERANDS], outputs[DP_MAX_OPERANDS];
};

class Scratch : public testing::TestWithParam<Case> {
 protected:
  explicit Scratch(const dp_target *target) : target_(target) {}

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
    dp_status status = dp_placement_check(&value->type->shape, placements.data(), &mesh_);
    const bool legal = !status;
    dp_status_free(status);
    if (legal)
      *operand = {value->type->dtype, true,
                  dp_shard_range(&value->type->shape, placements.data(), &mesh_, coordinate, n), DP_LAYOUT_PLAIN};
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

  // Whether it has an operand or a result without elements, so that nothing is packed for it (runtime/bind/bind.c).
  static bool IsEmpty(const Spec &made) {
    bool empty = false;
    for (int i = 0; i < made.spec.n_inputs; i++)
      empty |= made.inputs[i].present && dp_local_count(&made.inputs[i].local) == 0;
    return empty || dp_local_count(&made.outputs[0].local) == 0;
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
    for (const dp_kernel *const *k = target_->kernels; *k; k++) {
      if (!(*k)->scratch_bytes || !dp_kernel_computes(*k, built_->node->op) || !dp_kernel_takes(*k, &largest.spec))
        continue;
      if ((*k)->match && !(*k)->match(&largest.spec)) continue;
      // What it packs, too: no shard needs more for it, nor packs nothing where the largest does.
      const uint64_t packed = (*k)->packed_bytes ? (*k)->packed_bytes(&largest.spec) : 0;
      largest.spec.packed = packed > 0;
      const uint64_t declared = (*k)->scratch_bytes(&largest.spec);
      for (int64_t device = 0; device < devices; device++)
        for (int64_t n : counts_) {
          ASSERT_TRUE(Make(rules, device, n, threads, &part));
          ASSERT_TRUE(!(*k)->match || (*k)->match(&part.spec)) << (*k)->name;
          part.spec.packed = packed && !IsEmpty(part);
          if (part.spec.packed) {
            ASSERT_GT((*k)->packed_bytes(&part.spec), 0u) << (*k)->name;
            ASSERT_LE((*k)->packed_bytes(&part.spec), packed) << (*k)->name;
          }
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

  const dp_target *target_;
  std::unique_ptr<Built> built_;
  dp_mesh mesh_{};
  int64_t batch_ = 0;
  std::vector<int64_t> counts_;  // numbers of samples
};

}  // namespace dp_test

#endif
