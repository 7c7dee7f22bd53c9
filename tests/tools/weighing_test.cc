// A mean over several batches weighs each batch by the number of labels in its loss, as the plan counts them.
#include <cmath>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace dp_test {
namespace {

class Weighing : public Tools {
 protected:
  std::string plan_ = File("plan.bin");

  std::string Compile(const std::string &model, const std::string &words) {
    Must("dpc compile " + model + " -o " + plan_ + " --precision=fp64 " + words);
    return "dprun " + plan_ + " --quiet ";
  }
  double LastLoss(const std::string &out) {
    double loss = NAN;
    EXPECT_EQ(sscanf(out.c_str(), "loss %lf", &loss), 1) << out;
    return loss;
  }
};

const char *const kDevices[] = {"", "--strategy=data --devices=3", "--microbatches=2 --strategy=data --devices=2",
                                "--strategy=pipeline --devices=2 --microbatches=3", "--strategy=tensor --devices=2"};

// Each token is predicted from the one before it: the labels are part of the input. Seven texts of five tokens.
TEST_F(Weighing, LabelsThatAreComputed) {
  const int kTexts = 7, kTokens = 5, kWords = 4;
  const std::string model = Write("next.dpt", R"dpt(
model next {
  loss "softmax_cross_entropy(scores,next)"
  optimizer "sgd(lr=0)"
  input text: float64[N,5]
  parameter table: float64[4,3] = [0.3,-1,2, 0.7,0.1,-0.4, -2,1.5,0.2, 0.9,-0.6,1.1]
  parameter head: float64[3,4] = [1,-0.5,0.25,0.8, -1.2,0.6,1.4,-0.3, 0.05,0.9,-0.7,1.3]
  constant zero: int64[1] = [0]
  constant one: int64[1] = [1]
  constant four: int64[1] = [4]
  constant five: int64[1] = [5]
  tokens = Cast(text) {to="int64"}
  before = Slice(tokens, zero, four, one)
  next = Slice(tokens, one, five, one)
  embedded = Gather(table, before)
  scores = MatMul(embedded, head)
  output scores
}
)dpt");
  std::vector<double> texts;
  std::vector<int> labels;
  for (int s = 0; s < kTexts; s++)
    for (int t = 0; t < kTokens; t++) {
      texts.push_back((s * 3 + t * t + s * t) % kWords);
      if (t) labels.push_back(static_cast<int>(texts.back()));
    }
  const std::string data = "text=" + Write("text.npy", Npy({kTexts, kTokens}, texts));
  for (const char *devices : kDevices) {
    SCOPED_TRACE(devices);
    const std::string run = Compile(model, std::string("--batch=3 ") + devices);
    Must(run + "--infer --data " + data + " --output scores=" + File("scores.npy"));
    const Measures expected = Measure(ReadNpy(File("scores.npy")), labels);
    Must(run + "--eval-data " + data + " --metrics=" + File("metrics"));
    Event eval = Metrics(File("metrics")).at(0);
    EXPECT_NEAR(eval["loss"], expected.loss, 1e-12);
    EXPECT_NEAR(eval["accuracy"], expected.accuracy, 1e-9);
    EXPECT_NEAR(LastLoss(Must(run + "--data " + data).out), expected.loss, 1e-8) << "of an epoch, with a rate of 0";
  }
}

// The mean of each feature over the samples of a batch, compared with one target. So each batch counts as three
// numbers, however many samples it has. Batches of four samples and of one.
TEST_F(Weighing, CountsThatDoNotGrowWithTheSamples) {
  const std::string model = Write("means.dpt", R"dpt(
model means {
  loss "mse(y,target)"
  optimizer "sgd(lr=0)"
  input x: float64[N,3]
  input target: float64[3]
  parameter w: float64[3] = [2, -1, 0.5]
  mean = ReduceMean(x) {axes=[0], keepdims=0}
  y = Mul(mean, w)
  output y
}
)dpt");
  const double w[] = {2, -1, 0.5}, target[] = {1, 0.25, -3};
  std::vector<double> x;
  for (int i = 0; i < 15; i++) x.push_back(0.5 * i - 0.125 * (i % 4) * i);
  double losses[2] = {0, 0};
  for (int f = 0; f < 3; f++) {
    const double first = (x[f] + x[3 + f] + x[6 + f] + x[9 + f]) / 4;
    losses[0] += std::pow(first * w[f] - target[f], 2) / 3;
    losses[1] += std::pow(x[12 + f] * w[f] - target[f], 2) / 3;
  }
  const std::string x_file = "x=" + Write("x.npy", Npy({5, 3}, x)),
                    target_file = "target=" + Write("target.npy", Npy({3}, {target, target + 3}));
  for (const char *devices : {kDevices[0], kDevices[1]}) {
    SCOPED_TRACE(devices);
    const std::string run = Compile(model, std::string("--batch=4 ") + devices);
    const std::string out =
        Must(run + "--data " + x_file + " --data " + target_file + " --metrics=" + File("metrics")).out;
    const std::vector<Event> steps = Metrics(File("metrics"));
    ASSERT_EQ(steps.size(), 2u);
    for (size_t s = 0; s < 2; s++) EXPECT_NEAR(steps[s]["loss"], losses[s], 1e-12);
    EXPECT_NEAR(LastLoss(out), (losses[0] + losses[1]) / 2, 1e-7);
    Must(run + "--eval-data " + x_file + " --eval-data " + target_file + " --metrics=" + File("metrics"));
    EXPECT_NEAR(Metrics(File("metrics")).at(0)["loss"], (losses[0] + losses[1]) / 2, 1e-12);
  }
}

}  // namespace
}  // namespace dp_test
