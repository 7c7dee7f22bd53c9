// Kernels of CUDA that select, scatter, count and scan, on operands that samples do not have: nothing, one element,
// infinities and NaN, equal elements, many updates of one element, numbers that wrap.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "backends/cuda/device/gather.h"
#include "backends/cuda/device/held.h"
#include "backends/cuda/kernels/shares.h"
#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// Sets operand `operand` to `numbers`, over and over.
using Operands = std::vector<std::pair<size_t, std::vector<double>>>;

// Expects the kernel to give what the reference gives; the bits, if `exact`. results: how many are computed, 0: all.
void Compare(const std::string &op, const std::string &inputs, const std::string &attrs, const Operands &operands,
             bool exact, int64_t n = 3, int results = 0, bool channels_last = false) {
  const bool ours = op.rfind("dp.", 0) == 0;
  const Problem p = {ours ? op.substr(3) : op, ours ? "dp" : "", inputs, attrs, n, 1};
  SCOPED_TRACE(p.Print());
  Ready ready = Draw(p);
  ASSERT_EQ(ready.built->error, "");
  for (const auto &[operand, numbers] : operands)
    for (int64_t i = 0; i < ready.in[operand].Count(); i++)
      ready.in[operand].Set(i, numbers[size_t(i) % numbers.size()]);
  if (results) {
    ready.built->node->n_outputs = results;
    ready.out.resize(size_t(results));
  }
  ASSERT_EQ(OpenDevice(), "");
  Spec spec(ready.built->node, ready.in, ready.out);
  if (channels_last) spec.SetLayouts([] { return true; });
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &spec, false);
  ASSERT_NE(kernel, nullptr);
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  const Outcome found = RunKernel(kernel, spec, ready.in, ready.out);
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(found.error, "");
  for (size_t i = 0; i < found.results.size(); i++) ExpectSame(expected.results[i], found.results[i], exact);
  if (results != 1 || !kernel->in_place) return;
  const Outcome over = RunKernel(kernel, spec, ready.in, ready.out, 0);
  ASSERT_EQ(over.error, "");
  ExpectSame(found.results[0], over.results[0], true);
}

// Of `count` numbers, many are equal.
std::vector<double> Repeated(int count, int different) {
  std::vector<double> numbers;
  for (int i = 0; i < count; i++) numbers.push_back((i * 7 + i / 5) % different);
  return numbers;
}

TEST(HardCases, TopK) {
  const std::vector<double> odd = {kNan, 1, kInfinity, kNan, -kInfinity, -0.0, 0.0, 1};
  for (const char *type : {"float32", "float64"})
    for (int k : {0, 1, 5, 8})
      for (int largest : {0, 1})
        Compare("TopK", std::string(type) + "[N,8]", "K=" + std::to_string(k) + ", largest=" + std::to_string(largest),
                {{0, odd}}, true);
  // Rows around what a thread, a warp and a block have.
  for (const char *length : {"15", "17", "511", "513", "1024", "4096", "5001"})
    Compare("TopK", std::string("float32[N,") + length + "]", "K=15", {{0, Repeated(4001, 97)}}, true);
  Compare("TopK", "bfloat16[N,1000]", "K=40, largest=0", {{0, odd}}, true);
  // More than the threads of a block, and columns.
  Compare("TopK", "float32[2,700,3]", "K=9, axis=-2", {{0, Repeated(4200, 11)}}, true);
  Compare("TopK", "int64[700]", "K=700, largest=0", {{0, Repeated(700, 13)}}, true);
  Compare("TopK", "uint64[N,4]", "K=4", {{0, {0, 1e19, 5, 1e19}}}, true);
  Compare("TopK", "int8[N,1]", "K=1", {{0, {-128}}}, true);
  Compare("TopK", "float32[N,4]", "K=2", {}, true, 0);
}

TEST(HardCases, ScatterElements) {
  const std::vector<double> updates = {1, kNan, 5, -kInfinity, 2, 7, -3, 0.5, 9};
  for (const char *reduction : {"none", "add", "mul", "max", "min"}) {
    const std::string attrs = std::string("reduction=\"") + reduction + "\"";
    // Nine updates of three elements, in lines of their own.
    for (const char *type : {"float32", "float64"}) {
      const std::string t = type;
      Compare("ScatterElements", t + "[5,2], int64[9,2], " + t + "[9,2]", attrs,
              {{1, {-5, 2, 0, 2, 4, -1, 2}}, {2, updates}}, true);
      Compare("ScatterElements", t + "[6,N,4], int32[6,2,4], " + t + "[6,2,4]", attrs + ", axis=-2",
              {{1, {-1, 1, 0, 1, 2}}, {2, updates}}, true);
    }
    Compare("ScatterElements", "int8[4], int32[900], int8[900]", attrs, {{1, {0, 3, -2, 0}}, {2, {100, -7, 3}}}, true);
    Compare("ScatterElements", "uint64[4], int64[9], uint64[9]", attrs, {{1, {1}}, {2, {1e19, 3}}}, true);
    Compare("ScatterElements", "float32[4,0], int64[2,0], float32[2,0]", attrs, {}, true);
    Compare("ScatterElements", "float32[4,3], int64[0,3], float32[0,3]", attrs, {}, true);
    Compare("ScatterElements", "float32[1], int64[1], float32[1]", attrs, {{1, {-1}}}, true);
  }
  Compare("ScatterElements", "bfloat16[N,2], int64[1,2], bfloat16[1,2]", "", {{1, {2, -3}}}, true);
}

