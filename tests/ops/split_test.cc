// Split equals whole: for every placement row of every sample, on 1, 2, 3 and 5 devices, the parts' results make up the
// result on one device. Parts may be empty.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/target.h"
#include "tests/ops/samples.h"

namespace dp_test {
namespace {

std::string Print(const dp_node *node, const dp_row &row) {
  std::string text;
  char one[64];
  for (int i = 0; i < node->n_inputs; i++) text += std::string(" ") + dp_placement_print(row.in[i], one, sizeof one);
  text += " ->";
  for (int i = 0; i < node->n_outputs; i++) text += std::string(" ") + dp_placement_print(row.out[i], one, sizeof one);
  return text;
}

// Adds b to a, in the type's own arithmetic.
void Accumulate(Tensor *a, const Tensor &b) {
  for (int64_t i = 0; i < a->Count(); i++) {
    double sum = a->Get(i) + b.Get(i);
    if (!dp_type_is_float(a->dtype)) sum = double(int64_t(uint64_t(int64_t(a->Get(i))) + uint64_t(int64_t(b.Get(i)))));
    if (a->dtype == DP_UINT8) sum = double(uint8_t(int64_t(sum)));
    a->Set(i, sum);
  }
}

// Parts of a whole operand on the devices of a one-dimensional mesh. A partial sum is shared out unevenly at random.
std::vector<Tensor> Distribute(const Case &c, const dp_value *value, const Tensor &whole, dp_placement placement,
                               const dp_mesh &mesh, int64_t n) {
  std::vector<Tensor> parts;
  int64_t devices = mesh.axes[0].size;
  Tensor rest = whole;
  for (int64_t device = 0; device < devices; device++) {
    Tensor part = MakePart(value->type, n, &placement, mesh, &device);
    Cut(whole, &part);
    if (placement.kind == DP_PARTIAL && placement.reduction == DP_SUM) {
      bool last = device == devices - 1;
      std::string what = std::string(value->name) + " part " + std::to_string(device);
      part = last ? rest : DrawNumbers(c, what, value->type, n);
      for (int64_t i = 0; !last && i < part.Count(); i++) {
        if (part.dtype == DP_UINT8) part.Set(i, std::floor(20 * std::fabs(part.Get(i))));
        double left = rest.Get(i) - part.Get(i);
        rest.Set(i, part.dtype == DP_UINT8 ? double(uint8_t(int64_t(left) & 255)) : left);
      }
    }
    // Of a partial maximum each device but one has something smaller.
    for (int64_t i = 0; placement.kind == DP_PARTIAL && placement.reduction == DP_MAX && i < part.Count(); i++)
      if (i % devices != device && part.dtype != DP_BOOL)
        part.Set(i, dp_type_is_float(part.dtype) ? part.Get(i) - 1 : std::fmin(part.Get(i), 0));
    parts.push_back(part);
  }
  return parts;
}

// Puts the parts of a result together.
Tensor Join(const dp_value *value, const std::vector<Tensor> &parts, dp_placement placement, int64_t n) {
  Tensor whole = MakeWhole(value->type, n);
  if (placement.kind == DP_SHARD) {
    int64_t count = 0;
    for (const Tensor &part : parts) {
      Paste(part, &whole);
      count += part.Count();
    }
    EXPECT_EQ(count, whole.Count());
  } else if (placement.kind == DP_PARTIAL) {
    for (const Tensor &part : parts) {
      if (placement.reduction == DP_SUM)
        Accumulate(&whole, part);
      else
        for (int64_t i = 0; i < whole.Count(); i++)
          whole.Set(i, &part == &parts[0] ? part.Get(i) : std::fmax(whole.Get(i), part.Get(i)));
    }
  } else {
    for (const Tensor &part : parts) EXPECT_EQ(part.bytes, parts[0].bytes);
    whole = parts[0];
  }
  return whole;
}

// float32 operands: a partial sum of them is not exact.
void Compare(const Tensor &found, const Tensor &expected, bool rounded) {
  double tolerance = !dp_type_is_float(found.dtype) ? 0 : rounded ? 1e-5 : 1e-12;
  for (int64_t i = 0; i < expected.Count(); i++) {
    double e = expected.Get(i);
    ASSERT_EQ(std::isnan(found.Get(i)), std::isnan(e)) << "element " << i;
    if (std::isnan(e)) continue;
    ASSERT_NEAR(found.Get(i), e, tolerance * (1 + std::fabs(e))) << "element " << i;
  }
}

class Split : public testing::TestWithParam<Case> {
 protected:
  void Row(const Case &c, const Built &built, const std::vector<Tensor> &in, const std::vector<Tensor> &whole,
           const dp_row &row, int64_t devices, int64_t n);
};

void Split::Row(const Case &c, const Built &built, const std::vector<Tensor> &in, const std::vector<Tensor> &whole,
                const dp_row &row, int64_t devices, int64_t n) {
  const dp_node *node = built.node;
  dp_mesh mesh{};
  mesh.n_axes = 1;
  mesh.axes[0] = {"data", devices};
  std::vector<std::vector<Tensor>> parts, results(size_t(node->n_outputs));
  for (int i = 0; i < node->n_inputs; i++) {
    const dp_value *x = node->inputs[i];
    if (x) {
      dp_status status = dp_placement_check(&x->type.shape, &row.in[i], &mesh);
      ASSERT_EQ(std::string(dp_status_message(status)), "");
    }
    parts.push_back(x ? Distribute(c, x, in[size_t(i)], row.in[i], mesh, n) : std::vector<Tensor>());
  }
  for (int64_t device = 0; device < devices; device++) {
    std::vector<const Tensor *> from;
    std::vector<Tensor> out(size_t(node->n_outputs));
    std::vector<Tensor *> to;
    for (int i = 0; i < node->n_inputs; i++)
      from.push_back(node->inputs[i] ? &parts[size_t(i)][size_t(device)] : nullptr);
    for (int i = 0; i < node->n_outputs; i++) {
      dp_status status = dp_placement_check(&node->outputs[i]->type.shape, &row.out[i], &mesh);
      ASSERT_EQ(std::string(dp_status_message(status)), "");
      out[size_t(i)] = MakePart(node->outputs[i]->type, n, &row.out[i], mesh, &device);
      to.push_back(&out[size_t(i)]);
    }
    ASSERT_EQ(RunNode(dp_target_cpu, node, from, to, 1, c.float64), "");
    for (int i = 0; i < node->n_outputs; i++) results[size_t(i)].push_back(out[size_t(i)]);
  }
  for (int i = 0; i < node->n_outputs; i++) {
    SCOPED_TRACE("result " + std::to_string(i));
    Compare(Join(node->outputs[i], results[size_t(i)], row.out[i], n), whole[size_t(i)],
            !c.float64 || whole[size_t(i)].dtype == DP_FLOAT32);
  }
}

TEST_P(Split, EqualsWhole) {
  Case c = GetParam();
  Built built(c);
  ASSERT_EQ(built.error, "");
  const dp_node *node = built.node;
  // Besides the plain view: blocks, units, both.
  const dp_placement given[] = {dp_shard_in(0, 2, 1), dp_shard_in(0, 1, 2), dp_shard_in(0, 1, 3),
                                dp_shard_in(0, 2, 3), dp_shard_in(0, 3, 1), dp_shard_in(0, 1, 6)};
  dp_rows rows;
  dp_op_rows_at(built.arena, node, 6, given, &rows);
  std::vector<int64_t> sizes = {built.n};
  if (built.n > 1) sizes.push_back(1);
  for (int64_t n : sizes) {
    std::vector<Tensor> in, whole;
    std::vector<const Tensor *> from;
    std::vector<Tensor *> to;
    for (int i = 0; i < node->n_inputs; i++)
      in.push_back(node->inputs[i] ? DrawOperand(c, i, node->inputs[i]->type, n) : Tensor());
    for (int i = 0; i < node->n_inputs; i++) from.push_back(node->inputs[i] ? &in[size_t(i)] : nullptr);
    for (int i = 0; i < node->n_outputs; i++) whole.push_back(MakeWhole(node->outputs[i]->type, n));
    for (Tensor &tensor : whole) to.push_back(&tensor);
    ASSERT_EQ(RunNode(dp_target_cpu, node, from, to), "");
    for (int r = 0; r < rows.count; r++)
      for (int64_t devices : {1, 2, 3, 5}) {
        SCOPED_TRACE(Print(node, rows.rows[r]) + " on " + std::to_string(devices) +
                     " devices, n = " + std::to_string(n));
        Row(c, built, in, whole, rows.rows[r], devices, n);
        if (HasFatalFailure()) return;
      }
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Case &c : AllCases(true))
    if (std::string(c.op->domain) + c.op->name != "Dropout") cases.push_back(c);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ops, Split, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<Case> &info) { return TestName(info.param); });

}  // namespace
}  // namespace dp_test
