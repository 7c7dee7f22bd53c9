// What operators compute in under --precision=bf16 and fp16 (dp_op.precision): docs/precision.md says it of each, and
// says nothing else.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "ir/graph/op.h"

namespace {

std::string NameOf(const dp_op &op) { return (*op.domain ? std::string(op.domain) + "." : "") + op.name; }

// The operators that the table's row lists.
std::map<std::string, dp_op_precision> ReadTable() {
  const std::map<std::string, dp_op_precision> rows = {{"16 bits", DP_PRECISION_HALF},
                                                       {"float32", DP_PRECISION_FULL},
                                                       {"float32 within", DP_PRECISION_WITHIN},
                                                       {"the type of X", DP_PRECISION_FIRST}};
  std::map<std::string, dp_op_precision> found;
  std::ifstream file("docs/precision.md");
  for (std::string line; std::getline(file, line);) {
    const std::regex row("\\| ([^|]+) \\| (`.*`) \\|"), name("`([^`]+)`");
    std::smatch match;
    if (!std::regex_match(line, match, row) || !rows.count(match[1])) continue;
    const std::string list = match[2];
    for (std::sregex_iterator i(list.begin(), list.end(), name), end; i != end; ++i)
      EXPECT_TRUE(found.emplace((*i)[1], rows.at(match[1])).second) << (*i)[1] << " is listed twice";
  }
  return found;
}

TEST(Precision, OfEveryOperatorIsAsDocumented) {
  const std::map<std::string, dp_op_precision> table = ReadTable();
  size_t listed = 0;
  for (const dp_op *const *op = dp_op_table; *op; op++) {
    const auto row = table.find(NameOf(**op));
    listed += row != table.end();
    EXPECT_EQ((*op)->precision, row == table.end() ? DP_PRECISION_OPERANDS : row->second) << NameOf(**op);
  }
  EXPECT_EQ(listed, table.size()) << "a name in the table is no operator's";
  EXPECT_GT(listed, 50u);
}

// What the pass relies on: a product has operands that may have 16 bits, and computes in them.
TEST(Precision, ProductsComputeIn16Bits) {
  for (const dp_op *const *op = dp_op_table; *op; op++) {
    const bool product = dp_op_is(*op, DP_OP_PRODUCT);
    EXPECT_TRUE(!product || (*op)->precision == DP_PRECISION_HALF) << NameOf(**op);
    if ((*op)->precision != DP_PRECISION_HALF) continue;
    EXPECT_TRUE((*op)->inputs[0].types & DP_BIT(DP_BFLOAT16)) << NameOf(**op);
    EXPECT_TRUE((*op)->inputs[0].types & DP_BIT(DP_FLOAT16)) << NameOf(**op);
    EXPECT_NE((*op)->inputs[0].same, 0) << NameOf(**op);
  }
}

}  // namespace