TEST(HardCases, GatherElements) {
  Compare("GatherElements", "float16[4,N], int32[0,N]", "", {}, true);
  Compare("GatherElements", "float64[1], int64[700]", "", {{0, {kNan}}, {1, {0, -1}}}, true);
  Compare("GatherElements", "int16[5,4,3], int64[5,1,2]", "axis=1", {{1, {0, -4, 3}}}, true);
  // Dims that are joined on either side of the axis, and others that are longer in the data.
  for (const char *extents : {"[3,2,3,4], int32[3,2,3,4]", "[3,2,3,4], int32[2,2,3,4]", "[3,3,3,4], int32[3,2,3,4]",
                              "[3,2,3,4], int32[3,2,3,2]", "[3,5,3,4], int32[1,2,2,3]"})
    for (const char *axis : {"axis=0", "axis=1", "axis=2", "axis=3"}) {
      Compare("GatherElements", std::string("float32") + extents, axis, {{1, {0, -1, 1, 1, 0}}}, true);
      const std::string updates = std::string(extents).substr(std::string(extents).find("int32") + 5);
      Compare("ScatterElements", std::string("float64") + extents + ", float64" + updates,
              axis + std::string(", reduction=\"add\""), {{1, {0, -1, 1, 1, 0}}}, true);
    }
}

// No index, one, all the same, as many as are sorted and merged at once and one more; slices without updates, and of no
// element. The last but one is an embedding of a language model, with the first of its columns alone.
TEST(HardCases, GatherGrad) {
  static_assert(DP_GATHER_RUN == 1024 && DP_GATHER_WAYS == 16, "");
  const std::vector<double> updates = {1, 1e8, -1e8, 0.25, 3, -0.0, 7}, odd = {1, kNan, kInfinity, 2, -kInfinity, 5, 0};
  std::vector<double> all;
  for (int i = 0; i < 16400; i++) all.push_back((i * 48271ll) % 50257);
  const struct {
    const char *dy, *indices, *attrs;
    std::vector<double> at;
  } cases[] = {
      {"[0,3]", "[0]", "shape=[5,3]", {}},
      {"[1]", "[1]", "shape=[1]", {-1}},
      {"[3]", "[]", "shape=[4,3]", {2}},
      {"[1024,2]", "[1024]", "shape=[7,2]", {3}},
      {"[1025,2]", "[1025]", "shape=[7,2]", {3, -7, 6, 0, 3}},
      {"[4,2,300,2]", "[2,300]", "axis=1, shape=[4,N,2]", {0, -1, 2}},
      {"[2,300,16]", "[300]", "axis=1, shape=[2,9,16]", {0, -1, 2, 5, 2, 2}},  // in vectors
      {"[0,2]", "[0]", "shape=[0,2]", {}},
      {"[4,0]", "[4]", "shape=[5,0]", {1}},
      {"[16384]", "[16384]", "shape=[50257]", all},
      {"[16385]", "[16385]", "shape=[50257]", all},
  };
  for (const auto &c : cases)
    for (const char *type : {"float32", "float64", "bfloat16"})
      for (const bool finite : {true, false}) {
        Operands operands = {{0, finite ? updates : odd}};
        if (!c.at.empty()) operands.push_back({1, c.at});
        const char *index = type == std::string("float64") ? "int32" : "int64";
        Compare("dp.GatherGrad", type + std::string(c.dy) + ", " + index + c.indices, c.attrs, operands, finite);
      }
}

TEST(HardCases, OneHot) {
  const std::vector<double> far = {-6, -5, -1, 0, 4, 5, 255, 256, -9.2e18, 9.2e18};
  for (const char *type : {"int64", "int32", "int8", "uint8", "uint16"})
    Compare("OneHot", std::string(type) + "[N,10], , float16[2]", "depth=5, axis=-2",
            {{0, std::string(type) == "int64" ? far : Repeated(30, 9)}}, true);
  Compare("OneHot", "int8[N], , bool[2]", "depth=200", {{0, {-128, 127, -1}}, {2, {1, 0}}}, true);
  Compare("OneHot", "uint64[N], , float32[2]", "depth=3000", {{0, {18446744073709549568.0, 4, 9.3e18}}}, true);
  Compare("OneHot", "int64[], , float32[2]", "depth=1", {{0, {0}}}, true);
  Compare("OneHot", "int64[N], , float32[2]", "depth=4", {}, true, 0);
}

