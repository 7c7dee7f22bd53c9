// dprun --run: several runs side by side compute what each computes alone; their messages are told apart; signals reach
// all of them; and what they may not share is refused before any of them starts.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "tests/tools/checkpoints.h"

namespace {

class Several : public Checkpoints {
 protected:
  void SetUp() override {
    Checkpoints::SetUp();
    Compile("");
    Must("dpc compile examples/mlp.dpt --batch=32 -o " + File("b.bin"));
  }
  std::string A(const std::string &more) const {
    return " --run '" + File("plan.bin") + " " + digits + " " + more + "'";
  }
  std::string B(const std::string &more) const { return " --run='" + File("b.bin") + " " + digits + " " + more + "'"; }
  Result Side(const std::string &runs) { return Shell("dprun" + runs); }
  void Refuses(const std::string &runs, int code, const Strings &words) {
    const Result result = Side(runs);
    EXPECT_EQ(result.code, code) << runs << "\n" << result.err;
    for (const std::string &word : words)
      EXPECT_NE(result.err.find(word), std::string::npos) << word << "\n" << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "a run was started\n" << result.err;
  }
  // The lines of one run, without their prefix.
  static std::string Of(int run, const std::string &text) {
    const std::string prefix = "run " + std::to_string(run) + ": ";
    std::istringstream in(text);
    std::string lines;
    for (std::string line; std::getline(in, line);)
      if (line.rfind(prefix, 0) == 0) lines += line.substr(prefix.size()) + "\n";
    return lines;
  }
};

TEST_F(Several, EachComputesWhatItComputesAlone) {
  const Result a =
      Must("dprun " + File("plan.bin") + " " + digits + " --epochs=2 --quiet --save=" + File("a.safetensors"));
  const Result b =
      Must("dprun " + File("b.bin") + " " + digits + " --epochs=3 --shuffle --quiet --metrics=" + File("b.jsonl") +
           " --save=" + File("b.safetensors"));
  const Result both =
      Side(A("--epochs=2 --save=" + File("x.safetensors")) +
           B("--epochs=3 --shuffle --verbose --metrics=" + File("y.jsonl") + " --save=" + File("y.safetensors")));
  ASSERT_EQ(both.code, 0) << both.err;
  EXPECT_EQ(Of(1, both.out), a.out);
  EXPECT_EQ(Of(2, both.out), b.out);
  EXPECT_TRUE(Read(File("x.safetensors")) == Read(File("a.safetensors")));
  EXPECT_TRUE(Read(File("y.safetensors")) == Read(File("b.safetensors")));
  EXPECT_EQ(Losses(File("y.jsonl")), Losses(File("b.jsonl")));
  EXPECT_NE(Of(1, both.err).find("epoch 2/2"), std::string::npos) << both.err;
  EXPECT_NE(Of(2, both.err).find("epoch 3/3"), std::string::npos) << both.err;
  // Nothing but whole lines of one of them.
  EXPECT_EQ(Of(1, both.err).size() + Of(2, both.err).size() + 7 * std::count(both.err.begin(), both.err.end(), '\n'),
            both.err.size());
}

TEST_F(Several, TrainsOneAndInfersWithAnother) {
  Must("dprun " + File("b.bin") + " " + digits + " --quiet --save=" + File("w.safetensors"));
  const std::string infer = File("b.bin") + " --infer --init=" + File("w.safetensors") +
                            " --data image=examples/data/digits/test-images-idx3-ubyte --output logits=";
  Must("dprun " + infer + File("alone.npy"));
  const Result both = Side(A("--steps=30 --json --quiet") + " --run '" + infer + File("beside.npy") + " --json'");
  ASSERT_EQ(both.code, 0) << both.err;
  EXPECT_TRUE(Read(File("beside.npy")) == Read(File("alone.npy")));
  // Results for programs say themselves of which run they are.
  EXPECT_NE(both.out.find("{\"event\":\"result\",\"run\":1,\"steps\":30,"), std::string::npos) << both.out;
  EXPECT_NE(both.out.find("{\"event\":\"result\",\"run\":2,\"samples\":360}"), std::string::npos) << both.out;
}

TEST_F(Several, StandardOutputGoesToTheRunThatWritesAFileThere) {
  const Result both = Side(A("--steps=3 --quiet --metrics=-") + B("--steps=3 --quiet --threads=1"));
  ASSERT_EQ(both.code, 0) << both.err;
  std::istringstream in(both.out);
  int steps = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("run 2: ", 0) == 0) continue;
    EXPECT_EQ(line[0], '{') << line;
    steps += line.find("\"event\":\"step\"") != std::string::npos;
  }
  EXPECT_EQ(steps, 3) << both.out;
}

// As /bin/sh splits them.
TEST_F(Several, SplitsAsAShellDoes) {
  const std::string words = R"(--quiet	--steps=1\
  --save="$F/a b\"c\\d\e" '--metrics='"$F"'/"x\y".jsonl')";
  ASSERT_EQ(Shell("F=" + File("") + "; set -- " + words + "; printf '%s\\n' \"$@\" >" + File("split")).code, 0);
  std::istringstream in(Read(File("split")));
  Strings expected;
  for (std::string line; std::getline(in, line);) expected.push_back(line);
  ASSERT_EQ(expected.size(), 4u);
  // Nothing is expanded, so the folder is put in here.
  std::string text = words;
  for (size_t at; (at = text.find("$F")) != std::string::npos;) text.replace(at, 2, File(""));
  Write("text", File("b.bin") + " " + digits + " " + text);
  const Result result = Shell("dprun --run \"$(cat " + File("text") + ")\"");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(Exists(expected[2].substr(strlen("--save=")) + "/step-1")) << expected[2];
  EXPECT_TRUE(Exists(expected[3].substr(strlen("--metrics=")))) << expected[3];
  Refuses(" --run \"x 'y\"", 64, {"run 1", "quote"});
  Refuses(" --run 'x \\'", 64, {"run 1", "backslash"});
}

