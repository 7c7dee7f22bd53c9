// dpc as a user sees it: its commands, and its messages about mistakes.
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

const char mlp[] = "examples/mlp.dpt";

class Dpc : public Tools {
 protected:
  std::string Compile(const std::string &options) const {
    return std::string("dpc compile ") + mlp + " -o " + File("plan.bin") + " --batch=64 " + options;
  }
};

TEST_F(Dpc, HelpAndVersion) {
  for (const char *command : {"dpc --help", "dpc compile --help", "dpc show --help", "dpc verify --help",
                              "dpc calibrate --help", "dpc ops --help", "dprun --help"}) {
    Result result = Must(command);
    EXPECT_NE(result.out.find("Usage:"), std::string::npos) << command;
    EXPECT_NE(result.out.find("Example"), std::string::npos) << command;
    EXPECT_EQ(result.err, "") << command;
  }
  EXPECT_EQ(Must("dpc --version").out, "dpc 0.1\n");
  EXPECT_EQ(Must("dpc compile --version").out, "dpc 0.1\n");
  EXPECT_EQ(Must("dprun --version").out, "dprun 0.1\n");
}

TEST_F(Dpc, MistypedWordsAreAnsweredWithTheNearest) {
  Refused("dpc", 64, {"dpc --help"});
  Refused("dpc compil x.dpt", 64, {"'compil'", "did you mean 'compile'"});
  Refused("dpc frobnicate", 64, {"'frobnicate'"});
  Refused(Compile("--optimiser=x"), 64, {"--optimiser", "did you mean 'optimizer'"});
  Refused(Compile("--stratgy=data"), 64, {"did you mean 'strategy'"});
  Refused(Compile("--strategy=dta"), 64, {"did you mean 'data'"});
  Refused(Compile("--precision=fp61"), 64, {"--precision=fp61", "did you mean 'fp64'"});
  Refused(Compile("--comm-precision=fp16"), 64, {"--comm-precision=fp16", "choose one of fp32, bf16"});
  Refused(Compile("--precision=bf16 --keep-fp32=l*s --keep-fp32=logist"), 64,
          {"--keep-fp32=logist: no node", "did you mean 'logits'"});
  Refused(Compile("--keep-fp32=logits"), 78, {"--precision=bf16"});
  Refused(Compile("--precision=fp64 --comm-precision=bf16"), 78, {"--precision=fp64"});
  Refused(Compile("--mode=infer --comm-precision=bf16"), 78, {"--comm-precision is for training"});
  Refused(Compile("--optimizer=sgdd(lr=1)"), 64, {"sgdd", "sgd"});
  Refused(Compile("--optimizer=sgd(lr=1,momentun=0.9)"), 64, {"momentun", "momentum"});
  Refused(Compile("--loss=softmax_cross_entropy(logit,label)"), 65, {"'logit'", "did you mean 'logits'"});
  Refused(Compile("--print-after=autodif"), 64, {"did you mean 'autodiff'"});
  Refused(Compile("--freeze=nothing.*"), 64, {"nothing.*"});
  Refused(Compile("--group=hiden.bias:lr_scale=2"), 64, {"--group", "'hiden.bias:lr_scale=2'", "'hidden.bias'"});
  Refused(Compile("--group=*:lr=2"), 64, {"--group", "takes no 'lr'", "lr_scale"});
  Refused(Compile("--group=*.bias"), 64, {"--group", "'*.bias'", "GLOB"});
  Refused(Compile("--mode=infer --group=*:lr_scale=2"), 78, {"--group is for training"});
  Refused(Compile("--split imag=0"), 64, {"imag", "did you mean 'image'"});
  Refused(Compile("--batch=-3"), 64, {"--batch=-3"});
  Refused(Compile("--batch=3x"), 64, {"--batch=3x"});
  Refused(Compile("--devices=0"), 64, {"--devices=0"});
  Refused(Compile("--mesh=data"), 64, {"--mesh=data", "AXIS=N"});
  Refused(Compile("--mesh=data=2,data=2"), 64, {"data", "twice"});
  Refused(Compile("--mesh=data=2,,tensor=2"), 64, {"--mesh"});
  Refused(Compile("--mesh=micro=2,data=2"), 64, {"'micro'", "--microbatches=2"});
  Refused(Compile("--mesh=a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1"), 64, {"--mesh", "at most 7"});
  Refused(Compile("--strategy=pipeline --devices=2 --schedule=gpip"), 64, {"did you mean 'gpipe'"});
  Refused(Compile("--microbatches=0"), 64, {"--microbatches=0"});
  Refused(Compile("--target=cpx"), 64, {"--target=cpx", "did you mean 'cpu'"});
  Refused(Compile("--target=cpu:2"), 64, {"give --target=cpu"});
  Refused("dpc ops Convv", 64, {"did you mean 'Conv'"});
  Refused("dpc compile", 64, {"no model"});
  Refused("dpc compile a.dpt b.dpt", 64, {"a.dpt", "b.dpt"});
  Refused("dpc verify", 64, {"no plan"});
  EXPECT_FALSE(Exists(File("plan.bin")));
}

