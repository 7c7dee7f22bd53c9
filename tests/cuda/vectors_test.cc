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

}  // namespace
}  // namespace dp_test
