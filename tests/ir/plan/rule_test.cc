// The table of rules equals the one in docs/plan.md, and messages use its names.
#include "ir/plan/rule.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/ir/base/files.h"
#include "tests/ir/text/text_helper.h"

namespace {

TEST(Rule, TheReferenceListsEachInOrder) {
  const std::string content = dp_test::ReadText("docs/plan.md");
  std::string expected = "| rule | demands that |\n|---|---|\n";
  std::set<std::string> names;
  for (int r = DP_RULE_NONE + 1; r < DP_RULE_COUNT; r++) {
    std::string name = dp_rule_name(static_cast<dp_rule>(r)), what = dp_rule_what(static_cast<dp_rule>(r));
    EXPECT_FALSE(name.empty() || what.empty()) << r;
    EXPECT_TRUE(names.insert(name).second) << name;
    expected += "| `" + name + "` | " + what + " |\n";
  }
  EXPECT_NE(content.find(expected + "\n"), std::string::npos) << expected;
}

TEST(Rule, MessagesNameThePlace) {
  dp_fault fault = {};
  EXPECT_EQ(dp_test::Message(dp_rule_fail(&fault, DP_RULE_FORM_ROLE, "%d roles", 2)), "rule FORM.ROLE: 2 roles");
  EXPECT_EQ(fault.rule, DP_RULE_FORM_ROLE);
  fault.program = "train";
  EXPECT_EQ(dp_test::Message(dp_rule_fail(&fault, DP_RULE_ORDER_EVENT, "why")), "program train: rule ORDER.EVENT: why");
  fault.stream = "comm";
  fault.instruction = 3;
  fault.op = "AllReduce";
  fault.op_domain = "dp";
  dp_status status = dp_rule_fail(&fault, DP_RULE_ORDER_CONFLICT, "why");
  EXPECT_EQ(dp_status_code(status), 65);
  EXPECT_EQ(dp_test::Message(status),
            "program train, stream comm, instruction 3 (dp.AllReduce): rule ORDER.CONFLICT: why");
  fault.op_domain = "";
  EXPECT_EQ(dp_test::Message(dp_rule_wrap(&fault, DP_RULE_MEANING_NODE, dp_fail(65, "why"))),
            "program train, stream comm, instruction 3 (AllReduce): rule MEANING.NODE: why");
}

TEST(Rule, LongNamesAreCut) {
  dp_fault fault = {};
  std::string name(5000, 'x');
  fault.program = name.c_str();
  std::string message = dp_test::Message(dp_rule_fail(&fault, DP_RULE_FORM_NAME, "'%s' is long", name.c_str()));
  EXPECT_LT(message.size(), 2000u);
  EXPECT_NE(message.find("FORM.NAME"), std::string::npos);
}

TEST(Rule, MemoryIsNoBreach) {
  dp_fault fault = {};
  EXPECT_EQ(dp_rule_wrap(&fault, DP_RULE_FORM_GRAPH, DP_OK), DP_OK);
  dp_status status = dp_rule_wrap(&fault, DP_RULE_FORM_GRAPH, dp_fail(DP_EX_MEMORY, "no memory"));
  EXPECT_EQ(dp_status_code(status), 71);
  EXPECT_EQ(dp_test::Message(status), "no memory");
  EXPECT_EQ(fault.rule, DP_RULE_NONE);
}

}  // namespace
