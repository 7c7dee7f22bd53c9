// Weights of convolutions in NHWC, with their gradients and the optimizer's state (passes/emit/layout.c): by every
// strategy networks begin and train as with plain ones, bit for bit, and what one session holds another takes, whatever
// the layout of its weights.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/cuda/precision.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/resnet.h"

namespace dp_test {
namespace {

// Odd channels and windows; three devices have uneven parts of the first weight, and nothing of some of the second.
const char kOdd[] = R"dpt(model odd {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.02)"
  input x: float32[N,1,8,8]
  parameter c0.w: float32[3,1,1,1] = kaiming_uniform()
  parameter c1.w: float32[5,3,3,2] = normal(0,0.3)
  parameter c2.w: float32[2,5,2,3] = kaiming_uniform()
  parameter fc.w: float32[10,50] = kaiming_uniform()
  constant scale: float32[] = 255
  s = Div(x, scale)
  c0 = Conv(s, c0.w)
  c1 = Conv(c0, c1.w)
  r1 = Tanh(c1)
  c2 = Conv(r1, c2.w)
  r2 = Tanh(c2)
  f = Flatten(r2)
  logits = Gemm(f, fc.w) {transB=1}
  output logits
})dpt";

struct Model {
  const char *name, *text;
  std::vector<std::string> weights;  // that lie otherwise in NHWC
  bool sums;                         // of images, whose order is that of the layout
};

const Model kModels[] = {{"residual", kResidual, {"c2.w"}, true},
                         {"convolutions", kConvolutions, {"c2.w", "c3.w"}, false},
                         {"odd", kOdd, {"c1.w", "c2.w"}, false}};

// The same network, of which other outputs need the weights plain; images lie as before.
std::string WithPlainWeights(const Model &model) {
  std::string text = model.text, outputs;
  for (size_t i = 0; i < model.weights.size(); i++) {
    const std::string name = "plain" + std::to_string(i);
    outputs += "  " + name + " = Transpose(" + model.weights[i] + ") {perm=[1,0,2,3]}\n  output " + name + "\n";
  }
  const std::string output = "  output logits\n";
  return text.insert(text.find(output) + output.size(), outputs);
}

// The second weight is split where its elements are neighbours.
std::string WithSplitChannels(const Model &model) {
  std::string text = model.text;
  return text.insert(text.find('\n', text.find("parameter c2.w")), " shard(tensor=1)");
}

const char *const kStrategies[] = {
    "",
    "no-fuse=yes",
    "microbatches=2",
    "recompute=*",
    "offload-bytes=1 offload=optimizer",
    "strategy=data devices=2 batchnorm=local",
    "strategy=data devices=2 comm-precision=bf16 batchnorm=local",
    "strategy=zero zero-stage=1 devices=2 batchnorm=local",
    "strategy=zero zero-stage=2 devices=3 batchnorm=local",
    "strategy=zero zero-stage=3 devices=3 batchnorm=local microbatches=2",
    "strategy=tensor devices=2",
    "strategy=manual mesh=tensor:2",
    "strategy=pipeline devices=2 microbatches=4",
    "strategy=zero zero-stage=2 mesh=data:2,tensor:2 batchnorm=local microbatches=2",
    "strategy=pipeline mesh=data:2,pipe:2 microbatches=2 batchnorm=local",
};

const struct {
  const char *name, *spec;
  int state;  // tensors for each parameter
} kOptimizers[] = {
    {"Sgd", "sgd(lr=0.05)", 0},
    {"Momentum", "sgd(lr=0.05,momentum=0.9,nesterov=1)", 1},
    {"AdamW", "adamw(lr=1e-3)", 2},
    {"Clipped", "adamw(lr=1e-3,clip_norm=0.1)", 2},
};

int CountVariables(const Plan &plan) {
  int nhwc = 0;
  for (size_t v = 0; v < plan->n_variables; v++) nhwc += plan->variables[v]->layout == DP__LAYOUT__NHWC;
  return nhwc;
}

// Tensors in float32 on devices whose elements lie otherwise in NHWC, and do not lie so. Without what depends on
// samples these are weights, their gradients and state.
int CountPlain(const Plan &plan) {
  int plain = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++) {
      const Dp__Program *program = plan->roles[r]->programs[p];
      for (size_t t = 0; t < program->n_tensors; t++) {
        const Dp__DeviceTensor *tensor = program->tensors[t];
        const Dp__Shape *shape = plan->graphs[program->graph]->values[tensor->value]->type->shape;
        if (tensor->dtype != DP_FLOAT32 || tensor->layout == DP__LAYOUT__NHWC || shape->n_dims != 4) continue;
        Dp__Dim *const *dims = shape->dims;
        plain += !dims[0]->scale && dims[1]->offset > 1 && dims[2]->offset * dims[3]->offset > 1;
      }
    }
  return plain;
}

