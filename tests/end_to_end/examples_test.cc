// The networks of examples/ are what their names say: they have as many parameters as PyTorch's, and they learn.
//
// The numbers come from PyTorch: the features of torchvision's vgg11 and a layer of 512 x 10; the usual ResNet-18 for
// CIFAR-10; and Conv2d and Linear layers with the sizes of mnist_cnn.
#include <algorithm>
#include <cmath>

#include "ir/graph/graph.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

struct Example {
  const char *file;
  int64_t parameters, tensors, buffers;  // buffers: numbers in them
};

const Example kExamples[] = {
    {"examples/mnist_cnn.dpt", 25775882, 8, 0},
    {"examples/vgg11.dpt", 9220480 + 5130, 18, 0},
    {"examples/resnet18.dpt", 11173962, 62, 9600},
};

class Examples : public testing::TestWithParam<Example> {};

// Two similar pictures for each label.
double Picture(const std::string &input, int64_t sample, int64_t element) {
  if (input == "label") return double(sample % 10);
  return double((sample % 10 * 7919 + element * (31 + sample % 10)) % 256);
}

TEST_P(Examples, HasAsManyParametersAsInPyTorch) {
  Plan plan = Compile(ReadText(GetParam().file), "batch=2");
  int64_t parameters = 0, tensors = 0, buffers = 0;
  for (size_t i = 0; i < plan->n_variables; i++) {
    const Dp__Variable *p = plan->variables[i];
    int64_t count = 1;
    for (size_t d = 0; d < p->type->shape->n_dims; d++) count *= p->type->shape->dims[d]->offset;
    if (p->kind == DP_PARAMETER) parameters += count, tensors++;
    if (p->kind == DP_BUFFER) buffers += count;
  }
  EXPECT_EQ(parameters, GetParam().parameters);
  EXPECT_EQ(tensors, GetParam().tensors);
  EXPECT_EQ(buffers, GetParam().buffers);
}

TEST_P(Examples, Learns) {
  RunOptions run;
  run.workers = 2;
  run.feed = Picture;
  std::vector<double> losses[2];
  for (int devices : {1, 2}) {
    Training training(Compile(ReadText(GetParam().file),
                              "batch=10 optimizer=sgd(lr=0.01) strategy=data devices=" + std::to_string(devices)),
                      run);
    for (int step = 0; step < 2; step++) losses[devices - 1].push_back(training.Train(0, 10));
  }
  EXPECT_NEAR(losses[0][0], std::log(10), 0.5) << "ten labels, nothing learnt yet";
  EXPECT_LT(losses[0][1], losses[0][0]);
  ExpectClose({losses[1][0]}, {losses[0][0]}, 1e-5);
  ExpectClose({losses[1][1]}, {losses[0][1]}, 1e-2);  // rounding turns some units on or off
}

INSTANTIATE_TEST_SUITE_P(, Examples, testing::ValuesIn(kExamples), [](const auto &info) {
  std::string file = info.param.file;
  return file.substr(9, file.size() - 13);
});

}  // namespace
}  // namespace dp_test
