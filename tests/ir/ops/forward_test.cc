// Compares every sample of every operator, with each kernel, with references.txt, which make_references.py made with
// NumPy and PyTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "backends/cpu/target.h"
#include "ir/graph/builder.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

struct Reference {
  std::string dtype;
  std::vector<int64_t> extents;
  std::vector<double> numbers;
};

// Maps a heading to results. The file has a line "= heading", then a line "dtype extents : numbers" for each result.
const std::map<std::string, std::vector<Reference>> &References() {
  static const auto *all = [] {
    auto *map = new std::map<std::string, std::vector<Reference>>;
    std::ifstream file("tests/ir/ops/references.txt");
    std::string line, heading, word;
    while (std::getline(file, line)) {
      if (line.rfind("= ", 0) == 0) {
        heading = line.substr(2);
        (*map)[heading];
        continue;
      }
      Reference reference;
      std::istringstream words(line);
      words >> reference.dtype;
      while (words >> word && word != ":") reference.extents.push_back(std::stoll(word));
      while (words >> word) reference.numbers.push_back(std::stod(word));
      (*map)[heading].push_back(reference);
    }
    return map;
  }();
  return *all;
}

void Compare(const Case &c, const std::vector<Reference> &references, const std::vector<Tensor> &found) {
  ASSERT_EQ(references.size(), found.size());
  for (size_t r = 0; r < found.size(); r++) {
    const Tensor &tensor = found[r];
    std::string dtype = dp_type_name(tensor.dtype);
    if (c.float64 && references[r].dtype == "float32" && dtype == "float64") dtype = "float32";
    EXPECT_EQ(dtype, references[r].dtype) << "result " << r;
    ASSERT_EQ(std::vector<int64_t>(tensor.local.extents, tensor.local.extents + tensor.local.rank),
              references[r].extents)
        << "result " << r;
    static const std::map<dp_dtype, double> tolerances = {
        {DP_FLOAT32, 4e-6}, {DP_FLOAT64, 1e-12}, {DP_FLOAT16, 0x1.02p-11}, {DP_BFLOAT16, 0x1.02p-8}};
    double tolerance = dp_type_is_float(tensor.dtype) ? tolerances.at(tensor.dtype) : 0;
    for (size_t i = 0; i < references[r].numbers.size(); i++) {
      double expected = references[r].numbers[i], number = tensor.Get(int64_t(i));
      if (std::isinf(expected) || std::isnan(expected)) {
        EXPECT_EQ(std::to_string(number), std::to_string(expected)) << "result " << r << ", element " << i;
        continue;
      }
      EXPECT_NEAR(number, expected, tolerance * (1 + std::fabs(expected))) << "result " << r << ", element " << i;
    }
  }
}

class Forward : public testing::TestWithParam<Case> {};

TEST_P(Forward, EqualsReference) {
  Case c = GetParam();
  Built built(c);
  ASSERT_EQ(built.error, "");
  auto reference = References().find(c.Heading());
  ASSERT_NE(reference, References().end()) << "no reference: run make_references.py";
  std::vector<Tensor> in;
  for (size_t i = 0; i < built.operands.size(); i++)
    in.push_back(built.operands[i] ? DrawOperand(c, int(i), *built.operands[i]->type, built.n) : Tensor());
  // The reference kernel in one part and in three, and the fastest kernel.
  for (int way = 0; way < 3; way++) {
    SCOPED_TRACE(way == 0 ? "reference kernel" : way == 1 ? "reference kernel in 3 parts" : "fastest kernel");
    std::vector<const Tensor *> from;
    std::vector<Tensor> out;
    std::vector<Tensor *> to;
    for (size_t i = 0; i < in.size(); i++) from.push_back(built.operands[i] ? &in[i] : nullptr);
    from.resize(size_t(built.node->n_inputs));
    for (int i = 0; i < built.node->n_outputs; i++) out.push_back(MakeWhole(*built.node->outputs[i]->type, built.n));
    for (Tensor &tensor : out) to.push_back(&tensor);
    ASSERT_EQ(RunNode(dp_target_cpu, built.node, from, to, way == 1 ? 3 : 1, way < 2), "");
    Compare(c, reference->second, out);
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Case &c : AllCases(true))
    if (!IsReplaced(c.op)) cases.push_back(c);
  return cases;
}

// Operators that no program contains: tests the nodes that replace them. Those that draw random numbers have their own
// tests. Asks for optional results too, if there are any.
TEST(Replaced, EqualsReference) {
  int count = 0;
  for (const Case &c : AllCases(true)) {
    if (!IsReplaced(c.op) || IsDrawn(c.op)) continue;
    SCOPED_TRACE(c.Name());
    Built built(c);
    ASSERT_EQ(built.error, "");
    std::map<std::string, Tensor> bindings;
    for (size_t i = 0; i < built.operands.size(); i++)
      if (built.operands[i])
        bindings[built.operands[i]->name] = DrawOperand(c, int(i), *built.operands[i]->type, built.n);
    bindings[DP_SCALAR_N] = MakeTensor(DP_INT64, {}, {double(built.n)});
    std::vector<dp_value *> out = Replace(&built);
    ASSERT_EQ(built.error, "");
    std::vector<Tensor> values, results;
    ASSERT_EQ(RunGraph(dp_target_cpu, built.graph, built.n, bindings, &values), "");
    auto reference = References().find(c.Heading());
    ASSERT_NE(reference, References().end()) << "no reference: run make_references.py";
    for (const dp_value *value : out) results.push_back(values[size_t(value->id)]);
    Compare(c, reference->second, results);
    count++;
  }
  EXPECT_GT(count, 0);
}

INSTANTIATE_TEST_SUITE_P(Ops, Forward, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<Case> &info) { return TestName(info.param); });

}  // namespace
}  // namespace dp_test
