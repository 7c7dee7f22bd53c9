// Functions that move several neighbours at a time have the reference's bits: rows around the size of a vector, in
// types of each size, at addresses that are multiples of a vector's bytes, of an element's alone, or between.
#include <gtest/gtest.h>

#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

const char *const kTypes[] = {"uint8", "bfloat16", "float32", "float64"};

void Compare(const Problem &p, const Ready &ready) {
  SCOPED_TRACE(p.Print());
  ASSERT_EQ(ready.built->error, "");
  const Spec spec(ready.built->node, ready.in, ready.out);
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &spec, true);
  ASSERT_NE(kernel, nullptr);
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  for (size_t offset : {0, 8, 16}) {
    TensorOffset() = offset;
    const Outcome found = RunKernel(kernel, spec, ready.in, ready.out);
    TensorOffset() = 0;
    ASSERT_EQ(expected.error + found.error, "");
    ExpectSame(expected.results[0], found.results[0], true);
  }
}

void Compare(const Problem &p) { Compare(p, Draw(p)); }

// Of slices, in the middle too, some of them by indices that count from the end.
TEST(Moves, Gather) {
  ASSERT_EQ(OpenDevice(), "");
  for (const std::string type : kTypes)
    for (const std::string inner : {"1", "3", "4", "7", "8", "16", "20", "40"})
      for (const std::string shape : {"[9,", "[N,5,"}) {
        const bool outer = shape[1] == 'N';
        const Problem p = {"Gather", "", type + shape + inner + "], int64[6,3]", outer ? "axis=1" : "", 2, 1};
        Ready ready = Draw(p);
        const int64_t here = outer ? 5 : 9;
        for (int64_t i = 0; i < 18; i++) ready.in[1].Set(i, double(i * 7 % (2 * here) - here));
        Compare(p, ready);
      }
}

TEST(Moves, Fill) {
  ASSERT_EQ(OpenDevice(), "");
  for (const std::string type : kTypes)
    for (const int64_t n : {1, 3, 8, 15, 16, 17, 1000, 5003})
      Compare({"Fill", "dp", "", "shape=[N], value=3, dtype=" + type, n, 1});
}

// More elements than all threads of a launch take at once.
TEST(Moves, FillMany) {
  ASSERT_EQ(OpenDevice(), "");
  const int64_t at_once = 8192 * 256 * 2;
  const Problem p = {"Fill", "dp", "", "shape=[N], value=3, dtype=float64", at_once + 5, 1};
  const Ready ready = Draw(p);
  const Spec spec(ready.built->node, ready.in, ready.out);
  const Outcome found = RunKernel(dp_kernel_select(&dp_target_cuda, &spec, true), spec, ready.in, ready.out);
  ASSERT_EQ(found.error, "");
  for (int64_t i : {int64_t{0}, at_once - 1, at_once, at_once + 4}) EXPECT_EQ(found.results[0].Get(i), 3);
}

// Around the sides of tiles, which short elements are moved through in pairs, where rows of both sides have whole ones.
TEST(Moves, Transpose) {
  ASSERT_EQ(OpenDevice(), "");
  for (const std::string type : kTypes)
    for (const std::string rows : {"16", "31", "32", "34", "63", "64", "66", "130"})
      for (const std::string columns : {"32", "33", "64", "70"})
        Compare({"Transpose", "", type + "[" + rows + "," + columns + "]", "", 1, 1});
  for (const std::string perm : {"[0,2,1]", "[1,2,0]", "[2,0,1]", "[2,1,0]"})
    for (const std::string extents : {"[3,34,40]", "[4,34,40]", "[34,3,64]", "[34,2,64]"})
      Compare({"Transpose", "", "bfloat16" + extents, "perm=" + perm, 1, 1});
}

TEST(Moves, PadAndOneHot) {
  ASSERT_EQ(OpenDevice(), "");
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"})
    for (const std::string pads : {"[0,1,2,0,3,1]", "[1,0,0,2,0,5]"})
      Compare({"Pad", "", "float32[3,4,9]",
               "pads=" + (mode == "constant" ? pads : "[0,1,2,0,3,1]") + ", mode=\"" + mode + "\"", 1, 1});
  for (const std::string axis : {"0", "1", "-1"})
    for (const std::string type : {"float32", "uint8"})
      Compare({"OneHot", "", "int64[N,7], , " + type + "[2]", "depth=5, axis=" + axis, 9, 1});
}

// A thread's neighbours lie in one row, in two, in many; dims are joined before, behind and between those that are
// padded, or cut.
TEST(Moves, PadRows) {
  ASSERT_EQ(OpenDevice(), "");
  const struct {
    const char *x, *pads;
    bool in_all;  // modes
  } cases[] = {
      {"[N,2,5]", "[0,0,1,0,0,1]", true}, {"[N,2,3,4]", "[0,0,1,0,0,0,2,0]", true},  {"[3,N,1]", "[0,0,1,0,0,0]", true},
      {"[N,6]", "[0,1,0,-2]", true},      {"[N,4,3]", "[0,-1,0,0,1,0]", true},       {"[N,2,9]", "[0,0,0,0,0,0]", true},
      {"[N,16]", "[0,8,0,40]", false},    {"[2,3,1,2]", "[1,0,0,1,0,1,0,2]", false}, {"[N,0]", "[0,2,0,3]", false},
      {"[N,3]", "[0,-3,0,0]", false},
  };
  for (const auto &of : cases)
    for (const std::string type : kTypes)
      for (const std::string mode : {"constant", "edge", "reflect", "wrap"})
        for (const int64_t n : {0, 1, 7})
          if (of.in_all || mode == "constant")
            Compare({"Pad", "", type + of.x, std::string("pads=") + of.pads + ", mode=\"" + mode + "\"", n, 1});
}

// Rows of one-hot numbers that are shorter and longer than a vector.
TEST(Moves, OneHotRows) {
  ASSERT_EQ(OpenDevice(), "");
  for (const std::string type : kTypes)
    for (const std::string depth : {"1", "3", "4", "16", "33"})
      for (const std::string shape : {"[N]", "[N,1]", "[2,N,3]"})
        for (const std::string axis : {"0", "1", "-1"})
          for (const int64_t n : {0, 1, 5}) {
            const Problem p = {
                "OneHot", "", "int64" + shape + ", , " + type + "[2]", "depth=" + depth + ", axis=" + axis, n, 1};
            Ready ready = Draw(p);
            for (int64_t i = 0; i < ready.in[0].Count(); i++) ready.in[0].Set(i, double(i * 5 % 7 - 3));
            Compare(p, ready);
          }
}

}  // namespace
}  // namespace dp_test
