// What dprun says about wrong options, data and weights: exit codes, and messages that name the place.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

const std::string folder = "examples/data/digits/";
const std::string images = "--data image=" + folder + "train-images-idx3-ubyte ";
const std::string labels = "--data label=" + folder + "train-labels-idx1-ubyte ";

class DprunErrors : public Tools {
 protected:
  void SetUp() override {
    Must("dpc compile examples/mlp.dpt --batch=64 --strategy=data --devices=2 -o " + File("plan.bin"));
    plan_ = "dprun " + File("plan.bin") + " ";
  }
  // An IDX file of bytes.
  std::string Idx(const std::string &name, const std::vector<int> &shape, const std::string &data) {
    std::string text("\0\0\x08", 3);
    text += static_cast<char>(shape.size());
    for (int extent : shape)
      for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(extent >> shift);
    return Write(name, text + data);
  }
  std::string plan_;
};

TEST_F(DprunErrors, Options) {
  Refused("dprun", 64, {"no plan"});
  Refused(plan_, 64, {"no data", "--data image=FILE --data label=FILE"});
  Refused(plan_ + images + labels + "--epoch=3 --steps=2", 78, {"--epochs", "--steps"});
  Refused(plan_ + images + labels + "--epochs=-1", 64, {"--epochs=-1"});
  Refused(plan_ + images + labels + "--steps=two", 64, {"--steps=two"});
  Refused(plan_ + images + labels + "--seed=-1", 64, {"--seed=-1"});
  Refused(plan_ + images + labels + "--seed=18446744073709551616", 64, {"--seed"});
  Refused(plan_ + images + labels + "--shufle", 64, {"did you mean 'shuffle'"});
  Refused(plan_ + images + labels + "--threads=0", 64, {"--threads=0"});
  Refused(plan_ + images + labels + "--device=cpx", 64, {"--device=cpx", "did you mean 'cpu'"});
  Refused(plan_ + images + labels + "--device=gpu", 64, {"--device=gpu", "give cpu, cuda\n"});
  Refused(plan_ + images + labels + "--device=cpu:2", 64, {"give --device=cpu"});
  Refused(plan_ + images + images, 64, {"twice", "image"});
  Refused(plan_ + "--data image", 64, {"NAME=FILE"});
  Refused(plan_ + images, 64, {"'label'", "--data label=FILE"});
  Refused(plan_ + images + labels + "--data lable=x", 64, {"lable", "did you mean 'label'"});
  Refused(plan_ + images + labels + "--eval-data image=x", 64, {"'label'", "--eval-data"});
  Refused(plan_ + images + labels + "--device=gpu", 64, {"--device=gpu", "give cpu, cuda"});
}

// Options that dprun does not have.
TEST_F(DprunErrors, FilesOfAnotherFormAreCalledByTheirName) {
  const std::string npy = Write("x.npy", Npy({1}, {1})),
                    zip = Write("x.pt", std::string("PK\3\4") + "archive/data.pkl");
  Refused("dprun " + npy, 65, {"x.npy", "expected a plan", "NumPy"});
  Refused("dprun examples/mlp.dpt", 65, {"mlp.dpt", "expected a plan", "model's text", "dpc compile"});
  Refused(plan_ + images + labels + "--init=" + zip, 65, {"x.pt", "expected weights (.safetensors)", "PyTorch"});
  Refused(plan_ + images + "--data label=" + zip, 65, {"x.pt", "expected data as IDX, .npy", "PyTorch"});
  Refused(plan_ + images + "--data label=" + Write("x.txt", "1,2\n"), 65, {"x.txt", "expected data as IDX, .npy"});
}

TEST_F(DprunErrors, WhatIsWrittenHasTheFormThatItsNamePromises) {
  const std::string infer = plan_ + "--infer " + images;
  for (const char *name : {"x.csv", "x.txt", "x.npz", "x.whatever"})
    Refused(infer + "--output logits=" + File(name), 64, {name, "a NumPy array", ".npy"});
  Refused(plan_ + images + labels + "--metrics=" + File("m.csv"), 64, {"m.csv", "JSON lines", ".jsonl"});
  Refused(plan_ + images + labels + "--trace=" + File("t.html"), 64, {"t.html", "JSON", ".json"});
  mkdir(File("a.b").c_str(), 0700);
  Must(infer + "--output logits=" + File("a.b/no_ending") + " --device=cpu");
}

TEST_F(DprunErrors, EachOptionWritesAFileOfItsOwn) {
  const std::string train = plan_ + images + labels, infer = plan_ + "--infer " + images;
  mkdir(File("folder").c_str(), 0700);
  const std::string m = File("m.json"), again = File("folder/../m.json"), y = File("y.npy");
  Refused(train + "--metrics=" + m + " --trace=" + again, 78, {"--metrics", "--trace", "m.json"});
  Refused(infer + "--output logits=" + y + " --output scores=" + y, 78, {"--output logits", "--output scores"});
  Refused(train + "--save=" + File("m.safetensors") + " --metrics=" + File("m.safetensors"), 78,
          {"--metrics", "--save"});
  Refused(train + "--metrics=- --trace=-", 78, {"--metrics", "--trace", "standard output"});
  Refused(infer + "--metrics=- --output logits=-", 78, {"--metrics", "--output logits", "standard output"});
  Refused("dprun " + File("plan.bin") + " --data image=- --data label=-", 78,
          {"--data image", "--data label", "standard input"});
  Refused("dprun - --data image=- " + labels, 78, {"the plan", "--data image", "standard input"});
  Refused(train + "--save=-", 64, {"--save=-"});
  for (const std::string option : {"--tensorboard", "--resume", "--make-code"})
    Refused(train + option + "=-", 64, {option + "=-", "name a folder"});
  EXPECT_FALSE(Exists("-"));
  ASSERT_EQ(symlink(m.c_str(), File("link.json").c_str()), 0);
  Write("m.json", "");
  Refused(train + "--metrics=" + m + " --trace=" + File("link.json"), 78, {"--metrics", "--trace"});
  EXPECT_FALSE(Exists(y));
}