TEST(WeightsLayout, HoldsResNet50) {
  for (const char *rest : {"", " strategy=zero zero-stage=2 devices=8 batchnorm=local"}) {
    SCOPED_TRACE(rest);
    const std::string options = std::string("target=cuda batch=256 optimizer=sgd(lr=0.1,momentum=0.9)") + rest;
    const Plan plan = Compile(ResNetText().Text(), options + " precision=bf16");
    EXPECT_EQ(CountVariables(plan), 2 * 17);  // 16 of 3x3 and one of 7x7, and their momentum
    int64_t elements = 0;
    for (size_t v = 0; v < plan->n_variables; v++) {
      const Dp__Variable *p = plan->variables[v];
      if (p->layout != DP__LAYOUT__NHWC || p->kind != DP_PARAMETER) continue;
      Dp__Dim *const *dims = p->type->shape->dims;
      elements += dims[0]->offset * dims[1]->offset * dims[2]->offset * dims[3]->offset;
    }
    EXPECT_EQ(elements, 11326656);
    EXPECT_EQ(CountPlain(plan), 0);
    EXPECT_EQ(CountVariables(Compile(ResNetText().Text(), options)), 0);
    EXPECT_EQ(CountVariables(Compile(ResNetText().Text(), options + " precision=bf16 layout=plain")), 0);
  }
}

// A GPU's convolutions may add up in another order in each layout.
void ExpectAlike(const Trained &found, const Trained &expected) {
  if (IsStandin()) {
    EXPECT_EQ(found.losses, expected.losses);
    for (const auto &[name, numbers] : expected.variables) EXPECT_EQ(found.variables.at(name), numbers) << name;
    return;
  }
  EXPECT_LT(LossDistance(found, expected), 1e-3);
  for (const auto &[name, numbers] : expected.variables) {
    const std::vector<double> &other = found.variables.at(name);
    double difference = 0, whole = 0;
    for (size_t i = 0; i < numbers.size(); i++) {
      difference += std::pow(other[i] - numbers[i], 2);
      whole += numbers[i] * numbers[i];
    }
    EXPECT_LE(difference, 1e-4 * whole) << name;
  }
}

class WeightsLayoutTraining : public testing::TestWithParam<std::tuple<int, int, int>> {};

// In the usual run each strategy has one optimizer with each network.
bool IsLeftOut(int model, int strategy, int optimizer) {
  return !getenv("DP_FULL") && (model + strategy) % int(std::size(kOptimizers)) != optimizer;
}

TEST_P(WeightsLayoutTraining, TrainsAsPlain) {
  const auto [m, s, o] = GetParam();
  if (IsLeftOut(m, s, o)) return;
  const Model &model = kModels[m];
  const std::string strategy = kStrategies[s];
  const bool manual = strategy.find("manual") != std::string::npos;
  if (manual && strcmp(model.name, "convolutions")) return;
  for (const std::string precision : {"bf16", "fp16"}) {
    if (!getenv("DP_FULL") && precision == "fp16" && s % 3) continue;
    const std::string options =
        "target=cuda precision=" + precision + " optimizer=" + kOptimizers[o].spec + " " + strategy;
    SCOPED_TRACE(model.name + (": " + options));
    const std::string text = manual ? WithSplitChannels(model) : model.text;
    const Plan plan = Compile(text, "batch=8 " + options);
    std::printf("%s: %s: %d variables are NHWC, %d tensors plain\n", model.name, options.c_str(), CountVariables(plan),
                CountPlain(plan));
    EXPECT_EQ(CountVariables(plan), int(model.weights.size()) * (1 + kOptimizers[o].state));
    EXPECT_EQ(CountPlain(plan), 0);
    const Trained nhwc = Train(text, options);
    if (!manual) {
      const std::string plain = WithPlainWeights(model);
      EXPECT_EQ(CountVariables(Compile(plain, "batch=8 " + options)), 0);
      const Trained weights = Train(plain, options);
      ExpectAlike(nhwc, weights);
    }
    if (model.sums) continue;
    const Trained all = Train(text, options + " layout=plain");
    ExpectAlike(nhwc, all);
  }
}

INSTANTIATE_TEST_SUITE_P(All, WeightsLayoutTraining,
                         testing::Combine(testing::Range(0, int(std::size(kModels))),
                                          testing::Range(0, int(std::size(kStrategies))),
                                          testing::Range(0, int(std::size(kOptimizers)))));