TEST(HardCases, CumSum) {
  for (const char *attrs : {"axis=1", "axis=-2, exclusive=1", "axis=1, reverse=1", "axis=1, reverse=1, exclusive=1"}) {
    const std::string a = attrs;
    Compare("CumSum", "float64[2,1000,3]", a, {}, false);
    Compare("CumSum", "float32[2,300,1]", a, {{0, {1e30, -1e30, 1, 3}}}, false);
    Compare("CumSum", "float32[N,8,1]", a, {{0, {1, 2, kInfinity, 3, -kInfinity, 4}}}, false);
    Compare("CumSum", "uint8[N,300,2]", a, {{0, Repeated(600, 200)}}, true);
    Compare("CumSum", "int64[N,40,2]", a, {{0, {4e18, 3e18}}}, true);
    Compare("CumSum", "float32[N,0,2]", a, {}, true);
    Compare("CumSum", "float32[N,1,1]", a, {}, true);
  }
}

// Rows around what a thread, a group and a block take at once; many short lines, and columns.
TEST(HardCases, CumSumOfEveryLength) {
  for (const char *attrs : {"axis=1", "axis=1, exclusive=1", "axis=1, reverse=1", "axis=1, reverse=1, exclusive=1"}) {
    const std::string a = attrs;
    for (const char *length : {"7", "8", "9", "127", "128", "129", "2047", "2048", "2049", "5000"}) {
      const std::string row = std::string("[N,") + length + "]";
      Compare("CumSum", "float32" + row, a, {}, false);
      Compare("CumSum", "bfloat16" + row, a, {}, false, 2);
      Compare("CumSum", "int64" + row, a, {{0, {4e18, 3e18, -5, 1}}}, true, 1);
    }
    TensorOffset() = 8;  // what a thread takes cannot be read at once
    Compare("CumSum", "float32[N,2048]", a, {}, false);
    TensorOffset() = 0;
    Compare("CumSum", "float32[N,31]", a, {{0, {1, kNan, 2, -kInfinity, 5}}}, false, 8193);
    Compare("CumSum", "int16[N,9,2731]", a, {{0, Repeated(3000, 900)}}, true);
    Compare("CumSum", "float64[N,8,2731]", a, {}, false);
  }
}

TEST(HardCases, ReduceLogSumExp) {
  const std::vector<std::vector<double>> rows = {{kNan, 1, 2},
                                                 {kInfinity, 1, -kInfinity},
                                                 {-kInfinity},
                                                 {1000, 1001, -1e30},
                                                 {-1e4, -1e4 - 1},
                                                 {kInfinity, kNan},
                                                 {kNan},
                                                 {-kInfinity, kNan},
                                                 {kInfinity},
                                                 {-kInfinity, -kInfinity, -700},
                                                 {-kInfinity, kInfinity},
                                                 {3, 3, 3, 3, 2}};
  for (const auto &row : rows) {
    Compare("ReduceLogSumExp", "float32[N,6]", "axes=[1]", {{0, row}}, false);
    Compare("ReduceLogSumExp", "float32[N,1]", "axes=[1]", {{0, row}}, false);
    Compare("ReduceLogSumExp", "float64[N,2,300]", "axes=[0,2], keepdims=0", {{0, row}}, false);
    // Shared by blocks, as rows and as columns.
    Compare("ReduceLogSumExp", "float64[2,4097]", "axes=[1]", {{0, row}}, false);
    Compare("ReduceLogSumExp", "bfloat16[5,3,1701]", "axes=[0,2]", {{0, row}}, false);
    Compare("ReduceLogSumExp", "float32[9001,2]", "axes=[0]", {{0, row}}, false);
  }
  for (const char *extents : {"[50257]", "[1,4095]", "[3,4096]"})
    Compare("ReduceLogSumExp", std::string("float32") + extents, "axes=[-1]", {}, false);
  Compare("ReduceLogSumExp", "float64[N,0]", "axes=[1]", {}, true);
  Compare("ReduceLogSumExp", "float32[N,0]", "axes=[0]", {}, true);
  Compare("ReduceLogSumExp", "float32[]", "", {}, false);
}

