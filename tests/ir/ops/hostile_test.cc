// Arbitrary operands and attributes: whatever infer accepts has sharding rules, a gradient, a decomposition and a cost
// that finish without harm. Under the sanitizers this finds overflows and out-of-bounds reads.
#include <gtest/gtest.h>

#include <random>

#include "ir/graph/builder.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed) {}
  int64_t Below(int64_t count) { return int64_t(random_() % uint64_t(count)); }
  int64_t Number() {
    static const int64_t numbers[] = {-1, 0,  1,       2,       3,         7,         -2,
                                      -8, 64, 1 << 20, 1 << 30, INT64_MAX, INT64_MIN, INT64_MAX / 2};
    return numbers[Below(Below(3) ? 5 : int64_t(sizeof numbers / sizeof *numbers))];
  }
  dp_dim Dim() {
    static const dp_dim dims[] = {{1, 0}, {0, 0}, {0, 1}, {0, 2},         {0, 3},
                                  {0, 5}, {2, 0}, {3, 1}, {0, 1ll << 40}, {1ll << 33, 0}};
    return dims[Below(Below(3) ? 6 : int64_t(sizeof dims / sizeof *dims))];
  }

 private:
  std::mt19937_64 random_;
};

void Disturb(Chance *chance, dp_arena *arena, dp_type *type) {
  (void)arena;
  dp_shape &shape = type->shape;
  switch (chance->Below(4)) {
    case 0:
      shape.rank = int(chance->Below(DP_MAX_RANK + 1));
      break;
    case 1:
      if (shape.rank) shape.dims[chance->Below(shape.rank)] = chance->Dim();
      break;
    case 2:
      for (int d = 0; d < DP_MAX_RANK; d++) shape.dims[d] = chance->Dim();
      break;
    default:
      break;
  }
}

void Disturb(Chance *chance, dp_arena *arena, dp_attr *attr) {
  int64_t list[8];
  dp_shape shape{};
  if (chance->Below(2)) return;
  switch (attr->kind) {
    case DP_ATTR_INT:
      attr->i = chance->Number();
      break;
    case DP_ATTR_FLOAT:
      attr->f = double(chance->Number());
      break;
    case DP_ATTR_INTS:
      for (int64_t &number : list) number = chance->Number();
      *attr = dp_attr_ints(arena, attr->name, list, size_t(chance->Below(9)));
      break;
    case DP_ATTR_DIMS:
      shape.rank = int(chance->Below(DP_MAX_RANK + 1));
      for (dp_dim &dim : shape.dims) dim = chance->Below(4) ? chance->Dim() : dp_dim_of(chance->Number());
      *attr = dp_attr_dims(arena, attr->name, &shape);
      break;
    default:
      break;
  }
}

// Everything that the compiler asks of a node that infer accepted.
void AskAll(const Built &built) {
  const dp_node *node = built.node;
  const dp_placement given[] = {dp_shard_in(0, 2, 1), dp_shard_in(0, 1, 3), dp_shard_in(0, INT64_MAX, 2)};
  dp_sharding_rules rules;
  dp_op_sharding_rules_at(built.arena, node, 3, given, &rules);
  EXPECT_GE(dp_op_cost(node, 1).bytes, 0);
  dp_builder builder{built.graph, DP_OK, nullptr};
  std::vector<dp_value *> in(node->inputs, node->inputs + node->n_inputs), out(DP_MAX_OPERANDS), dx(DP_MAX_OPERANDS);
  std::vector<dp_value *> dy(node->outputs,
                             node->outputs + node->n_outputs);  // of the right types, which is all that matters
  for (size_t i = 0; i < dy.size(); i++)
    if (!dp_type_is_float(dy[i]->type->dtype)) dy[i] = nullptr;
  in.resize(DP_MAX_OPERANDS);
  if (node->op->gradient && dy[0]) node->op->gradient(&builder, node, dy.data(), dx.data());
  if (node->op->decompose) node->op->decompose(&builder, node, in.data(), out.data());
  if (node->op->specialize) node->op->specialize(&builder, node, in.data(), true, out.data());
  // A shape may be too large for what is built from it; that must be an error.
  dp_status_free(builder.status);
}

class Hostile : public testing::TestWithParam<Case> {};

TEST_P(Hostile, EndsWithoutHarm) {
  Case c = GetParam();
  Chance chance(std::hash<std::string>()(c.Heading()));
  for (int round = 0; round < 40; round++) {
    Built built(c);
    for (dp_value *value : built.operands) {
      if (!value) continue;
      dp_type type = *value->type;
      Disturb(&chance, built.arena, &type);
      value->type = dp_model_type(built.model, &type);
    }
    for (int i = 0; i < built.node->n_attrs; i++) Disturb(&chance, built.arena, &built.node->attrs[i]);
    dp_status status = DP_OK;
    for (dp_value *value : built.operands)  // as a model's reader would
      if (value && !status) status = dp_shape_check(&value->type->shape, 1);
    if (!status) status = dp_op_infer(built.node);
    if (!status) AskAll(built);
    if (status) {
      EXPECT_EQ(dp_status_code(status), EX_DATAERR) << dp_status_message(status);
    }
    dp_status_free(status);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Hostile, testing::ValuesIn(AllCases(false)),
                         [](const testing::TestParamInfo<Case> &info) { return TestName(info.param); });

}  // namespace
}  // namespace dp_test
