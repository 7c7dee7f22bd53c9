// dprun as a user sees it: training, metrics, files.
#include <jansson.h>
#include <signal.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <regex>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

class Dprun : public Tools {
 protected:
  // The small network on `devices`, as plan.bin.
  void Compile(int devices, const std::string &more = "") {
    Must("dpc compile examples/mlp.dpt --batch=64 --strategy=data --devices=" + std::to_string(devices) + " -o " +
         File("plan.bin") + " " + more);
  }
  std::string Train(const std::string &more) const {
    return "dprun " + File("plan.bin") + " " + digits + " --metrics=" + File("metrics") + " " + more;
  }
  std::vector<double> TrainLosses(const std::string &more) {
    Must(Train(more));
    return Losses(File("metrics"));
  }
};

TEST_F(Dprun, MetricsSayWhatHappened) {
  Compile(2);
  Result result = Must(Train(std::string("--epochs=2 ") + eval_digits));
  std::vector<Event> events = Metrics(File("metrics"));
  ASSERT_EQ(events.size(), 2u * 24);  // 1437 samples make 22 batches of 64 and one of 29
  for (size_t i = 0; i < events.size(); i++) {
    size_t epoch = i / 24, in_epoch = i % 24;
    EXPECT_EQ(events[i]["epoch"], epoch + 1);
    EXPECT_TRUE(std::isfinite(events[i]["loss"]));
    if (in_epoch == 23) {
      EXPECT_EQ(events[i].event, "eval");
      EXPECT_EQ(events[i]["samples"], 360);
      EXPECT_EQ(events[i]["step"], epoch * 23 + 23);
    } else {
      EXPECT_EQ(events[i].event, "step");
      EXPECT_EQ(events[i]["step"], epoch * 23 + in_epoch + 1);
      EXPECT_EQ(events[i]["samples"], in_epoch == 22 ? 29 : 64);
      EXPECT_EQ(events[i]["lr"], 0.1);
      EXPECT_GT(events[i]["ms"], 0);
    }
    double right = events[i]["accuracy"] * events[i]["samples"];
    EXPECT_NEAR(right, std::round(right), 1e-4);
  }
  // About ln 10 at first, much less at the end.
  EXPECT_NEAR(events[0]["loss"], std::log(10), 0.2);
  EXPECT_LT(events[46]["loss"], 1.0);
  char line[64];
  snprintf(line, sizeof line, "accuracy %.1f %%\n", 100 * events[47]["accuracy"]);
  EXPECT_EQ(result.out, line);
  EXPECT_NE(result.err.find("epoch 2/2"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find('\r'), std::string::npos) << "a progress line, although stderr is no terminal";
  EXPECT_EQ(result.err.find('\033'), std::string::npos) << "colour, although stderr is no terminal";
}

TEST_F(Dprun, LossesHaveNineDigitsOrSeventeen) {
  Compile(1);
  Must(Train("--steps=2"));
  EXPECT_TRUE(std::regex_search(Read(File("metrics")), std::regex("^\\{\"event\":\"step\",\"step\":1,\"epoch\":1,"
                                                                  "\"loss\":2\\.[0-9]{7,8},\"lr\":0.1,")))
      << Read(File("metrics"));
  Compile(1, "--precision=fp64");
  Must(Train("--steps=2"));
  EXPECT_TRUE(std::regex_search(Read(File("metrics")), std::regex("\"loss\":2\\.[0-9]{14,16},")))
      << Read(File("metrics"));
}

TEST_F(Dprun, QuietSaysOnlyTheLastLine) {
  Compile(1);
  Result result = Must(Train(std::string("--quiet ") + eval_digits));
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(std::regex_match(result.out, std::regex("accuracy [0-9.]+ %\n"))) << result.out;
  EXPECT_TRUE(
      std::regex_match(Must(Train("--quiet")).out, std::regex("loss [0-9.]+ \\(training, mean of steps 1 to 23\\)\n")));
}

TEST_F(Dprun, TheLastLineSaysOfWhichLossItSpeaks) {
  Must("dpc compile examples/mlp.dpt --batch=64 --loss=mse(logits,wanted) -o " + File("plan.bin"));
  auto zeros = [&](const std::string &name, int samples) {
    return Write(name, Npy({samples, 10}, std::vector<double>(static_cast<size_t>(samples) * 10)));
  };
  const std::string wanted = "--data wanted=" + zeros("train.npy", 1437),
                    eval_wanted = "--eval-data wanted=" + zeros("eval.npy", 360);
  const std::string data = "--quiet --data image=examples/data/digits/train-images-idx3-ubyte " + wanted;
  const std::string eval = " --eval-data image=examples/data/digits/test-images-idx3-ubyte " + eval_wanted;
  auto last = [&](const std::string &options) { return Must("dprun " + File("plan.bin") + " " + options).out; };
  EXPECT_TRUE(std::regex_match(last(data + " --steps=25"),
                               std::regex("loss [0-9.e-]+ \\(training, mean of steps 24 to 25\\)\n")));
  EXPECT_TRUE(std::regex_match(last(data + eval), std::regex("loss [0-9.e-]+ \\(evaluation\\)\n")));
  EXPECT_TRUE(std::regex_match(last("--quiet" + eval), std::regex("loss [0-9.e-]+ \\(evaluation\\)\n")));
}

TEST_F(Dprun, StepsAreATotalAndGoRound) {
  Compile(1);
  Must(Train(std::string("--steps=25 ") + eval_digits));
  std::vector<Event> events = Metrics(File("metrics"));
  ASSERT_EQ(events.size(), 27u);
  EXPECT_EQ(events[23].event, "eval");
  EXPECT_EQ(events[24]["step"], 24);
  EXPECT_EQ(events[24]["epoch"], 2);
  EXPECT_EQ(events[26].event, "eval");
  EXPECT_EQ(events[26]["step"], 25);
  EXPECT_EQ(events[26]["epoch"], 2);
  EXPECT_EQ(TrainLosses("--steps=0").size(), 0u);
  EXPECT_EQ(TrainLosses("--epochs=1 --drop-last").size(), 22u);
  EXPECT_EQ(TrainLosses("").size(), 23u);
}

TEST_F(Dprun, SameSeedSameBitsWhateverTheThreads) {
  Compile(3);
  const std::string options = "--epochs=2 --shuffle --seed=7 ";
  std::vector<double> one = TrainLosses(options + "--threads=1 --save=" + File("a.safetensors"));
  EXPECT_EQ(TrainLosses(options + "--threads=4 --save=" + File("b.safetensors")), one);
  EXPECT_EQ(TrainLosses(options), one);
  EXPECT_EQ(Read(File("a.safetensors")), Read(File("b.safetensors")));
  EXPECT_NE(TrainLosses("--epochs=2 --shuffle --seed=8"), one);
  EXPECT_NE(TrainLosses("--epochs=2 --seed=7"), one);
}

TEST_F(Dprun, SavedWeightsLoadOnAnyNumberOfDevices) {
  Compile(2);
  Must(Train("--epochs=2 --save=" + File("w.safetensors")));
  std::vector<double> evaluated;
  for (int devices : {2, 1, 4}) {
    Compile(devices);
    Must("dprun " + File("plan.bin") + " --init=" + File("w.safetensors") + " " + eval_digits +
         " --metrics=" + File("metrics") + " --save=" + File("again.safetensors"));
    EXPECT_EQ(Read(File("again.safetensors")), Read(File("w.safetensors"))) << devices;
    std::vector<Event> events = Metrics(File("metrics"));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0]["step"], 0);
    EXPECT_EQ(events[0]["epoch"], 0);
    evaluated.push_back(events[0]["loss"]);
  }
  EXPECT_LT(evaluated[0], 1.0);
  EXPECT_NEAR(evaluated[1], evaluated[0], 1e-6);
  EXPECT_NEAR(evaluated[2], evaluated[0], 1e-6);
  // Double precision accepts them too.
  Compile(1, "--precision=fp64");
  Must("dprun " + File("plan.bin") + " --init=" + File("w.safetensors") + " " + eval_digits +
       " --metrics=" + File("metrics"));
  EXPECT_NEAR(Metrics(File("metrics"))[0]["loss"], evaluated[0], 1e-5);
}

