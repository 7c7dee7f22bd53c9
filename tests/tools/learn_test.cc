// The network of tools/quickstart learns: trained as in the quickstart, it reads digits of other writers.
#include <cstdio>
#include <cstdlib>

#include "tests/tools/tool.h"

namespace {

class Learn : public Tools {
 protected:
  double Accuracy(const std::string &output) {
    double percent = 0;
    size_t last = output.rfind("accuracy ");
    EXPECT_NE(last, std::string::npos) << output;
    EXPECT_EQ(sscanf(output.c_str() + last, "accuracy %lf %%", &percent), 1) << output;
    return percent;
  }
};

TEST_F(Learn, DigitsOnTwoDevices) {
  // Where the CPU runs every thread of a GPU.
  if (getenv("DP_TEST_TARGET") && !getenv("DP_FULL")) GTEST_SKIP() << "takes minutes on this target: DP_FULL";
  Must("dpc compile examples/digits_cnn.dpt --strategy=data --devices=2 --batch=64 -o " + File("plan.bin"));
  Result result =
      Must("dprun " + File("plan.bin") + " " + digits + " " + eval_digits + " --epochs=30 --shuffle --seed=1");
  EXPECT_GE(Accuracy(result.out), 95.0);
}

TEST_F(Learn, TheSmallestNetworkToo) {
  Must("dpc compile examples/mlp.dpt --batch=64 -o " + File("plan.bin"));
  EXPECT_GE(
      Accuracy(Must("dprun " + File("plan.bin") + " " + digits + " " + eval_digits + " --epochs=20 --shuffle").out),
      90.0);
}

}  // namespace
