// dprun with --device=cuda on stand-ins: what it says, saves and predicts is what it does on the CPU, although steps
// overlap.
#include <cstdlib>
#include <filesystem>
#include <map>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

const char *const kTargets[] = {"cpu", "cuda"};

class CudaDprun : public Tools {
 protected:
  CudaDprun() {
    setenv("XDG_CACHE_HOME", File("").c_str(), 1);
    for (const std::string target : kTargets)
      Must("dpc compile examples/mlp.dpt --precision=fp64 --strategy=data --devices=2 --batch=64 --target=" + target +
           " -o " + Plan(target));
  }
  ~CudaDprun() override {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("DP_STANDIN_SEED");
  }
  std::string Plan(const std::string &target) const { return File(target + ".bin"); }
  std::string Dprun(const std::string &target) const { return "dprun " + Plan(target) + " --device=" + target; }
};

void ExpectEqual(const std::vector<Event> &found, const std::vector<Event> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) {
    EXPECT_EQ(found[i].event, expected[i].event);
    for (const auto &[name, number] : expected[i].numbers) {
      if (name == "ms") continue;
      // The loss has 17 digits, what follows from it has 9.
      const double tolerance = name == "loss" ? 1e-12 : name == "perplexity" ? 1e-8 : 0;
      EXPECT_NEAR(found[i][name], number, tolerance * number) << i << " " << name;
    }
  }
}

// Gradients are infinite at the first scales of float16. Steps after that train, although they begin before the host
// has seen what was skipped.
TEST_F(CudaDprun, ASkippedStepSkipsNoOther) {
  const std::string model = Write("skips.dpt", R"dpt(
model skips {
  loss "mse(out,target)"
  optimizer "sgd(lr=0.001)"
  input x: float32[N,2]
  parameter w: float32[2,1] = ones
  out = MatMul(x, w)
  output out
}
)dpt");
  const std::string data = " --quiet --data x=" + Write("x.npy", Npy({32, 2}, std::vector<double>(64, 1))) +
                           " --data target=" + Write("target.npy", Npy({32, 1}, std::vector<double>(32, 0.5)));
  const std::map<std::string, std::string> expected = {{"1", "11000000"}, {"2", "10000000"}};
  for (const auto &[devices, steps] : expected)
    for (const std::string target : kTargets) {
      SCOPED_TRACE(target + " " + devices);
      Must("dpc compile " + model + " --precision=fp16 --batch=4 --strategy=data --devices=" + devices +
           " --target=" + target + " -o " + Plan(target));
      Must(Dprun(target) + data + " --metrics=" + File("skips.jsonl"));
      std::string skipped;
      for (const Event &event : Metrics(File("skips.jsonl")))
        if (event.event == "step") skipped += event["skipped"] != 0 ? "1" : "0";
      EXPECT_EQ(skipped, steps);
    }
}

// Step 4, when earlier steps would be captured and run again, has the only number that is not positive.
TEST_F(CudaDprun, CheckNanNamesTheNode) {
  const std::string model = Write("m.dpt", R"dpt(
model m {
  loss "mse(out,target)"
  optimizer "sgd(lr=0.1)"
  input x: float64[N,2]
  input target: float64[N,2]
  parameter w: float64[2,2] = [1,0.5, -0.25,1]
  root = Sqrt(x)
  product = MatMul(root, w)
  out = Relu(product)
  output out
}
)dpt");
  std::vector<double> x;
  for (int i = 0; i < 32; i++) x.push_back(i == 29 ? -3 : 1 + 0.125 * i);
  const std::string data = " --data x=" + Write("x.npy", Npy({16, 2}, x)) +
                           " --data target=" + Write("target.npy", Npy({16, 2}, std::vector<double>(32, 0.5)));
  for (const std::string target : kTargets) {
    Must("dpc compile " + model + " --batch=4 --strategy=data --devices=2 --target=" + target + " -o " + Plan(target));
    Refused(Dprun(target) + " --quiet --check-nan" + data, 65,
            {"step 4", "node 'root' (Sqrt)", "device 1", "made NaN", "1 NaN (4 numbers)", "'x' from -3 to 4.875"});
  }
}

// Two epochs of 23 steps, the last one short; checkpoints within the epochs, evaluations after them.
TEST_F(CudaDprun, TrainsAsOnTheCpu) {
  std::map<std::string, std::vector<double>> logits;
  for (const char *seed : {"0", "5"}) {
    setenv("DP_STANDIN_SEED", seed, 1);
    for (const std::string target : kTargets) {
      const std::string folder = File(target + seed);
      Must(Dprun(target) + " --epochs=2 --shuffle --save-every=7 --save=" + folder + " --metrics=" + folder +
           ".jsonl " + digits + " " + eval_digits);
      for (int step : {7, 14, 21, 28, 35, 42, 46})
        EXPECT_TRUE(Exists(folder + "/step-" + std::to_string(step))) << target << step;
      Must(Dprun(target) + " --infer --init=" + folder + "/step-46/weights.safetensors --output logits=" + folder +
           ".npy --data image=examples/data/digits/test-images-idx3-ubyte");
      logits[target] = ReadNpy(folder + ".npy").numbers;
    }
    ExpectEqual(Metrics(File(std::string("cuda") + seed + ".jsonl")),
                Metrics(File(std::string("cpu") + seed + ".jsonl")));
    ASSERT_EQ(logits["cuda"].size(), 3600u);
    for (size_t i = 0; i < 3600; i++) EXPECT_NEAR(logits["cuda"][i], logits["cpu"][i], 1e-10);
  }
}