TEST_F(Dprun, DataMayBeNpyOrGzipped) {
  Compile(1);
  std::vector<double> plain = TrainLosses("--steps=3");
  const std::string folder = "examples/data/digits/";
  const std::string images = Read(folder + "train-images-idx3-ubyte"),
                    labels = Read(folder + "train-labels-idx1-ubyte");
  gzFile gz = gzopen(File("images.gz").c_str(), "wb");
  gzwrite(gz, images.data(), static_cast<unsigned>(images.size()));
  gzclose(gz);
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1437,), }";
  header += std::string(63 - (header.size() + 10) % 64, ' ') + "\n";
  std::string npy = std::string("\x93NUMPY\x01\0", 8);
  npy += static_cast<char>(header.size());
  npy += std::string("\0", 1) + header;
  for (char c : labels.substr(8)) npy += c + std::string("\0\0\0", 3);
  Must("dprun " + File("plan.bin") + " --data image=" + File("images.gz") +
       " --data label=" + Write("labels.npy", npy) + " --steps=3 --metrics=" + File("metrics"));
  EXPECT_EQ(Losses(File("metrics")), plain);
}

// An IDX file of bytes.
std::string Idx(const std::vector<int> &shape, const std::string &data) {
  std::string text = {0, 0, 8, static_cast<char>(shape.size())};
  for (int extent : shape)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(extent >> shift);
  return text + data;
}

