// The operators' samples as test cases: a graph of one node, and operands that make_references.py draws in the same
// way.
#ifndef DP_TESTS_IR_OPS_SAMPLES_H
#define DP_TESTS_IR_OPS_SAMPLES_H

#include <ostream>
#include <string>
#include <vector>

#include "tests/ir/ops/interpreter.h"

namespace dp_test {

// One sample of one operator: as written, with float64 in place of float32, or with one type replaced by another.
struct Case {
  const dp_op *op;
  const dp_sample *sample;
  int index;  // index of the sample in its operator
  bool float64;
  dp_dtype from = DP_NO_TYPE, to = DP_NO_TYPE;  // operands of type `from` become `to` where the operator allows it
  std::string Name() const;                     // "dp.SGD 2 float64", "Add 3 int32 as int8"
  std::string Heading() const;  // "dp.SGD|inputs|attrs|n|low|high": the sample as the reference file names it
};

// The cases of all operators except communication. float64: adds variants of the samples that name float32.
std::vector<Case> AllCases(bool float64);
// The same samples with float16 and bfloat16 in place of float32, and with every type that is or can hold an integer in
// place of int32, int64 and uint8, where an operand allows it.
std::vector<Case> TypeCases();
// Whether operand i of the case, which has type dtype in the sample, has type c.to.
bool IsReplacedType(const Case &c, int i, dp_dtype dtype);

// Whether programs do not contain the operator because others replace it. It has no kernel.
bool IsReplaced(const dp_op *op);
// Whether such an operator draws random numbers. They depend on the node's name, so no reference has them.
bool IsDrawn(const dp_op *op);

// The case as a graph with inputs x0, x1 ... and one node with all its results. Lives as long as the object.
class Built {
 public:
  explicit Built(const Case &c);
  ~Built();
  Built(const Built &) = delete;
  Built &operator=(const Built &) = delete;

  std::string error;  // of reading and inferring; "" for success
  dp_arena *arena;
  dp_model *model = nullptr;
  dp_graph *graph = nullptr;
  dp_node *node = nullptr;
  int64_t n;
  std::vector<dp_value *> operands;  // NULL where absent

 private:
  dp_status Build(const Case &c);
};

// Replaces the case's operator, which programs do not contain, by the nodes that compute it in training. The results
// keep the types that infer gave. Sets error on failure.
std::vector<dp_value *> Replace(Built *built);

// Element i of operand `operand` depends only on the sample's name: uniform in [low, high] (-1 .. 1 if they are equal),
// rounded to float32; integers are uniform in the range.
Tensor DrawOperand(const Case &c, int operand, const dp_type &type, int64_t n);
// More such numbers in [-1, 1], for the purpose `what`.
Tensor DrawNumbers(const Case &c, const std::string &what, const dp_type &type, int64_t n);

// For GoogleTest's messages.
void PrintTo(const Case &c, std::ostream *out);
// A name as GoogleTest wants it: only letters, digits and _.
std::string TestName(const Case &c);

}  // namespace dp_test

#endif
