// N devices compute what one device computes: the losses of examples/digits_cnn.dpt (whole-batch normalization,
// dropout, batches that divide by no number of devices) on 1 to 10 devices and on a mesh of two axes.
#include <cmath>

#include "tests/tools/tool.h"

namespace {

class Devices : public Tools {
 protected:
  std::vector<double> Train(const std::string &model, const std::string &compile, const std::string &run) {
    Must("dpc compile " + model + " --batch=64 -o " + File("plan.bin") + " " + compile);
    Must("dprun " + File("plan.bin") + " --quiet --metrics=" + File("metrics") + " " + digits + " " + run);
    return Losses(File("metrics"));
  }

  static void ExpectClose(const std::vector<double> &found, const std::vector<double> &expected, double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); i++)
      EXPECT_NEAR(found[i], expected[i], tolerance * std::fabs(expected[i])) << "step " << i + 1;
  }

  // One epoch in float64, 1437 samples in batches of 64 with a short last one.
  void AnEpoch(const std::string &optimizer) {
    const std::string compile = "--precision=fp64 --optimizer=" + optimizer;
    std::vector<double> one = Train("examples/digits_cnn.dpt", compile, "");
    ASSERT_EQ(one.size(), 23u);
    EXPECT_LT(one[21], one[0]);
    for (const char *devices : {"2", "7"}) {
      SCOPED_TRACE(devices);
      ExpectClose(Train("examples/digits_cnn.dpt", compile + " --strategy=data --devices=" + devices, ""), one, 1e-9);
    }
  }
};

TEST_F(Devices, AnEpochOfPlainGradientDescent) { AnEpoch("sgd(lr=0.05)"); }

TEST_F(Devices, AnEpochWithMomentum) { AnEpoch("sgd(lr=0.01,momentum=0.9,weight_decay=5e-3)"); }

TEST_F(Devices, TheFirstStepInSinglePrecision) {
  std::vector<double> one = Train("examples/digits_cnn.dpt", "", "--steps=1 --shuffle --seed=3");
  for (const char *devices : {"2", "4", "6", "8", "9", "10"})
    ExpectClose(Train("examples/digits_cnn.dpt", std::string("--strategy=data --devices=") + devices,
                      "--steps=1 --shuffle --seed=3"),
                one, 1e-6);
}

// A weight that the model splits over its own axis.
TEST_F(Devices, AMeshOfDataAndTensor) {
  std::string text = Read("examples/digits_cnn.dpt");
  const std::string weight = "parameter fc.weight: float32[10,256] = kaiming_uniform()";
  ASSERT_NE(text.find(weight), std::string::npos);
  text.insert(text.find(weight) + weight.size(), " shard(tensor=0)");
  std::string model = Write("hybrid.dpt", text);
  std::vector<double> one = Train("examples/digits_cnn.dpt", "--precision=fp64", "--steps=3");
  for (const char *mesh : {"data=2,tensor=2", "data=1,tensor=3", "data=3,tensor=2"}) {
    SCOPED_TRACE(mesh);
    ExpectClose(Train(model, std::string("--precision=fp64 --strategy=data --mesh=") + mesh, "--steps=3"), one, 1e-9);
    EXPECT_NE(Must("dpc show " + File("plan.bin")).out.find("fc.weight: float64[10,256] [R,S(0)]"), std::string::npos);
  }
}

TEST_F(Devices, MoreDevicesThanSamples) {
  std::vector<double> one = Train("examples/mlp.dpt", "--precision=fp64 --batch=5", "--steps=290");
  std::vector<double> eight =
      Train("examples/mlp.dpt", "--precision=fp64 --batch=5 --strategy=data --devices=8", "--steps=290");
  ASSERT_EQ(one.size(), 290u);  // 288 steps in an epoch, the last with 2 samples
  ExpectClose(eight, one, 1e-9);
}

// 14 full batches of 100 and one of 37, which --drop-last skips; the evaluation counts every sample once.
TEST_F(Devices, DropLastAndEvaluation) {
  const std::string compile = "--precision=fp64 --batch=100 --strategy=data --devices=";
  auto train = [&](const char *devices, const std::string &more) {
    std::vector<double> numbers = Train("examples/mlp.dpt", compile + devices, more + " " + eval_digits);
    Event last = Metrics(File("metrics")).back();
    EXPECT_EQ(last["samples"], 360);
    numbers.push_back(last["loss"]);
    numbers.push_back(last["accuracy"]);
    return numbers;
  };
  std::vector<double> whole = train("1", "--epochs=1"), one = train("1", "--epochs=2 --drop-last");
  ASSERT_EQ(whole.size(), 15u + 2u);
  ASSERT_EQ(one.size(), 2 * 14u + 2u);
  for (size_t i = 0; i < 14; i++) EXPECT_EQ(one[i], whole[i]);
  for (const char *devices : {"2", "3", "8", "10"}) {
    SCOPED_TRACE(devices);
    std::vector<double> several = train(devices, "--epochs=2 --drop-last");
    ExpectClose(several, one, 1e-9);
    EXPECT_EQ(several.back(), one.back()) << "accuracy";
  }
}

}  // namespace