TEST_F(Dpc, WhatThereIsIsListed) {
  Refused(Compile("--strategy=fast"), 64, {"single, data, zero, tensor, pipeline, manual"});
  Refused(Compile("--loss=hinge(logits,label)"), 64,
          {"no loss 'hinge'", "choose one of softmax_cross_entropy, nll, mse"});
  Refused(Compile("--optimizer=ftrl(lr=1)"), 64, {"no optimizer 'ftrl'", "choose one of sgd, adam, adamw"});
  Refused(Compile("--optimizer=sgd(rate=1)"), 64, {"sgd takes no 'rate'", "it takes lr, momentum,"});
  Refused(Compile("--optimizer=sgd(schedule=cubic)"), 64, {"choose one of constant, step, cosine"});
  Refused(Compile("--precision=fp8"), 64, {"choose one of fp32, fp64, bf16, fp16"});
  Refused(Compile("--loss=mse(prediction,target)"), 65, {"no such value", "its output is: 'logits'"});
  Refused(Compile("--stop-after=everything"), 64, {"choose one of options, batch,", "place,", "emit"});
  Refused("dpc show --verison x", 64, {"did you mean 'version'"});
}

// What people pass instead of a model.
TEST_F(Dpc, FilesThatAreNoModelsAreCalledByTheirName) {
  const std::string zip("PK\3\4\0\0", 6), expected = "expected a model";
  const struct {
    const char *name;
    std::string content;
    std::vector<std::string> says;
  } cases[] = {
      {"w.safetensors",
       std::string("\x10\0\0\0\0\0\0\0{\"a\":{}}       ", 24),
       {"weights (.safetensors)", "dprun --init"}},
      {"x.npy", Npy({1}, {1}), {"NumPy (.npy)", "--data NAME=FILE"}},
      {"x.npz", zip + "arr_0.npy", {".npz"}},
      {"net.pt", zip + "archive/data.pkl", {"PyTorch", "torch.onnx.export"}},
      {"old.pth", "\x80\2\x8a\nl\xfc\x9c", {"PyTorch"}},
      {"net.h5", "\x89HDF\r\n\x1a\n", {"HDF5"}},
      {"net.bin", std::string("\x08\x0a\x12\x07pytorch", 11), {"ONNX", "ends with .onnx"}},
      {"utf16.dpt", std::string("\xff\xfem\0o\0", 6), {"UTF-16", "UTF-8"}},
      {"net.gz", "\x1f\x8b\x08", {"gzipped"}},
      {"net.json", "{}", {"JSON"}},
  };
  for (const auto &c : cases) {
    std::vector<std::string> words = c.says;
    words.insert(words.end(), {c.name, expected});
    for (const char *command : {"dpc compile ", "dpc show "}) Refused(command + Write(c.name, c.content), 65, words);
  }
  Refused("dpc show " + Write("w.onnx", cases[0].content), 65, {"expected a model in ONNX", "weights (.safetensors)"});
  // If a file starts like no known format, the reader says where it stopped.
  Refused("dpc show " + Write("x.pb", "<html>"), 65,
          {"neither a model's text, which begins with 'model', nor a complete"});
}

TEST_F(Dpc, AByteOrderMarkMayBeginAText) {
  const std::string bom = "\xef\xbb\xbf";
  EXPECT_EQ(Must("dpc show " + Write("bom.dpt", bom + Read(mlp))).out, Must(std::string("dpc show ") + mlp).out);
  Refused("dpc show " + Write("error.dpt", bom + "model m { y }"), 65, {"error.dpt:1:11"});
  Refused("dpc show " + Write("inside.dpt", "model m {" + bom + "}"), 65, {"inside.dpt:1:10"});
}