// Rows as long as are held in shared memory; longer ones, shared by blocks where there are few; of one element and of
// none; beside infinities and NaN.
TEST(HardCases, Rows) {
  static_assert(DP_HELD == 4096, "");
  ASSERT_EQ(dp_cuda_row_shares(2, 4096), 1);
  ASSERT_EQ(dp_cuda_row_shares(2, 4097), 2);
  ASSERT_EQ(dp_cuda_row_shares(1, 50257), 24);
  ASSERT_EQ(dp_cuda_row_shares(300, 4097), 1);
  const std::vector<std::vector<double>> rows = {{0.5, -3, 2, 700, -700}, {-kInfinity, 1, 5, -2},  {-kInfinity},
                                                 {kNan, 1, 2, 3, 5},      {kInfinity, 1, 2, 3, 5}, {1, 1, 1}};
  for (const char *extents :
       {"[2,4095]", "[2,4096]", "[2,4097]", "[1,50257]", "[2,5001,2]", "[N,1]", "[N,5]", "[N,0]", "[0,5]"}) {
    const std::string e = extents, plain = "float32" + e;
    for (const auto &row : rows) {
      Compare("Softmax", plain, "axis=1", {{0, row}}, false);
      Compare("LogSoftmax", "float64" + e, "axis=1", {{0, row}}, false);
      Compare("Softmax", "float16" + e, "axis=1", {{0, row}}, false);
    }
    Compare("LogSoftmax", plain, "axis=0", {{0, rows[1]}}, false);
  }
  Compare("Softmax", "float32[300,4097]", "", {}, false);
}

// Rows that a warp and a block keep in registers: of whole vectors or not, one or several to a thread, that begin at
// any place of one.
TEST(HardCases, RowsInRegisters) {
  const std::vector<std::vector<double>> rows = {
      {30, 15, 14, 13.5}, {kNan, 1, 2}, {1, kInfinity, 2}, {-kInfinity}, {1, 1}};
  for (const char *extents : {"[1,1]", "[7,3]", "[9,24]", "[11,37]", "[3,1023]", "[5,1024]", "[3,1029]", "[2,4091]"})
    for (const char *type : {"float32", "bfloat16", "float16"})
      for (const auto &row : rows) {
        const std::string x = type + std::string(extents);
        Compare("Softmax", x, "axis=1", {{0, row}}, false);
        Compare("LogSoftmax", x, "axis=1", {{0, row}}, false);
        Compare("ReduceLogSumExp", x, "axes=[1]", {{0, row}}, false);
      }
  // Of several vectors a thread, all of which are kept, and of more than that.
  Compare("Softmax", "bfloat16[64,9001]", "", {}, false);
  Compare("ReduceLogSumExp", "float32[64,5008]", "axes=[1]", {}, false);
  Compare("Softmax", "float32[64,33003]", "", {}, false);
  Compare("ReduceLogSumExp", "bfloat16[64,65600]", "axes=[1]", {}, false);
}

TEST(HardCases, CrossEntropy) {
  const std::vector<std::vector<double>> rows = {
      {0.5, -3, 2, 700, -700}, {-kInfinity, 1, 5, -2}, {kNan, 1}, {kInfinity, 1}, {1}};
  for (const char *classes : {"4095", "4096", "4097", "50257", "1"}) {
    const std::string c = classes, scores = "float32[3," + c + "]";
    const std::vector<double> labels = {0, c == "1" ? 0.0 : 4094, c == "1" ? 0.0 : 2};
    for (const auto &row : rows) {
      const Operands operands = {{0, row}, {1, labels}};
      Compare("SoftmaxCrossEntropyLoss", scores + ", int64[3]", "", operands, false);
      Compare("SoftmaxCrossEntropyLoss", scores + ", int32[3], float32[" + c + "]", "reduction=\"none\"", operands,
              false);
      Compare("dp.SoftmaxCrossEntropyLossGrad", scores + ", int64[3], float32[]", "ignore_index=2", operands, false);
    }
  }
  for (const char *classes : {"10", "37", "1024", "1031"})
    for (const char *type : {"float32", "bfloat16", "float16"})
      for (const auto &row : {rows[0], rows[2], {30, 15, 14, 13.5}}) {
        const std::string t = type, scores = t + "[9," + classes + "], int64[9]";
        const Operands operands = {{0, row}, {1, {0, 9, 4, 2}}};
        Compare("SoftmaxCrossEntropyLoss", scores, "reduction=\"none\"", operands, false);
        Compare("SoftmaxCrossEntropyLoss", scores + ", " + t + "[" + classes + "]", "ignore_index=4", operands, false);
        Compare("dp.SoftmaxCrossEntropyLossGrad", scores + ", " + t + "[], " + t + "[" + classes + "]",
                "ignore_index=4", operands, false);
      }
  Compare("SoftmaxCrossEntropyLoss", "bfloat16[64,8201], int64[64]", "", {{1, {0, 8200, 7}}}, false);
  Compare("dp.SoftmaxCrossEntropyLossGrad", "float32[64,33003], int64[64], float32[]", "", {{1, {0, 8200, 7}}}, false);
  Compare("SoftmaxCrossEntropyLoss", "float64[2,4500,2], int64[2,2]", "", {{1, {0, 4499, 7}}}, false);
  Compare("dp.SoftmaxCrossEntropyLossGrad", "float64[2,4500,2], int64[2,2], float64[]", "", {{1, {0, 4499, 7}}}, false);
}

