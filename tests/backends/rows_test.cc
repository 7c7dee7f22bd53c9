// What operators say of their rows (dp_op.row) and channels (DP_OP_CHANNELS) holds, and the kernels of rows and of
// channels compute each such operator as the reference does, bit for bit: every sample of every one.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cpu/target.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

// A sample's node, its operands, and whatever it computes from them.
class Row {
 public:
  explicit Row(const Case &c) : built(c) {
    if (!built.error.empty() || !built.node->n_inputs || !built.node->inputs[0] || IsReplaced(c.op)) return;
    rank = built.node->outputs[0]->type->shape.rank;
    first = built.node->inputs[0]->type->shape.rank;
    row = dp_op_row(built.node, dp_op_is_pointwise(c.op) ? rank : first);
    for (size_t i = 0; i < built.operands.size(); i++)
      in.push_back(built.operands[i] ? DrawOperand(c, int(i), *built.operands[i]->type, built.n) : Tensor());
  }

  // Nothing where the operator refuses the numbers (an integer modulo 0).
  std::vector<Tensor> Compute() const {
    std::vector<Tensor> out;
    std::vector<const Tensor *> from;
    std::vector<Tensor *> to;
    for (const Tensor &x : in) from.push_back(x.dtype == DP_NO_TYPE ? nullptr : &x);
    for (int k = 0; k < built.node->n_outputs; k++) out.push_back(MakeWhole(*built.node->outputs[k]->type, built.n));
    for (Tensor &y : out) to.push_back(&y);
    return RunNode(dp_target_cpu, built.node, from, to).empty() ? out : std::vector<Tensor>();
  }

  Built built;
  int rank = 0, first = 0, row = 0;
  std::vector<Tensor> in;
};

std::vector<int64_t> Position(const dp_local &local, int64_t i) {
  std::vector<int64_t> at(static_cast<size_t>(local.rank));
  for (int d = local.rank; d-- > 0; i /= local.extents[d]) at[static_cast<size_t>(d)] = i % local.extents[d];
  return at;
}

// Whether the element at position y of a result may depend on that at x of an operand: they are in the same row, or the
// operand is broadcast.
bool MayDepend(const Tensor &operand, const std::vector<int64_t> &x, const std::vector<int64_t> &y, int row) {
  const int missing = static_cast<int>(y.size()) - static_cast<int>(x.size());
  for (int d = 0; d < row; d++) {
    const int i = d - missing;
    if (i >= 0 && operand.local.extents[i] != 1 && x[static_cast<size_t>(i)] != y[static_cast<size_t>(d)]) return false;
  }
  return true;
}

// Changes one element after the other; may_depend(operand, its position, a result, its position): what may change then.
template <typename MayDepend>
void ExpectToDepend(Row *r, const MayDepend &may_depend) {
  const std::vector<Tensor> before = r->Compute();
  ASSERT_FALSE(before.empty());
  for (size_t i = 0; i < r->in.size(); i++) {
    Tensor &operand = r->in[i];
    for (int64_t e = 0; operand.dtype != DP_NO_TYPE && e < operand.Count(); e++) {
      const double was = operand.Get(e);
      operand.Set(e, was + 1);
      const std::vector<Tensor> after = r->Compute();
      operand.Set(e, was);
      for (size_t k = 0; k < after.size(); k++)
        for (int64_t at = 0; at < after[k].Count(); at++) {
          if (may_depend(operand, Position(operand.local, e), after[k], Position(after[k].local, at))) continue;
          const size_t size = dp_type_bytes(after[k].dtype), begin = static_cast<size_t>(at) * size;
          EXPECT_EQ(std::memcmp(&after[k].bytes[begin], &before[k].bytes[begin], size), 0)
              << "operand " << i << ", element " << e << ", result " << k << ", element " << at;
        }
    }
  }
}

TEST(Rows, DependOnTheirOwnElementsAlone) {
  int pointwise = 0, longer = 0;
  for (const Case &c : AllCases(false)) {
    Row r(c);
    if (!r.row) continue;
    SCOPED_TRACE(c.Name());
    ExpectToDepend(&r, [&](const Tensor &operand, const std::vector<int64_t> &x, const Tensor &,
                           const std::vector<int64_t> &y) { return MayDepend(operand, x, y, r.row); });
    (dp_op_is_pointwise(c.op) ? pointwise : longer)++;
  }
  EXPECT_GT(pointwise, 100);
  EXPECT_GT(longer, 20);
}