TEST_F(Several, RefusesWhatDoesNotGoTogether) {
  const std::string w = File("w.safetensors");
  Refuses(A("--save=" + w) + B("--save=" + w), 78, {"--save of run 1", "--save of run 2", w});
  Refuses(A("--save=" + File("run")) + B("--metrics=" + File("m") + " --save=" + File("run/")), 78, {"run/"});
  Refuses(A("--save=" + w) + B("--init=" + w), 78, {"--init of run 2", "--save of run 1"});
  Refuses(A("--save=" + File("run")) + B("--resume=" + File("run")), 78, {"--resume of run 2"});
  Refuses(A("--metrics=-") + B("--trace=-"), 78, {"standard output"});
  Refuses(" --run '- --explain' --run '- --explain'", 78, {"standard input"});
  Refuses(A("--device=cuda:0,1") + B("--device=cuda:2,1"), 78, {"run 1 and run 2", "cuda:1"});
  Refuses(A("") + " --epochs=3", 64, {"--epochs=3", "text"});
  Refuses(" " + File("plan.bin") + A(""), 64, {"--run"});
  Refuses(A("") + B("--run x"), 64, {"run 2", "--run"});
  Refuses(A("") + B("--nonsense"), 64, {"run 2", "--nonsense"});
  Refuses(A("--epochs=x") + B(""), 64, {"run 1", "--epochs=x"});
  Refuses(A("") + " --run", 64, {"--run"});
  Refuses(A("") + " --run ''", 64, {"run 2", "no plan"});
}

TEST_F(Several, OneThatFailsDoesNotEndTheOther) {
  const Result result = Side(B("--init=missing.safetensors") + A("--epochs=2 --quiet --save=" + File("w.safetensors")));
  EXPECT_EQ(result.code, 66) << result.err;
  EXPECT_NE(Of(1, result.err).find("missing.safetensors"), std::string::npos) << result.err;
  EXPECT_NE(Of(2, result.out).find("mean of steps 24 to 46"), std::string::npos) << result.out;
  EXPECT_TRUE(Exists(File("w.safetensors")));
}

// Where a plan takes all GPUs, no others are left; it need not be said to take them.
TEST_F(Several, DevicesMustBeNamed) {
  Refuses(A("--device=cuda") + B("--steps=1 --quiet"), 78, {"run 1: ", "--device=cuda:0"});
  Must("dpc compile examples/mlp.dpt --target=cuda --batch=32 -o " + File("gpu.bin"));
  Refuses(B("--steps=1 --quiet") + " --run '" + File("gpu.bin") + " " + digits + "'", 78,
          {"run 2: ", "--device=cuda:0"});
}

// Plans, and whether they can be run here, are looked at before the first run starts.
TEST_F(Several, PlansAreCheckedBeforeAnyRunStarts) {
  Refuses(A("") + " --run missing.bin", 66, {"run 2: ", "missing.bin"});
  Refuses(A("") + " --run examples/mlp.dpt", 65, {"run 2: ", "a model's text"});
  Must("dpc compile examples/mlp.dpt --target=cuda --batch=32 -o " + File("gpu.bin"));
  Refuses(A("") + " --run '" + File("gpu.bin") + " --device=cpu " + digits + "'", 69,
          {"run 2: ", "'cuda', not for 'cpu'"});
  Refuses(A("") + B("--map=0"), 64, {"run 2: ", "--map"});
}

TEST_F(Several, SignalsReachAll) {
  const std::string runs =
      A("--epochs=100000 --quiet --resume " + Save("one")) + B("--epochs=100000 --quiet --resume " + Save("two"));
  const auto trains = [&](const char *folder) { return Exists(File(folder) + "/runs.jsonl"); };
  const auto interrupted = [&](const std::string &how) {
    const Result result = Shell("setsid dprun" + runs + " & pid=$!\n until [ -e " + File("one/runs.jsonl") + " -a -e " +
                                File("two/runs.jsonl") + " ]; do sleep 0.1; done; " + how + "; wait $pid");
    EXPECT_EQ(result.code, 75) << how << "\n" << result.err;
    for (int run : {1, 2})
      EXPECT_NE(Of(run, result.err).find("interrupted after step"), std::string::npos) << result.err;
    ASSERT_TRUE(trains("one") && trains("two"));
    EXPECT_EQ(Names("one").size(), 1u);
    EXPECT_EQ(Names("two").size(), 1u);
    ASSERT_EQ(Shell("rm -r " + File("one") + " " + File("two")).code, 0);
  };
  interrupted("kill -TERM $pid");
  interrupted("kill -USR1 $pid");
  // As a terminal does: all processes at once, and what comes is passed on besides. It still is the first.
  interrupted("kill -HUP -$pid");
}

// One that is killed cannot tell the runs, which save all the same.
TEST_F(Several, RunsSurviveTheirParent) {
  const Result result = Shell(
      "dprun" + A("--epochs=100000 --quiet --save=" + File("one")) +
      B("--epochs=100000 --quiet --save=" + File("two")) + " & pid=$!\n until [ -e " + File("one/runs.jsonl") +
      " -a -e " + File("two/runs.jsonl") + " ]; do sleep 0.1; done; kill -KILL $pid\n for i in $(seq 300); do ls -d " +
      File("one") + "/step-* " + File("two") + "/step-* >" + File("saved") + " 2>/dev/null && exit; sleep 0.1; done");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Names("one").size(), 1u);
  EXPECT_EQ(Names("two").size(), 1u);
}

}  // namespace
