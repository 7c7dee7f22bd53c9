// Requirements on every operator's struct: samples that cover it, and the parts that tests are derived from.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "ir/text/text.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

class Schema : public testing::TestWithParam<const dp_op *> {
 protected:
  static std::vector<Case> Cases(const dp_op *op) {
    std::vector<Case> cases;
    for (const Case &c : AllCases(true))
      if (c.op == op) cases.push_back(c);
    return cases;
  }
};

const std::vector<Case> &AllTypeCases() {
  static const auto *cases = new std::vector<Case>(TypeCases());
  return *cases;
}

std::string Types(uint32_t types) {
  std::string text;
  for (int t = 1; t <= DP_MAX_TYPE; t++)
    if (types & DP_BIT(t)) text += std::string(" ") + dp_type_name(dp_dtype(t));
  return text;
}

bool IsDefault(const dp_attr_schema &schema, const dp_attr &attr) {
  if (!schema.has_default) return false;
  if (attr.kind == DP_ATTR_INT) return double(attr.i) == schema.number;
  if (attr.kind == DP_ATTR_FLOAT) return attr.f == schema.number;
  return attr.kind == DP_ATTR_STRING && !std::strcmp(attr.s, schema.string);
}

// Only a compiler makes nodes of it: communication and regions, which have no samples.
bool IsMade(const dp_op *op) { return (op->flags & DP_OP_COMMUNICATION) || op->variadic_results; }

TEST_P(Schema, HasSamplesThatInfer) {
  std::vector<Case> cases = Cases(GetParam());
  if (IsMade(GetParam())) return;
  EXPECT_FALSE(cases.empty());
  for (const Case &c : cases) EXPECT_EQ(Built(c).error, "") << c.Name();
}

TEST_P(Schema, EachAttributeIsGivenInSomeSample) {
  const dp_op *op = GetParam();
  if (IsMade(op)) return;
  for (int a = 0; a < DP_MAX_ATTRS && op->attrs[a].name; a++) {
    bool found = false;
    for (const Case &c : Cases(op)) {
      Built built(c);
      const dp_attr *attr = dp_node_attr(built.node, op->attrs[a].name);
      found |= attr && !IsDefault(op->attrs[a], *attr);
    }
    EXPECT_TRUE(found) << "attribute " << op->attrs[a].name << " has its default in all samples";
  }
}

TEST_P(Schema, EachTypeIsTakenAndGivenInSomeSample) {
  const dp_op *op = GetParam();
  if (IsMade(op)) return;
  uint32_t in[DP_MAX_OPERANDS] = {}, out[DP_MAX_OPERANDS] = {};
  std::vector<Case> cases = Cases(op);
  for (const Case &c : AllTypeCases())
    if (c.op == op) cases.push_back(c);
  for (const Case &c : cases) {
    Built built(c);
    ASSERT_EQ(built.error, "") << c.Name();
    for (int i = 0; i < built.node->n_inputs; i++)
      if (built.node->inputs[i])
        in[i < op->n_inputs ? i : op->n_inputs - 1] |= DP_BIT(built.node->inputs[i]->type->dtype);
    for (int i = 0; i < built.node->n_outputs; i++) out[i] |= DP_BIT(built.node->outputs[i]->type->dtype);
  }
  for (int i = 0; i < op->n_inputs; i++)
    if (!op->inputs[i].attribute) {
      EXPECT_EQ(Types(in[i]), Types(op->inputs[i].types)) << "operand " << op->inputs[i].name;
    }
  for (int i = 0; i < op->n_outputs; i++)
    EXPECT_EQ(Types(out[i]), Types(op->outputs[i].types)) << "result " << op->outputs[i].name;
}