TEST_F(Dprun, AccuracyCountsLabelsNotSamples) {
  // A sample has four rows of scores, along the last axis. The scores are the input, so the right answers are known.
  std::string model = Write("m.dpt", R"dpt(model m {
  opset 18
  loss "softmax_cross_entropy(scores,label)"
  optimizer "sgd(lr=0)"
  input x: uint8[N,4,3]
  parameter w: float32[3,3] = [1,0,0, 0,1,0, 0,0,1]
  f = Cast(x) {to="float32"}
  scores = MatMul(f, w)
  output scores
})dpt");
  std::string x, y;
  double loss = 0;
  int right = 0;
  for (int i = 0; i < 7 * 4; i++) {  // row i favours class i % 3; every fifth label differs
    int favoured = i % 3, label = i % 5 ? favoured : (favoured + 1) % 3;
    for (int c = 0; c < 3; c++) x += static_cast<char>(c == favoured ? 2 : 0);
    y += static_cast<char>(label);
    right += label == favoured;
    loss += std::log(std::exp(2.0) + 2) - (label == favoured ? 2 : 0);
  }
  std::string eval = " --eval-data x=" + Write("x", Idx({7, 4, 3}, x)) +
                     " --eval-data label=" + Write("y", Idx({7, 4}, y)) + " --metrics=" + File("metrics");
  for (const char *devices : {"1", "3"}) {
    Must("dpc compile " + model + " --batch=5 --strategy=data --devices=" + devices + " -o " + File("plan.bin"));
    Must("dprun " + File("plan.bin") + eval);
    Event event = Metrics(File("metrics")).at(0);
    EXPECT_EQ(event["samples"], 7);
    EXPECT_NEAR(event["accuracy"], right / 28.0, 1e-8);
    EXPECT_NEAR(event["loss"], loss / 28, 1e-6);
  }
}