TEST(HardCases, Normalizations) {
  const std::vector<std::vector<double>> rows = {
      {1000, 1001, 1003, 998}, {1e-3, 5, -2}, {4}, {kNan, 1}, {kInfinity, 1}};
  for (const char *length : {"4095", "4096", "4097", "50257", "1", "7"})
    for (const auto &row : rows)
      for (const char *type : {"float32", "float64", "bfloat16"}) {
        const std::string t = type, scale = t + "[" + length + "]", x = t + "[3," + length + "], " + scale;
        Compare("LayerNormalization", x + ", " + scale, "", {{0, row}}, false);
        Compare("RMSNormalization", x, "", {{0, row}}, false);
      }
  Compare("GroupNormalization", "float32[2,4,40,41], float32[4], float32[4]", "num_groups=1", {}, false);
  // Groups of channels in registers: of whole vectors, of halves of them, and of single elements.
  for (const char *plane : {"8,8", "2,3", "7,7", "1,1", "20,52"})
    for (const auto &row : rows)
      for (const char *type : {"float32", "bfloat16", "float16"}) {
        const std::string t = type, scale = t + "[6]", inputs = t + "[3,6," + plane + "], " + scale + ", " + scale;
        Compare("GroupNormalization", inputs, "num_groups=2", {{0, row}}, false);
        Compare("InstanceNormalization", inputs, "", {{0, row}}, false);
      }
  // Squares that floats have no digits for, or no numbers.
  for (const double tiny : {1e-19, 3e-20, 1e-23, 1e-38, 0.0})
    for (const char *epsilon : {"epsilon=0.0", "epsilon=1e-38"})
      for (const char *type : {"float32", "bfloat16"}) {
        const std::string t = type, e = epsilon, row = t + "[2,40], " + t + "[40]",
                          plane = t + "[2,2,4,5], " + t + "[2]";
        std::vector<double> some(40, tiny);
        for (size_t i = 0; i < 13; i++) some[i] *= double(i) - 4;
        Compare("LayerNormalization", row, e, {{0, some}}, false);
        Compare("RMSNormalization", row, e, {{0, some}}, false);
        Compare("GroupNormalization", plane + ", " + t + "[2]", e + ", num_groups=1", {{0, some}}, false);
      }
  Compare("GroupNormalization", "float32[260,2,2,2049], float32[2], float32[2]", "num_groups=1", {}, false);
  Compare("InstanceNormalization", "float64[N,2,5003], float64[2], float64[2]", "", {}, false);
}

// Rows that a warp holds, that a block holds, and that neither does; none, and more than there are parts of the sums;
// results left out; equal elements, and a mean far from 0.
TEST(HardCases, NormalizationGradients) {
  const std::vector<std::vector<double>> rows = {{0.5, -3, 2, 7, 1, 0.25, -2, 4, -1},
                                                 {1e4, 1e4 + 1.5, 1e4 - 1, 1e4 + 0.25, 1e4 - 2},
                                                 {4},
                                                 {1, 2, 3, kNan, 5, 6, 7},
                                                 {kInfinity, 1, 5}};
  const auto compare = [](const std::string &type, const std::string &length, const std::vector<double> &row) {
    const std::string x = type + "[3," + length + "]", inputs = x + ", " + type + "[" + length + "], " + x;
    Compare("dp.LayerNormalizationGrad", inputs, "", {{0, row}}, false);
    Compare("dp.RMSNormalizationGrad", inputs, "", {{0, row}}, false);
  };
  for (const char *length : {"1", "2", "7", "33", "768", "769", "1023", "1024", "1025"})
    for (const auto &row : rows) compare("float32", length, row);
  for (const char *length : {"4097", "6144", "6148", "50000"}) compare("float32", length, rows[1]);
  compare("float32", "50000", rows[3]);
  for (const char *length : {"1", "7", "384", "386", "3072", "3074"}) compare("float64", length, rows[1]);
  for (const char *length : {"7", "256", "768", "1025", "2048", "3000"})
    for (size_t r : {0, 3}) compare("bfloat16", length, rows[r]);
  compare("float16", "1024", rows[0]);
  TensorOffset() = 8;  // vectors cannot be read at once
  for (const char *type : {"float32", "float64", "bfloat16"}) compare(type, "1024", rows[0]);
  TensorOffset() = 0;
  for (const char *x : {"[N,1100,12]", "[0,5]", "[0,7000]", "[3,0]", "[5000,4]", "[70,1030]", "[20,7001]"}) {
    const std::string e = x, scale = "float32[" + e.substr(e.rfind(',') + 1);
    const std::string inputs = "float32" + e + ", " + scale + ", float32" + e;
    for (const int results : {1, 2, 3})
      Compare("dp.LayerNormalizationGrad", inputs, "epsilon=0.01", {}, false, 3, results);
    for (const int results : {1, 2}) Compare("dp.RMSNormalizationGrad", inputs, "", {}, false, 3, results);
  }
}

