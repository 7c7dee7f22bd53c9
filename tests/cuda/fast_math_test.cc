// --fast-math from the command line to the libraries: what plans record, what they compute, and that no choice that was
// measured without it is taken with it.
#include <cmath>

#include "tests/cuda/library_calls.h"
#include "tests/tools/tool.h"

namespace {

const char kCnn[] = "examples/digits_cnn.dpt";

class FastMath : public Tools {
 protected:
  FastMath() { setenv("XDG_CACHE_HOME", File("").c_str(), 1); }
  ~FastMath() override { unsetenv("XDG_CACHE_HOME"); }

  std::string Compile(const std::string &options, const std::string &name, const std::string &model = kCnn) {
    Must("dpc compile " + model + " --target=cuda --batch=16 " + options + " -o " + File(name));
    return File(name);
  }
  // How many products and convolutions by libraries --explain shows, and how many of these with the word.
  std::pair<int, int> Uses(const std::string &plan, const std::string &word) {
    return LibraryCalls(Must("dprun " + plan + " --explain --device=cuda").out, word);
  }
  std::vector<double> Train(const std::string &plan, int steps = 40) {
    Must("dprun " + plan + " --device=cuda --steps=" + std::to_string(steps) +
         " --data image=examples/data/digits/test-images-idx3-ubyte" +
         " --data label=examples/data/digits/test-labels-idx1-ubyte --metrics=" + File("m.jsonl"));
    return Losses(File("m.jsonl"));
  }
};

TEST_F(FastMath, IsRecordedAndShown) {
  const std::string plan = Compile("--fast-math=tf32", "tf32.bin"), bare = Compile("--fast-math", "bare.bin"),
                    without = Compile("", "plan.bin");
  EXPECT_EQ(Read(plan), Read(bare));
  const std::string shown = Must("dpc show " + plan).out, words = "fast math: products and convolutions may round";
  EXPECT_NE(shown.find(words), std::string::npos);
  EXPECT_NE(shown.find(" --fast-math=tf32"), std::string::npos);
  EXPECT_EQ(Must("dpc show " + without).out.find("fast"), std::string::npos);
  const std::string verify = "dpc verify " + plan + " --against=" + kCnn;
  EXPECT_NE(Must(verify).out.find("--fast-math=tf32"), std::string::npos);
  Must(verify + " --fast-math=tf32");
  Refused("dpc verify " + without + " --against=" + kCnn + " --fast-math=tf32", 65, {"--fast-math=tf32", "nothing"});
}

// Every call is one that rounds, in regions too, and training goes as well, by other numbers.
TEST_F(FastMath, ReachesEveryCallAndTrainsAsWell) {
  for (const char *model : {kCnn, "examples/mlp.dpt"}) {
    const std::string plan = Compile("--fast-math=tf32", "tf32.bin", model), without = Compile("", "plan.bin", model);
    const auto rounds = Uses(plan, ", TF32"), none = Uses(without, "TF32");
    EXPECT_GT(rounds.first, 5) << model;
    EXPECT_EQ(rounds.second, rounds.first) << model;
    EXPECT_EQ(none.first, rounds.first) << model;
    EXPECT_EQ(none.second, 0) << model;
    const std::vector<double> losses = Train(plan), exact = Train(without);
    ASSERT_EQ(losses.size(), 40u);
    EXPECT_EQ(Train(plan), losses);
    EXPECT_NE(losses[0], exact[0]) << "the flag is lost on the way";
    EXPECT_NEAR(losses[0], exact[0], 1e-3 * exact[0]);
    EXPECT_NEAR(losses.back(), exact.back(), 0.05 * exact[0]);
    EXPECT_LT(losses.back(), 0.7 * losses[0]);
  }
}

// Every convolution, and no product, is Winograd's, and training goes as well.
TEST_F(FastMath, WinogradReachesConvolutionsAlone) {
  const std::string plan = Compile("--fast-math=winograd", "winograd.bin"), without = Compile("", "plan.bin"),
                    both = Compile("--fast-math=tf32,winograd", "both.bin");
  const auto taken = Uses(plan, ", Winograd"), convolutions = Uses(plan, "cuDNN engine"),
             none = Uses(without, "Winograd");
  EXPECT_GT(taken.second, 5);
  EXPECT_EQ(taken.second, convolutions.second);
  EXPECT_LT(taken.second, taken.first);
  EXPECT_EQ(Uses(plan, "TF32").second, 0);
  EXPECT_EQ(none.second, 0);
  EXPECT_EQ(Uses(both, ", TF32").second, taken.first);  // which the stand-in's heuristics name first
  const std::vector<double> losses = Train(plan, 8), exact = Train(without, 8);
  ASSERT_EQ(losses.size(), 8u);
  EXPECT_NE(losses, exact) << "the flag is lost on the way";
  EXPECT_NEAR(losses[0], exact[0], 1e-3 * exact[0]);
  EXPECT_NEAR(losses.back(), exact.back(), 0.05 * exact[0]);
}

TEST_F(FastMath, WinogradIsRecordedAndCompared) {
  for (const std::string text : {"winograd", "tf32,winograd"}) {
    const std::string plan = Compile("--fast-math=" + text, "fast.bin"), shown = Must("dpc show " + plan).out;
    EXPECT_NE(shown.find("fast math: convolutions in float32 may be Winograd's"), std::string::npos);
    EXPECT_EQ(shown.find("to TF32") != std::string::npos, text != "winograd");
    EXPECT_NE(shown.find(" --fast-math=" + text), std::string::npos);
    const std::string verify = "dpc verify " + plan + " --against=" + kCnn;
    EXPECT_NE(Must(verify).out.find("--fast-math=" + text), std::string::npos);
    Must(verify + " --fast-math=" + text);
    Refused(verify + " --fast-math=tf32", 65, {"--fast-math=tf32", text});
  }
}

TEST_F(FastMath, DoesNotTakeWhatWasMeasuredWithoutIt) {
  const std::string plan = Compile("", "plan.bin"), fast = Compile("--fast-math=tf32", "tf32.bin");
  Must("dpc calibrate " + plan + " --device=cuda -o " + File("exact.json"));
  Must("dpc calibrate " + fast + " --device=cuda -o " + File("fast.json"));
  const auto uses = [&](const char *options, const char *file) {
    return Uses(Compile(options + std::string(" --calibration=") + File(file), "chosen.bin"), "measured");
  };
  const auto right = uses("--fast-math=tf32", "fast.json"), wrong = uses("--fast-math=tf32", "exact.json"),
             other = uses("", "fast.json");
  EXPECT_GT(right.first, 5);
  EXPECT_EQ(right.second, right.first);
  EXPECT_EQ(wrong.first, right.first);
  EXPECT_EQ(wrong.second, 0);
  EXPECT_EQ(other.second, 0);
  // The fastest engine of the stand-in's is one of tensor cores, and not to be taken without the flag.
  EXPECT_NE(Read(File("fast.json")).find("engine 67"), std::string::npos);
  EXPECT_EQ(Read(File("exact.json")).find("engine 67"), std::string::npos);
  const std::string winograd = Compile("--fast-math=winograd", "winograd.bin");
  Must("dpc calibrate " + winograd + " --device=cuda -o " + File("winograd.json"));
  const auto own = uses("--fast-math=winograd", "winograd.json"), foreign = uses("--fast-math=winograd", "exact.json");
  EXPECT_EQ(own.second, own.first);
  EXPECT_LT(foreign.second, foreign.first) << "convolutions are other calls";
  EXPECT_GT(foreign.second, 0) << "products are the same";
  EXPECT_NE(Read(File("winograd.json")).find("engine 5\""), std::string::npos);
  EXPECT_EQ(Read(File("winograd.json")).find("engine 56"), std::string::npos) << "its tiles are too large";
  EXPECT_EQ(Read(File("exact.json")).find("engine 5"), std::string::npos);
}

TEST_F(FastMath, IsRefusedWhereNothingCouldRound) {
  const std::string compile = std::string("dpc compile ") + kCnn + " --batch=16 -o " + File("plan.bin");
  Refused(compile + " --fast-math=tf32", 78, {"--fast-math=tf32", "backend cpu", "--fast-math=winograd"});
  Refused(compile + " --fast-math=tf32,winograd", 78, {"backend cpu", "nothing of tf32", "--fast-math=winograd"});
  Refused(compile + " --target=cuda --precision=fp64 --fast-math", 78, {"--fast-math=tf32", "--precision=fp64"});
  Refused(compile + " --target=cuda --fast-math=winograd,tf32", 64, {"tf32,winograd"});
  Refused(compile + " --target=cuda --fast-math=tf23", 64, {"--fast-math=tf23", "did you mean 'tf32'"});
  Must(compile + " --target=cuda --precision=bf16 --fast-math=tf32 --keep-fp32=logits");
}

}  // namespace
