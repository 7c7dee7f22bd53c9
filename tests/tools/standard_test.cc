// Standard input and output as files, what happens if they end early, and signals while dprun waits for them.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

const char test_images[] = "examples/data/digits/test-images-idx3-ubyte";

class Standard : public Tools {
 protected:
  void SetUp() override { Must("dpc compile examples/mlp.dpt --batch=64 -o " + plan_); }
  Result Good(const std::string &script) {
    Result result = Shell(script);
    EXPECT_EQ(result.code, 0) << script << "\n" << result.err;
    return result;
  }
  size_t Count(const std::string &text, const std::string &word) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at++) count++;
    return count;
  }
  std::string plan_ = File("plan.bin");
  const std::string train_ = "dprun " + plan_ + " " + digits + " ";
};

TEST_F(Standard, OutputIsWhatAFileWouldHold) {
  Good("dpc compile examples/mlp.dpt --batch=64 -o - > " + File("piped.bin"));
  EXPECT_EQ(Read(File("piped.bin")), Read(plan_));
  Good("dpc export examples/mlp.dpt -o " + File("m.onnx") + "; dpc export examples/mlp.dpt -o - > " + File("p.onnx"));
  EXPECT_EQ(Read(File("p.onnx")), Read(File("m.onnx")));
  Good("dpc import " + File("m.onnx") + " -o " + File("m.pb") + "; dpc import " + File("m.onnx") + " -o - | cmp - " +
       File("m.pb"));
  const std::string infer = "dprun " + plan_ + " --infer --data image=" + test_images + " --output logits=";
  Good(infer + File("y.npy") + "; " + infer + "- | cmp - " + File("y.npy"));
  // Only the lines of --metrics: the last line goes to stderr.
  Result result = Good(train_ + "--steps=3 --metrics=- " + eval_digits);
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(line.substr(0, 10), "{\"event\":\"") << line;
  EXPECT_EQ(Count(result.out, "\"event\":\"step\""), 3u);
  EXPECT_NE(result.err.find("\naccuracy "), std::string::npos) << result.err;
  EXPECT_EQ(Good(train_ + "--steps=1 --trace=-").out.substr(0, 13), "{\"otherData\":");
  EXPECT_FALSE(Exists("-"));
}

TEST_F(Standard, InputIsWhatAFileWouldGive) {
  const std::string from_file = Must("dpc show examples/mlp.dpt").out, plan = Must("dpc show " + plan_).out;
  EXPECT_EQ(Good("cat examples/mlp.dpt | dpc show -").out, from_file);
  EXPECT_EQ(Good("dpc show - < examples/mlp.dpt").out, from_file);
  EXPECT_EQ(Good("cat " + plan_ + " | dpc show -").out, plan);
  Good("cat " + plan_ + " | dpc verify -");
  Good("cat examples/mlp.dpt | dpc compile - --batch=64 -o " + File("again.bin"));
  EXPECT_EQ(Read(File("again.bin")), Read(plan_));
  // Also ONNX, which is otherwise recognized by the file's name; and a model that is read twice, for --memory.
  Good("dpc export examples/mlp.dpt -o - | dpc import - -o " + File("piped.pb"));
  Result refused = Shell("cat examples/mlp.dpt | dpc compile - --batch=64 --memory=30K -o " + File("small.bin"));
  EXPECT_EQ(refused.code, 78) << refused.err;
  EXPECT_NE(refused.err.find("would fit"), std::string::npos) << refused.err;
  // The whole chain without a file in between.
  const std::string scores =
      Good("dpc compile examples/mlp.dpt --batch=64 -o - | dprun - --infer --data image=" + std::string(test_images) +
           " --output logits=" + File("a.npy") + "; dprun " + plan_ + " --infer --data image=- --output logits=- < " +
           test_images)
          .out;
  EXPECT_EQ(scores, Read(File("a.npy")));
  Good("gzip -c " + std::string(test_images) + " | dprun " + plan_ +
       " --infer --data image=- --output logits=- | cmp - " + File("a.npy"));
  Good(train_ + "--quiet --steps=1 --save=" + File("w.safetensors"));
  Good("cat " + File("w.safetensors") + " | " + train_ + "--quiet --init=- --steps=0");
}