// Sums that floats have no room for on the way, of numbers of 16 bits.
TEST(HardCases, SumsOfHugeNumbers) {
  const std::vector<double> huge = {3e38, 3e38, 2e38, -3e38, -3e38, -2e38, 1e38};
  for (const char *axes : {"axes=[1]", "axes=[0]", "axes=[0,1]"})
    for (const char *extents : {"[64,7]", "[7,64]", "[70,770]"})
      Compare("ReduceSum", "bfloat16" + std::string(extents), axes, {{0, huge}}, false);
  const std::string x = "bfloat16[N,24,9,9]", u = ", float32[24]", inputs = x + u + u + u + ", " + x;
  const Operands operands = {{0, {1e20, -1e20, 3e20}}, {2, {0}}, {3, {1e-20}}, {4, {2e20, 1e20, -3e20, -1e20, 1e20}}};
  Compare("dp.BatchNormalizationGrad", inputs, "", operands, false, 30, 0, true);
}

// The first of equal ones, or the last, wherever they fall among threads and blocks; NaN before all.
// Planes of every kind of vector and of none, shares of one block and of many, channels that are few and many, no
// samples, means far from 0, first elements far from the mean, equal elements, and numbers that are none.
TEST(HardCases, BatchNormalization) {
  struct {
    const char *x;
    int64_t channels, n;
  } const cases[] = {{"[N,3]", 3, 5000},      {"[N,1,4]", 1, 9},    {"[N,1,64,64]", 1, 6},  {"[N,2000]", 2000, 7},
                     {"[N,2000,2]", 2000, 3}, {"[N,5,7,7]", 5, 60}, {"[N,3,14,14]", 3, 45}, {"[N,2,300]", 2, 40},
                     {"[N,2,41,50]", 2, 9},   {"[N,2,1000]", 2, 1}, {"[N,3,4]", 3, 0},      {"[N,2]", 2, 1}};
  const std::vector<double> random = Repeated(9973, 97);
  std::vector<double> far, equal(7, 3.25), strange = random, outlier = random;
  for (double x : random) far.push_back(1e4 + x / 30);
  strange[50] = kNan;
  strange[5000] = kInfinity;
  outlier[0] = -1e5;
  const std::vector<double> all[] = {random, far, equal, strange, outlier};
  // Of x, and of parameters and statistics.
  const std::pair<const char *, const char *> types[] = {{"float16", "float16"},
                                                         {"float64", "float64"},
                                                         {"bfloat16", "float32"},
                                                         {"bfloat16", "bfloat16"},
                                                         {"float16", "float32"}};
  int number = 0;
  for (const auto &of : cases)
    for (const auto &[type, statistics] : {std::pair("float32", "float32"), types[number++ % 5]}) {
      const std::string t = type, u = statistics, vector = ", " + u + "[" + std::to_string(of.channels) + "]",
                        x = t + of.x;
      const std::string training = x + vector + vector + vector + vector,
                        given = x + vector + vector + vector + ", " + x;
      const bool wide = t == "float32" || t == "float64";
      for (const auto &numbers : all) {
        // In float64 the reference's mean of numbers far from 0 is off by more than the test's bound; ours is not.
        if (numbers == far ? t != "float32" : !wide && numbers != random && &numbers != &all[3]) continue;
        Compare("BatchNormalization", training, "training_mode=1, momentum=0.8", {{0, numbers}}, false, of.n);
        if (numbers != random && numbers != far) continue;
        const double mean = numbers == far ? 1e4 + 1.5 : 48;
        Compare("dp.BatchNormalizationGrad", given, "", {{0, numbers}, {2, {mean}}, {3, {0.5}}}, false, of.n);
        const Operands relu = {{0, numbers}, {1, {1, -0.5}}, {2, {0.25, -2}}, {3, {mean}}, {4, {0.5}}};
        for (const int results : {1, 4})
          Compare("dp.BatchNormalizationReluGrad", training + ", " + x, "", relu, false, of.n, results);
      }
      Compare("BatchNormalization", training, "", {{0, random}, {4, {0.5, 2, 7}}}, false, of.n);
      if (HasFailure()) return;
    }
}

