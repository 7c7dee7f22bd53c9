// --check-nan names the first node that made NaN or Inf.
#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace dp_test {
namespace {

class CheckNan : public Tools {
 protected:
  // A model of float64 numbers x and y, which both are [N,2]; the loss is of `out`.
  std::string Compile(const std::string &nodes, const std::string &words) {
    const std::string model = Write("m.dpt", R"dpt(
model m {
  loss "mse(out,target)"
  optimizer "sgd(lr=0.1)"
  input x: float64[N,2]
  input target: float64[N,2]
  parameter w: float64[2,2] = [1,0.5, -0.25,1]
  constant hole: float64[2] = [0, -inf]
)dpt" + nodes + "\n  output out\n}\n");
    Must("dpc compile " + model + " --batch=4 -o " + File("plan.bin") + " " + words);
    return "dprun " + File("plan.bin") + " --quiet --check-nan --data x=" + File("x.npy") +
           " --data target=" + File("target.npy") + " ";
  }
  void SetUp() override {
    // Sample 6, in the second batch, is the only one with a number that is not positive.
    std::vector<double> x;
    for (int i = 0; i < 16; i++) x.push_back(i == 12 ? 0 : i == 13 ? -3 : 1 + 0.125 * i);
    Write("x.npy", Npy({8, 2}, x));
    Write("target.npy", Npy({8, 2}, std::vector<double>(16, 0.5)));
  }
};

TEST_F(CheckNan, NamesNodeStepDeviceAndRanges) {
  const std::string nodes = "  root = Sqrt(x)\n  product = MatMul(root, w)\n  out = Relu(product)";
  Refused(Compile(nodes, ""), 65,
          {"step 2", "node 'root' (Sqrt)", "device 0", "made NaN", "1 NaN", "'x' from -3 to 2.875 (8 numbers)"});
  // Samples 4 and 5 are on device 0, 6 and 7 on device 1.
  Refused(Compile(nodes, "--strategy=data --devices=2"), 65,
          {"step 2", "node 'root' (Sqrt)", "device 1", "'x' from -3 to 2.875 (4 numbers)"});
}

TEST_F(CheckNan, NamesWhatMadeInf) {
  const std::string nodes = "  inverse = Reciprocal(x)\n  product = MatMul(inverse, w)\n  out = Tanh(product)";
  Refused(Compile(nodes, ""), 65, {"step 2", "node 'inverse' (Reciprocal)", "made Inf", "1 Inf", "'x' from -3 to"});
}

// Nodes that are computed together are all named; apart, the right one is.
TEST_F(CheckNan, NamesTheNodesOfARegion) {
  const std::string nodes =
      "  product = MatMul(x, w)\n  half = Mul(product, product)\n  minus = Neg(half)\n  lg = Log(minus)\n  out = "
      "Tanh(lg)";
  Refused(Compile(nodes, ""), 65, {"step 1", "made NaN", "'lg' (Log)", "'minus' (Neg)", "--no-fuse"});
  Refused(Compile(nodes, "--no-fuse"), 65, {"step 1", "node 'lg' (Log)", "made NaN", "'minus' from"});
}

// Infinities that a model was given are its own business, and no number changes.
TEST_F(CheckNan, WhatIsMeantToBeInfinitePasses) {
  const std::string nodes = "  product = MatMul(x, w)\n  sum = Add(product, hole)\n  out = Softmax(sum)";
  for (const char *fusing : {"", " --no-fuse"}) {
    const std::string checked = Compile(nodes, std::string("--strategy=data --devices=3") + fusing);
    Must(checked + "--epochs=2 --save=" + File("a.safetensors"));
    std::string plain = checked;
    plain.replace(plain.find(" --check-nan"), 12, "");
    Must(plain + "--epochs=2 --save=" + File("b.safetensors"));
    EXPECT_EQ(Read(File("a.safetensors")), Read(File("b.safetensors"))) << fusing;
  }
}

// What was saved before stays, and says so.
TEST_F(CheckNan, KeepsWhatWasSaved) {
  const std::string run = Compile("  root = Sqrt(x)\n  product = MatMul(root, w)\n  out = Relu(product)", "");
  Refused(run + "--save=" + File("run") + " --save-every=1", 65, {"step 2", "node 'root'", "step 1 was saved last"});
  EXPECT_TRUE(Exists(File("run/step-1/weights.safetensors")));
}

}  // namespace
}  // namespace dp_test
