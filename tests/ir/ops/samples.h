// The operators' samples as cases: a graph of one node, and operands that the reference maker draws alike.
#ifndef DP_TESTS_IR_OPS_SAMPLES_H
#define DP_TESTS_IR_OPS_SAMPLES_H

#include <ostream>
#include <string>
#include <vector>

#include "tests/ir/ops/interpreter.h"

namespace dp_test {

// One sample of one operator, as written, with float64 in place of float32, or with another type in place of one.
struct Case {
  const dp_op *op;
  const dp_sample *sample;
  int index;  // of the sample in its operator
  bool float64;
  dp_dtype from = DP_NO_TYPE, to = DP_NO_TYPE;  // operands of type `from` have `to`, where the operator takes that
  std::string Name() const;                     // "dp.SGD 2 float64", "Add 3 int32 as int8"
  std::string Heading() const;  // "dp.SGD|inputs|attrs|n|low|high": the sample as the reference file names it
};

// Of every operator but communication. float64: the variants too, of samples that name float32.
std::vector<Case> AllCases(bool float64);
// The same samples with float16 and bfloat16 in place of float32, and with every type that is or can hold an integer in
// place of int32, int64 and uint8: of these only where an operand takes it.
std::vector<Case> TypeCases();
// Whether operand i of the case, of that type in the sample, has type c.to.
bool IsReplacedType(const Case &c, int i, dp_dtype dtype);

// Whether the operator is in no program: others take its place, and it has no kernel.
bool IsReplaced(const dp_op *op);
// Of those, whether it draws numbers, which follow from the name of its node: no reference has them.
bool IsDrawn(const dp_op *op);

// The case as a graph: operands are inputs x0, x1 ..., one node with as many results as the operator gives here.
// Lives as long as the object.
class Built {
 public:
  explicit Built(const Case &c);
  ~Built();
  Built(const Built &) = delete;
  Built &operator=(const Built &) = delete;

  std::string error;  // of reading and inferring; "" when it went well
  dp_arena *arena;
  dp_model *model = nullptr;
  dp_graph *graph = nullptr;
  dp_node *node = nullptr;
  int64_t n;
  std::vector<dp_value *> operands;  // NULL where absent

 private:
  dp_status Build(const Case &c);
};

// Makes of the case's graph, whose operator is replaced in every program, a graph of what takes the node's place in
// training; its results, of the types that infer gave. Sets error when it fails.
std::vector<dp_value *> Replace(Built *built);

// Element i of operand `operand` follows from the sample's name alone: uniform in [low, high] (-1 .. 1 when they are
// equal), rounded to float32; integers uniform among those of the range.
Tensor DrawOperand(const Case &c, int operand, const dp_type &type, int64_t n);
// More numbers of that kind in [-1, 1], for `what` of the case.
Tensor DrawNumbers(const Case &c, const std::string &what, const dp_type &type, int64_t n);

// For GoogleTest's messages.
void PrintTo(const Case &c, std::ostream *out);
// GoogleTest's names have letters, digits and _ only.
std::string TestName(const Case &c);

}  // namespace dp_test

#endif
