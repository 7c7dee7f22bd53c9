// Regions that are drawn by seed, from pointwise members and others that work on rows, with broadcast operands. Tests
// of backends compute them.
#ifndef DP_TESTS_BACKENDS_DRAWN_REGION_H
#define DP_TESTS_BACKENDS_DRAWN_REGION_H

#include <cstring>
#include <random>
#include <vector>

#include "ir/graph/element.h"
#include "ir/kernel/kernel.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {

inline dp_local LocalOf(const std::vector<int64_t> &extents) {
  dp_shape shape{};
  shape.rank = static_cast<int>(extents.size());
  for (size_t i = 0; i < extents.size(); i++) shape.dims[i] = dp_dim_of(extents[i]);
  static const int64_t origin[DP_MAX_MESH] = {};
  dp_mesh none{};
  return dp_shard_range(&shape, nullptr, &none, origin, 0);
}

// A region, and the numbers of its operands.
struct Drawn {
  Arena arena;
  std::mt19937 rng;
  dp_dtype dtype;
  std::vector<int64_t> extents;
  std::vector<dp_kernel_operand> values;
  std::vector<std::vector<int32_t>> taken, made;
  std::vector<dp_kernel_member> members;
  dp_kernel_region region{};
  dp_kernel_spec spec{};
  int n_inputs = 0, n_outputs = 0;

  // divisor: divides every extent, as if the region were a shard. of: the type; DP_NO_TYPE: float32 or float64.
  explicit Drawn(uint32_t seed, int64_t divisor = 1, dp_dtype of = DP_NO_TYPE) : rng(seed) {
    dtype = of ? of : seed % 2 ? DP_FLOAT64 : DP_FLOAT32;
    static const std::vector<std::vector<int64_t>> shapes = {
        {}, {1}, {1023}, {1024}, {1025}, {5, 300}, {3, 0}, {7, 1, 9}, {2, 3000}, {4, 17, 65}, {2, 3, 5, 99}};
    extents = shapes[seed % shapes.size()];
    for (int64_t &extent : extents) extent = (extent + divisor - 1) / divisor;
    Fill();
  }

  int UpTo(size_t n) { return static_cast<int>(rng() % n); }
  dp_kernel_operand Value(const std::vector<int64_t> &of) { return {dtype, true, LocalOf(of), DP_LAYOUT_PLAIN}; }

  // The same extents, with some replaced by 1 and some of the first left out.
  std::vector<int64_t> Broadcast() {
    std::vector<int64_t> of = extents;
    for (int64_t &extent : of)
      if (!UpTo(2)) extent = 1;
    if (!of.empty() && !UpTo(3)) of.erase(of.begin());
    return of;
  }

  // What the member's result has: the operands' extents together, or 1 where it reduces.
  static std::vector<int64_t> Merged(const dp_local &a, const dp_local *b, int reduced) {
    std::vector<int64_t> of(a.extents, a.extents + a.rank);
    for (int i = 0; b && i < b->rank; i++) {
      int64_t &extent = of[static_cast<size_t>(i + a.rank - b->rank)];
      if (extent == 1) extent = b->extents[i];
    }
    if (reduced >= 0) of[static_cast<size_t>(reduced)] = 1;
    return of;
  }