TEST_F(Dpc, OneWordForOneCountOfMicroBatches) {
  // BatchNormalization's statistics need the whole batch, so the default of four micro-batches for each stage becomes
  // one.
  const std::string model = Write("bn.dpt",
                                  "model bn {\n  loss \"mse(y,target)\"\n  optimizer \"sgd(lr=0.1)\"\n"
                                  "  input x: float32[N,4]\n  parameter w: float32[4,4] = kaiming_uniform()\n"
                                  "  parameter s: float32[4] = ones\n  parameter b: float32[4] = zeros\n"
                                  "  buffer m: float32[4] = zeros\n  buffer v: float32[4] = ones\n"
                                  "  h = MatMul(x, w)\n"
                                  "  n, _, _ = BatchNormalization(h, s, b, m, v) {training_mode=1}\n"
                                  "  y = Tanh(n)\n  output y\n}\n");
  Result result = Must("dpc compile " + model + " --batch=64 --strategy=pipeline --devices=2 -o " + File("plan.bin"));
  EXPECT_NE(result.err.find("needs the whole batch at once: a step is one micro-batch"), std::string::npos)
      << result.err;
  EXPECT_EQ(result.err.find("8 micro-batches"), std::string::npos) << result.err;
}

TEST_F(Dpc, WhatIsNotBuiltSaysSo) {
  Refused(Compile("--strategy=auto"), 69, {"--strategy=auto is not implemented"});
  EXPECT_FALSE(Exists(File("plan.bin")));
}

TEST_F(Dpc, KindsOfGpusAreNamedByTheirArchitecture) {
  for (const char *kinds : {"sm_80", "sm_80,sm_90", "sm_90a"}) Must(Compile(std::string("--target=cuda:") + kinds));
  for (const char *kinds : {"", "sm_", "90", "sm_90,", "sm_90;sm_80", "sm_9x"})
    Refused(Compile(std::string("--target=cuda:") + kinds), 64, {"sm_80,sm_90"});
  Refused(Compile("--target=cuda:sm_90,sm_75"), 69, {"--target", "sm_80"});
  for (const char *unknown : {"sm_999", "sm_80,sm_81", "sm_900"})
    Refused(Compile("--target=cuda:" + std::string(unknown)), 64, {"--target", "there is no sm_"});
}

// By hand: the gradients have 64 * 64 + 64 + 64 * 10 + 10 float32 values, the loss's sum one, and how many labels are
// refused, how many count, and how many are predicted, is 8 bytes each. Each of two devices sends and receives them
// once. The update reads weights, momentum and gradients, writes the first two, and reads the learning rate and that
// number once, or once for each tensor. The elementwise computations of a device's 32 samples: uint8 to float32, a
// division, Relu, its gradient, which labels count, which are predicted, what
// the loss divides by, and the loss's mean.
TEST_F(Dpc, WhySaysWhatIsHeldAndMoved) {
  std::string data = Must(Compile("--strategy=data --devices=2 --why")).out;
  for (const char *line :
       {"strategy data on data=2, batch 64", "  hidden.weight                    [R] 16.0 KiB of 16.0 KiB\n",
        "  parameters                       18.8 KiB of 18.8 KiB\n",
        "  AllReduce      data                 4 times     18.8 KiB\n",
        "  Broadcast      host                 1 times          8 B\n",
        "  updates                             1 times     94.0 KiB\n",
        "  elementwise                         9 times     67.3 KiB\n"})
    EXPECT_NE(data.find(line), std::string::npos) << line << data;
  std::string apart = Must(Compile("--strategy=data --devices=2 --no-fuse --why")).out;
  EXPECT_NE(apart.find("  updates                             4 times     94.0 KiB\n"), std::string::npos) << apart;
  std::string zero =
      Must(Compile("--strategy=zero --zero-stage=3 --devices=2 --optimizer=sgd(lr=0.1,momentum=0.9) --why")).out;
  for (const char *line : {"  hidden.weight                    [S(0)] 8.0 KiB of 16.0 KiB\n",
                           "  optimizer state                  9.4 KiB of 18.8 KiB\n"})
    EXPECT_NE(zero.find(line), std::string::npos) << line << zero;
}

