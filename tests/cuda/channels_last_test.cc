// Training with images in NHWC (passes/emit/layout.c): networks of convolutions in 16 bits, by every strategy, train as
// on the CPU, where all tensors are plain; almost all that is in four dims and in 16 bits lies so.
#include <cstdlib>
#include <cstring>

#include "tests/cuda/precision.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/resnet.h"

namespace dp_test {
namespace {

const struct { const char *name, *text; } kModels[] = {{"residual", kResidual}, {"convolutions", kConvolutions}};

const char *const kStrategies[] = {
    "",
    "no-fuse=yes",
    "microbatches=2",
    "recompute=*",
    "offload-bytes=1 offload=activations",
    "strategy=data devices=2 batchnorm=local",
    "strategy=data devices=2",
    "strategy=data devices=4 comm-precision=bf16 batchnorm=local",
    "strategy=zero zero-stage=3 devices=3 batchnorm=local",
    "strategy=tensor devices=2",
    "strategy=pipeline devices=2 microbatches=4",
};

// Images in 16 bits of a plan's programs in a device's memory, by layout.
struct Images {
  int plain = 0, nhwc = 0;
  int with_planes = 0;  // of those that are plain, whose planes have several elements
};

Images Count(const Plan &plan) {
  Images images;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++) {
      const Dp__Program *program = plan->roles[r]->programs[p];
      for (size_t t = 0; t < program->n_tensors; t++) {
        const Dp__DeviceTensor *tensor = program->tensors[t];
        const Dp__TensorType *type = plan->graphs[program->graph]->values[tensor->value]->type;
        if (type->shape->n_dims != 4 || dp_type_bytes(dp_dtype(tensor->dtype)) != 2) continue;
        if (tensor->space == DP__SPACE__INSIDE) continue;
        const bool nhwc = tensor->layout == DP__LAYOUT__NHWC;
        (nhwc ? images.nhwc : images.plain)++;
        images.with_planes += !nhwc && type->shape->dims[2]->offset * type->shape->dims[3]->offset > 1;
      }
    }
  return images;
}

std::string WithoutHost(const std::string &strategy) {
  return strategy.find("offload") == std::string::npos ? strategy : "";
}

// Nothing of ResNet-50 is left plain but the means of its last images, whose planes have one element.
TEST(ChannelsLast, HoldsResNet50) {
  for (const char *rest : {"", " strategy=data devices=8 batchnorm=local", " mode=infer"}) {
    SCOPED_TRACE(rest);
    const bool trains = !std::strstr(rest, "infer");
    const std::string options = std::string("target=cuda batch=256 precision=bf16") + rest;
    const Plan plan = Compile(ResNetText().Text(), options + (trains ? " optimizer=sgd(lr=0.1)" : ""));
    const Images images = Count(plan);
    EXPECT_GT(images.nhwc, trains ? 600 : 100);
    EXPECT_EQ(images.with_planes, 0);
    EXPECT_LE(images.plain, 4);
  }
}

class ChannelsLastTraining : public testing::TestWithParam<std::tuple<int, int, const char *>> {};

// In the usual run float16 and the second network have every fourth strategy.
bool IsLeftOut(int model, int strategy, const std::string &precision) {
  return !getenv("DP_FULL") && strategy % 4 && (model || precision != "bf16");
}

TEST_P(ChannelsLastTraining, TrainsAsTheCpu) {
  if (IsLeftOut(std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam()))) return;
  const char *model = kModels[std::get<0>(GetParam())].text;
  const std::string strategy = kStrategies[std::get<1>(GetParam())];
  const std::string options = " " + strategy + " precision=" + std::get<2>(GetParam());
  SCOPED_TRACE(options);
  const Images images = Count(Compile(model, "batch=8 target=cuda" + options));
  std::printf("%s: %d images are NHWC, %d plain\n", options.c_str(), images.nhwc, images.plain);
  EXPECT_GT(images.nhwc, 10);
  EXPECT_LT(4 * images.plain, images.nhwc);
  EXPECT_EQ(Count(Compile(model, "batch=8 target=cuda layout=plain" + options)).nhwc, 0);
  // The CPU has no memory of the host beside its own.
  const std::string on_cpu = WithoutHost(strategy);
  const size_t comm = on_cpu.find("comm-precision=bf16");
  const Trained cpu = Train(model, "target=cpu " + on_cpu + " precision=" + std::get<2>(GetParam()));
  const Trained wide =
      Train(model, "target=cpu " + (comm == std::string::npos ? on_cpu : std::string(on_cpu).erase(comm, 19)));
  if (IsStandin()) DP_STEER(dp_standin_seed)(1);
  const Trained cuda = Train(model, "target=cuda" + options);
  std::printf("losses %.1e apart, %.1e from float32; weights %.1e, %.1e\n", LossDistance(cuda, cpu),
              LossDistance(wide, cpu), Distance(cuda, cpu), Distance(wide, cpu));
  EXPECT_EQ(cuda.variables.size(), cpu.variables.size());
  // Where a GPU's libraries add up in another order, a few numbers round to the next one; a normalization over two
  // samples makes that as much as what 16 bits lose.
  const double share = IsStandin() ? 0.2 : 1;
  EXPECT_LT(LossDistance(cuda, cpu), share * LossDistance(wide, cpu) + 2e-5);
  EXPECT_LT(Distance(cuda, cpu), share * Distance(wide, cpu));
}

INSTANTIATE_TEST_SUITE_P(All, ChannelsLastTraining,
                         testing::Combine(testing::Range(0, int(std::size(kModels))),
                                          testing::Range(0, int(std::size(kStrategies))),
                                          testing::Values("bf16", "fp16")));

}  // namespace
}  // namespace dp_test
