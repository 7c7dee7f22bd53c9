// Files of PyTorch 2.11's exporters, for the networks of tests/torch/exported.py: dpc trains them for ten steps in
// float64 as PyTorch did, or refuses them and names the export that works. tests/torch/exporters.py made them and,
// where PyTorch is installed, compares many more.
#include <jansson.h>

#include <cmath>
#include <cstring>

#include "tests/tools/tool.h"

namespace {

const int kSteps = 10;

class Exporters : public Tools {
 protected:
  std::string Folder(const std::string &name) const { return "tests/frontends/exporters/" + name + "/"; }

  std::string Compile(const std::string &name, const std::string &more = "") const {
    return "dpc compile " + Folder(name) +
           "model.onnx --loss=softmax_cross_entropy(y,label) --optimizer=adamw(lr=0.003,weight_decay=0.05) "
           "--precision=fp64 --batch=4 " +
           more + " -o " + File("plan.bin");
  }

  // Trains the result of Compile.
  std::vector<double> Train(const std::string &name) {
    Must("dprun " + File("plan.bin") + " --data x=" + Folder(name) + "x.npy --data label=" + Folder(name) +
         "y.npy --quiet --steps=10 --metrics=" + File("metrics") + " --save=" + File("w.safetensors"));
    return Losses(File("metrics"));
  }