// By hand: 64 samples in 4 micro-batches; 16 x 64 float32 values go to the second stage, which has the last layer, and
// back.
TEST_F(Dpc, WhySaysWhatStagesDo) {
  Result result = Must(Compile("--strategy=pipeline --devices=2 --microbatches=4 --why"));
  for (const char *line : {"strategy pipeline on micro=4,pipe=2, batch 64\n",
                           "train, by stage: a device of it holds and moves, 4 micro-batches\n",
                           "idle 20.0 % = (p - 1) / (m + p - 1); in this plan 20.0 %", "\ntrain, stage0: ",
                           "\neval, stage1: ", "  Send           pipe                 4 times     16.0 KiB\n"})
    EXPECT_NE(result.out.find(line), std::string::npos) << line << result.out;
  std::string shown = Must("dpc show " + File("plan.bin")).out;
  for (const char *line : {", mesh micro=4 pipe=2 (2 devices)\n", "\nrole stage0: micro 0..3 pipe 0..0\n",
                           "\nrole stage1: micro 0..3 pipe 1..1\n", "256 bytes, on stage 0\n", "    stream recv\n",
                           ", over pipe, channel 1, with stage 1", ", over pipe, channel 1, with stage 0",
                           " of micro-batch 3 transient +", "in this plan 20.0 %"})
    EXPECT_NE(shown.find(line), std::string::npos) << line;
  EXPECT_EQ(Must("dprun " + File("plan.bin") + " --explain").out, shown);
  // A note gives the number of micro-batches if nobody asked for one.
  EXPECT_NE(Must(Compile("--strategy=pipeline --devices=2")).err.find("8 micro-batches for 2 stages"),
            std::string::npos);
}

TEST_F(Dpc, AgainstAModel) {
  std::string plan = File("plan.bin"), other = Read(mlp);
  for (const char *how :
       {"", "--strategy=data --devices=3 --precision=fp64 --optimizer=adam(lr=0.1,clip_norm=1)",
        "--strategy=zero --zero-stage=3 --devices=2 --freeze=hidden.*", "--mode=infer", "--microbatches=3",
        "--strategy=pipeline --devices=3 --microbatches=5 --schedule=gpipe",
        "--mesh=data=2,pipe=2,tensor=2 --microbatches=2", "--strategy=pipeline --devices=2 --mode=infer"}) {
    Must(Compile(how));
    std::string out = Must("dpc verify " + plan + " --against=" + mlp).out;
    EXPECT_NE(out.find(std::string("the same as ") + mlp), std::string::npos) << how << out;
  }
  Must(Compile("--strategy=data --devices=2"));
  size_t at = other.find("Relu(");
  ASSERT_NE(at, std::string::npos);
  std::string changed = other;
  changed.replace(at, 5, "Tanh(");
  Refused("dpc verify " + plan + " --against=" + Write("tanh.dpt", changed), 65, {"tanh.dpt", "Relu", "Tanh"});
  changed = other;
  at = changed.find("kaiming_uniform(");
  ASSERT_NE(at, std::string::npos);
  changed.replace(at, 16, "uniform(-1,1) // ");
  Refused("dpc verify " + plan + " --against=" + Write("first.dpt", changed), 65, {"first.dpt", "other values"});
  changed = other;
  at = changed.find("transB=1");
  ASSERT_NE(at, std::string::npos);
  changed.replace(at, 8, "transB=1, alpha=2");
  Refused("dpc verify " + plan + " --against=" + Write("scaled.dpt", changed), 65, {"with another 'alpha'"});
  Refused("dpc verify " + plan + " --against=examples/digits_cnn.dpt", 65, {"digits_cnn.dpt"});
  Refused("dpc verify " + plan + " --against=" + File("absent.dpt"), 66, {"absent.dpt"});
}

