// Memory that runs out, at any allocation of dprun's own (starve.c): the run ends with a message and exit code 71, and
// what was saved stays. A sample of the allocations, the last among them; with DP_FULL each of them, alone and with all
// that follow.
#include <unistd.h>

#include <climits>
#include <functional>

#include "tests/tools/array.h"
#include "tests/tools/checkpoints.h"

namespace {

class Starve : public Checkpoints {
 protected:
  Result Starved(const std::string &command, int at, bool rest) {
    char here[PATH_MAX];
    EXPECT_NE(getcwd(here, sizeof here), nullptr);
    return Shell("LD_PRELOAD=" + std::string(here) + "/tests/tools/libstarve.so STARVE_LOG=" + File("count") +
                 " STARVE_AT=" + std::to_string(at) + (rest ? " STARVE_REST=1 " : " ") + command);
  }
  // Runs the command again and again, each time without another allocation. before: makes the place where it runs;
  // after: looks at what is left there.
  void Each(const std::string &command, const std::function<void()> &before,
            const std::function<void(const Result &)> &after) {
    before();
    const Result whole = Starved(command, 0, false);
    ASSERT_EQ(whole.code, 0) << whole.err;
    after(whole);
    const int count = std::stoi(Read(File("count"))), wanted = getenv("DP_FULL") ? count : 24;
    ASSERT_GT(count, 100);
    int failed = 0, runs = 0;
    for (int i = 0; i < wanted; i++)
      for (bool rest : {false, true}) {
        if (!getenv("DP_FULL") && rest != (i % 2 == 1)) continue;
        const int at = 1 + static_cast<int>(static_cast<int64_t>(i) * (count - 1) / (wanted - 1));
        SCOPED_TRACE("allocation " + std::to_string(at) + " of " + std::to_string(count) +
                     (rest ? " and the rest" : ""));
        before();
        const Result result = Starved(command, at, rest);
        // A few are of things that a run can do without.
        ASSERT_TRUE(result.code == 71 || result.code == 0) << result.code << result.err;
        EXPECT_TRUE(!result.code || Explains(result.err)) << result.err;
        after(result);
        failed += result.code != 0;
        runs++;
      }
    EXPECT_GE(failed, runs * 9 / 10);
  }
  // In one line, what there was no memory for.
  static bool Explains(const std::string &text) {
    const bool memory = text.find("memory") != std::string::npos || text.find("start") != std::string::npos;
    return memory && text.size() < 600 && text.find('\n') == text.size() - 1;
  }
};

TEST_F(Starve, TrainingLosesNothingThatWasSaved) {
  Compile("--strategy=data --devices=2 --optimizer=adam(lr=0.01,schedule=cosine,total=9,ema=0.9);*.bias:lr_scale=0.5");
  const std::string all = std::string(eval_digits) +
                          " --threads=2 --workers=2 --augment image=flip --save-every=2 --keep=1"
                          " --best=loss --resume --histograms --tensorboard=" +
                          File("tb") + " --trace=" + File("trace.json") + " ";
  Must(Train(Save("good") + all + "--steps=2"));
  Must(Train(Save("whole") + all + "--steps=4"));
  const std::string more = Train(Save() + all + "--steps=4");
  const auto fresh = [&] {
    ASSERT_EQ(Shell("rm -rf " + File("run") + "; cp -r " + File("good") + " " + File("run")).code, 0);
  };
  const auto look = [&](const Result &result) {
    bool newest = false;
    for (const std::string &name : Names("run")) {
      EXPECT_TRUE(name == "step-2" || name == "step-4" || name == "best") << name;
      if (name == "best") continue;
      newest = name == "step-4";
      EXPECT_TRUE(Weights(name[5] - '0') == Weights(name[5] - '0', newest ? "whole" : "good")) << name;
    }
    // What it says is left is what is left.
    const char *said = newest ? "step 4 was saved last" : "step 2 was saved last";
    const bool says = result.err.find("was saved last") != std::string::npos;
    EXPECT_TRUE(!says || result.err.find(said) != std::string::npos) << result.err;
    EXPECT_TRUE(result.code || newest);
    if (result.code) Must(more);
    EXPECT_TRUE(Weights(4) == Weights(4, "whole"));
  };
  Each(more, fresh, look);
}

TEST_F(Starve, InferenceLeavesTheOutputAsItWas) {
  Must(Train("--save=" + File("w.safetensors") + " --steps=1"));
  const std::string command =
      "dprun " + File("plan.bin") + " --infer --init=" + File("w.safetensors") +
      " --data image=examples/data/digits/test-images-idx3-ubyte --output logits=" + File("y.npy");
  Must(command);
  const std::string whole = Read(File("y.npy"));
  Each(
      command, [&] { Write("y.npy", "as it was"); },
      [&](const Result &result) { EXPECT_TRUE(Read(File("y.npy")) == (result.code ? "as it was" : whole)); });
}

TEST_F(Starve, EveryFormatOfData) {
  Write("m.dpt", R"dpt(model m {
  opset 18
  loss "softmax_cross_entropy(y,label)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,3]
  input image: uint8[N,3,7,9]
  input label: int64[N]
  parameter w: float32[192,3] = kaiming_uniform()
  flat = Flatten(image)
  pixels = Cast(flat) {to="float32"}
  both = Concat(pixels, x) {axis=1}
  y = MatMul(both, w)
  output y
}
)dpt");
  Compile("--batch=4");
  const std::string samples = "tests/runtime/data/samples/",
                    run = "dprun " + File("plan.bin") + " --quiet --bench-data --workers=2 ";
  // Nine records each, as there are nine pictures.
  Write("t.csv", "a,b,c\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n");
  Write("x1.npy", Npy({4, 3}, std::vector<double>(12, 0.5)));
  Write("x2.npy", Npy({5, 3}, std::vector<double>(15, 0.25)));
  for (const std::string &data :
       {"--data x=" + File("t.csv") + " --data image=" + samples + "us.tar.gz --data label=" + samples + "us.tar:cls",
        "--data x=" + File("x*.npy") + " --data image=" + samples + "pictures --data label=" + samples +
            "pictures:class"})
    Each(
        run + data, [] {}, [](const Result &) {});
}

}  // namespace