// Of what has sums over rows beside its rows, the first result alone is held to that.
TEST(Rows, BesideSumsDependOnTheirOwnElementsAlone) {
  int checked = 0;
  for (const Case &c : AllCases(false)) {
    if (!c.op->row_beside_sums) continue;
    SCOPED_TRACE(c.Name());
    Row r(c);
    const int row = c.op->row_beside_sums(r.built.node, r.first);
    if (!row) continue;
    ExpectToDepend(&r, [&](const Tensor &operand, const std::vector<int64_t> &x, const Tensor &result,
                           const std::vector<int64_t> &y) {
      return result.local.rank != r.first || MayDepend(operand, x, y, row);
    });
    checked++;
  }
  EXPECT_GE(checked, 3);
}

TEST(Channels, DependOnTheirOwnElementsAlone) {
  int checked = 0;
  for (const Case &c : AllCases(false)) {
    if (!dp_op_is(c.op, DP_OP_CHANNELS)) continue;
    SCOPED_TRACE(c.Name());
    Row r(c);
    const auto channel = [&](const Tensor &of, const std::vector<int64_t> &at) {
      return of.local.rank == r.first ? at[1] : at.back();
    };
    ExpectToDepend(&r, [&](const Tensor &operand, const std::vector<int64_t> &x, const Tensor &result,
                           const std::vector<int64_t> &y) { return channel(operand, x) == channel(result, y); });
    checked++;
  }
  EXPECT_GE(checked, 10);
}

// Results keep their operand's dims, with extent 1 where it was reduced.
TEST(Rows, KeepTheDimsBeforeThem) {
  for (const Case &c : AllCases(false)) {
    const Row r(c);
    if (!r.row || dp_op_is_pointwise(c.op)) continue;
    SCOPED_TRACE(c.Name());
    const dp_shape &x = r.built.node->inputs[0]->type->shape;
    for (int k = 0; k < r.built.node->n_outputs; k++) {
      const dp_shape &y = r.built.node->outputs[k]->type->shape;
      ASSERT_EQ(y.rank, x.rank);
      for (int d = 0; d < x.rank; d++)
        EXPECT_TRUE(dp_dim_equal(y.dims[d], x.dims[d]) || (d >= r.row && dp_dim_equal(y.dims[d], dp_dim_of(1)))) << d;
    }
  }
}

// One sample as a region of one member. Returns how many were computed that are not pointwise.
int ExpectTheReference(const char *name, bool (*takes)(const Row &r)) {
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, name);
  EXPECT_NE(kernel, nullptr);
  int computed = 0;
  for (const Case &c : AllCases(true)) {
    const Row r(c);
    if (!takes(r)) continue;
    std::vector<Tensor> out = r.Compute(), expected = out;
    std::vector<dp_kernel_operand> values;
    std::vector<int32_t> taken, made;
    std::vector<const void *> from;
    std::vector<void *> to;
    for (const Tensor &x : r.in) {
      taken.push_back(x.dtype == DP_NO_TYPE ? -1 : static_cast<int32_t>(from.size()));
      if (x.dtype == DP_NO_TYPE) continue;
      values.push_back({x.dtype, true, x.local, DP_LAYOUT_PLAIN});
      from.push_back(x.bytes.data());
    }
    const size_t n_inputs = values.size();
    for (Tensor &y : out) {
      made.push_back(static_cast<int32_t>(values.size()));
      values.push_back({y.dtype, true, y.local, DP_LAYOUT_PLAIN});
      to.push_back(y.bytes.data());
      std::fill(y.bytes.begin(), y.bytes.end(), 0xff);
    }
    const dp_kernel_member member = {
        c.op, r.built.node, static_cast<int>(taken.size()), static_cast<int>(made.size()), taken.data(), made.data()};
    const dp_kernel_region region = {1, static_cast<int>(values.size()), &member, values.data()};
    dp_kernel_spec spec{};
    spec.op = dp_op_find("dp", "Region");
    spec.n_inputs = static_cast<int>(n_inputs);
    spec.n_outputs = static_cast<int>(out.size());
    spec.inputs = values.data();
    spec.outputs = values.data() + n_inputs;
    spec.region = &region;
    spec.threads = 2;
    if (!kernel->match(&spec)) continue;  // a type that no kernel computes in, or an operand that is not broadcast
    SCOPED_TRACE(c.Name());
    std::vector<uint64_t> scratch(kernel->scratch_bytes(&spec) / 8 + 1);
    void *state = nullptr;
    EXPECT_EQ(kernel->prepare(&spec, &state), DP_OK);
    for (int part : {1, 0})
      EXPECT_EQ(kernel->run(&spec, state, from.data(), to.data(), scratch.data(), part, 2), DP_OK);
    kernel->release(state);
    for (size_t k = 0; k < out.size(); k++) EXPECT_EQ(out[k].bytes, expected[k].bytes) << "result " << k;
    computed += !dp_op_is_pointwise(c.op);
  }
  return computed;
}