// A note about stages refers to its mesh; a compilation may ask for another.
TEST_F(Dpc, StagesOfAnotherMeshCountForNothing) {
  std::string model = Write("st.dpt",
                            "model st {\n  mesh pipe=8\n  loss \"mse(y,target)\"\n  optimizer \"sgd(lr=0.1)\"\n"
                            "  input x: float32[N,4]\n  parameter w: float32[4,4] = kaiming_uniform() [stages=[5,7]]\n"
                            "  h = MatMul(x, w)\n  y = Tanh(h)\n  output y\n}\n");
  for (const char *how : {"--strategy=single", "--strategy=data --devices=2", "--strategy=pipeline --devices=2"}) {
    Must("dpc compile " + model + " -o " + File("st.bin") + " --batch=4 " + how);
    Must("dpc verify " + File("st.bin"));
  }
}

TEST_F(Dpc, ContradictionsAreNamed) {
  Refused(Compile("--devices=2"), 78, {"2 devices", "--strategy"});
  Refused(Compile("--strategy=single --devices=2"), 78, {"single"});
  Refused(Compile("--strategy=data --devices=3 --mesh=data=2,tensor=2"), 78, {"--devices=3", "4 devices"});
  Refused(Compile("--devices=8 --mesh=data=2,pipe=2"), 78, {"--mesh=data=4,pipe=2 or --mesh=data=2,pipe=4"});
  Refused(Compile("--strategy=pipeline --mesh=data=2"), 78, {"'pipe'"});
  Refused(Compile("--strategy=data --devices=2 --schedule=gpipe"), 78, {"--schedule=gpipe", "'pipe'"});
  Refused(Compile("--strategy=data --mesh=tensor=2"), 78, {"'data'"});
  Refused(Compile("--strategy=zero --mesh=tensor=2"), 78, {"'data'"});
  Refused(Compile("--strategy=data --devices=2 --zero-stage=2"), 78, {"--zero-stage", "--strategy=zero"});
  std::string model = Write("model.bin", Read(mlp));
  Refused("dpc compile --batch=64 " + model, 78, {model, "overwrite"});
  EXPECT_EQ(Read(model), Read(mlp));
}

TEST_F(Dpc, FilesThatAreMissingOrCannotBeWritten) {
  Refused("dpc compile " + File("absent.dpt"), 66, {File("absent.dpt")});
  Refused("dpc show " + File("absent.dpt"), 66, {File("absent.dpt")});
  Refused("dpc verify " + File("absent.bin"), 66, {File("absent.bin")});
  Refused("dpc compile examples", 65, {"examples", "regular file"});
  Refused("dpc compile --batch=64 " + std::string(mlp) + " -o " + File("no/such/plan.bin"), 73, {"no/such/plan.bin"});
  std::string text = Write("broken.dpt", "model m {\n  opset 18\n  y = Frobnicate(x)\n}\n");
  Refused("dpc compile " + text, 65, {text + ":3"});
  Refused("dpc show " + text, 65, {text + ":3"});
  Refused("dpc verify " + text, 65, {text});
  Refused("dpc compile " + Write("empty.pb", ""), 65, {"empty.pb"});
}

TEST_F(Dpc, CompileWritesBesideTheModelUnlessToldElsewhere) {
  std::string model = Write("net.dpt", Read(mlp));
  Result result = Must("dpc compile " + model + " --batch=64 --strategy=data --devices=2");
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("data=2"), std::string::npos) << result.err;
  EXPECT_TRUE(Exists(File("net.bin")));
  // The same model and options make the same bytes.
  Must("dpc compile " + model + " --batch=64 --strategy=data --devices=2 -o " + File("again.bin"));
  EXPECT_EQ(Read(File("net.bin")), Read(File("again.bin")));
  Result verified = Must("dpc verify " + File("net.bin"));
  EXPECT_NE(verified.out.find("conflict and are ordered"), std::string::npos) << verified.out;
}

TEST_F(Dpc, ShowPrintsModelsThatReadBackAndPlans) {
  std::string text = Must(std::string("dpc show ") + mlp).out;
  std::string again = Must("dpc show " + Write("shown.dpt", text)).out;
  EXPECT_EQ(text, again);
  EXPECT_NE(text.find("hidden.weight"), std::string::npos);
  Must(Compile("--strategy=data --devices=2"));
  std::string plan = Must("dpc show " + File("plan.bin")).out;
  for (const char *word : {"train", "eval", "init", "hidden.weight", "AllReduce", "comm"})
    EXPECT_NE(plan.find(word), std::string::npos) << word;
  Must("dpc compile " + File("shown.dpt") + " --batch=64 --strategy=data --devices=2 -o " + File("again.bin"));
  EXPECT_EQ(Read(File("again.bin")), Read(File("plan.bin")));
}

