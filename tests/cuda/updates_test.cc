// An instruction that updates many parameters is one launch, with each optimizer, also with the norm of all gradients
// clipped, and in steps that are captured and replayed. In float64 the parameters are those of the CPU's kernels.
#include <algorithm>
#include <cstring>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

constexpr int kLayers = 100;

// Parameters of one element, of a few, and of more than a block's threads take.
std::string Layers(const std::string &optimizer) {
  std::string text = "model layers {\n  loss \"mse(y,target)\"\n  optimizer \"" + optimizer +
                     "\"\n  input x: float32[N,3]\n  input target: float32[N,3]\n";
  std::string x = "x";
  for (int i = 0; i < kLayers; i++) {
    const std::string k = std::to_string(i), wide = i % 50 == 49 ? "1200" : "3";
    text += "  parameter w" + k + ": float32[3," + wide + "] = uniform(-0.05,0.05)\n  parameter b" + k +
            ": float32[1] = uniform(-0.05,0.05)\n  g" + k + " = MatMul(" + x + ", w" + k + ")\n  a" + k + " = Add(g" +
            k + ", b" + k + ")\n";
    if (wide != "3")
      text += "  s" + k + " = ReduceMean(a" + k + ") {axes=[1], keepdims=1}\n  t" + k + " = Tanh(s" + k + ")\n  h" + k +
              " = Add(t" + k + ", " + x + ")\n";
    else
      text += "  t" + k + " = Tanh(a" + k + ")\n  h" + k + " = Add(t" + k + ", " + x + ")\n";
    x = "h" + k;
  }
  return text + "  y = Identity(" + x + ")\n  output y\n}\n";
}

// Launches of a function of that name since the recording began.
int64_t Launches(const std::string &name) {
  const dp_standin_slice *slices = nullptr;
  const int64_t count = DP_STEER(dp_standin_slices)(&slices);
  return std::count_if(slices, slices + count, [&](const dp_standin_slice &slice) {
    return !strncmp(slice.what, ("dp_" + name + "_").c_str(), name.size() + 4);
  });
}

// Instructions of the program train that update parameters. Many gradients do not wait for each other's updates, but
// for the norm of all of them.
int64_t CountUpdates(const Plan &plan) {
  int64_t count = 0;
  for (const Location &at : Instructions(plan, "train", 0)) {
    const std::string kernel = At(plan, at)->kernel;
    count += kernel.rfind("cuda.update", 0) == 0 && kernel.find("Assign") == std::string::npos;
  }
  return count;
}

const struct {
  const char *name, *optimizer, *function;
  int most;  // instructions
} kCases[] = {
    {"Sgd", "sgd(lr=1e-4)", "SGD", 8},
    {"Momentum", "sgd(lr=1e-4,momentum=0.9,nesterov=1)", "SGD", 8},
    {"AdamW", "adamw(lr=1e-4)", "Adam", 8},
    {"Clipped", "adamw(lr=1e-4,clip_norm=0.1)", "Adam", 1},
};

class Updates : public testing::TestWithParam<int> {};

TEST_P(Updates, AreOneLaunchAnInstruction) {
  const auto &c = kCases[GetParam()];
  const std::string text = Layers(c.optimizer), options = " batch=2 precision=fp64";
  const Plan plan = Compile(text, "target=cuda" + options);
  const int64_t instructions = CountUpdates(plan);
  EXPECT_LE(instructions, c.most);
  Training expected(Compile(text, "target=cpu" + options)), found(plan);
  for (int step = 0; step < 6; step++) {  // both copies of the inputs are replayed in the end
    SCOPED_TRACE(step);
    DP_STEER(dp_standin_record)();
    const double loss = found.Train(2 * step, 2);
    EXPECT_EQ(Launches(c.function), instructions);
    ExpectClose({loss}, {expected.Train(2 * step, 2)}, 1e-10);
  }
  for (int i = 0; i < kLayers; i++)
    for (const char *kind : {"w", "b"}) {
      const std::string name = kind + std::to_string(i);
      SCOPED_TRACE(name);
      ExpectClose(found.Numbers(name), expected.Numbers(name), 1e-10);
    }
}

