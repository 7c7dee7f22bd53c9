// Results of nodes with placement annotations are placed as annotated, wherever the plan has them, and the computation
// equals one device's.
#include <cmath>

#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// A block split as in Megatron, with a sequence-parallel middle. The annotations follow h, y and z.
std::string Block(const std::string &h, const std::string &y, const std::string &z) {
  return R"dpt(model block {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adam(lr=1e-2)"
  input x: float32[N,64]
  parameter up: float32[64,22] = kaiming_uniform()
  parameter up.bias: float32[22] = kaiming_uniform(64)
  parameter down: float32[22,16] = kaiming_uniform()
  parameter scale: float32[16] = ones
  parameter last: float32[16,10] = kaiming_uniform()
  constant most: float32[] = 255
  s = Div(x, most)
  a = MatMul(s, up)
  b = Add(a, up.bias)
  h = Tanh(b))dpt" +
         h + "\n  y = MatMul(h, down)" + y + "\n  z = LayerNormalization(y, scale) {axis=1}" + z + R"dpt(
  d = Dropout(z) {ratio=0.2, training_mode=1}
  logits = MatMul(d, last)
  output logits
})dpt";
}

const std::vector<int64_t> kBatches = {13, 13, 13, 13, 13, 7, 2};

// The placement (kind and dim) of a value on an axis, in the training program.
void ExpectAt(const Plan &plan, const std::string &value, const std::string &axis, int kind, uint32_t dim) {
  size_t at = 0;
  while (at < plan->n_mesh && plan->mesh[at]->name != axis) at++;
  ASSERT_LT(at, plan->n_mesh);
  int found = 0;
  for (size_t r = 0; r < plan->n_roles; r++) {
    const Dp__Program *train = plan->roles[r]->programs[FindProgram(plan, "train")];
    const Dp__Graph *graph = plan->graphs[train->graph];
    for (size_t s = 0; s < train->n_streams; s++)
      for (size_t i = 0; i < train->streams[s]->n_instructions; i++) {
        const Dp__Instruction *instruction = train->streams[s]->instructions[i];
        for (size_t k = 0; k < instruction->n_outputs && instruction->n_nodes; k++) {
          if (!instruction->outputs[k]) continue;
          const Dp__DeviceTensor *tensor = train->tensors[instruction->outputs[k] - 1];
          if (graph->values[tensor->value]->name != value) continue;
          EXPECT_EQ(tensor->placements[at]->kind, kind) << value;
          EXPECT_EQ(tensor->placements[at]->dim, dim) << value;
          found++;
        }
      }
  }
  EXPECT_GT(found, 0) << value;
}

Plan ExpectSame(const std::string &text, const std::string &options) {
  SCOPED_TRACE(options);
  Plan plan = Compile(text, "batch=13 precision=fp64 " + options);
  ExpectLikeOneDevice(plan, Compile(Block("", "", ""), "batch=13 precision=fp64"), kBatches);
  return plan;
}

enum { kShard = 1, kPartial = 2 };

TEST(Annotations, ResultsOfNodes) {
  const std::string text = Block(" [shard=(tensor=1)]", " [shard=(tensor=P(sum))]", " [shard=(tensor=0)]");
  for (const char *options :
       {"strategy=manual mesh=tensor:2", "strategy=manual mesh=tensor:3", "strategy=data mesh=data:2,tensor:2",
        "strategy=tensor mesh=tensor:2,data:3", "strategy=zero zero-stage=2 mesh=data:2,tensor:2 microbatches=3",
        "strategy=manual mesh=tensor:2 microbatches=4", "strategy=pipeline mesh=pipe:2,tensor:2 microbatches=4"}) {
    SCOPED_TRACE(options);
    Plan plan = ExpectSame(text, options);
    ExpectAt(plan, "h", "tensor", kShard, 1);
    ExpectAt(plan, "y", "tensor", kPartial, 0);
    ExpectAt(plan, "z", "tensor", kShard, 0);
  }
}

TEST(Annotations, WithStages) {
  const std::string text =
      Block(" [stage=0, shard=(tensor=1)]", " [stage=1, shard=(tensor=R)]", " [shard=(tensor=S(1,2,4))]");
  for (const char *options :
       {"strategy=manual mesh=pipe:2,tensor:2", "strategy=manual mesh=tensor:2,pipe:2 microbatches=5"}) {
    Plan plan = ExpectSame(text, options);
    ASSERT_EQ(plan->n_roles, 2u);
    ExpectAt(plan, "h", "tensor", kShard, 1);
    ExpectAt(plan, "y", "tensor", 0, 0);
  }
}

}  // namespace
}  // namespace dp_test