TEST_F(Dprun, ASignalEndsTheStepSavesAndExits75) {
  Compile(2);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU}) {
    unlink(File("metrics").c_str());
    Start(Train("--epochs=1000000 --save=" + File("w.safetensors") + " " + eval_digits));
    for (int i = 0; i < 3000 && Read(File("metrics")).empty(); i++) usleep(10000);
    Signal(number);
    Result result = Wait();
    EXPECT_EQ(result.code, 75) << result.err;
    EXPECT_NE(result.err.find("interrupted after step"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("w.safetensors"), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
    size_t steps = Losses(File("metrics")).size();
    EXPECT_GE(steps, 23u);
    EXPECT_NE(result.err.find("step " + std::to_string(steps)), std::string::npos) << result.err << steps;
    Must("dprun " + File("plan.bin") + " --quiet --init=" + File("w.safetensors") + " " + eval_digits);
    unlink(File("w.safetensors").c_str());
  }
}

// The limit of the shell is in blocks of 512 bytes.
TEST_F(Dprun, ALimitOfFilesSizesIsAFailureToWrite) {
  Compile(2);
  const Result result = Shell("ulimit -f 8; " + Train("--steps=2 --save=" + File("w.safetensors")));
  EXPECT_EQ(result.code, 74) << result.err;
  EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
  EXPECT_EQ(Shell("ls " + File("w.safetensors") + "*").out, "");
  const Result compiled = Shell("ulimit -f 4; dpc compile examples/digits_cnn.dpt --batch=8 -o " + File("other.bin"));
  EXPECT_EQ(compiled.code, 74) << compiled.err;
  EXPECT_NE(compiled.err.find("File too large"), std::string::npos) << compiled.err;
  EXPECT_EQ(Shell("ls " + File("other.bin") + "*").out, "");
}

// Predictions of several outputs replace what is there together or not at all.
TEST_F(Dprun, OutputsAreReplacedTogether) {
  const std::string model =
      "model m {\n  input x: float32[N,64]\n  y = ReduceSum(x) {axes=[1]}\n  z = Relu(x)\n"
      "  output y\n  output z\n}\n";
  Must("dpc compile " + Write("two.dpt", model) + " --mode=infer --batch=8 -o " + File("two.bin"));
  const std::string infer = "dprun " + File("two.bin") + " --quiet --infer --data x=" +
                            Write("x.npy", Npy({32, 64}, std::vector<double>(32 * 64, 1))) +
                            " --output y=" + Write("y.npy", "old") + " --output z=" + Write("z.npy", "old");
  const Result result = Shell("ulimit -f 4; " + infer);
  EXPECT_EQ(result.code, 74) << result.err;
  EXPECT_NE(result.err.find("z.npy"), std::string::npos) << result.err;
  EXPECT_EQ(Read(File("y.npy")), "old");
  EXPECT_EQ(Read(File("z.npy")), "old");
  EXPECT_EQ(Shell("ls " + File("y.npy") + "?* " + File("z.npy") + "?*").out, "");
  Must(infer);
  EXPECT_EQ(ReadNpy(File("y.npy")).numbers.size(), 32u);
}

// The metrics of an earlier run stay until there are others.
TEST_F(Dprun, WhatIsRefusedLeavesTheMetrics) {
  Compile(2);
  Must(Train("--steps=3"));
  const std::string before = Read(File("metrics"));
  ASSERT_EQ(Losses(File("metrics")).size(), 3u);
  for (const char *wrong :
       {"--init=nothere.safetensors", "--save=w.safetensors --best=no_such", "--tensorboard=/proc/no"}) {
    EXPECT_NE(Run(Train(wrong)).code, 0) << wrong;
    EXPECT_EQ(Read(File("metrics")), before) << wrong;
  }
  Must(Train("--steps=2"));
  EXPECT_EQ(Losses(File("metrics")).size(), 2u);
}

TEST_F(Dprun, ALossThatIsNotFiniteIsSaidOnce) {
  Compile(2, "--optimizer=sgd(lr=1e30)");
  Result result = Must(Train("--steps=40"));
  size_t first = result.err.find("not finite");
  ASSERT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("not finite", first + 1), std::string::npos) << result.err;
  EXPECT_EQ(Losses(File("metrics")).size(), 40u);
  EXPECT_TRUE(std::isnan(Losses(File("metrics"))[39]));
  Refused(Train("--steps=40 --stop-on-nan --save=" + File("w.safetensors")), 65, {"step 2", "not finite"});
  EXPECT_FALSE(Exists(File("w.safetensors")));
}

TEST_F(Dprun, ExplainPrintsEachStepOfThePlan) {
  Compile(2);
  Result result = Must("dprun " + File("plan.bin") + " --explain");
  for (const char *word :
       {"program train", "program eval", "stream compute", "stream comm", "dp.AllReduce", "waits for", "signals",
        "float32[N,64] [S(0)] transient +", ", 8192 bytes", "kernel cpu.onednn.Gemm"})
    EXPECT_NE(result.out.find(word), std::string::npos) << word << "\n" << result.out.substr(0, 3000);
}

TEST_F(Dprun, TraceHasATrackForEachDeviceAndStream) {
  Compile(2);
  Must(Train("--steps=3 --trace=" + File("trace.json")));
  json_error_t error;
  json_t *trace = json_load_file(File("trace.json").c_str(), 0, &error);
  ASSERT_NE(trace, nullptr) << error.text;
  json_t *events = json_object_get(trace, "traceEvents");
  std::map<std::string, int> names;
  std::map<std::pair<json_int_t, json_int_t>, int> tracks;
  for (size_t i = 0; i < json_array_size(events); i++) {
    json_t *event = json_array_get(events, i);
    if (strcmp(json_string_value(json_object_get(event, "ph")), "X")) continue;
    names[json_string_value(json_object_get(event, "name"))]++;
    tracks[{json_integer_value(json_object_get(event, "pid")), json_integer_value(json_object_get(event, "tid"))}]++;
    EXPECT_GE(json_number_value(json_object_get(event, "dur")), 0);
  }
  json_decref(trace);
  EXPECT_GE(tracks.size(), 4u);
  EXPECT_GT(names["wait"], 0);
  // Slices are named after their node or value. Each step and device has one, although the model has several Gemm.
  EXPECT_EQ(names["Gemm logits"], 3 * 2);
  int reduces = 0;
  for (const auto &[name, count] : names)
    if (name.rfind("AllReduce ", 0) == 0) reduces += count;
  EXPECT_EQ(reduces % (3 * 2), 0);
  EXPECT_GT(reduces, 0);
}

}  // namespace
