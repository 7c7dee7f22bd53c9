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

// Members of the training program's regions, and nodes by themselves, that have the operator.
struct Count {
  int members = 0, alone = 0;
};

Count Find(const Plan &plan, const std::string &op) {
  Count count;
  for (const Location &at : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, at);
    count.alone += op == in->op;
    for (size_t m = 0; m < in->n_members; m++) count.members += op == in->members[m]->op;
  }
  return count;
}

class BatchPlans : public testing::TestWithParam<std::tuple<int, const char *>> {};

// In the usual run float16 and float64 have every third strategy.
TEST_P(BatchPlans, TrainAsWithoutRegions) {
  const auto &[number, precision] = GetParam();
  if (!getenv("DP_FULL") && number % 3 && (!strcmp(precision, "fp16") || !strcmp(precision, "fp64"))) return;
  const std::string options = std::string("target=cuda precision=") + precision + " " + kStrategies[number];
  const Trained separate = Train(kResidual, options + " no-fuse=yes"), joined = Train(kResidual, options);
  EXPECT_EQ(joined.losses, separate.losses);
  for (const auto &[name, numbers] : separate.variables) EXPECT_EQ(joined.variables.at(name), numbers) << name;
}

INSTANTIATE_TEST_SUITE_P(All, BatchPlans,
                         testing::Combine(testing::Range(0, int(std::size(kStrategies))),
                                          testing::ValuesIn(kPrecisions)));

// Of the five normalizations of a network with a block, the one of the block's other branch is alone. The gradients of
// both branches take the same gradient of Relu, which one of them computes.
TEST(BatchPlan, HasRelusInItsRegions) {
  for (const char *strategy : {"", "strategy=data devices=2 batchnorm=local"}) {
    SCOPED_TRACE(strategy);
    const std::string kind = *strategy ? "GroupedBatchNormalization" : "BatchNormalization";
    const Plan plan = Compile(kResidual, std::string("batch=8 target=cuda precision=bf16 ") + strategy);
    const Count forward = Find(plan, kind), gradients = Find(plan, kind + "Grad"), relus = Find(plan, "Relu"),
                relu_gradients = Find(plan, "ReluGrad");
    EXPECT_EQ(forward.members, 4);
    EXPECT_EQ(forward.alone, 1);
    EXPECT_EQ(gradients.members, 4);
    EXPECT_EQ(gradients.alone, 1);
    EXPECT_EQ(relus.members, 4);
    EXPECT_EQ(relus.alone, 0);
    EXPECT_EQ(relu_gradients.members, 4);
    EXPECT_EQ(relu_gradients.alone, 0);
  }
}

}  // namespace
}  // namespace dp_test