// First values are those of plain weights, element by element, by every split; and a session gives back what it takes.
TEST(WeightsLayout, TakesAndGivesPlainNumbers) {
  for (const Model &model : kModels)
    for (const char *strategy : {"", "strategy=zero zero-stage=3 devices=3 batchnorm=local",
                                 "strategy=tensor devices=2", "strategy=pipeline devices=2 microbatches=2"}) {
      SCOPED_TRACE(model.name + (std::string(": ") + strategy));
      const std::string options =
          std::string("target=cuda batch=8 precision=bf16 optimizer=adamw(lr=1e-3) ") + strategy;
      Training nhwc(Compile(model.text, options)), plain(Compile(model.text, options + " layout=plain"));
      EXPECT_EQ(nhwc.State(), plain.State());
      for (const std::string &name : model.weights) {
        std::vector<double> numbers = nhwc.Numbers(name);
        for (size_t i = 0; i < numbers.size(); i++) numbers[i] = i ? double(i) : NAN;
        nhwc.SetNumbers(name, numbers);
        const std::vector<double> back = nhwc.Numbers(name);
        EXPECT_TRUE(std::isnan(back[0]));
        for (size_t i = 1; i < back.size(); i++) EXPECT_EQ(back[i], numbers[i]) << name << i;
      }
      EXPECT_EQ(nhwc.Replicas(), "");
    }
}

// The null backend finds no two steps on the same bytes.
TEST(WeightsLayout, HasNoRaces) {
  for (const char *strategy :
       {"", "strategy=zero zero-stage=3 devices=3 batchnorm=local", "strategy=pipeline devices=2 microbatches=4"}) {
    const Plan plan =
        Compile(kConvolutions, std::string("target=cuda batch=8 precision=bf16 optimizer=adamw(lr=1e-3) ") + strategy);
    EXPECT_GT(CountVariables(plan), 0);
    EXPECT_EQ(RunNull(plan, 3, {8, 5}), "") << strategy;
  }
}

// The checker does not know kernels: a plan for another target whose variable lies so in all programs is refused when
// it is loaded.
TEST(WeightsLayout, IsRefusedWhereNoKernelTakesIt) {
  const Plan plan = Compile(kConvolutions, "target=cpu batch=8 precision=bf16");
  EXPECT_EQ(TryLoad(plan), "");
  for (size_t v = 0; v < plan->n_variables; v++) {
    Dp__Variable *variable = plan->variables[v];
    if (strcmp(variable->name, "c2.w")) continue;
    variable->layout = DP__LAYOUT__NHWC;
    for (size_t p = 0; p < plan->roles[0]->n_programs; p++) {
      const Dp__Program *program = plan->roles[0]->programs[p];
      for (size_t t = 0; t < program->n_tensors; t++)
        if (program->tensors[t]->space == DP__SPACE__PERSISTENT && program->tensors[t]->offset == variable->offset)
          program->tensors[t]->layout = DP__LAYOUT__NHWC;
    }
  }
  const std::string failure = TryLoad(plan);
  EXPECT_EQ(failure.substr(0, 3), "65:") << failure;
  EXPECT_NE(failure.find("cannot take the operands"), std::string::npos) << failure;
}

// A run goes on in another plan with what the first one holds.
TEST(WeightsLayout, GoesOnInAnotherPlan) {
  const std::string options = "target=cuda batch=8 precision=bf16 optimizer=adamw(lr=1e-3) ";
  const std::string kinds[] = {"", "layout=plain", "strategy=zero zero-stage=3 devices=2",
                               "strategy=zero zero-stage=3 devices=2 layout=plain"};
  for (const std::string &first : kinds)
    for (const std::string &second : kinds) {
      SCOPED_TRACE(first + " then " + second);
      Training whole(Compile(kConvolutions, options + first)), rest(Compile(kConvolutions, options + second));
      for (int step = 0; step < 2; step++) whole.Train(8 * step, 8), rest.Train(8 * step + 64, 8);
      for (const auto &entry : whole.State())
        if (entry.first.rfind("dp.constant", 0)) rest.SetNumbers(entry.first, whole.Numbers(entry.first));
      EXPECT_EQ(whole.Evaluate(0, 8), rest.Evaluate(0, 8));
      EXPECT_EQ(whole.Infer(0, 5), rest.Infer(0, 5));
      const double mine = whole.Train(16, 8), other = rest.Train(16, 8);
      EXPECT_NEAR(mine, other, first.substr(0, 8) == second.substr(0, 8) ? 0 : 1e-3);
    }
}

}  // namespace
}  // namespace dp_test
