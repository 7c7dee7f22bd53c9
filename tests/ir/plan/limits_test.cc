// The limits that docs/plan.md and docs/model.md list are those of the code.
#include "ir/base/limits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ir/graph/mesh.h"
#include "ir/graph/op.h"

namespace {

// 4194304: "4,194,304".
std::string Grouped(long long number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

struct Row {
  std::string label;
  std::vector<long long> numbers;
  std::string note;  // the text after the numbers
};

void ExpectRows(const std::string &path, const std::vector<Row> &rows) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  const std::string text = content.str();
  for (const Row &row : rows) {
    std::string line = "| " + row.label + " | ";
    for (size_t i = 0; i < row.numbers.size(); i++) line += (i ? ", " : "") + Grouped(row.numbers[i]);
    line += row.note + " |\n";
    EXPECT_NE(text.find(line), std::string::npos) << path << " lacks " << line;
  }
}

TEST(Limits, OfPlans) {
  ExpectRows("docs/plan.md", {{"streams of a program", {DP_LIMIT_STREAMS}, ""},
                              {"instructions, tensors of a program", {DP_LIMIT_INSTRUCTIONS, DP_LIMIT_TENSORS}, ""},
                              {"inputs, outputs of a program", {DP_LIMIT_BINDINGS}, " each"},
                              {"programs of a role, roles", {DP_LIMIT_PROGRAMS, DP_LIMIT_ROLES}, ""},
                              {"variables, their storages on stages", {DP_LIMIT_VARIABLES, DP_LIMIT_STORAGES}, ""},
                              {"threads of an instruction", {DP_LIMIT_THREADS}, ", and the target's"}});
  ExpectRows("docs/plan.md", {{"memory of what a plan's loops add", {DP_LIMIT_LOOPED >> 20}, " MiB"}});
  ExpectRows("docs/plan.md", {{"alignment",
                               {},
                               "a power of two from " + Grouped(DP_LIMIT_LEAST_ALIGNMENT) + " bytes to " +
                                   Grouped(DP_LIMIT_ALIGNMENT >> 20) + " MiB"}});
}

TEST(Limits, OfModels) {
  ExpectRows("docs/model.md",
             {{"nodes of a graph", {DP_LIMIT_NODES}, ""},
              {"values of a graph", {DP_LIMIT_VALUES}, ""},
              {"outputs of a graph", {DP_LIMIT_OUTPUTS}, ""},
              {"graphs of a model", {DP_LIMIT_GRAPHS}, ""},
              {"operands, results of a node", {DP_MAX_OPERANDS}, " each"},
              {"axes of a mesh, devices, micro-batches", {DP_MAX_MESH, DP_LIMIT_DEVICES, DP_LIMIT_MICROBATCHES}, ""}});
}

}  // namespace
