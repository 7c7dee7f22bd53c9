// Elementwise functions take several elements a thread: extents around the size of a vector, in types of each size,
// with operands that are dense, a row, a column, a single element, or spread over dims between others.
#include <gtest/gtest.h>

#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

// The results have the reference's bits.
void CheckElementwise(const Problem &p) {
  SCOPED_TRACE(p.Print());
  Ready ready = Draw(p);
  ASSERT_EQ(ready.built->error, "");
  const Spec spec(ready.built->node, ready.in, ready.out);
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &spec, false);
  ASSERT_NE(kernel, nullptr);
  ASSERT_STREQ(kernel->name, "cuda.elementwise");
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  const Outcome found = RunKernel(kernel, spec, ready.in, ready.out);
  ASSERT_EQ(expected.error + found.error, "");
  ExpectSame(expected.results[0], found.results[0], true);
}

TEST(Vectors, EqualTheReference) {
  ASSERT_EQ(OpenDevice(), "");
  // The second operand as it is added to [N, 3, e].
  const char *const others[] = {"[N,3,%]", "[%]", "[N,1,1]", "[]", "[3,1]", "[N,1,%]", "[1,3,%]"};
  for (const char *type : {"float32", "float64", "float16", "bfloat16", "int8", "int64"})
    for (int64_t e : {1, 3, 4, 8, 15, 16, 40})
      for (const std::string other : others) {
        const std::string whole = std::string(type) + "[N,3," + std::to_string(e) + "]";
        std::string second = std::string(type) + other;
        if (second.find('%') != std::string::npos) second.replace(second.find('%'), 1, std::to_string(e));
        for (int64_t n : {1, 5}) CheckElementwise({"Sub", "", whole + ", " + second, "", n, 1});
      }
}

TEST(Vectors, HoldResultsOfAnotherSize) {
  ASSERT_EQ(OpenDevice(), "");
  for (const char *to : {"float64", "float16", "bfloat16", "int8", "bool", "float32"})
    for (const char *from : {"float32", "int64", "uint8", "bfloat16"})
      for (int64_t n : {1, 7, 8, 33})
        CheckElementwise({"Cast", "", std::string(from) + "[N,3]", std::string("to=") + to, n, 1});
}

// One byte an element: 16 of them are a vector.
TEST(Vectors, HoldBytes) {
  ASSERT_EQ(OpenDevice(), "");
  for (const int64_t n : {0, 1, 15, 16, 17, 31, 33, 5000}) {
    CheckElementwise({"Not", "", "bool[N]", "", n, 1});
    CheckElementwise({"And", "", "bool[N], bool[N]", "", n, 1});
    CheckElementwise({"Or", "", "bool[N,3], bool[3]", "", n, 1});
    CheckElementwise({"Xor", "", "bool[N,8], bool[N,1]", "", n, 1});
    CheckElementwise({"BitShift", "", "uint8[N,3], uint8[3]", "direction=\"LEFT\"", n, 1});
    CheckElementwise({"Where", "", "bool[N,5], uint8[N,5], uint8[]", "", n, 1});
  }
}

// Rows that are no multiples of a vector: one lies across their ends, or across several rows.
TEST(Vectors, LieAcrossRows) {
  ASSERT_EQ(OpenDevice(), "");
  for (const size_t offset : {0, 8}) {
    TensorOffset() = offset;  // 8: vectors cannot be read at once
    for (const std::string type : {"float32", "float16", "bfloat16", "int64", "uint8"})
      for (const char *shapes : {"[N,3], %[1,3]", "[N,3], %[N,1]", "[N,10], %[10]", "[N,2,1,5], %[2,7,1]",
                                 "[N,1,3,1], %[5,1,3]", "[N,2,3], %[N,1,3]", "[N,1], %[1,7]"})
        for (const int64_t n : {0, 1, 9}) {
          std::string inputs = type + shapes;
          inputs.replace(inputs.find('%'), 1, type);
          CheckElementwise({"Greater", "", inputs, "", n, 1});
          CheckElementwise({"Mul", "", inputs, "", n, 1});
        }
    for (const int64_t n : {1, 9, 4000}) {
      CheckElementwise({"Equal", "", "int32[N,3], int32[3]", "", n, 1});
      CheckElementwise({"Where", "", "bool[N,1,3], float32[2,1], float32[]", "", n, 1});
      CheckElementwise({"Where", "", "bool[3], bfloat16[N,3], bfloat16[N,1]", "", n, 1});
    }
    TensorOffset() = 0;
  }
}

// By 0 too: of floats nothing is reported.
TEST(Vectors, DivideFloats) {
  ASSERT_EQ(OpenDevice(), "");
  for (const std::string type : {"float32", "float64", "float16", "bfloat16"})
    for (const int64_t n : {0, 1, 3, 8, 9, 1001})
      CheckElementwise({"Div", "", type + "[N,3], " + type + "[N,3]", "", n, 1});
}

}  // namespace
}  // namespace dp_test
