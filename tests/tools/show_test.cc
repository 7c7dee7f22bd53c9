// dpc show and --print-after leave large data out. The text names the file that has it, and reads back beside that
// file.
#include <unistd.h>

#include <regex>

#include "tests/tools/tool.h"

namespace {

class Show : public Tools {
 protected:
  void SetUp() override {
    Must("dpc export examples/digits_cnn.dpt -o " + onnx_);
    whole_ = Must("dpc show " + onnx_ + " --data").out;
    short_ = Must("dpc show " + onnx_).out;
  }
  std::string Shown(const std::string &name, const std::string &text, const std::string &options = "") {
    return Must("dpc show " + Write(name, text) + " " + options).out;
  }
  std::string onnx_ = File("net.onnx"), whole_, short_;
};

TEST_F(Show, TextWithoutDataReadsBackBesideItsFile) {
  EXPECT_GT(whole_.size(), 100000u);
  EXPECT_LT(short_.size(), 10000u);
  EXPECT_TRUE(std::regex_search(
      short_, std::regex("^// The data of [0-9]+ tensors, [0-9]+ bytes, is left out\\. This text reads "
                         "it from \"net\\.onnx\"")))
      << short_.substr(0, 300);
  EXPECT_NE(short_.find("\" of \"net.onnx\""), std::string::npos);
  EXPECT_EQ(whole_.find("elided"), std::string::npos);
  EXPECT_EQ(Shown("net.dpt", short_, "--data"), whole_);
  // The text of a text, and an edited text.
  EXPECT_EQ(Shown("again.dpt", Must("dpc show " + File("net.dpt")).out, "--data"), whole_);
  std::string edited = short_;
  edited.replace(edited.find("Relu("), 5, "Tanh(");
  Must("dpc compile " + Write("edited.dpt", edited) + " --batch=64 --mode=infer -o " + File("plan.bin"));
  // A text with all data reads back anywhere.
  EXPECT_EQ(Shell("mkdir " + File("folder")).code, 0);
  EXPECT_EQ(Shown("folder/alone.dpt", whole_, "--data"), whole_);
  // The examples' initial values, rules and small numbers, are printed in full.
  EXPECT_EQ(Must("dpc show examples/mlp.dpt").out, Must("dpc show examples/mlp.dpt --data").out);
}

TEST_F(Show, DataThatIsNotThereIsSaidInASentence) {
  const std::string text = Write("net.dpt", short_);
  ASSERT_EQ(rename(onnx_.c_str(), File("moved.onnx").c_str()), 0);
  Refused("dpc show " + text, 66, {"net.dpt:", "the data was left in", "net.onnx", "put it beside the text"});
  Must("dpc export examples/mlp.dpt -o " + onnx_);
  Refused("dpc show " + text, 65, {"net.dpt:", "net.onnx has no float32", "XXH3", "not the file"});
  Shell("cat " + File("moved.onnx") + " | dpc show - > " + File("piped.dpt"));
  EXPECT_NE(Read(File("piped.dpt")).find("No file has it, so this text does not read back"), std::string::npos);
  Refused("dpc show " + File("piped.dpt"), 65, {"no file has it", "--data"});
}

// The model after a pass. Data that passes computed is printed, because no file has it.
TEST_F(Show, PassesPrintNoDataThatTheFileHas) {
  const std::string compile = "dpc compile " + onnx_ + " --batch=64 --mode=infer -o " + File("plan.bin");
  const std::string stop = " --print-after=place --stop-after=place";
  const std::string text = Must(compile + stop).out, whole = Must(compile + stop + " --print-data").out;
  EXPECT_GT(whole.size(), 100000u);
  EXPECT_LT(text.size(), 20000u);
  EXPECT_EQ(text.find("// after place\n// The data of "), 0u) << text.substr(0, 200);
  EXPECT_NE(text.find("`dpc compile --print-data` prints it"), std::string::npos);
  EXPECT_NE(text.find("\" of \"net.onnx\""), std::string::npos);
  EXPECT_EQ(whole.find("elided"), std::string::npos);
  EXPECT_EQ("// after place\n" + Shown("placed.dpt", text, "--data"), whole);
  // After all passes, each text names the file.
  const std::string all = Must(compile + " --print-after=all").out;
  EXPECT_LT(all.size(), 1000000u);
  EXPECT_NE(all.find("// after emit\n// The data of "), std::string::npos);
  // In float64 the weights are other tensors.
  const std::string wide = Must(compile + stop + " --precision=fp64").out;
  EXPECT_EQ(wide.find("elided"), std::string::npos);
  EXPECT_EQ("// after place\n" + Shown("wide.dpt", wide, "--data"), wide);
  const std::string piped =
      Shell("cat " + onnx_ + " | dpc compile - --batch=64 --mode=infer -o " + File("p.bin") + stop).out;
  EXPECT_NE(piped.find("No file has it, so this text does not read back"), std::string::npos) << piped.substr(0, 300);
  Refused(compile + " --print-data", 64, {"--print-data needs --print-after=PASS"});
}

TEST_F(Show, NamesStayBesideTheText) {
  auto named = [&](const std::string &file) {
    return Write("named.dpt", std::regex_replace(short_, std::regex("of \"net.onnx\""), "of \"" + file + "\""));
  };
  EXPECT_EQ(Shell("mkdir " + File("folder") + " && cp " + onnx_ + " " + File("folder")).code, 0);
  for (const std::string &file :
       {std::string("folder/net.onnx"), std::string("../net.onnx"), onnx_, std::string(".."), std::string("-")})
    Refused("dpc show " + named(file), 65, {"expected the name of a file beside the text"});
  ASSERT_EQ(symlink(onnx_.c_str(), File("link.onnx").c_str()), 0);
  Refused("dpc show " + named("link.onnx"), 65, {"symbolic links are not followed"});
  Refused("dpc show " + named("folder"), 65, {"folder"});
  // A text that names itself as the file with its data.
  Refused("dpc show " + named("named.dpt"), 65, {"named.dpt", "which is this text"});
  for (const char *hash : {"\"12\"", "\"123456789abcdefg\"", "12", "\"123456789ABCDEF0\""})
    Refused(
        "dpc show " + Write("hash.dpt", "model m {\n  constant c: float32[2] = elided " + std::string(hash) + "\n}\n"),
        65, {"hash.dpt:2:", "16 digits"});
}

}  // namespace
