// What a training step of a transformer issues on GPUs, counted from plans: instructions, and the bytes of their
// operands and results. A layer's share is the difference that one more layer makes. A Reshape in place issues nothing
// and does not count. The table is kept: whoever lowers a figure writes the new one here.
#include <cstring>

#include "ir/graph/op.h"
#include "tests/end_to_end/gpt.h"
#include "tests/end_to_end/plans.h"

namespace dp_test {
namespace {

struct Budget {
  int64_t instructions = 0;  // of which
  int64_t updates = 0;       // update parameters
  int64_t regions = 0;       // compute several nodes
  int64_t bytes = 0;         // each operand and result once
};

Budget operator-(const Budget &a, const Budget &b) {
  return {a.instructions - b.instructions, a.updates - b.updates, a.regions - b.regions, a.bytes - b.bytes};
}

bool IsCopyInPlace(const Dp__Program *program, const Dp__Instruction *in) {
  if (!in->kernel || strncmp(in->kernel, "cuda.copy.", 10)) return false;
  const Dp__DeviceTensor *x = program->tensors[in->inputs[0] - 1], *y = program->tensors[in->outputs[0] - 1];
  return x->space == y->space && x->offset == y->offset;
}

bool Updates(const Dp__Instruction *in) {
  const Dp__Instruction *one = in->n_members ? in->members[0] : in;
  const dp_op *op = dp_op_find(one->domain, one->op);
  return op && dp_op_is(op, DP_OP_UPDATE);
}

Budget Count(const Plan &plan) {
  const Dp__Program *program = plan->roles[0]->programs[FindProgram(plan, "train")];
  Budget budget;
  for (const Location &at : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, at);
    if (in->communication || IsCopyInPlace(program, in)) continue;
    budget.instructions++;
    budget.updates += Updates(in);
    budget.regions += in->n_members > 0;
    for (size_t i = 0; i < in->n_inputs; i++)
      if (in->inputs[i]) budget.bytes += int64_t(program->tensors[in->inputs[i] - 1]->bytes);
    for (size_t i = 0; i < in->n_outputs; i++)
      if (in->outputs[i]) budget.bytes += int64_t(program->tensors[in->outputs[i] - 1]->bytes);
  }
  return budget;
}

struct Network {
  const char *name;
  int layers, width, heads, words, positions;
  bool tied;
  int batch;
  const char *optimizer;
};

Budget Step(const Network &n, int layers, const std::string &options = "") {
  return Count(Compile(Gpt(layers, n.width, n.heads, n.words, n.positions, n.tied),
                       "target=cuda batch=" + std::to_string(n.batch) + " optimizer=" + n.optimizer + options));
}

const Network kGpt4 = {"examples/gpt4.dpt", 4, 256, 8, 4096, 128, false, 8, "adam(lr=1e-3)"};
const Network kGpt2 = {"GPT-2 124M", 12, 768, 12, 50257, 1024, true, 4, "adamw(lr=1e-3)"};

const Network kClipped = {"GPT-2 124M, clipped", 12, 768, 12, 50257, 1024, true, 4, "adamw(lr=1e-3,clip_norm=1)"};

void Expect(const Network &network, const Budget &layer, const Budget &rest) {
  SCOPED_TRACE(network.name);
  const Budget whole = Step(network, network.layers), one = whole - Step(network, network.layers - 1);
  printf("%s: a layer %ld instructions, %ld of them regions, %ld updates, %.1f MiB; the step %ld, %ld updates\n",
         network.name, long(one.instructions), long(one.regions), long(one.updates), double(one.bytes) / (1 << 20),
         long(whole.instructions), long(whole.updates));
  EXPECT_EQ(one.instructions - one.updates, layer.instructions);
  EXPECT_EQ(one.regions, layer.regions);
  EXPECT_EQ(one.bytes, layer.bytes);
  EXPECT_EQ(whole.updates, rest.updates);
  // Layers are alike, except that the last one's normalization has no layer after it.
  EXPECT_EQ(whole.instructions - whole.updates - network.layers * layer.instructions, rest.instructions);
}

// Instructions without updates, updates, regions, bytes.
TEST(Budget, Gpt4) { Expect(kGpt4, {20, 0, 7, 133478464}, {17, 1}); }
TEST(Budget, Gpt2) { Expect(kGpt2, {20, 0, 7, 1512777792}, {20, 1}); }
// The norm of all gradients; updates take its factor.
TEST(Budget, Gpt2Clipped) { Expect(kClipped, {29, 0, 19, 1512814776}, {17, 1}); }

}  // namespace
}  // namespace dp_test