// In NHWC: channels that fill vectors and tiles of a block and that do not, shares of one row and of many.
TEST(HardCases, BatchNormalizationInNhwc) {
  struct {
    const char *x;
    int64_t channels, n;
  } const cases[] = {{"[N,1,3,5]", 1, 9},     {"[N,3,40,40]", 3, 9},     {"[N,8,31,7]", 8, 40},
                     {"[N,24,9,9]", 24, 30},  {"[N,64,14,14]", 64, 9},   {"[N,320,5,5]", 320, 9},
                     {"[N,516,2,3]", 516, 3}, {"[N,2048,1,2]", 2048, 3}, {"[N,16,3,3]", 16, 0},
                     {"[N,16,1,1]", 16, 1}};
  const std::vector<double> random = Repeated(9973, 97);
  std::vector<double> strange = random, far, equal(7, 3.25), outlier = random;
  for (double x : random) far.push_back(1e3 + x * 8);
  strange[50] = kNan;
  strange[5000] = kInfinity;
  outlier[0] = -1e5;
  const std::vector<double> all[] = {random, strange, far, equal, outlier};
  const std::pair<const char *, const char *> types[] = {{"bfloat16", "float32"},
                                                         {"float16", "float32"},
                                                         {"float32", "float32"},
                                                         {"bfloat16", "bfloat16"},
                                                         {"float64", "float64"}};
  int number = 0;
  for (const auto &of : cases)
    for (const auto &[type, statistics] : {types[0], types[1 + number++ % 4]}) {
      const std::string t = type, u = statistics, vector = ", " + u + "[" + std::to_string(of.channels) + "]",
                        x = t + of.x, inputs = x + vector + vector + vector, training = "training_mode=1, momentum=0.8";
      for (const auto &numbers : all) {
        if (&numbers > &all[1] && of.channels != 24) continue;
        Compare("BatchNormalization", inputs + vector, training, {{0, numbers}}, false, of.n, 0, true);
      }
      Compare("BatchNormalization", inputs + vector, "", {{0, random}, {4, {0.5, 2, 7}}}, false, of.n, 0, true);
      const Operands operands = {{0, random}, {2, {48}}, {3, {0.5, 2}}};
      for (const int results : {1, 3})
        Compare("dp.BatchNormalizationGrad", inputs + ", " + x, "", operands, false, of.n, results, true);
      const Operands relu = {{0, random}, {1, {1, -0.5}}, {2, {0.25, -2}}, {3, {48}}, {4, {0.5, 2}}};
      for (const int results : {1, 4})
        Compare("dp.BatchNormalizationReluGrad", inputs + vector + ", " + x, "", relu, false, of.n, results, true);
      if (HasFailure()) return;
    }
  TensorOffset() = 8;  // vectors cannot be read at once
  const std::string x = "bfloat16[N,40,9,9]", u = ", float32[40]", inputs = x + u + u + u;
  Compare("BatchNormalization", inputs + u, "training_mode=1", {{0, random}}, false, 20, 0, true);
  Compare("dp.BatchNormalizationGrad", inputs + ", " + x, "", {{0, random}, {2, {48}}}, false, 20, 0, true);
  Compare("dp.BatchNormalizationReluGrad", inputs + u + ", " + x, "", {{0, random}, {3, {48}}}, false, 20, 0, true);
  TensorOffset() = 0;
}

TEST(HardCases, Arg) {
  const std::vector<std::vector<double>> rows = {{1, 3, 3, 2, -7}, {5},          {kInfinity, -kInfinity, kNan, 2},
                                                 {kNan},           {-kInfinity}, {0.0, -0.0}};
  for (const char *op : {"ArgMax", "ArgMin"})
    for (const char *last : {"0", "1"}) {
      const std::string attrs = std::string("axis=1, keepdims=0, select_last_index=") + last;
      for (const char *extents : {"[2,4096]", "[2,4097]", "[N,1]", "[0,5]"})
        for (const auto &row : rows) Compare(op, std::string("float32") + extents, attrs, {{0, row}}, true);
      Compare(op, "float32[1,50257]", attrs, {{0, rows[0]}}, true);
      Compare(op, "int64[3,4095]", attrs, {{0, Repeated(12285, 4000)}}, true);
      Compare(op, "uint8[2,5001,35]", attrs, {{0, {0, 255, 3}}}, true);
    }
  Compare("ArgMax", "bfloat16[N,3,700]", "axis=0", {}, true);
  // Short rows, of whole vectors or not, that begin at any place of one.
  for (const char *op : {"ArgMax", "ArgMin"})
    for (const char *type : {"float32", "bfloat16", "float64", "int8", "uint32", "uint64"})
      for (const char *extents : {"[9,1]", "[11,7]", "[17,33]", "[3,700]", "[2,1024]"})
        for (const char *last : {"0", "1"})
          Compare(op, std::string(type) + extents, std::string("axis=1, select_last_index=") + last,
                  {{0, Repeated(2048, 13)}}, true);
}

// Extents around a tile's, and one less than what is worth a tile; two tiles of both, among other dims before, between
// and after them; all widths of elements.
TEST(HardCases, Transpose) {
  for (const char *extents : {"[32,32]", "[33,65]", "[16,16]", "[15,40]", "[40,15]", "[1,70]", "[0,40]", "[97,16]"})
    for (const char *type : {"float32", "float64", "bfloat16", "uint8", "bool"})
      Compare("Transpose", std::string(type) + extents, "", {}, true);
  for (const char *perm : {"[0,2,1,3]", "[3,2,1,0]", "[0,3,1,2]", "[0,2,3,1]", "[1,3,0,2]", "[3,0,1,2]", "[2,1,0,3]"})
    Compare("Transpose", "float32[N,17,35,40]", std::string("perm=") + perm, {}, true);
}