  void Fill() {
    static const char *const unary[] = {"Relu", "Tanh", "Neg", "Exp", "Sigmoid", "Gelu", "Abs"};
    static const char *const binary[] = {"Add", "Mul", "Sub", "Max", "Min"};
    static const char *const on_rows[] = {"ReduceSum", "ReduceMean", "ReduceMax", "Softmax", "LogSoftmax"};
    const int n_members = 1 + UpTo(12);
    n_inputs = 1 + UpTo(4);
    // Results are numbered first among the computed values, so their numbers follow the operands'.
    std::vector<bool> result(static_cast<size_t>(n_members));
    for (size_t m = 0; m < result.size(); m++) result[m] = m + 1 == result.size() || !UpTo(4);
    for (bool is : result) n_outputs += is;
    for (int i = 0; i < n_inputs; i++) values.push_back(Value(i ? Broadcast() : extents));
    values.resize(static_cast<size_t>(n_inputs + n_members));
    int next_result = n_inputs, next_inside = n_inputs + n_outputs;
    std::vector<int32_t> there;
    for (int i = 0; i < n_inputs; i++) there.push_back(i);
    dp_graph *holder = dp_graph_create(dp_model_create(arena, "m"), "g");
    for (int m = 0; m < n_members; m++) {
      const int kind = UpTo(extents.size() > 1 ? 3 : 2), chosen = m ? UpTo(there.size()) : 0;
      // The first operand is the region's, or was computed by a member, so that the result has all rows.
      std::vector<int32_t> in = {there[static_cast<size_t>(chosen < n_inputs ? 0 : chosen)]};
      if (kind == 1) in.push_back(there[static_cast<size_t>(UpTo(there.size()))]);
      const char *name = kind == 2 ? on_rows[UpTo(std::size(on_rows))]
                         : kind    ? binary[UpTo(std::size(binary))]
                                   : unary[UpTo(std::size(unary))];
      const int reduced = kind == 2 ? 1 + UpTo(extents.size() - 1) : -1;
      taken.push_back(in);
      made.push_back({result[static_cast<size_t>(m)] ? next_result++ : next_inside++});
      there.push_back(made.back()[0]);
      values[static_cast<size_t>(made.back()[0])] = Value(Merged(
          values[static_cast<size_t>(in[0])].local, kind == 1 ? &values[static_cast<size_t>(in[1])].local : nullptr,
          std::strncmp(name, "Reduce", 6) ? -1 : reduced));
      AddMember(holder, name, reduced, static_cast<int>(in.size()));
    }
    for (size_t m = 0; m < members.size(); m++) {
      members[m].inputs = taken[m].data();
      members[m].outputs = made[m].data();
    }
    region = {n_members, static_cast<int>(values.size()), members.data(), values.data()};
    spec.op = dp_op_find("dp", "Region");
    spec.n_inputs = n_inputs;
    spec.n_outputs = n_outputs;
    spec.inputs = values.data();
    spec.outputs = values.data() + n_inputs;
    spec.region = &region;
  }

  // axis: what it reduces or normalizes; -1: it is pointwise.
  void AddMember(dp_graph *holder, const char *name, int axis, int count) {
    const char *unnamed[] = {nullptr};
    dp_attr attr{};
    const int64_t *axes =
        static_cast<const int64_t *>(dp_memdup(arena, &(const int64_t &)int64_t{axis}, sizeof(int64_t)));
    attr.name = std::strncmp(name, "Reduce", 6) ? "axis" : "axes";
    attr.kind = std::strncmp(name, "Reduce", 6) ? DP_ATTR_INT : DP_ATTR_INTS;
    attr.i = axis;
    if (attr.kind == DP_ATTR_INTS) attr.count = 1, attr.ints = axes;
    const dp_op *op = dp_op_find("", name);
    const dp_node *node = dp_graph_add_node(holder, op, "n", 0, nullptr, 1, unnamed, axis >= 0, &attr);
    members.push_back({op, node, count, 1, nullptr, nullptr});
  }

  size_t Bytes(size_t value) const {
    return static_cast<size_t>(dp_local_count(&values[value].local)) * dp_type_bytes(dtype);
  }

  std::vector<std::vector<uint8_t>> Operands() {
    std::vector<std::vector<uint8_t>> operands;
    for (int i = 0; i < n_inputs; i++) {
      operands.emplace_back(Bytes(static_cast<size_t>(i)));
      for (size_t at = 0; at + dp_type_bytes(dtype) <= operands.back().size(); at += dp_type_bytes(dtype)) {
        dp_element_set(dtype, &operands.back()[at], static_cast<double>(rng() % 4001) / 1000 - 2);
      }
    }
    return operands;
  }
};

}  // namespace dp_test

#endif
