// dpc export --init: what was trained is what other programs get. The files are read by code of the tests' own, and the
// predictions are compared with those of the plan that was trained. tests/frontends/onnx_trained_test.py has ONNX's own
// evaluator compute them.
#include <algorithm>

#include "tests/tools/array.h"
#include "tests/tools/checkpoints.h"
#include "tests/tools/weights.h"

namespace {

const char kImages[] = " --data image=examples/data/digits/test-images-idx3-ubyte ";
const Strings kNames = {"bn.bias", "bn.running_mean", "bn.running_var", "bn.weight", "hidden.weight", "output.weight"};

// The weights of a checkpoint under the names that begin with `prefix`, which is taken off: "" leaves out the
// optimizer's state.
::Weights Named(const ::Weights &all, const std::string &prefix) {
  ::Weights some;
  for (const auto &[name, t] : all)
    if (prefix.empty() ? name.rfind("dp.", 0) != 0 : name.rfind(prefix, 0) == 0) some[name.substr(prefix.size())] = t;
  return some;
}

class Export : public Checkpoints {
 protected:
  void SetUp() override {
    Checkpoints::SetUp();
    Must(Train(Save() + "--steps=20 --save-every=10"));
  }
  ::Weights Of(int step) { return Named(SplitWeights(Weights(step)), ""); }
  std::string Command(const std::string &init, const std::string &more = "", const std::string &model = "m.dpt") {
    return "dpc export " + File(model) + " -o " + File("t.onnx") + " --init=" + init + " " + more;
  }
  // The parameters and buffers that are written.
  ::Weights Exported(const std::string &init, const std::string &more = "", const std::string &model = "m.dpt") {
    unlink(File("t.onnx").c_str());
    err_ = Must(Command(init, more, model)).err;
    ::Weights all = ReadOnnx(Read(File("t.onnx"))).initializers, some;
    for (const std::string &name : kNames) some[name] = all[name];
    return some;
  }
  std::string Infer(const std::string &plan, const std::string &more) {
    Must("dprun " + File(plan) + " --quiet --infer" + kImages + more + " --output logits=" + File("y.npy"));
    return Read(File("y.npy"));
  }
  // The predictions of a model's file.
  std::string InferModel(const std::string &model) {
    Must("dpc compile " + File(model) + " --mode=infer --batch=64 -o " + File("infer.bin"));
    return Infer("infer.bin", "");
  }
  std::string err_;
};

TEST_F(Export, CheckpointsAndFiles) {
  const ::Weights newest = Of(20), older = Of(10);
  ASSERT_EQ(newest.size(), kNames.size());
  ASSERT_FALSE(newest == older);
  EXPECT_EQ(Exported(File("run")), newest);
  EXPECT_NE(err_.find("the weights are those of " + File("run/step-20")), std::string::npos) << err_;
  EXPECT_EQ(Exported(File("run/")), newest);
  EXPECT_EQ(Exported(File("run/step-10")), older);
  EXPECT_EQ(Exported(File("run/step-10/")), older);
  EXPECT_EQ(Exported(File("run/step-10/weights.safetensors")), older);
  ASSERT_EQ(symlink("step-10", File("run/best").c_str()), 0);
  EXPECT_EQ(Exported(File("run/best")), older);
  // Several files with an index.
  ::Weights one, two;
  std::string map;
  for (const auto &[name, t] : newest) {
    const bool first = name.rfind("bn", 0) == 0;
    (first ? one : two)[name] = t;
    map += (map.empty() ? "\"" : ",\"") + name + "\":\"" + (first ? "one" : "two") + ".safetensors\"";
  }
  Write("one.safetensors", JoinWeights(one));
  Write("two.safetensors", JoinWeights(two));
  const std::string index = Write("w.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
  EXPECT_EQ(Exported(index), newest);
  // Other names, and a damaged checkpoint is passed over.
  ::Weights wrapped;
  for (const auto &[name, t] : newest) wrapped["module." + name] = t;
  wrapped["head"] = wrapped["module.output.weight"];
  wrapped.erase("module.output.weight");
  const std::string file = Write("wrapped.safetensors", JoinWeights(wrapped));
  EXPECT_EQ(Exported(file, "--init-prefix=module. --init-map head=output.weight"), newest);
  Write("run/step-20/checkpoint.json", "{}");
  EXPECT_EQ(Exported(File("run")), older);
  EXPECT_NE(err_.find("passed over a damaged checkpoint"), std::string::npos) << err_;
}

// As predictions of the plan that was trained, bit for bit, whatever form the model has and the file gets.
TEST_F(Export, TheSamePredictions) {
  const std::string wanted = Infer("plan.bin", "--init=" + File("run"));
  ASSERT_NE(wanted, Infer("plan.bin", ""));
  Must("dpc export " + File("m.dpt") + " -o " + File("m.onnx"));
  Must("dpc export " + File("m.dpt") + " -o " + File("m.pb"));
  for (const char *model : {"m.dpt", "m.onnx", "m.pb"}) {
    SCOPED_TRACE(model);
    EXPECT_EQ(Exported(File("run"), "", model), Of(20));
    EXPECT_TRUE(InferModel("t.onnx") == wanted);
    for (const char *form : {"t.pb", "t.dpt"}) {
      Must("dpc export " + File(model) + " --init=" + File("run") + " -o " + File(form));
      EXPECT_TRUE(InferModel(form) == wanted) << form;
    }
  }
  Must(Command(File("run"), "--external-data"));
  EXPECT_TRUE(InferModel("t.onnx") == wanted);
}

// Others compute what the file says, so it says what inference computes; --graph=main is the network as it trains.
TEST_F(Export, AsInferenceComputesIt) {
  Must(Command(File("run")));
  const std::set<std::string> deployed = ReadOnnx(Read(File("t.onnx"))).operators;
  EXPECT_FALSE(deployed.count("Dropout"));
  EXPECT_TRUE(deployed.count("BatchNormalization"));
  EXPECT_NE(Must("dpc show --data " + File("t.onnx")).out.find("{epsilon=1e-05}"), std::string::npos);
  Must(Command(File("run"), "--graph=main"));
  EXPECT_TRUE(ReadOnnx(Read(File("t.onnx"))).operators.count("Dropout"));
  EXPECT_NE(Must("dpc show --data " + File("t.onnx")).out.find("training_mode=1"), std::string::npos);
  // The forms of our own train on.
  Must("dpc export " + File("m.dpt") + " --init=" + File("run") + " -o " + File("t.pb"));
  EXPECT_NE(Must("dpc show " + File("t.pb")).out.find("training_mode=1"), std::string::npos);
}

// Inference takes the averages of a checkpoint, whether the plan itself averages or not.
TEST_F(Export, AveragesAreWhatIsDeployed) {
  Compile("--optimizer=adam(lr=1e-2,ema=0.9)", "ema.bin");
  Must(Train(Save("ema") + "--steps=20", "ema.bin"));
  const ::Weights all = SplitWeights(Weights(20, "ema")), averages = Named(all, "dp.ema/");
  ASSERT_EQ(averages.size(), 4u);
  ::Weights wanted = Named(all, "");
  for (const auto &[name, t] : averages) {
    EXPECT_FALSE(wanted.at(name) == t);
    wanted[name] = t;
  }
  EXPECT_EQ(Exported(File("ema")), wanted);
  const std::string measured = Infer("ema.bin", "--init=" + File("ema"));
  EXPECT_TRUE(InferModel("t.onnx") == measured);
  Must("dpc compile " + File("m.dpt") + " --mode=infer --batch=64 -o " + File("plain.bin"));
  EXPECT_TRUE(Infer("plain.bin", "--init=" + File("ema")) == measured);
  EXPECT_TRUE(Infer("plan.bin", "--init=" + File("ema")) == measured);
  // Under other names.
  ::Weights wrapped;
  for (const auto &[name, t] : Named(all, "")) wrapped["module." + name] = t;
  for (const auto &[name, t] : averages) wrapped["dp.ema/module." + name] = t;
  const std::string file = Write("wrapped.safetensors", JoinWeights(wrapped));
  EXPECT_EQ(Exported(file, "--init-prefix=module."), wanted);
  wrapped["dp.ema/module.bn.bias"].shape = {2, 12};
  Refused(Command(Write("wrapped.safetensors", JoinWeights(wrapped)), "--init-prefix=module."), 65,
          {"'dp.ema/module.bn.bias' has another shape or type than the parameter 'bn.bias'"});
}

TEST_F(Export, WhatDoesNotFitIsListed) {
  ::Weights other = Of(20);
  const ::Weights good = other;
  other["bn.wieght"] = other["bn.weight"];
  other.erase("bn.weight");
  std::swap(other["output.weight"].shape[0], other["output.weight"].shape[1]);
  const std::string file = Write("other.safetensors", JoinWeights(other));
  const Strings lists = {"missing, though the model has them: 'bn.weight'\n",
                         "unexpected, as the model has none of that name: 'bn.wieght'; did you mean 'bn.weight'?\n",
                         "of another shape or type: 'output.weight' is float32[24,10], but the model has "
                         "float32[10,24]"};
  Refused(Command(file), 65, lists);
  EXPECT_FALSE(Exists(File("t.onnx")));
  const ::Weights some = Exported(file, "--init-partial");
  for (const std::string &list : lists) EXPECT_NE(err_.find(list), std::string::npos) << err_;
  Must("dpc export " + File("m.dpt") + " -o " + File("first.onnx"));
  const ::Weights first = ReadOnnx(Read(File("first.onnx"))).initializers;
  for (const std::string &name : kNames) {
    const bool fits = name != "bn.weight" && name != "output.weight";
    EXPECT_EQ(some.at(name), (fits ? good : first).at(name)) << name;
  }
  // What is there has not been mistyped.
  ::Weights more = good;
  more["bn.weighs"] = more["bn.weight"];
  Refused(Command(Write("more.safetensors", JoinWeights(more))), 65, {"of that name: 'bn.weighs'"});
  EXPECT_EQ(Run(Command(File("more.safetensors"))).err.find("did you mean"), std::string::npos);
}

TEST_F(Export, Mistakes) {
  const std::string m = "dpc export " + File("m.dpt") + " ", out = "-o " + File("t.onnx") + " ";
  const std::string plan = "dprun " + File("plan.bin") + " --infer" + kImages;
  ASSERT_EQ(Shell("mkdir " + File("empty")).code, 0);
  for (const std::string &command : {m + out, plan}) {
    Refused(command + "--init=" + File("absent.safetensors"), 66, {"absent.safetensors"});
    Refused(command + "--init=" + File("absent/"), 66, {"absent/"});
    Refused(command + "--init=" + File("empty"), 66, {"empty", "no checkpoint", "step-N"});
    Refused(command + "--init=" + Write("bad.safetensors", "x"), 65, {"bad.safetensors"});
    for (const char *option : {"--init-map a=b", "--init-prefix=a", "--init-partial"})
      Refused(command + option, 64, {"--init=W.safetensors"});
  }
  Refused(m + "-o " + File("t.txt"), 64, {"t.txt", ".onnx, .pb or .dpt"});
  Refused(m + "-o " + File("t.pb") + " --graph=main", 64, {"--graph", "about ONNX"});
  Refused(m + out + "--train=a", 64, {"--train=a", "no ONNX file"});
  Refused("dpc export - --init=- " + out, 78, {"--init", "standard input"});
  Write("t.pb.safetensors", Weights(20));
  Refused(m + "-o " + File("t.pb") + " --init=" + File("t.pb.safetensors"), 78, {"overwrite --init"});
  // Damaged: one by its name, or all of a folder.
  std::string weights = Weights(20);
  weights.back() = static_cast<char>(weights.back() ^ 1);
  Write("run/step-20/weights.safetensors", weights);
  unlink(File("run/step-10/checkpoint.json").c_str());
  for (const std::string &command : {m + out, plan}) {
    Refused(command + "--init=" + File("run/step-20"), 65, {"step-20", "not what was saved"});
    Refused(command + "--init=" + File("run/step-10"), 66, {"step-10/checkpoint.json"});
    Refused(command + "--init=" + File("run"), 65, {"none of its 2 checkpoints is whole"});
  }
  EXPECT_FALSE(Exists(File("t.onnx")));
}

// dprun takes a folder too, and may write beside the checkpoints in it.
TEST_F(Export, TrainingBeginsWithAFolder) {
  const std::string train = "dprun " + File("plan.bin") + " " + digits + " --quiet --steps=0 ";
  Must(train + "--save=" + File("run/w.safetensors") + " --init=" + File("run"));
  EXPECT_EQ(SplitWeights(Read(File("run/w.safetensors"))), Of(20));
  Must(train + "--save=" + File("w.safetensors") + " --init=" + File("run/step-10"));
  EXPECT_EQ(SplitWeights(Read(File("w.safetensors"))), Of(10));
  Refused(train + "--init=" + File("run/step-10") + " --save=" + File("run/step-10/weights.safetensors"), 78,
          {"--save would overwrite --init"});
  const std::string one = File("plan.bin") + " " + digits + " --steps=1 --resume --save=" + File("run"),
                    other = File("plan.bin") + " --infer" + kImages + "--init=" + File("run");
  const Result result = Shell("dprun --run '" + one + "' --run '" + other + "'");
  EXPECT_EQ(result.code, 78);
  EXPECT_NE(result.err.find("--init of run 2"), std::string::npos) << result.err;
}

}  // namespace
