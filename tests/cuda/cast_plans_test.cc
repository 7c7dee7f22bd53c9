// Casts of parameters to 16 bits are one launch of a step, and training has the bits of training with one launch each,
// by every strategy; none is there longer where the device's memory would not do.
#include <algorithm>
#include <cstring>

#include "tests/cuda/precision.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/gpt.h"

namespace dp_test {
namespace {

const char *const kStrategies[] = {
    "",
    "recompute=*",
    "offload-bytes=1 offload=activations",
    "strategy=data devices=2",
    "strategy=zero zero-stage=3 devices=3",
    "strategy=tensor devices=2",
    "strategy=pipeline devices=2 microbatches=4",
    "mesh=data:2,pipe:2,tensor:2 strategy=zero zero-stage=3 microbatches=2",
};

// Casts of matrices and vectors to 16 bits in the training program of the first role, and those that are in regions.
struct Casts {
  int64_t alone = 0, joined = 0, regions = 0;
};

Casts Find(const Plan &plan) {
  const Dp__Program *train = plan->roles[0]->programs[FindProgram(plan, "train")];
  Casts casts;
  for (const Location &at : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, at);
    if (in->kernel && !strcmp(in->kernel, "cuda.casts.dp.Region")) {
      casts.regions++;
      casts.joined += int64_t(in->n_members);
    }
    if (in->n_members || strcmp(in->op, "Cast")) continue;
    const Dp__DeviceTensor *x = train->tensors[in->inputs[0] - 1];
    casts.alone += x->space == DP__SPACE__PERSISTENT;
  }
  return casts;
}

class CastPlans : public testing::TestWithParam<std::tuple<int, const char *>> {};

TEST_P(CastPlans, TrainAsWithOneLaunchEach) {
  const auto &[number, precision] = GetParam();
  const std::string options = std::string("target=cuda precision=") + precision + " " + kStrategies[number];
  EXPECT_GT(Find(Compile(kMlp, "batch=8 " + options)).joined, 0);
  const Trained separate = Train(kMlp, options + " no-fuse=yes"), joined = Train(kMlp, options);
  EXPECT_EQ(joined.losses, separate.losses);
  for (const auto &[name, numbers] : separate.variables) EXPECT_EQ(joined.variables.at(name), numbers) << name;
}

INSTANTIATE_TEST_SUITE_P(All, CastPlans,
                         testing::Combine(testing::Range(0, int(std::size(kStrategies))),
                                          testing::Values("bf16", "fp16")));

std::string Transformer() { return Gpt(3, 32, 2, 97, 16); }

TEST(CastPlan, HasOneRegion) {
  for (const char *options : {"", " strategy=data devices=2", " strategy=zero zero-stage=3 devices=2"}) {
    SCOPED_TRACE(options);
    const Casts casts = Find(
        Compile(Transformer(), std::string("target=cuda batch=64 precision=bf16 optimizer=adamw(lr=1e-3)") + options));
    EXPECT_EQ(casts.regions, 1);
    EXPECT_EQ(casts.alone, 0);
    EXPECT_EQ(casts.joined, 22);  // seven of each layer, and the last product's
  }
}

int64_t Launches() {
  const dp_standin_slice *slices = nullptr;
  const int64_t count = DP_STEER(dp_standin_slices)(&slices);
  return std::count_if(slices, slices + count,
                       [&](const dp_standin_slice &slice) { return !strncmp(slice.what, "dp_Casts_", 9); });
}

// Captured and replayed too, with each copy of the inputs.
TEST(CastPlan, HasALaunchForEachRegion) {
  const Plan plan = Compile(kMlp, "target=cuda batch=8 precision=bf16");
  const int64_t regions = Find(plan).regions;
  EXPECT_GE(regions, 1);
  Training training(plan);
  for (int step = 0; step < 6; step++) {
    SCOPED_TRACE(step);
    DP_STEER(dp_standin_record)();
    training.Train(8 * step, 8);
    EXPECT_EQ(Launches(), regions);
  }
}

uint64_t Transient(const Plan &plan) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < plan->roles[0]->n_arenas; i++)
    if (plan->roles[0]->arenas[i]->space == DP__SPACE__TRANSIENT) bytes = plan->roles[0]->arenas[i]->bytes;
  return bytes;
}

TEST(CastPlan, TakesNoMoreMemory) {
  for (const char *options : {"", " recompute=*"}) {
    SCOPED_TRACE(options);
    const std::string all = std::string("target=cuda batch=64 precision=bf16 optimizer=sgd(lr=0.1)") + options;
    EXPECT_LE(Transient(Compile(Transformer(), all)), Transient(Compile(Transformer(), all + " no-fuse=yes")));
  }
}

}  // namespace
}  // namespace dp_test
