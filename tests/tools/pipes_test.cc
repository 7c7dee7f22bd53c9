// Pipes that the command line names are read as files are, by every command; those that a file, a pattern or a folder
// names are refused at once.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/tool.h"

namespace {

const std::string folder = "examples/data/digits/", train_images = folder + "train-images-idx3-ubyte",
                  train_labels = folder + "train-labels-idx1-ubyte", test_images = folder + "test-images-idx3-ubyte",
                  test_labels = folder + "test-labels-idx1-ubyte";

class Pipes : public Tools {
 protected:
  void SetUp() override { Must("dpc compile examples/mlp.dpt --batch=64 -o " + plan_); }
  // In the shell that has <(command). What should not wait ends after a minute.
  Result Bash(const std::string &script) {
    return Shell("exec timeout 60 bash " + Write("script", "export PATH\n" + script));
  }
  Result Good(const std::string &script) {
    Result result = Bash(script);
    EXPECT_EQ(result.code, 0) << script << "\n" << result.err;
    return result;
  }
  void Refuses(const std::string &script, int code, const std::string &says) {
    const Result result = Bash(script);
    EXPECT_EQ(result.code, code) << script << "\n" << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << script << "\n" << result.err;
  }
  static std::string Cat(const std::string &path) { return "<(cat " + path + ")"; }
  std::string Fifo(const std::string &name) const {
    EXPECT_EQ(mkfifo(File(name).c_str(), 0600), 0);
    return File(name);
  }
  std::string plan_ = File("plan.bin");
  const std::string train_ = "dprun " + plan_ + " " + digits + " --quiet ";
};

TEST_F(Pipes, EveryCommandOfTheCompilerReadsThem) {
  Good("dpc compile " + Cat("examples/mlp.dpt") + " --batch=64 -o " + File("a.bin"));
  EXPECT_EQ(Read(File("a.bin")), Read(plan_));
  EXPECT_EQ(Good("dpc show " + Cat("examples/mlp.dpt")).out, Must("dpc show examples/mlp.dpt").out);
  EXPECT_EQ(Good("dpc show " + Cat(plan_)).out, Must("dpc show " + plan_).out);
  EXPECT_EQ(Good("dpc verify " + Cat(plan_)).out, Must("dpc verify " + plan_).out);
  EXPECT_NE(Good("dpc verify " + Cat(plan_) + " --against=" + Cat("examples/mlp.dpt")).out.find("the same as"),
            std::string::npos);
  // A pipe's name does not say that it is ONNX.
  Must("dpc export examples/mlp.dpt -o " + File("m.onnx"));
  Good("dpc export " + Cat("examples/mlp.dpt") + " -o " + File("p.onnx"));
  EXPECT_EQ(Read(File("p.onnx")), Read(File("m.onnx")));
  Must("dpc import " + File("m.onnx") + " -o " + File("m.pb"));
  Good("dpc import " + Cat(File("m.onnx")) + " -o " + File("p.pb"));
  EXPECT_EQ(Read(File("p.pb")), Read(File("m.pb")));
  EXPECT_EQ(Good("dpc show " + Cat(File("m.onnx")) + " --data").out,
            Must("dpc show " + File("m.onnx") + " --data").out);
  const std::string calibration = "tests/tools/calibration.json",
                    with = " examples/mlp.dpt --target=cuda --batch=64 --calibration=";
  Good("dpc compile" + with + Cat(calibration) + " -o " + File("d.bin"));
  // Its name is recorded, which <(command) makes the same again.
  Good("dpc verify " + File("d.bin") + " --against=examples/mlp.dpt --calibration=" + Cat(calibration));
  // What is made from a pipe has no name of its own.
  for (const char *command : {"dpc compile --batch=64 ", "dpc export ", "dpc import "})
    Refuses(command + Cat("examples/mlp.dpt"), 64, "-o");
}

TEST_F(Pipes, RunsAreThoseOfFiles) {
  const std::string w = File("w.safetensors"), x = File("x.safetensors");
  Must(train_ + "--epochs=3 --shuffle --save=" + w + " " + eval_digits);
  const std::string piped = " --data image=" + Cat(train_images) + " --data label=<(gzip -c " + train_labels +
                            ") --eval-data image=" + Cat(test_images) + " --eval-data label=<(gzip -c " + test_labels +
                            ")";
  Good("dprun " + Cat(plan_) + piped + " --quiet --epochs=3 --shuffle --save=" + x);
  EXPECT_EQ(Read(x), Read(w));
  Good("dprun " + Cat(plan_) + piped + " --quiet --steps=3 --save=" + File("run"));
  EXPECT_EQ(Read(File("run/runs.jsonl")).find("\"plan\":\"/"), std::string::npos);  // it is nowhere any more
  // The weights, and a format that is read sample by sample.
  const std::string infer = "dprun " + plan_ + " --infer --quiet --init=";
  Must(infer + w + " --data image=" + test_images + " --output logits=" + File("y.npy"));
  Good(infer + Cat(w) + " --data image=" + Cat(test_images) + " --output logits=" + File("z.npy"));
  EXPECT_EQ(Read(File("z.npy")), Read(File("y.npy")));
  Good("cat " + test_images + " | " + infer + w + " --data image=/dev/stdin --output logits=- | cmp - " +
       File("y.npy"));
  Good(infer + w + " --data image=/dev/stdin --output logits=- < " + test_images + " | cmp - " + File("y.npy"));
  Must("dprun " + plan_ + " " + digits + " --steps=4 --quiet --metrics=" + File("m.jsonl") +
       " --trace=" + File("t.json") + " --save=" + File("reported"));
  Good("dprun report " + File("reported") + " --metrics=" + Cat(File("m.jsonl")) + " --trace=" + Cat(File("t.json")) +
       " --plan=" + Cat(plan_) + " -o " + File("r.html"));
  Good("dprun report " + File("reported") + " --metrics=" + File("m.jsonl") + " --trace=" + File("t.json") +
       " --plan=" + plan_ + " -o " + File("s.html"));
  EXPECT_NEAR(double(Read(File("r.html")).size()), double(Read(File("s.html")).size()), 200);
  // Several runs, each with pipes of its own.
  Must(train_ + "--steps=5 --save=" + w);
  Good("mkfifo " + File("plan") + " " + File("image") + "; cat " + plan_ + " >" + File("plan") + " & cat " +
       train_images + " >" + File("image") + " & dprun --run '" + File("plan") + " --quiet --steps=5 --save=" + x +
       " --data image=" + File("image") + " --data label=" + train_labels + "' --run '" + plan_ + " " + digits +
       " --quiet --steps=1'");
  EXPECT_EQ(Read(x), Read(w));
}

TEST_F(Pipes, AFifoIsReadOnceItHasAWriter) {
  const std::string fifo = Fifo("fifo");
  const std::string scores = " --data image=" + fifo + " --data label=" + train_labels + " --quiet --epochs=2";
  const Result result = Good("(sleep 1; cat " + train_images + " >" + fifo + ") & dprun " + plan_ + scores);
  EXPECT_EQ(result.out, Must(train_ + "--epochs=2").out);
  StartShell("exec dprun " + plan_ + scores);  // nobody writes
  usleep(1500000);
  Signal(SIGTERM);
  const Result waiting = Wait();
  EXPECT_EQ(waiting.code, 75) << waiting.err;
  EXPECT_NE(waiting.err.find("interrupted while waiting for " + fifo), std::string::npos) << waiting.err;
}

TEST_F(Pipes, AFifoIsWrittenOnceItHasAReader) {
  const std::string fifo = Fifo("fifo"), metrics = train_ + "--epochs=1 --metrics=" + fifo;
  const Result result = Good("(sleep 1; cat " + fifo + " >" + File("lines") + ") & " + metrics + " && wait");
  Must(train_ + "--epochs=1 --metrics=" + File("file"));
  EXPECT_EQ(Metrics(File("lines")).size(), Metrics(File("file")).size());
  StartShell("exec " + metrics);  // nobody reads
  usleep(1500000);
  Signal(SIGTERM);
  const Result waiting = Wait();
  EXPECT_EQ(waiting.code, 75) << waiting.err;
  EXPECT_NE(waiting.err.find("interrupted while waiting for a reader of " + fifo), std::string::npos) << waiting.err;
}

TEST_F(Pipes, WhatCannotBeIsRefused) {
  const std::string label = " --data label=" + train_labels;
  Refuses("dprun " + plan_ + label + " --data image=/dev/zero", 65, "/dev/zero: not a regular file");
  Refuses("dpc compile /dev/zero --batch=64 -o " + File("z.bin"), 65, "/dev/zero: not a regular file");
  Refuses("head -c 100 " + plan_ + " | dprun /dev/stdin", 65, "/dev/stdin: ");
  Refuses("dprun <(head -c 100 " + plan_ + ")", 65, "/dev/fd/");
  Refuses("dprun " + plan_ + label + " --data image=<(head -c 1000 " + train_images + ")", 65, "/dev/fd/");
  // A pipe gives what it gives once.
  const std::string fifo = Fifo("fifo");
  Refuses("dprun " + plan_ + " --data image=" + fifo + " --data label=" + fifo, 78, "cannot both read " + fifo);
  Refuses("cat " + train_images + " | dprun " + plan_ + " --data image=- --data label=/dev/stdin", 78,
          "cannot both read /dev/stdin");
  Refuses("dprun --run '" + plan_ + label + " --data image=" + fifo + "' --run '" + plan_ + label +
              " --data image=" + fifo + "'",
          78, "cannot both read " + fifo);
}

// A stranger's file must not make us wait, nor read a device.
TEST_F(Pipes, WhatTheCommandLineDoesNotNameIsRefusedAtOnce) {
  const std::string label = " --data label=" + train_labels;
  mkdir(File("parts").c_str(), 0700);
  Fifo("parts/a");
  Refuses("dprun " + plan_ + label + " --data 'image=" + File("parts") + "/*'", 65, "not a regular file");
  mkdir(File("classes").c_str(), 0700);
  mkdir(File("classes/0").c_str(), 0700);
  Fifo("classes/0/a.png");
  Refuses("dprun " + plan_ + label + " --data image=" + File("classes"), 65, "classes");
  Fifo("w-1.safetensors");
  const std::string index = Write("w.safetensors.index.json", "{\"weight_map\":{\"fc1.weight\":\"w-1.safetensors\"}}");
  Refuses(train_ + "--init=" + index, 65, "not a regular file");
  // Also where the same command line names another pipe.
  Refuses("dprun " + Cat(plan_) + " --data image=" + Cat(train_images) + label + " --init=" + index, 65,
          "not a regular file");
}

}  // namespace