TEST_F(DprunErrors, FilesThatAreMissingOrCannotBeWritten) {
  Refused("dprun " + File("absent.bin"), 66, {"absent.bin"});
  Refused("dprun " + File("absent.bin") + " " + images + labels, 66, {"absent.bin"});
  Refused(plan_ + labels + "--data image=" + File("absent"), 66, {File("absent")});
  Refused(plan_ + images + labels + "--init=" + File("absent.safetensors"), 66, {"absent.safetensors"});
  Refused(plan_ + images + labels + "--save=" + File("no/w.safetensors"), 73, {"no/w.safetensors"});
  Refused(plan_ + images + labels + "--metrics=" + File("no/metrics"), 73, {"no/metrics"});
  Refused(plan_ + images + labels + "--trace=" + File("no/trace"), 73, {"no/trace"});
  mkdir(File("folder.safetensors").c_str(), 0700);
  Refused(plan_ + images + labels + "--save=" + File("folder.safetensors"), 73, {"folder.safetensors"});
}

TEST_F(DprunErrors, NothingThatIsReadIsWrittenOver) {
  std::string data = Write("data.safetensors", Read(folder + "train-images-idx3-ubyte"));
  Refused(plan_ + labels + "--data image=" + data + " --save=" + data, 78, {"overwrite"});
  Refused(plan_ + labels + "--data image=" + data + " --metrics=" + data, 78, {"overwrite"});
  Refused(plan_ + images + labels + "--trace=" + File("plan.bin"), 78, {"overwrite"});
  Refused(plan_ + images + labels + "--save=" + File("plan.bin.safetensors"), 78, {"overwrite"});
  ASSERT_EQ(link(data.c_str(), File("linked.safetensors").c_str()), 0);
  Refused(plan_ + labels + "--data image=" + data + " --save=" + File("linked.safetensors"), 78, {"overwrite"});
  EXPECT_EQ(Read(data), Read(folder + "train-images-idx3-ubyte"));
}

TEST_F(DprunErrors, Data) {
  const std::string image(64, 'x');
  auto with = [&](const std::string &image_file, const std::string &label_file) {
    return plan_ + "--data image=" + image_file + " --data label=" + label_file;
  };
  std::string two = Idx("two", {2, 8, 8}, image + image), two_labels = Idx("two_labels", {2}, "\3\4");
  Must(with(two, two_labels));
  Refused(with(two, Idx("three_labels", {3}, "\1\2\3")), 65, {"'image' has 2", "'label' has 3"});
  Refused(with(Idx("small", {2, 7, 8}, image + image.substr(16)), two_labels), 65, {"small", "7", "[N,1,8,8]"});
  Refused(with(Idx("cut", {2, 8, 8}, image), two_labels), 65, {"cut", "64 bytes", "128"});
  Refused(with(Idx("long", {1, 8, 8}, image + "x"), two_labels), 65, {"long", "more data"});
  Refused(with(Idx("huge", {1 << 30, 1 << 30, 1 << 30}, image), two_labels), 65, {"huge"});
  Refused(with(Idx("none", {0, 8, 8}, ""), Idx("no_labels", {0}, "")), 65, {"no samples"});
  Refused(with(Write("text", "hello, world"), two_labels), 65, {"text", "IDX"});
  Refused(with(two, Idx("wrong", {2}, "\3\x0a")), 65, {"step 1", "label 10 at index 1", "0..9"});
  Refused(with("/dev/zero", two_labels), 65, {"/dev/zero", "regular file"});
  Refused(with(two, two_labels) + " --drop-last", 78, {"--drop-last", "2 samples"});
}

TEST_F(DprunErrors, Weights) {
  const std::string train = plan_ + images + labels + "--steps=1 ";
  Must(train + "--save=" + File("w.safetensors"));
  const std::string good = Read(File("w.safetensors"));
  auto replaced = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    EXPECT_EQ(from.size(), to.size());
    return Write("damaged.safetensors", text.replace(at, from.size(), to));
  };
  Must(train + "--init=" + File("w.safetensors"));
  Refused(train + "--init=" + replaced("output.bias", "outputt.bia"), 65, {"outputt.bia", "damaged.safetensors"});
  Refused(train + "--init=" + replaced("[10,64]", "[64,10]"), 65,
          {"output.weight", "float32[64,10]", "float32[10,64]"});
  Refused(train + "--init=" + replaced("\"F32\"", "\"I32\""), 65, {"int32", "float32"});
  Refused(train + "--init=" + Write("cut.safetensors", good.substr(0, good.size() - 1)), 65, {"cut.safetensors"});
  Refused(train + "--init=" + File("plan.bin"), 65, {"plan.bin"});
}

}  // namespace