TEST_F(Dpc, PassesCanBePrintedAndStoppedAfter) {
  Result result = Must(Compile("--print-after=autodiff --stop-after=autodiff"));
  EXPECT_NE(result.out.find("dp.ReluGrad"), std::string::npos) << result.out;
  EXPECT_FALSE(Exists(File("plan.bin")));
  std::string all = Must(Compile("--print-after=all --strategy=data --devices=2")).out;
  EXPECT_NE(all.find("// after batch"), std::string::npos);
  EXPECT_NE(all.find("dp.AllReduce"), std::string::npos);
  EXPECT_TRUE(Exists(File("plan.bin")));
}

TEST_F(Dpc, ADamagedPlanIsRefusedWherever) {
  Must(Compile("--strategy=data --devices=2"));
  const std::string whole = Read(File("plan.bin"));
  ASSERT_GT(whole.size(), 1000u);
  for (size_t length : {size_t{0}, size_t{5}, size_t{31}, size_t{32}, whole.size() / 2, whole.size() - 1}) {
    std::string path = Write("cut.bin", whole.substr(0, length));
    Refused("dpc verify " + path, 65, {path});
  }
  for (size_t at = 0; at < whole.size(); at += whole.size() / 40) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::string path = Write("flipped.bin", damaged);
    Refused("dpc verify " + path, 65, {path});
    Refused("dprun " + path + " --explain", 65, {path});
  }
}

// What programs contain and devices compute by themselves, each backend that computes has a kernel for. It runs a
// sample, so that a kernel for many operators is not listed by its word alone.
TEST_F(Dpc, OpsListsWhatRunsEachOperator) {
  json_error_t error;
  json_t *all = json_loads(Must("dpc ops --json").out.c_str(), 0, &error), *op;
  ASSERT_TRUE(json_is_array(all)) << error.text;
  size_t i, computed = 0;
  json_array_foreach(all, i, op) {
    const std::string name = json_string_value(json_object_get(op, "name"));
    const bool none =
        json_is_true(json_object_get(op, "composed")) || json_is_true(json_object_get(op, "communication"));
    computed += !none;
    for (const char *backend : {"cpu", "cuda"}) {
      json_t *kernels = json_object_get(json_object_get(op, "kernels"), backend), *kernel;
      EXPECT_EQ(json_array_size(kernels) == 0, none) << backend << " and " << name;
      size_t k;
      json_array_foreach(kernels, k, kernel) {
        const std::string text = json_string_value(kernel);
        EXPECT_EQ(text.find(std::string(backend) + "."), 0u) << text;
        EXPECT_EQ(text.substr(text.size() - name.size() - 1), "." + name);
      }
    }
  }
  EXPECT_GT(computed, 130u);
  json_decref(all);
  EXPECT_NE(Must("dpc ops Gelu").out.find("\n               cuda.elementwise.Gelu\n"), std::string::npos);
  EXPECT_NE(Must("dpc ops dp.AllReduce").out.find("kernels      none"), std::string::npos);
}

TEST_F(Dpc, OpsListsEveryOperator) {
  std::string text = Must("dpc ops").out;
  for (const char *word : {"Conv", "Gemm", "dp.SGD", "dp.AllReduce", "BatchNormalization", "cpu.reference.Gemm",
                           "cpu.onednn.Conv", "transB", "S(0)"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
  json_error_t error;
  json_t *all = json_loads(Must("dpc ops --json").out.c_str(), 0, &error);
  ASSERT_TRUE(json_is_array(all)) << error.text;
  EXPECT_GT(json_array_size(all), 40u);
  json_decref(all);
  json_t *gemm = json_loads(Must("dpc ops --json Gemm").out.c_str(), 0, &error);
  ASSERT_EQ(json_array_size(gemm), 1u);
  EXPECT_TRUE(json_is_true(json_object_get(json_array_get(gemm, 0), "gradient")));
  EXPECT_FALSE(json_is_true(json_object_get(json_array_get(gemm, 0), "composed")));
  EXPECT_NE(Must("dpc ops Attention").out.find("composed     of other operators"), std::string::npos);
  json_decref(gemm);
}

}  // namespace