// Gradients of 16 bits that updates read as they lie.
int64_t CountNarrow(const Plan &plan) {
  int64_t count = 0;
  for (const Location &at : Instructions(plan, "train", 0)) {
    const Dp__Instruction *in = At(plan, at);
    if (std::string(in->kernel) != "cuda.updates.dp.Region") continue;
    for (size_t m = 0; m < in->n_members; m++) count += !strcmp(in->members[m]->op, "Cast");
  }
  return count;
}

// The parameters have the bits of those whose gradients are converted first. Where something else reads gradients in
// float32, the norm or what looks whether they are finite, they are converted.
TEST_P(Updates, ReadGradientsOfSixteenBits) {
  const auto &c = kCases[GetParam()];
  for (const char *precision : {"bf16", "fp16"}) {
    SCOPED_TRACE(precision);
    const std::string options = std::string("target=cuda batch=2 precision=") + precision;
    const Plan plan = Compile(Layers(c.optimizer), options);
    EXPECT_EQ(CountNarrow(plan), !strcmp(c.name, "Clipped") || !strcmp(precision, "fp16") ? 0 : 2 * kLayers);
    Training expected(Compile(Layers(c.optimizer), options + " no-fuse=yes")), found(plan);
    for (int step = 0; step < 4; step++) EXPECT_EQ(found.Train(2 * step, 2), expected.Train(2 * step, 2)) << step;
    for (int i = 0; i < kLayers; i++)
      for (const char *kind : {"w", "b"}) {
        const std::string name = kind + std::to_string(i);
        EXPECT_EQ(found.Numbers(name), expected.Numbers(name)) << name;
      }
  }
}

// Weights that an output needs plain too.
std::string WithPlainWeights() {
  std::string text = kConvolutions;
  const std::string output = "  output logits\n";
  const size_t at = text.find(output) + output.size();
  return text.insert(at,
                     "  t2 = Transpose(c2.w) {perm=[1,0,2,3]}\n  output t2\n"
                     "  t3 = Transpose(c3.w) {perm=[1,0,2,3]}\n  output t3\n");
}

struct Images {
  int64_t read = 0, written = 0;
};

// Operands and results in NHWC of what updates.
Images CountImages(const Plan &plan) {
  Images images;
  for (const Location &at : Instructions(plan, "train", 0)) {
    const Dp__Instruction *in = At(plan, at);
    const Dp__Program *train = plan->roles[0]->programs[FindProgram(plan, "train")];
    if (std::string(in->kernel) != "cuda.updates.dp.Region") continue;
    for (size_t k = 0; k < in->n_inputs; k++)
      images.read += train->tensors[in->inputs[k] - 1]->layout == DP__LAYOUT__NHWC;
    for (size_t k = 0; k < in->n_outputs; k++)
      images.written += train->tensors[in->outputs[k] - 1]->layout == DP__LAYOUT__NHWC;
  }
  return images;
}

// So it is with those that lie in NHWC, beside parameters that are plain or lie so too; c1.w lies alike in both.
TEST_P(Updates, ReadGradientsInNhwc) {
  const auto &c = kCases[GetParam()];
  const std::string options = std::string("target=cuda batch=8 precision=bf16 optimizer=") + c.optimizer;
  const bool clipped = !strcmp(c.name, "Clipped");
  for (const bool plain : {true, false}) {
    SCOPED_TRACE(plain);
    const std::string text = plain ? WithPlainWeights() : kConvolutions;
    const Plan plan = Compile(text, options);
    const Images images = CountImages(plan);
    const int kept = !strcmp(c.name, "Sgd") ? 1 : !strcmp(c.name, "Momentum") ? 2 : 3;  // of a parameter: it and state
    EXPECT_EQ(images.read, (plain ? 0 : 2 * kept) + (clipped ? 2 : 3));
    EXPECT_EQ(images.written, plain ? 0 : 2 * kept);
    Training expected(Compile(text, options + " no-fuse=yes")), found(plan);
    for (int step = 0; step < 4; step++) EXPECT_EQ(found.Train(8 * step, 8), expected.Train(8 * step, 8)) << step;
    for (const char *name : {"c1.w", "c2.w", "c3.w"}) EXPECT_EQ(found.Numbers(name), expected.Numbers(name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Updates, testing::Range(0, int(std::size(kCases))),
                         [](const auto &info) { return kCases[info.param].name; });

}  // namespace
}  // namespace dp_test