// Planes of which a block takes many, and one; fewer than that, and more; of a whole number of vectors or not.
TEST(HardCases, GlobalAveragePool) {
  for (const char *extents : {"[1,1,1]", "[N,21,7,7]", "[5,13,1,3]", "[2,32,16,16]", "[1,33,17,16]", "[3,5,9,9,9]"})
    for (const char *type : {"float32", "float64", "bfloat16", "float16"})
      Compare("GlobalAveragePool", std::string(type) + extents, "", {}, false);
  Compare("GlobalAveragePool", "float32[N,3,2,2]", "", {{0, {1, kInfinity, 2, 3, kNan, 5, 6}}}, false);
}

// Fewer than a counter gives, and one more or less than several give.
TEST(HardCases, RandomNumbers) {
  for (const char *n : {"0", "1", "4", "1023", "1025"})
    for (const char *type : {"float32", "float64", "bfloat16"}) {
      const std::string attrs = std::string("key=12, shape=[") + n + "], dtype=" + type;
      Compare("dp.RandomUniform", "int64[]", attrs + ", low=-0.3, high=2.5", {{0, {99}}}, true);
      Compare("dp.RandomNormal", "int64[]", attrs, {{0, {99}}}, false);
      for (const char *ratio : {"0.0", "0.1", "0.25", "0.999"})
        Compare("dp.Dropout", std::string(type) + "[" + n + "], int64[], int64[]", std::string("key=3, ratio=") + ratio,
                {{1, {5}}, {2, {7}}}, true);
    }
}

TEST(HardCases, Others) {
  std::vector<double> bytes;
  for (int i = 0; i < 256; i++) bytes.push_back(i);
  Compare("BitCast", "uint8[256]", "to=bool", {{0, bytes}}, true);
  Compare("BitCast", "float64[N]", "to=int64", {{0, {kNan, -0.0, kInfinity}}}, true);
  Compare("BitCast", "float16[N,2]", "to=int16", {}, true, 0);
  for (const char *k : {"-9223372036854775808", "9223372036854775807", "-2", "3"})
    for (const char *upper : {"0", "1"})
      Compare("Trilu", "float16[2,3,5]", std::string("k=") + k + ", upper=" + upper, {}, true);
  Compare("Trilu", "float32[N,0,4]", "", {}, true);
  // In vectors, of which the diagonal goes through some.
  for (const char *type : {"float32", "uint8", "float64"})
    for (const char *k : {"-20", "-3", "0", "1", "2", "5", "40"})
      for (const char *upper : {"0", "1"})
        Compare("Trilu", std::string(type) + "[2,9,32]", std::string("k=") + k + ", upper=" + upper, {}, true);
  // Near 2^31 and 2^63, where integers wrap.
  Compare("Range", "", "start=2147483600, limit=[2147483700], delta=7, dtype=int32", {}, true);
  Compare("Range", "", "start=-9223372036854775807, limit=[-9223372036854775000], delta=100", {}, true);
  Compare("Range", "", "start=9007199254740993, limit=[9007199254740999], dtype=float64", {}, true);
  Compare("Range", "", "start=5, limit=[5]", {}, true);
  for (const char *type : {"int16", "int32", "int64", "float32", "float64"})
    Compare("Range", "", std::string("start=-7, limit=[1010], delta=3, dtype=") + type, {}, true);
  Compare("Shape", "float32[N,0,7]", "start=-9, end=99", {}, true);
  Compare("Shape", "float32[N,2]", "start=2, end=1", {}, true);
}

// Counted by one block and by several; the last elements are no whole vector.
TEST(HardCases, CountRefused) {
  const std::vector<double> labels = {-1, 0, 3, 6, 7, -7, 100, -8, 5};
  for (const char *extents : {"[]", "[0]", "[N]", "[16384]", "[16385]", "[40001]"})
    for (const char *type : {"int64", "int32", "int8"})
      for (const char *attrs : {"limit=[7]", "limit=[7], negative=1, other=100", ""})
        Compare("dp.CountRefused", std::string(type) + extents, attrs, {{0, labels}}, true);
}

// Where samples are neighbours, their number says how many a thread reads at once.
TEST(HardCases, ReductionsOfFewerSamplesNeedNoMoreScratch) {
  for (const auto &[inputs, axes] :
       {std::pair("float32[2000,N]", "axes=[0]"), std::pair("bfloat16[3000,N,3]", "axes=[0]"),
        std::pair("float32[N,40]", "axes=[0]"), std::pair("float32[N,5000]", "axes=[1]")}) {
    uint64_t most = 0;
    for (int64_t n : {0, 1, 2, 3, 4, 127, 128, 600, 4096, 4099}) {
      const Ready ready = Draw({"ReduceSum", "", inputs, axes, n, 1});
      const Spec spec(ready.built->node, ready.in, ready.out);
      const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &spec, false);
      ASSERT_NE(kernel, nullptr);
      const uint64_t bytes = kernel->scratch_bytes(&spec);
      EXPECT_GE(bytes, most) << inputs << " " << n;
      most = bytes;
    }
  }
}

}  // namespace
}  // namespace dp_test