TEST_F(Standard, WhatCannotBeIsRefused) {
  auto refused = [&](const std::string &script, int code, const std::string &says) {
    Result result = Shell(script);
    EXPECT_EQ(result.code, code) << script << "\n" << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << script << "\n" << result.err;
  };
  refused("dpc compile - --batch=64 < examples/mlp.dpt", 64, "-o PLAN");
  refused("dpc compile examples/mlp.dpt --batch=64 --why -o -", 78, "--why");
  refused("dpc compile examples/mlp.dpt --batch=64 --print-after=place -o -", 78, "--print-after");
  refused("dpc show - < examples", 65, "standard input is a folder");
  refused("dpc show - < /dev/null", 65, "empty");
  refused("dpc show - <&-", 66, "standard input");
  refused("head -c 100 " + plan_ + " | dprun -", 65, "-: ");
}

TEST_F(Standard, AFullOrClosedOutputIsAnErrorAndWeightsAreSaved) {
  for (const char *command :
       {"dpc ops", "dpc ops Conv", "dpc --help", "dpc compile --help", "dprun --help", "dpc show examples/mlp.dpt",
        "dpc compile examples/mlp.dpt --batch=64 -o -", "dpc export examples/mlp.dpt -o -"}) {
    Result result = Shell(std::string(command) + " > /dev/full");
    EXPECT_EQ(result.code, 74) << command << result.err;
    EXPECT_NE(result.err.find("No space left"), std::string::npos) << command << result.err;
  }
  const std::string weights = File("w.safetensors");
  const std::string saving = train_ + "--epochs=3 --metrics=- --save=" + weights;
  const std::pair<std::string, std::string> ends[] = {
      {" > /dev/full", "No space left"}, {" >&-", "Bad file descriptor"}, {" | true", "Broken pipe"}};
  for (const auto &[to, reason] : ends) {
    Result result = Shell("{ " + saving + "; echo code $? >&2; }" + to);
    EXPECT_NE(result.err.find("code 74"), std::string::npos) << to << result.err;
    EXPECT_NE(result.err.find("--metrics=-: cannot be written: " + reason), std::string::npos) << to << result.err;
    EXPECT_TRUE(Exists(weights)) << to;
    unlink(weights.c_str());
  }
  EXPECT_EQ(Shell(train_ + "--steps=1 > /dev/full").code, 74);  // the last line
  // If a standard descriptor is closed, no file that is opened takes its place.
  Good("dpc compile examples/mlp.dpt --batch=64 -o " + File("closed.bin") + " <&- >&- 2>&-");
  EXPECT_EQ(Read(File("closed.bin")), Read(plan_));
}

// A file may have a few hundred bytes. What is called after the write that fails succeeds, or fails for other reasons.
TEST_F(Standard, TheReasonIsThatOfTheFailure) {
  for (const std::string option : {"--metrics=", "--tensorboard="}) {
    const std::string run = train_ + "--quiet --epochs=3 " + option + File("limited" + option);
    const Result result = Shell("(trap '' XFSZ; ulimit -f 1; " + run + " 2>&1; echo code $?) | cat >&2");
    EXPECT_NE(result.err.find("cannot be written: File too large"), std::string::npos) << option << result.err;
    EXPECT_NE(result.err.find("code 74"), std::string::npos) << option << result.err;
  }
}

// The pipe holds 64 KiB and nobody reads: the current step cannot finish, but the run does.
TEST_F(Standard, SignalsEndWaitingForAPipe) {
  const std::string weights = File("w.safetensors");
  struct {
    std::string command;
    bool saves;
  } cases[] = {{"exec " + train_ + "--quiet --epochs=100000 --metrics=- --save=" + weights, true},
               {"exec dprun " + plan_ + " --quiet --infer --data image=- --output logits=-", false}};
  for (const auto &c : cases) {
    int in[2], out[2];
    ASSERT_EQ(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    StartShell(c.command + " < /proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(in[0]) + " > /proc/" +
               std::to_string(getpid()) + "/fd/" + std::to_string(out[1]));
    usleep(1500000);
    Signal(SIGTERM);
    Result result = Wait();
    EXPECT_EQ(result.code, 75) << result.err;
    EXPECT_EQ(Exists(weights), c.saves);
    unlink(weights.c_str());
    for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
  }
}

// A signal that was ignored (nohup) stays ignored.
TEST_F(Standard, AnIgnoredSignalStaysIgnored) {
  StartShell("trap '' HUP; exec " + train_ + "--epochs=40 --metrics=" + File("metrics"));
  for (int i = 0; i < 3000 && Read(File("metrics")).empty(); i++) usleep(10000);
  Signal(SIGHUP);
  EXPECT_EQ(Wait().code, 0);
}

}  // namespace
