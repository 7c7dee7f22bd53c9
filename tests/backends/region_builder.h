// Builds a region member by member, for the tests of backends. Values are numbered when all members are there:
// operands, results, what stays inside.
#ifndef DP_TESTS_BACKENDS_REGION_BUILDER_H
#define DP_TESTS_BACKENDS_REGION_BUILDER_H

#include <random>
#include <vector>

#include "tests/backends/drawn_region.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {

struct RegionBuilder {
  Arena arena;
  std::mt19937 rng;
  struct Value {
    std::vector<int64_t> extents;
    dp_dtype dtype;
    bool operand, result;
    int64_t low, high;  // of an operand of integers
  };
  std::vector<Value> made;
  struct Member {
    const char *domain, *op;
    std::vector<int> in, out;
    std::vector<dp_attr> attrs;
  };
  std::vector<Member> list;
  std::vector<dp_kernel_operand> values;
  std::vector<size_t> value_at;  // which of `made` a numbered value is
  std::vector<std::vector<int32_t>> taken, given;
  std::vector<dp_kernel_member> members;
  dp_kernel_region region{};
  dp_kernel_spec spec{};
  int n_inputs = 0, n_outputs = 0;

  explicit RegionBuilder(uint32_t seed) : rng(seed) {}
  RegionBuilder(const RegionBuilder &) = delete;
  RegionBuilder &operator=(const RegionBuilder &) = delete;

  int UpTo(size_t n) { return static_cast<int>(rng() % n); }
  int Operand(dp_dtype dtype, const std::vector<int64_t> &extents, int64_t low = 0, int64_t high = 0) {
    made.push_back({extents, dtype, true, false, low, high});
    return static_cast<int>(made.size()) - 1;
  }
  int Add(const char *domain, const char *op, const std::vector<int> &in, dp_dtype dtype,
          const std::vector<int64_t> &extents, bool result, const std::vector<dp_attr> &attrs = {}) {
    list.push_back({domain, op, in, {}, attrs});
    return AddResult(dtype, extents, result);
  }
  // One more result of the last member.
  int AddResult(dp_dtype dtype, const std::vector<int64_t> &extents, bool result) {
    made.push_back({extents, dtype, false, result, 0, 0});
    list.back().out.push_back(static_cast<int>(made.size()) - 1);
    return list.back().out.back();
  }
  static dp_attr Int(const char *name, int64_t i) {
    dp_attr attr{};
    attr.name = name, attr.kind = DP_ATTR_INT, attr.i = i;
    return attr;
  }
  dp_attr Axes(const std::vector<int64_t> &axes) {
    dp_attr attr{};
    attr.name = "axes", attr.kind = DP_ATTR_INTS, attr.count = axes.size();
    attr.ints = static_cast<const int64_t *>(dp_memdup(arena, axes.data(), axes.size() * sizeof(int64_t)));
    return attr;
  }

  void Number() {
    std::vector<int32_t> number(made.size());
    for (int round = 0; round < 3; round++)
      for (size_t v = 0; v < made.size(); v++) {
        if ((made[v].operand ? 0 : made[v].result ? 1 : 2) != round) continue;
        number[v] = static_cast<int32_t>(values.size());
        values.push_back({made[v].dtype, true, LocalOf(made[v].extents), DP_LAYOUT_PLAIN});
        value_at.push_back(v);
        n_inputs += !round;
        n_outputs += round == 1;
      }
    dp_graph *holder = dp_graph_create(dp_model_create(arena, "m"), "g");
    const char *unnamed[DP_MAX_OPERANDS] = {};
    for (const Member &member : list) {
      taken.emplace_back();
      for (int v : member.in) taken.back().push_back(v < 0 ? -1 : number[size_t(v)]);
      given.emplace_back();
      for (int v : member.out) given.back().push_back(v < 0 ? -1 : number[size_t(v)]);
      const dp_op *op = dp_op_find(member.domain, member.op);
      const dp_node *node =
          dp_graph_add_node(holder, op, "n", 0, nullptr, int(member.out.size()), unnamed, int(member.attrs.size()),
                            member.attrs.empty() ? nullptr : member.attrs.data());
      members.push_back({op, node, int(member.in.size()), int(member.out.size()), nullptr, nullptr});
    }
    for (size_t m = 0; m < members.size(); m++)
      members[m].inputs = taken[m].data(), members[m].outputs = given[m].data();
    region = {int(members.size()), int(values.size()), members.data(), values.data()};
    spec.op = dp_op_find("dp", "Region");
    spec.n_inputs = n_inputs, spec.n_outputs = n_outputs;
    spec.inputs = values.data(), spec.outputs = values.data() + n_inputs;
    spec.region = &region;
    spec.threads = 1;
  }

  // Operands, drawn, or room for results.
  std::vector<Tensor> Tensors(int first, int count) {
    std::vector<Tensor> tensors(static_cast<size_t>(count));
    for (size_t i = 0; i < tensors.size(); i++) {
      const Value &of = made[value_at[size_t(first) + i]];
      tensors[i].dtype = of.dtype;
      tensors[i].local = values[size_t(first) + i].local;
      tensors[i].bytes.resize(size_t(tensors[i].Count()) * dp_type_bytes(of.dtype));
      for (int64_t k = 0; k < tensors[i].Count() && !first; k++)
        tensors[i].Set(k, of.high > of.low ? static_cast<double>(of.low + int64_t(rng() % size_t(of.high - of.low)))
                                           : static_cast<double>(rng() % 4001) / 1000 - 2);
    }
    return tensors;
  }
};

// What the CPU's reference of regions gives.
inline std::vector<Tensor> ReferenceOf(const dp_kernel *kernel, RegionBuilder *b, const std::vector<Tensor> &in) {
  std::vector<Tensor> out = b->Tensors(b->n_inputs, b->n_outputs);
  std::vector<uint64_t> scratch(kernel->scratch_bytes(&b->spec) / 8 + 8);
  std::vector<const void *> from;
  std::vector<void *> to;
  for (const Tensor &tensor : in) from.push_back(tensor.bytes.data());
  for (Tensor &tensor : out) to.push_back(tensor.bytes.data());
  void *state = nullptr;
  EXPECT_EQ(kernel->prepare(&b->spec, &state), nullptr);
  EXPECT_EQ(kernel->run(&b->spec, state, from.data(), to.data(), scratch.data(), 0, 1), nullptr);
  kernel->release(state);
  return out;
}

}  // namespace dp_test

#endif