// A checkpoint holds the step that it is named after, and no part of the next one.
TEST_F(CudaDprun, ResumesWhereItSaved) {
  for (const std::string target : kTargets) {
    const std::string folder = File(target), train = Dprun(target) + " --shuffle --save=" + folder +
                                                     " --metrics=" + folder + ".jsonl " + digits;
    Must(train + " --steps=30 --save-every=11");
    std::filesystem::remove_all(folder + "/step-30");
    Must(train + " --steps=40 --resume");
  }
  ExpectEqual(Metrics(File("cuda.jsonl")), Metrics(File("cpu.jsonl")));
}

// Files are plain: of weights and state that lie in NHWC they are those of plain ones, and each plan goes on with the
// other's.
TEST_F(CudaDprun, SavesAndResumesInAnyLayout) {
  const std::string model = Write("m.dpt", R"dpt(
model m {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adamw(lr=1e-3)"
  input image: uint8[N,1,8,8]
  parameter c1: float32[8,1,3,3] = kaiming_uniform()
  parameter c2: float32[5,8,3,2] = normal(0,0.1)
  parameter fc: float32[10,100] = kaiming_uniform()
  constant scale: float32[] = 255
  x = Cast(image) {to="float32"}
  s = Div(x, scale)
  h1 = Conv(s, c1)
  r1 = Tanh(h1)
  h2 = Conv(r1, c2)
  r2 = Tanh(h2)
  f = Flatten(r2)
  logits = Gemm(f, fc) {transB=1}
  output logits
}
)dpt");
  const std::vector<std::string> kinds = {"--layout=auto", "--layout=plain",
                                          "--layout=auto --strategy=zero --zero-stage=3 --devices=2"};
  const auto train = [&](size_t kind, const std::string &folder, const std::string &rest) {
    Must("dprun " + File("plan" + std::to_string(kind)) + " --device=cuda --shuffle --quiet --save=" + folder + " " +
         rest + " " + digits);
  };
  const auto content = [](const std::string &folder, int step) {
    std::map<std::string, std::string> files;
    const std::string checkpoint = folder + "/step-" + std::to_string(step);
    for (const auto &entry : std::filesystem::directory_iterator(checkpoint))
      if (entry.path().extension() == ".safetensors") files[entry.path().filename()] = Read(entry.path());
    EXPECT_GE(files.size(), 1u);
    return files;
  };
  for (size_t kind = 0; kind < kinds.size(); kind++) {
    Must("dpc compile " + model + " --target=cuda --precision=bf16 --batch=64 " + kinds[kind] + " -o " +
         File("plan" + std::to_string(kind)));
    const std::string shown = Must("dpc show " + File("plan" + std::to_string(kind))).out;
    EXPECT_EQ(shown.find("parameter c2: float32[5,8,3,2]") != std::string::npos, true);
    EXPECT_EQ(shown.find("nhwc persistent") != std::string::npos, kind != 1);
    train(kind, File("of" + std::to_string(kind)), "--steps=4 --save-every=2");
  }
  // Two devices add gradients in another order than one.
  EXPECT_EQ(content(File("of0"), 4), content(File("of1"), 4));
  for (size_t first = 0; first < kinds.size(); first++)
    for (size_t second = 0; second < kinds.size(); second++) {
      SCOPED_TRACE(kinds[first] + " then " + kinds[second]);
      const std::string folder = File("then" + std::to_string(first) + std::to_string(second));
      train(first, folder, "--steps=2 --save-every=2");
      train(second, folder, "--steps=4 --resume");
      const bool one = first < 2 && second < 2, two = first == 2 && second == 2;
      if (one || two) {
        EXPECT_EQ(content(folder, 4), content(File(one ? "of0" : "of2"), 4));
      }
    }
}

TEST_F(CudaDprun, NamesTheStepOfWrongData) {
  std::string labels = Read("examples/data/digits/train-labels-idx1-ubyte");
  labels[8 + 12 * 64 + 5] = 77;
  const std::string path = Write("labels", labels);
  for (const std::string target : kTargets)
    Refused(Dprun(target) + " --quiet --data image=examples/data/digits/train-images-idx3-ubyte --data label=" + path,
            65, {"step 13", "label 77 at index 5"});
}

}  // namespace
