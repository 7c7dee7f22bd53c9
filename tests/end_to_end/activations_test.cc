// The memory that activations take in bfloat16 and in float32, counted from plans: that of GPT-2 124M.
//
// What a step keeps from its forward pass for its backward pass are the values that are made before the gradient of the
// loss and read after it. Of these, activations grow with the batch; 16-bit copies of parameters do not.
#include <set>

#include "tests/end_to_end/gpt.h"
#include "tests/end_to_end/plans.h"

namespace dp_test {
namespace {

constexpr int kWidth = 768, kHeads = 12, kWords = 50257, kPositions = 1024, kBatch = 2;

struct Memory {
  double kept = 0;   // bytes a sample, of the values that the forward pass leaves
  double arena = 0;  // bytes a sample, of the whole transient arena
};

// It may be a member of the head, a region that also makes the scores.
bool IsGradientOfLoss(const Dp__Instruction *in) {
  bool is = !strcmp(in->op, "SoftmaxCrossEntropyLossGrad");
  for (size_t m = 0; m < in->n_members; m++) is |= IsGradientOfLoss(in->members[m]);
  return is;
}

// Values that share memory, such as those of a Reshape in place, count once.
double Kept(const Plan &plan) {
  const Dp__Program *program = plan->roles[0]->programs[FindProgram(plan, "train")];
  std::set<uint32_t> before, kept;
  bool backward = false;
  for (const Location &at : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, at);
    backward |= IsGradientOfLoss(in);
    for (size_t i = 0; i < in->n_inputs && backward; i++)
      if (before.count(in->inputs[i])) kept.insert(in->inputs[i]);
    for (size_t i = 0; i < in->n_outputs && !backward; i++) before.insert(in->outputs[i]);
  }
  EXPECT_TRUE(backward);
  std::map<uint64_t, double> at_offset;
  for (uint32_t tensor : kept) {
    const Dp__DeviceTensor *t = program->tensors[tensor - 1];
    if (t->space != DP__SPACE__TRANSIENT) continue;
    double &bytes = at_offset[t->offset];
    bytes = std::max(bytes, static_cast<double>(t->bytes));
  }
  double sum = 0;
  for (const auto &entry : at_offset) sum += entry.second;
  return sum;
}

double Arena(const Plan &plan) {
  double bytes = 0;
  for (size_t a = 0; a < plan->roles[0]->n_arenas; a++)
    if (plan->roles[0]->arenas[a]->space == DP__SPACE__TRANSIENT)
      bytes = static_cast<double>(plan->roles[0]->arenas[a]->bytes);
  return bytes;
}

// The difference that more samples make.
Memory OfSample(int layers, const std::string &options) {
  const std::string text = Gpt(layers, kWidth, kHeads, kWords, kPositions, true);
  const auto plan = [&](int batch) {
    return Compile(text, "threads=1 optimizer=adamw(lr=1e-3) batch=" + std::to_string(batch) + " " + options);
  };
  const Plan one = plan(kBatch), two = plan(2 * kBatch);
  return {(Kept(two) - Kept(one)) / kBatch, (Arena(two) - Arena(one)) / kBatch};
}

void ExpectShare(const char *target) {
  SCOPED_TRACE(target);
  const std::string on = std::string("target=") + target;
  const Memory full = OfSample(12, on), half = OfSample(12, on + " precision=bf16");
  const Memory shorter_full = OfSample(11, on), shorter_half = OfSample(11, on + " precision=bf16");
  const double of_layer = (half.kept - shorter_half.kept) / (full.kept - shorter_full.kept);
  printf("%s: a layer keeps %.3f of float32's bytes, the network %.3f of %.0f MB a sample, the arena %.3f of %.0f MB\n",
         target, of_layer, half.kept / full.kept, full.kept / 1e6, half.arena / full.arena, full.arena / 1e6);
  EXPECT_LE(of_layer, 0.6);
  EXPECT_LE(half.kept / full.kept, 0.6);
  // The scratch of the head grows with the batch too, by an eighth of the scores, which are float32 in part.
  EXPECT_LE(half.arena / full.arena, 0.65);
}

TEST(Activations, OfGpt2OnTheCpu) { ExpectShare("cpu"); }
TEST(Activations, OfGpt2OnGpus) { ExpectShare("cuda"); }

}  // namespace
}  // namespace dp_test
