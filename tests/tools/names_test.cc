// Names that weights files or the compiler reserve, and names that only look reserved. A model of each file format has
// them.
#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

std::string Replace(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Each name has twelve letters, so that another of twelve takes its place in a binary file.
const std::string parameter = "pppppppppppp", buffer = "bbbbbbbbbbbb", input = "iiiiiiiiiiii", output = "oooooooooooo";

class Names : public Tools {
 protected:
  void SetUp() override {
    Write("m.dpt", R"(model m {
  opset 18
  input )" + input + R"(: float32[N,4]
  parameter )" + parameter +
                       R"(: float32[4,3] = kaiming_uniform(4)
  buffer )" + buffer + R"(: float32[3] = [1, 2, 3]
  z = MatMul()" + input +
                       ", " + parameter + R"()
  )" + output + " = Add(z, " +
                       buffer + R"()
  output )" + output + R"(
}
)");
    Must("dpc export " + File("m.dpt") + " -o " + File("m.onnx"));
    Must("dpc import " + File("m.onnx") + " -o " + File("m.pb"));
  }

  // The command that compiles the model with one of its names replaced.
  std::string With(const std::string &ending, const std::string &from, const std::string &to) {
    const std::string good = Read(File("m" + ending)), path = Write("other" + ending, Replace(good, from, to));
    EXPECT_NE(good.find(from), std::string::npos) << ending;
    return "dpc compile " + path + " --batch=4 --optimizer=sgd(lr=0.1) --loss=mse(" + (from == output ? to : output) +
           ",t) -o " + File("m.bin");
  }
};

const char *const kEndings[] = {".dpt", ".pb", ".onnx"};

TEST_F(Names, OfStoredValues) {
  for (const char *ending : kEndings)
    for (const std::string &stored : {parameter, buffer}) {
      Refused(With(ending, stored, "__metadata__"), 65,
              {std::string("other") + ending, "cannot be called '__metadata__'", "weights files (safetensors)"});
      Refused(With(ending, stored, "dp.something"), 65,
              {std::string("other") + ending, "'dp.something'", "names that begin with 'dp.'"});
    }
}

TEST_F(Names, OfNumbersThatTheRuntimeGives) {
  for (const char *name : {"dp.lr", "dp.n", "dp.step", "dp.seed"}) Refused(With(".dpt", input, name), 65, {name});
}

// Inputs and outputs are not in files of weights.
TEST_F(Names, OfInputsAndOutputs) {
  for (const char *ending : kEndings)
    for (const std::string &end : {input, output}) Must(With(ending, end, "__metadata__"));
}

// Outputs of the model with the same names as those of train and eval.
TEST_F(Names, OfOutputsThatTrainAndEvalHaveToo) {
  for (const char *name : {"loss", "count", "correct"}) {
    SCOPED_TRACE(name);
    Must(With(".dpt", output, name));
    Must("dpc verify " + File("m.bin"));
  }
}

// Names with signs that options give a meaning.
TEST_F(Names, WithAnEqualsSignStandInQuotes) {
  const std::string path = Write("odd.dpt", R"(model odd {
  opset 18
  input "a=b": float32[N,2]
  parameter "w=1": float32[2,2] = [1, 0, 0, 1]
  "c=d" = MatMul("a=b", "w=1")
  output "c=d"
}
)"),
                    x = Write("x.npy", Npy({3, 2}, {1, 2, 3, 4, 5, 6})), plan = File("odd.bin"), y = File("y.npy");
  Must("dpc compile " + path + " --mode=infer --batch=3 --normalize \"a=b\"=1,2 -o " + plan);
  Refused("dprun " + plan + " --infer --data a=b=" + x + " --output \"c=d\"=" + y, 64, {"--data a=", "only 'a=b'"});
  Must("dpc compile " + path + " --mode=infer --batch=3 -o " + plan);
  Must("dprun " + plan + " --infer --data \"a=b\"=" + x + " --output \"c=d\"=" + y);
  EXPECT_EQ(ReadNpy(y).numbers, ReadNpy(x).numbers);
}

}  // namespace
