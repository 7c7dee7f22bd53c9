// The attribute `inplace` is a hint: training gives the same bits with and without it, and the gradient matches central
// differences even if a skip connection uses the operand of an in-place activation again.
#include <cmath>
#include <regex>

#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// c1 is read by Relu and then added to a later result; only Tanh reads s. Average pooling avoids ties.
const char kSkip[] = R"dpt(model skip {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=1)"
  input image: float32[N,1,8,8]
  constant scale: float32[] = 255
  parameter w1: float32[4,1,3,3] = kaiming_uniform()
  parameter b1: float32[4] = kaiming_uniform(9)
  parameter w2: float32[4,4,3,3] = kaiming_uniform()
  parameter b2: float32[4] = kaiming_uniform(36)
  parameter w3: float32[10,16] = kaiming_uniform()
  x = Div(image, scale)
  c1 = Conv(x, w1, b1) {pads=[1,1,1,1]}
  r1 = Relu(c1) {inplace=1}
  c2 = Conv(r1, w2, b2) {inplace=0, pads=[1,1,1,1]}
  r2 = LeakyRelu(c2) {inplace=1, alpha=0.2}
  s = Add(r2, c1) {inplace=1}
  t = Tanh(s) {inplace=1}
  p = AveragePool(t) {kernel_shape=[4,4], strides=[4,4]}
  f = Flatten(p) {inplace=1}
  logits = Gemm(f, w3) {transB=1}
  output logits
})dpt";

const char *const kParameters[] = {"w1", "b1", "w2", "b2", "w3"};

std::string Options(int devices) { return "batch=6 precision=fp64 strategy=data devices=" + std::to_string(devices); }

TEST(InPlace, ChangesNothing) {
  std::string plain = std::regex_replace(kSkip, std::regex(R"(inplace=[01],? ?)"), "");
  ASSERT_EQ(plain.find("inplace"), std::string::npos);
  for (int devices : {1, 3}) {
    Training hinted(Compile(kSkip, Options(devices))), other(Compile(plain, Options(devices)));
    EXPECT_EQ(hinted.TrainAll({6, 4}), other.TrainAll({6, 4}));
    EXPECT_EQ(hinted.State(), other.State());
  }
}

TEST(InPlace, TheGradientIsThatOfDifferences) {
  const double step = 1e-5;
  for (int devices : {1, 2}) {
    Training training(Compile(kSkip, Options(devices)));
    std::map<std::string, std::vector<double>> before, after;
    for (const char *name : kParameters) before[name] = training.Numbers(name);
    training.Train(0, 6);
    for (const char *name : kParameters) after[name] = training.Numbers(name);
    for (const char *name : kParameters) training.SetNumbers(name, before[name]);
    for (const char *name : kParameters)
      for (size_t i = 0; i < before[name].size(); i += 1 + before[name].size() / 16) {
        double losses[2];
        for (int side = 0; side < 2; side++) {
          std::vector<double> moved = before[name];
          moved[i] += side ? step : -step;
          training.SetNumbers(name, moved);
          losses[side] = training.Evaluate(0, 6);
        }
        training.SetNumbers(name, before[name]);
        EXPECT_NEAR(before[name][i] - after[name][i], (losses[1] - losses[0]) / (2 * step), 1e-7) << name << " " << i;
      }
  }
}

// The hint allows nothing that the graph does not: Relu must not write where the skip connection reads; Tanh may.
TEST(InPlace, FollowsFromWhoReads) {
  Plan plan = Compile(kSkip, Options(1) + " no-fuse=yes");
  const Dp__Program *train = plan->roles[0]->programs[FindProgram(plan, "train")];
  std::map<std::string, bool> in_place;
  for (const Location &location : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, location);
    if (!in->n_inputs || !in->inputs[0] || !in->outputs[0]) continue;
    const Dp__DeviceTensor *x = train->tensors[in->inputs[0] - 1], *y = train->tensors[in->outputs[0] - 1];
    in_place[in->op] = x->space == DP__SPACE__TRANSIENT && x->space == y->space && x->offset == y->offset;
    EXPECT_EQ(in->n_attributes && std::string(in->attributes[0]->name) == "inplace", false);
  }
  EXPECT_FALSE(in_place.at("Relu"));
  EXPECT_TRUE(in_place.at("Add"));
  EXPECT_TRUE(in_place.at("Tanh"));
  EXPECT_TRUE(in_place.at("ReluGrad"));
}

}  // namespace
}  // namespace dp_test