  void TrainsAsPyTorchDoes(const std::string &name, const std::string &more = "") {
    json_error_t error;
    json_t *about = json_load_file((Folder(name) + "case.json").c_str(), 0, &error);
    ASSERT_NE(about, nullptr) << error.text;
    Must(Compile(name, more));
    std::vector<double> found = Train(name);
    ASSERT_EQ(found.size(), (size_t)kSteps);
    for (size_t i = 0; i < found.size(); i++) {
      double expected = json_number_value(json_array_get(json_object_get(about, "losses"), i));
      EXPECT_NEAR(found[i], expected, 1e-9 * expected) << name << ", step " << i + 1;
    }
    json_decref(about);
  }
};

// Deduplicated initial norms, transposed weights, a head tied to the embedding, an exponent and a mask among the
// initializers.
TEST_F(Exporters, TheOptimizedLlama) {
  TrainsAsPyTorchDoes("llama-tied.optimized");
  std::string saved = Read(File("w.safetensors"));
  for (const char *name :
       {"\"blocks.1.norm1.weight\"", "\"blocks.0.attention.qkv.weight\"", "\"blocks.0.attention.mask\""})
    EXPECT_NE(saved.find(name), std::string::npos) << name;
  EXPECT_EQ(saved.find("val_"), std::string::npos);
}

TEST_F(Exporters, OnSeveralDevices) {
  TrainsAsPyTorchDoes("llama-tied.optimized", "--strategy=data --devices=3");
  TrainsAsPyTorchDoes("llama-tied.optimized", "--strategy=tensor --devices=2");
}

TEST_F(Exporters, NormalizationAsItTrains) {
  TrainsAsPyTorchDoes("cnn-norm.plain");
  TrainsAsPyTorchDoes("norm-first.optimized");
  TrainsAsPyTorchDoes("cnn-norm.script");
  TrainsAsPyTorchDoes("standardized.plain");
}

TEST_F(Exporters, WhatIsNoParameter) {
  TrainsAsPyTorchDoes("constants.optimized");
  // Such a file does not tell buffers from parameters, so what may be either is named.
  EXPECT_NE(Must(Compile("constants.script")).err.find("(--freeze=NAME for buffers): mean, std, keep\n"),
            std::string::npos);
  TrainsAsPyTorchDoes("constants.script", "--freeze=mean --freeze=std --freeze=keep");
}

// Also where the network uses a buffer as layers use their weights. "mix" is a parameter.
TEST_F(Exporters, BuffersInPlaceOfWeights) {
  EXPECT_NE(Must(Compile("fixed.script")).err.find("(--freeze=NAME for buffers): mix, basis, kernel, table\n"),
            std::string::npos);
  TrainsAsPyTorchDoes("fixed.script", "--freeze=basis --freeze=kernel --freeze=table");
  EXPECT_NE(Must(Compile("fixed.script", "--freeze=[bkt]a* --freeze=kernel")).err.find("buffers): mix\n"),
            std::string::npos);
  EXPECT_EQ(Must(Compile("fixed.script", "--freeze=[bkt]* --train=mix")).err.find("buffers)"), std::string::npos);
}

// The older exporter names them as state_dict does. In the same file from another program nothing identifies them.
TEST_F(Exporters, NumbersThatAreParameters) {
  EXPECT_NE(Must(Compile("scales.script")).err.find("(--freeze=NAME for buffers): temperature, gate, power\n"),
            std::string::npos);
  TrainsAsPyTorchDoes("scales.script");
  EXPECT_NE(Read(File("w.safetensors")).find("\"temperature\""), std::string::npos);
}

// The states of a Loop come in any order.
TEST_F(Exporters, BagsOfRows) {
  TrainsAsPyTorchDoes("dlrm.optimized");
  TrainsAsPyTorchDoes("dlrm.optimized", "--strategy=data --devices=3");
}

// A gate without a gradient, whose layer stays as it is, also after conversion to .pb, .dpt and .onnx.
TEST_F(Exporters, WhatIsDetached) {
  TrainsAsPyTorchDoes("detach.plain");
  const std::string weights = Read(File("w.safetensors"));
  for (const char *form : {"m.pb", "m.dpt", "m.onnx"}) {
    Must((strcmp(form, "m.onnx") ? "dpc import " : "dpc export ") + Folder("detach.plain") + "model.onnx -o " +
         File(form));
    Must("dpc compile " + File(form) +
         " --loss=softmax_cross_entropy(y,label) --optimizer=adamw(lr=0.003,weight_decay=0.05) --precision=fp64 "
         "--batch=4 -o " +
         File("plan.bin"));
    Train("detach.plain");
    EXPECT_EQ(Read(File("w.safetensors")), weights) << form;
  }
}

TEST_F(Exporters, AnyInitializerMayBeTrained) {
  Must("dpc import " + Folder("constants.optimized") + "model.onnx --train=mean -o " + File("m.dpt"));
  const std::string text = Read(File("m.dpt"));
  EXPECT_NE(text.find("parameter mean"), std::string::npos);
  EXPECT_NE(text.find("buffer std"), std::string::npos);
}

TEST_F(Exporters, RefusedWithTheExportThatWorks) {
  for (const char *name : {"cnn-norm.optimized", "scales.optimized"}) {
    Refused(Compile(name), 65,
            {"torch.onnx.export(model.train(), args, \"model.onnx\", dynamo=True, optimize=False)", "--as-exported"});
    Must("dpc compile " + Folder(name) + "model.onnx --mode=infer --batch=4 -o " + File("plan.bin"));
  }
}

// The caveat stays with the model in every form.
TEST_F(Exporters, ACaveatStaysWithTheModel) {
  for (const char *form : {"m.pb", "m.dpt"}) {
    Must("dpc import " + Folder("scales.optimized") + "model.onnx -o " + File(form));
    const std::string compile = "dpc compile " + File(form) +
                                " --loss=softmax_cross_entropy(y,label) --optimizer=sgd(lr=0.1) --batch=4 -o " +
                                File("plan.bin");
    Refused(compile, 65, {"folded into something: temperature"});
    Must(compile + " --as-exported");
    Must("dpc compile " + File(form) + " --mode=infer --batch=4 -o " + File("plan.bin"));
    Must("dpc export " + File(form) + " -o " + File("again.onnx"));
    Refused("dpc compile " + File("again.onnx") +
                " --loss=softmax_cross_entropy(y,label) --optimizer=sgd(lr=0.1) --batch=4 -o " + File("plan.bin"),
            65, {"temperature"});
  }
}

TEST_F(Exporters, TrainOverrulesFreeze) {
  Must(Compile("constants.optimized", "--freeze=* --train=fc2.*"));
  std::string shown = Must("dpc show " + Folder("constants.optimized") + "model.onnx").out;
  EXPECT_NE(shown.find("buffer mean"), std::string::npos);
  EXPECT_NE(shown.find("parameter fc1.weight"), std::string::npos);
  Refused(Compile("constants.optimized", "--train=fc3.*"), 64,
          {"--train=fc3.*", "no parameter has a name that matches"});
}

}  // namespace