TEST_P(Schema, RowsBeginWithAllReplicateAndDiffer) {
  const dp_op *op = GetParam();
  if (IsMade(op)) return;
  int most = 0;
  for (const Case &c : Cases(op)) {
    Built built(c);
    dp_sharding_rules rules;
    dp_op_sharding_rules(built.arena, built.node, &rules);
    std::set<std::string> seen;
    for (int r = 0; r < rules.count; r++) {
      std::string text;
      char one[64];
      for (int i = 0; i < built.node->n_inputs; i++) text += dp_placement_print(rules.rules[r].in[i], one, sizeof one);
      text += ">";
      for (int i = 0; i < built.node->n_outputs; i++)
        text += dp_placement_print(rules.rules[r].out[i], one, sizeof one);
      EXPECT_TRUE(seen.insert(text).second) << c.Name() << ": " << text << " is listed twice";
      EXPECT_EQ(text.find_first_of("SP") == std::string::npos, r == 0);
    }
    if (rules.count > most) most = rules.count;
  }
  EXPECT_EQ(most > 1, op->sharding != nullptr) << "samples must reach a sharding rule exactly if there are any";
}

TEST_P(Schema, SameLetterSameTypesAndAttributesOfOperandsExist) {
  const dp_op *op = GetParam();
  for (int i = 0; i < op->n_inputs; i++) {
    for (int k = 0; k < op->n_outputs; k++)
      if (op->inputs[i].same && op->inputs[i].same == op->outputs[k].same) {
        EXPECT_EQ(op->inputs[i].types, op->outputs[k].types);
      }
    bool found = !op->inputs[i].attribute;
    for (int a = 0; a < DP_MAX_ATTRS && op->attrs[a].name; a++)
      found |= op->inputs[i].attribute && !std::strcmp(op->attrs[a].name, op->inputs[i].attribute);
    EXPECT_TRUE(found) << "operand " << op->inputs[i].name;
  }
}

TEST_P(Schema, CostIsPositive) {
  for (const Case &c : Cases(GetParam())) {
    Built built(c);
    dp_cost cost = dp_op_cost(built.node, 4);
    EXPECT_GE(cost.flops, 0) << c.Name();
    EXPECT_GE(cost.bytes, 0) << c.Name();
  }
}

// Also of operators that share their name, as Gather of two domains does.
TEST_P(Schema, IsFoundByDomainAndName) {
  EXPECT_EQ(dp_op_find(GetParam()->domain, GetParam()->name), GetParam());
  if (!*GetParam()->domain) {
    EXPECT_EQ(dp_op_find("ai.onnx", GetParam()->name), GetParam());
  }
  EXPECT_EQ(dp_op_find("other", GetParam()->name), nullptr);
  EXPECT_EQ(dp_op_find(GetParam()->domain, (std::string(GetParam()->name) + "x").c_str()), nullptr);
}

std::vector<const dp_op *> AllOps() {
  std::vector<const dp_op *> ops;
  for (const dp_op *const *op = dp_op_table; *op; op++) ops.push_back(*op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, Schema, testing::ValuesIn(AllOps()),
                         [](const testing::TestParamInfo<const dp_op *> &info) {
                           return std::string(*info.param->domain ? "dp_" : "") + info.param->name;
                         });

TEST(Cost, CountsTwoOperationsAProduct) {
  // 7 x 4 times 4 x 3: 2 * 7 * 4 * 3 = 168, and (28 + 12 + 21) numbers of 4 bytes.
  static const dp_sample gemm = {"float32[N,4], float32[4,3]", nullptr, 7, 0, 0, false};
  Built product({dp_op_find("", "Gemm"), &gemm, 0, false});
  EXPECT_EQ(dp_op_cost(product.node, 7).flops, 168);
  EXPECT_EQ(dp_op_cost(product.node, 7).bytes, 244);
  // 2 x 3 x 4 x 4 results of 2 * 2 * 2 products each, group 2.
  static const dp_sample conv = {"float32[N,4,5,5], float32[3,2,2,2]", "", 2, 0, 0, false};
  Built bad({dp_op_find("", "Conv"), &conv, 0, false});
  EXPECT_NE(bad.error, "");
  static const dp_sample grouped = {"float32[N,4,5,5], float32[6,2,2,2]", "group=2", 2, 0, 0, false};
  Built good({dp_op_find("", "Conv"), &grouped, 0, false});
  EXPECT_EQ(dp_op_cost(good.node, 2).flops, 2.0 * (2 * 6 * 4 * 4) * (2 * 2 * 2));
}

}  // namespace
}  // namespace dp_test