TEST(Rows, AreTheReferenceBitForBit) {
  EXPECT_GT(ExpectTheReference("cpu.rows.dp.Region", [](const Row &r) { return r.row > 0; }), 40);
}

TEST(Channels, AreTheReferenceBitForBit) {
  const auto takes = [](const Row &r) { return dp_op_is(r.built.node->op, DP_OP_CHANNELS); };
  EXPECT_GE(ExpectTheReference("cpu.channels.dp.Region", takes), 20);
}

// A node by itself, of which some operands have 16 bits, computed by two threads.
std::vector<Tensor> ComputeInParts(const Row &r, const dp_kernel *kernel, const dp_kernel_spec &spec) {
  std::vector<Tensor> out;
  std::vector<const void *> from;
  std::vector<void *> to;
  for (const Tensor &x : r.in) from.push_back(x.bytes.data());
  for (int k = 0; k < r.built.node->n_outputs; k++)
    out.push_back(MakeWhole(*r.built.node->outputs[k]->type, r.built.n));
  for (Tensor &y : out) {
    std::fill(y.bytes.begin(), y.bytes.end(), 0xff);
    to.push_back(y.bytes.data());
  }
  std::vector<uint64_t> scratch(kernel->scratch_bytes(&spec) / 8 + 1);
  void *state = nullptr;
  EXPECT_EQ(kernel->prepare(&spec, &state), DP_OK);
  for (int part : {1, 0}) EXPECT_EQ(kernel->run(&spec, state, from.data(), to.data(), scratch.data(), part, 2), DP_OK);
  kernel->release(state);
  return out;
}

// They are converted channel by channel: with the reference's bits, and where there are fast kernels, by these.
TEST(Channels, In16BitsAreTheReferenceBitForBit) {
  std::vector<Case> cases = AllCases(false);
  for (const Case &c : TypeCases()) cases.push_back(c);
  int computed = 0, fast = 0;
  for (const Case &c : cases) {
    const Row r(c);
    if (!dp_op_is(c.op, DP_OP_CHANNELS) || dp_type_bytes(r.in[0].dtype) != 2) continue;
    SCOPED_TRACE(c.Name());
    const std::vector<Tensor> expected = r.Compute();
    std::vector<dp_kernel_operand> in, out;
    for (const Tensor &x : r.in) in.push_back({x.dtype, true, x.local, DP_LAYOUT_PLAIN});
    for (const Tensor &y : expected) out.push_back({y.dtype, true, y.local, DP_LAYOUT_PLAIN});
    dp_kernel_spec spec{};
    spec.op = c.op;
    spec.node = r.built.node;
    spec.n_inputs = static_cast<int>(in.size());
    spec.n_outputs = static_cast<int>(out.size());
    spec.inputs = in.data();
    spec.outputs = out.data();
    spec.threads = 2;
    const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, (std::string("cpu.wide_channels.") + c.op->name).c_str());
    ASSERT_TRUE(kernel && kernel->match(&spec));
    const std::vector<Tensor> found = ComputeInParts(r, kernel, spec);
    for (size_t k = 0; k < found.size(); k++) EXPECT_EQ(found[k].bytes, expected[k].bytes) << "result " << k;
    computed++;
    const std::string selected = dp_kernel_select(&dp_target_cpu, &spec, false)->name;
    EXPECT_TRUE(selected == "cpu.wide_channels" || selected == "cpu.fast_wide_channels") << selected;
    fast += selected == "cpu.fast_wide_channels";
  }
  EXPECT_GE(computed, 20);
  EXPECT_TRUE(fast > 10 || !dp_target_cpu.isa()) << fast;
}

}  // namespace
}  // namespace dp_test
