// Plans of networks with batch normalization: which nodes its regions have, and that training has the bits of training
// without regions, by every strategy that keeps a batch whole or gives each device statistics of its own.
#include <cstdlib>
#include <cstring>

#include "tests/cuda/precision.h"
#include "tests/end_to_end/digit_models.h"

namespace dp_test {
namespace {

const char *const kStrategies[] = {
    "",
    "layout=plain",
    "recompute=*",
    "offload-bytes=1 offload=activations",
    "strategy=data devices=2 batchnorm=local",
    "strategy=zero zero-stage=3 devices=3 batchnorm=local",
    "strategy=tensor devices=2",
    "strategy=pipeline devices=2 microbatches=4 batchnorm=local",
};
const char *const kPrecisions[] = {"bf16", "fp16", "fp32", "fp64"};

void Replace(std::string *text, const std::string &from, const std::string &to) {
  const size_t at = text->find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text->replace(at, from.size(), to);
}

// kResidual with another block behind its own, which adds what it takes: there the gradients of two branches meet
// before a gradient of Relu.
std::string Blocks() {
  std::string text = kResidual;
  Replace(&text, "  parameter fc.w", R"dpt(  parameter c5.w: float32[16,16,1,1] = kaiming_uniform()
  parameter n5.w: float32[16] = ones
  parameter n5.b: float32[16] = zeros
  buffer n5.mean: float32[16] = zeros
  buffer n5.var: float32[16] = ones
  parameter fc.w)dpt");
  Replace(&text, "  g = GlobalAveragePool(r)\n", R"dpt(  c5 = Conv(r, c5.w)
  n5, m5, v5 = BatchNormalization(c5, n5.w, n5.b, n5.mean, n5.var) {training_mode=1, unbiased=1}
  sum5 = Add(n5, r)
  r5 = Relu(sum5)
  g = GlobalAveragePool(r5)
)dpt");
  return text;
}

int Members(const Dp__Instruction *in, const std::string &op) {
  int count = 0;
  for (size_t m = 0; m < in->n_members; m++) count += op == in->members[m]->op;
  return count;
}

// Members of the training program's regions with operator `of`, and nodes by themselves, that have the operator `op`.
struct Count {
  int members = 0, alone = 0;
};

Count Find(const Plan &plan, const std::string &of, const std::string &op) {
  Count count;
  for (const Location &at : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, at);
    count.alone += op == in->op;
    if (Members(in, of)) count.members += Members(in, op);
  }
  return count;
}

class BatchPlans : public testing::TestWithParam<std::tuple<int, const char *>> {};

// Whether each device normalizes samples of its own together, in one step. Micro-batches follow each other.
bool IsGrouped(const std::string &options) {
  return options.find("local") != std::string::npos && options.find("microbatches") == std::string::npos;
}

std::string Kind(const std::string &options) {
  return IsGrouped(options) ? "GroupedBatchNormalization" : "BatchNormalization";
}

// What the plan's regions have: gradients are alone where activations come back from the host, and no block is within a
// stage.
void ExpectRegions(const std::string &options) {
  const Plan plan = Compile(Blocks(), "batch=8 " + options);
  const std::string kind = Kind(options), gradient = kind + "Grad";
  const bool offloads = options.find("offload") != std::string::npos,
             staged = options.find("pipe") != std::string::npos;
  EXPECT_GT(Find(plan, kind, "Relu").members, 0);
  EXPECT_TRUE(staged || Find(plan, kind, "Add").members > 0);
  EXPECT_TRUE(offloads || Find(plan, gradient, "ReluGrad").members > 0);
  EXPECT_TRUE(offloads || staged || Find(plan, gradient, "Add").members > 0);
}

// In the usual run float16 and float64 have every third strategy.
TEST_P(BatchPlans, TrainAsWithoutRegions) {
  const auto &[number, precision] = GetParam();
  if (!getenv("DP_FULL") && number % 3 && (!strcmp(precision, "fp16") || !strcmp(precision, "fp64"))) return;
  const std::string options = std::string("target=cuda precision=") + precision + " " + kStrategies[number];
  ExpectRegions(options);
  const Trained separate = Train(Blocks(), options + " no-fuse=yes"), joined = Train(Blocks(), options);
  EXPECT_EQ(joined.losses, separate.losses);
  for (const auto &[name, numbers] : separate.variables) EXPECT_EQ(joined.variables.at(name), numbers) << name;
}

INSTANTIATE_TEST_SUITE_P(All, BatchPlans,
                         testing::Combine(testing::Range(0, int(std::size(kStrategies))),
                                          testing::ValuesIn(kPrecisions)));

// Of the six normalizations of a network with two blocks, the one of the first block's other branch is alone. The
// gradients of both branches take the same gradient of Relu, which one of them computes, and the sum of two gradients
// before it. Two gradients are one node with that of Relu, which makes Relu's result again, where a batch is whole.
TEST(BatchPlan, HasRelusAndSumsInItsRegions) {
  for (const char *strategy : {"", "strategy=data devices=2 batchnorm=local"}) {
    SCOPED_TRACE(strategy);
    const std::string kind = Kind(strategy), gradient = kind + "Grad";
    const int again = *strategy ? 0 : 2;
    const Plan plan = Compile(Blocks(), std::string("batch=8 target=cuda precision=bf16 ") + strategy);
    EXPECT_EQ(Find(plan, kind, "BatchNormalizationReluGrad").alone, again);
    for (const auto &[of, op] : {std::pair(kind, kind), {kind, "Relu"}, {gradient, gradient}, {gradient, "ReluGrad"}}) {
      SCOPED_TRACE(op);
      const Count count = Find(plan, of, op);
      EXPECT_EQ(count.members, of == gradient ? 5 - again : 5);
      EXPECT_EQ(count.alone, of == op ? 1 : 0);
    }
    EXPECT_EQ(Find(plan, kind, "Add").members, 2);
    EXPECT_EQ(Find(plan, gradient, "Add").members, 1);
  }
}

}  // namespace
}  // namespace dp_test
