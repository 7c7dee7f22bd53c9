// Checkpoints as a user sees them: what is saved, from where --resume goes on, what it refuses.
#include <jansson.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "tests/tools/array.h"
#include "tests/tools/checkpoints.h"

namespace {

// Sanitizers take memory of their own, and hold signals back.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const bool kSanitized = true;
#else
const bool kSanitized = false;
#endif

class Resume : public Checkpoints {
 protected:
  // Whole lines of metrics so far; a process that still runs may have written half of the next.
  std::ptrdiff_t Lines() const {
    const std::string text = Read(File("metrics"));
    return std::count(text.begin(), text.end(), '\n');
  }
};

TEST_F(Resume, ACheckpointEveryFewStepsAndTheNewestStay) {
  Must(Train(Save() + "--steps=25 --save-every=4"));
  EXPECT_EQ(Names("run"), (Strings{"step-12", "step-16", "step-20", "step-24", "step-25", "step-4", "step-8"}));
  EXPECT_EQ(Names("run/step-12"), (Strings{"checkpoint.json", "weights.safetensors"}));
  EXPECT_EQ(Names("run", true), Strings{});
  Must(Train(Save("kept") + "--steps=25 --save-every=4 --keep=3"));
  EXPECT_EQ(Names("kept"), (Strings{"step-20", "step-24", "step-25"}));
  for (int step : {20, 24, 25}) EXPECT_EQ(Weights(step, "kept"), Weights(step));
  Must(Train(Save("sync") + "--steps=25 --save-every=4 --keep=1 --save-sync"));
  EXPECT_EQ(Names("sync"), Strings{"step-25"});
  EXPECT_EQ(Weights(25, "sync"), Weights(25));
  // The weights are a file like any other.
  Must("dprun " + File("plan.bin") + " --quiet --init=" + File("run/step-25/weights.safetensors") + " " + eval_digits);
}

TEST_F(Resume, TheRecordSaysWhereTrainingStood) {
  Must(Train(Save() + "--steps=25 --save-every=23"));
  const struct { int step, epoch, position; } expected[] = {{23, 2, 0}, {25, 2, 2}};  // an epoch has 23 steps
  for (const auto &e : expected) {
    json_error_t error;
    const std::string path = File("run/step-" + std::to_string(e.step) + "/checkpoint.json");
    json_t *record = json_load_file(path.c_str(), 0, &error);
    ASSERT_NE(record, nullptr) << error.text;
    auto number = [&](const char *name) { return json_integer_value(json_object_get(record, name)); };
    EXPECT_EQ(number("step"), e.step);
    EXPECT_EQ(number("epoch"), e.epoch);
    EXPECT_EQ(number("position"), e.position);
    EXPECT_EQ(number("batch"), 64);
    EXPECT_EQ(number("samples"), 1437);
    EXPECT_STREQ(json_string_value(json_object_get(record, "seed")), "3");
    EXPECT_TRUE(json_is_true(json_object_get(record, "shuffle")));
    json_decref(record);
  }
}

// Stopped in the middle of epochs, at their ends, before their evaluations.
TEST_F(Resume, InAnyNumberOfPiecesTheBytesAreThoseOfOne) {
  const std::string eval = std::string(" ") + eval_digits;
  Must(Train(Save("whole") + "--epochs=3" + eval));
  const std::vector<Event> whole = Metrics(File("metrics"));
  for (int end : {1, 7, 22, 23, 24, 40, 46, 47, 60}) {
    Must(Train(Save() + "--resume --steps=" + std::to_string(end) + eval));
    EXPECT_TRUE(Exists(File("run/step-" + std::to_string(end)))) << end;
  }
  Must(Train(Save() + "--resume --epochs=3" + eval));
  EXPECT_TRUE(Weights(69) == Weights(69, "whole"));
  // The metrics go on too. Evaluations in the middle of an epoch, at the end of a piece, are not of the whole.
  const std::vector<Event> pieces = Metrics(File("metrics"));
  ASSERT_EQ(pieces.size(), whole.size());
  for (size_t i = 0; i < whole.size(); i++) {
    EXPECT_EQ(pieces[i].event, whole[i].event) << i;
    for (const char *name : {"step", "epoch", "loss", "samples"})
      EXPECT_EQ(pieces[i].numbers.at(name), whole[i].numbers.at(name)) << i << name;
  }
  // Nothing is left to do: the result is measured again, and nothing changes.
  const Result again = Must(Train(Save() + "--resume --epochs=3" + eval));
  EXPECT_EQ(again.out.rfind("accuracy ", 0), 0u) << again.out;
  EXPECT_TRUE(Weights(69) == Weights(69, "whole"));
}

// With all that training remembers: the order, what dropout and augmentation draw, running statistics, the optimizer's
// state and averages, the schedule, which samples are for validation.
TEST_F(Resume, KilledTenTimes) {
  Compile("--optimizer=adam(lr=1e-2,schedule=cosine,warmup=5,total=800,ema=0.9);*.bias:weight_decay=0.1,lr_scale=0.5");
  const std::string steps = "--steps=800 --augment image=flip,crop:1 --validation=0.2 ";
  Must(Train(Save("whole") + steps));
  const std::vector<Event> whole = Metrics(File("metrics"));
  unlink(File("metrics").c_str());
  std::minstd_rand random(7);
  for (int i = 0; i < 10; i++) {
    const std::string threads = std::to_string(i % 2 + 1), workers = std::to_string(i % 3 + 1);
    Start(Train(Save() + steps + "--save-every=2 --keep=2 --resume --threads=" + threads + " --workers=" + workers));
    const auto before = Lines();
    for (int t = 0; t < 10000 && Lines() < before + 2; t++) usleep(1000);
    usleep(random() % 10000);
    Signal(SIGKILL);
    const Result result = Wait();
    EXPECT_EQ(result.code, 128 + SIGKILL);
    EXPECT_EQ(result.err, "");
  }
  Must(Train(Save() + steps + "--keep=2 --resume"));
  EXPECT_TRUE(Weights(800) == Weights(800, "whole"));
  const std::vector<Event> pieces = Metrics(File("metrics"));
  ASSERT_EQ(pieces.size(), whole.size());
  for (size_t i = 0; i < whole.size(); i++) {
    EXPECT_EQ(pieces[i].event, whole[i].event) << i;
    for (const char *name : {"step", "epoch", "loss", "samples"})
      EXPECT_EQ(pieces[i].numbers.at(name), whole[i].numbers.at(name)) << i << name;
  }
  EXPECT_EQ(Names("run", true), Strings{});
}

TEST_F(Resume, AnotherFolderToGoOnFrom) {
  Must(Train(Save("whole") + "--steps=30"));
  Must(Train(Save() + "--steps=20"));
  Must(Train(Save("other") + "--steps=30 --resume=" + File("run")));
  EXPECT_EQ(Names("other"), Strings{"step-30"});
  EXPECT_EQ(Names("run"), Strings{"step-20"});
  EXPECT_TRUE(Weights(30, "other") == Weights(30, "whole"));
  // Without checkpoints of its own.
  Must(Train("--save=" + File("w.safetensors") + " --steps=30 --resume=" + File("run")));
  Must(Train("--steps=3 --resume=" + File("absent")));
  EXPECT_FALSE(Exists(File("absent")));
  // The initial weights are those of the beginning.
  Must(Train(Save() + "--resume --steps=30 --init=" + File("w.safetensors")));
  EXPECT_TRUE(Weights(30) == Weights(30, "whole"));
}

TEST_F(Resume, ASignalEndsTheStepAndASecondOneEverything) {
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU}) {
    unlink(File("metrics").c_str());
    const std::string folder = "run" + std::to_string(number);
    Start(Train(Save(folder) + "--epochs=1000000 " + eval_digits));
    for (int i = 0; i < 3000 && Read(File("metrics")).empty(); i++) usleep(10000);
    Signal(number);
    Result result = Wait();
    EXPECT_EQ(result.code, 75) << result.err;
    EXPECT_NE(result.err.find("--resume goes on from"), std::string::npos) << result.err;
    ASSERT_EQ(Names(folder).size(), 1u);
    EXPECT_NE(result.err.find("step " + Names(folder)[0].substr(5)), std::string::npos) << result.err;
  }
  if (kSanitized) return;
  // Two at once, to a process that is stopped until both have come: nothing is saved any more.
  for (int number : {SIGINT, SIGTERM}) {
    unlink(File("metrics").c_str());
    Start(Train(Save("second") + "--resume --epochs=1000000"));
    for (int i = 0; i < 3000 && !Lines(); i++) usleep(10000);
    Signal(SIGSTOP);
    Signal(SIGUSR1);
    Signal(number);
    Signal(SIGCONT);
    Result result = Wait();
    EXPECT_TRUE(result.code == 128 + number || result.code == 128 + SIGUSR1) << result.code;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(Names("second"), Strings{});
  }
}

TEST_F(Resume, WhatChangedIsNamedAndRefused) {
  Must(Train(Save() + "--steps=20"));
  const std::string go_on = Save() + "--steps=22 --resume";
  const std::string run = "dprun " + File("plan.bin") + " --quiet " + digits + " ";
  Refused(run + go_on + " --seed=3", 78, {"step-20", "--shuffle was on and is off now", "--allow-change=order"});
  Refused(run + go_on + " --shuffle", 78, {"--seed was 3 and is 0 now", "--allow-change=seed"});
  Refused(Train(go_on + " --drop-last"), 78, {"--drop-last was off and is on now"});
  Compile("--batch=32", "small.bin");
  Refused(Train(go_on, "small.bin"), 78, {"the batch was 64 and is 32 now", "--allow-change=batch"});
  Compile("--optimizer=adam(lr=1)", "adam.bin");
  Refused(Train(go_on, "adam.bin"), 78,
          {"the optimizer was adam(lr=1e-2,schedule=cosine", "is adam(lr=1) now", "--allow-change=optimizer"});
  Must(Train("--save=" + File("other") + " --steps=21 --resume=" + File("run") + " --allow-change=optimizer",
             "adam.bin"));
  const std::string folder = "examples/data/digits/";
  Refused("dprun " + File("plan.bin") + " --quiet " + go_on + " --shuffle --seed=3 --data image=" + folder +
              "test-images-idx3-ubyte --data label=" + folder + "test-labels-idx1-ubyte",
          78, {"the data had 1437 samples and has 360 now", "--allow-change=data"});
  std::string labels = Read(folder + "train-labels-idx1-ubyte");
  labels[100] = static_cast<char>(labels[100] ? 0 : 1);
  Refused("dprun " + File("plan.bin") + " --quiet " + go_on + " --shuffle --seed=3 --data image=" + folder +
              "train-images-idx3-ubyte --data label=" + Write("labels", labels),
          78, {"other data of as many samples", "--allow-change=data"});
  // Other operators with the same parameters; other parameters.
  std::string text = Read(File("m.dpt"));
  text.replace(text.find("Relu("), 4, "Tanh");
  Write("m.dpt", text);
  Compile("", "tanh.bin");
  Refused(Train(go_on, "tanh.bin"), 78, {"the model was another one", "--allow-change=model"});
  Must("dpc compile examples/mlp.dpt --batch=64 -o " + File("mlp.bin"));
  Refused(Train(go_on, "mlp.bin"), 78, {"the model was another one", "the optimizer was"});
  Refused(Train(go_on + " --allow-change=model,optimizer", "mlp.bin"), 65,
          {"missing, though the model has them: ", "'dp.momentum/hidden.weight'", " and 1 more",
           "unexpected, as the model has none of that name: ", "'bn.bias'",
           "of another shape or type: ", "'hidden.weight' is float32[24,64], but the model has float32[64,64]"});
  // Nothing was written, and what is allowed goes on.
  EXPECT_EQ(Names("run"), Strings{"step-20"});
  Must(Train(go_on + " --allow-change=batch", "small.bin"));
  EXPECT_EQ(Losses(File("metrics")).size(), 22u);
}

// A rate that is asked for goes on; what was asked for once is not forgotten.
TEST_F(Resume, ARateOfTheCommandLine) {
  Compile("--optimizer=nadam(lr=0.01,warmup=4)");
  Must(Train(Save() + "--steps=6 --lr=0.5"));
  std::vector<Event> events = Metrics(File("metrics"));
  EXPECT_DOUBLE_EQ(events[0].numbers.at("lr"), 0.125);
  EXPECT_DOUBLE_EQ(events[5].numbers.at("lr"), 0.5);
  Refused(Train(Save() + "--steps=8 --resume"), 78,
          {"the learning rate was 0.5, by --lr, and is 0.01 now", "--allow-change=lr"});
  Must(Train(Save() + "--steps=8 --resume --lr=0.25"));
  Must(Train(Save() + "--steps=9 --resume --lr=0.25"));
  Must(Train(Save() + "--steps=10 --resume --allow-change=lr"));
  events = Metrics(File("metrics"));
  EXPECT_DOUBLE_EQ(events[7].numbers.at("lr"), 0.25);
  EXPECT_DOUBLE_EQ(events[9].numbers.at("lr"), 0.01);
  // The rate is that of another SPEC: so are the bytes.
  Compile("--optimizer=nadam(lr=0.5,warmup=4)", "other.bin");
  Must(Train(Save("other") + "--steps=6", "other.bin"));
  EXPECT_EQ(Weights(6, "other"), Weights(6));
  Compile("--optimizer=sgd(lr=1,schedule=cosine,total=9,min_lr=0.5)", "least.bin");
  Refused(Train("--steps=1 --lr=0.25", "least.bin"), 78, {"--lr=0.25 is less than min_lr=0.5"});
  for (const char *lr : {"-1", "nan", "x", "1e999"})
    Refused(Train(std::string("--steps=1 --lr=") + lr), 64, {std::string("--lr=") + lr});
}

TEST_F(Resume, EveryOptimizerGoesOnWithTheSameBytes) {
  const char *const optimizers[] = {
      "rmsprop(centered=1,momentum=0.5,schedule=wsd,total=40,decay=20,warmup=3);*.bias:lr_scale=0.5",
      "adagrad(lr_decay=0.1,initial_accumulator_value=0.1)",
      "adamax(weight_decay=0.1)",
      "nadam(schedule=warm_restarts,period=4)",
      "radam()",
      "lion()",
      "lamb()",
      "muon()",
      "adam(ema=0.9)"};
  for (const char *optimizer : optimizers) {
    SCOPED_TRACE(optimizer);
    const std::string name(optimizer, strcspn(optimizer, "("));
    Compile(std::string("--optimizer=") + optimizer, "one.bin");
    Must(Train(Save(name + ".whole") + "--steps=9", "one.bin"));
    Must(Train(Save(name) + "--steps=4", "one.bin"));
    Must(Train(Save(name) + "--steps=9 --resume", "one.bin"));
    EXPECT_EQ(Weights(9, name), Weights(9, name + ".whole"));
  }
}

// The loss is so large that the first steps overflow float16: they are skipped, and counted, until the scale fits.
TEST_F(Resume, TheLossScaleGoesOn) {
  Compile(
      "--precision=fp16 --strategy=data --devices=2 --loss=1e5*softmax_cross_entropy(logits,label) "
      "--optimizer=adam(lr=1e-2,clip_norm=1)");
  std::string loud = Train(Save("whole") + "--steps=20");
  loud.erase(loud.find("--quiet "), 8);
  const Result whole = Must(loud);
  const std::vector<Event> steps = Metrics(File("metrics"));
  int skipped = 0;
  for (Event step : steps) skipped += step["skipped"] != 0;
  EXPECT_GT(skipped, 5);
  EXPECT_LT(skipped, 20);
  EXPECT_NE(whole.err.find(" " + std::to_string(skipped) + " steps skipped so far"), std::string::npos) << whole.err;
  for (int stop : {3, skipped + 1}) {
    const std::string folder = "stopped." + std::to_string(stop);
    Must(Train(Save(folder) + "--steps=" + std::to_string(stop)));
    Must(Train(Save(folder) + "--steps=20 --resume"));
    EXPECT_EQ(Weights(20, folder), Weights(20, "whole"));
  }
}

// Evaluation measures the averages, a file of weights holds them, and a checkpoint holds both.
// Where the tensors are others, to allow the change would not help, and what is said instead does.
TEST_F(Resume, WhatCannotGoOnCanBeginWithTheWeights) {
  Must(Train(Save() + "--steps=4"));
  const std::string go_on = Save() + "--steps=6 --resume", step = File("run/step-4");
  const auto advised = [&](const std::string &plan, const std::string &allowed, const std::string &init) {
    for (const auto &[more, code] : {std::pair<std::string, int>{"", 78}, {" --allow-change=" + allowed, 65}}) {
      const Result result = Run(Train(go_on + more, plan));
      EXPECT_EQ(result.code, code) << result.err;
      EXPECT_NE(result.err.find("give " + init + " and another folder to --save, without --resume"), std::string::npos)
          << result.err;
      for (const char *never : {"--allow-change", "did you mean"})
        EXPECT_EQ(result.err.find(never), std::string::npos) << result.err;
    }
    Must(Train(Save(plan + ".run") + "--steps=6 " + init, plan));
    EXPECT_TRUE(Exists(File(plan + ".run/step-6/checkpoint.json")));
  };
  Compile("--optimizer=sgd(lr=0.1)", "sgd.bin");
  advised("sgd.bin", "optimizer", "--init=" + step);
  // Another head; then nothing that fits.
  std::string text = Read(File("m.dpt"));
  text.replace(text.find("[10,24]"), 7, "[12,24]");
  Write("m.dpt", text);
  Compile("", "head.bin");
  advised("head.bin", "model", "--init=" + step + " --init-partial");
  for (size_t at; (at = text.find("24]")) != std::string::npos;) text.replace(at, 3, "20]");
  text.replace(text.find("[24,64]"), 7, "[20,64]");
  Write("m.dpt", text);
  Compile("", "narrow.bin");
  const Result result = Run(Train(go_on, "narrow.bin"));
  EXPECT_EQ(result.code, 78);
  EXPECT_EQ(result.err.find("--allow-change"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("--init"), std::string::npos) << result.err;
}

TEST_F(Resume, AveragesAreWhatIsMeasured) {
  Compile("--optimizer=sgd(lr=0.1,momentum=0.9,ema=0.9)");
  Compile("--optimizer=sgd(lr=0.1,momentum=0.9)", "plain.bin");
  const auto loss = [&](const std::string &plan, const std::string &more) {
    Must("dprun " + File(plan) + " --quiet --metrics=" + File("metrics") + " " + eval_digits + " " + more);
    return Metrics(File("metrics")).back().numbers.at("loss");
  };
  // Before the first step the averages are the parameters.
  EXPECT_EQ(loss("plan.bin", "--seed=3"), loss("plain.bin", "--seed=3"));
  Must(Train("--save=" + File("w.safetensors") + " --epochs=1 " + eval_digits));
  const double measured = Metrics(File("metrics")).back().numbers.at("loss");
  Must(Train("--save=" + File("plain.safetensors") + " --epochs=1 " + eval_digits, "plain.bin"));
  EXPECT_NE(measured, Metrics(File("metrics")).back().numbers.at("loss"));
  EXPECT_EQ(loss("plain.bin", "--init=" + File("w.safetensors")), measured);
  EXPECT_EQ(loss("plan.bin", "--init=" + File("w.safetensors")), measured);
  Must(Train(Save() + "--epochs=1"));
  const std::string checkpoint = File("run/step-23/weights.safetensors");
  EXPECT_EQ(loss("plan.bin", "--init=" + checkpoint), measured);
  EXPECT_EQ(loss("plain.bin", "--init=" + checkpoint), loss("plain.bin", "--init=" + File("plain.safetensors")));
}

// A step whose checkpoint is due has one before the evaluation that follows, which then belongs to it.
TEST_F(Resume, AnEvaluationAfterTheLastStepIsNotForgotten) {
  const std::string run = std::string("--best=loss --early-stop=9 ") + eval_digits + " ";
  const auto record = [&](const std::string &folder, const std::string &step) {
    return Read(File(folder + "/step-" + step + "/checkpoint.json"));
  };
  for (const char *step : {"30", "46"}) {  // in the middle of an epoch, at the end of one
    const std::string steps = std::string("--steps=") + step + " --resume ";
    Must(Train(Save("plain") + run + steps));
    Must(Train(Save("every") + run + steps + "--save-every=2 --keep=3"));
    Must(Train(Save("sync") + run + steps + "--save-every=2 --save-sync"));
    EXPECT_NE(record("plain", step).find(std::string("\"judged\": ") + step), std::string::npos)
        << record("plain", step);
    EXPECT_EQ(record("every", step), record("plain", step));
    EXPECT_EQ(record("sync", step), record("plain", step));
    EXPECT_EQ(Weights(std::stoi(step), "every"), Weights(std::stoi(step), "plain"));
  }
}

// Whoever was killed before the link was made has it made when training goes on.
TEST_F(Resume, TheLinkToTheBestIsMadeLater) {
  Must(Train(Save() + "--steps=7 --save-every=7 --best=loss " + eval_digits));
  ASSERT_EQ(unlink(File("run/best").c_str()), 0);
  Must(Train(Save() + "--steps=8 --resume"));
  char to[64] = "";
  EXPECT_GT(readlink(File("run/best").c_str(), to, sizeof to - 1), 0);
  EXPECT_STREQ(to, "step-7");
}

TEST_F(Resume, ALargerBatchSeesEachSampleOfTheEpochOnce) {
  Must(Train(Save() + "--steps=12"));  // 768 samples
  Compile("--batch=128", "large.bin");
  Must(Train(Save() + "--resume --epochs=2 --allow-change=batch", "large.bin"));
  const std::vector<Event> events = Metrics(File("metrics"));
  ASSERT_EQ(events.size(), 12u + 6 + 12);  // 669 samples are left of the first epoch
  double samples = 0;
  for (const Event &e : events) samples += e.numbers.at("samples");
  EXPECT_EQ(samples, 2 * 1437);
  EXPECT_EQ(events[12].numbers.at("epoch"), 1);
  EXPECT_EQ(events[18].numbers.at("epoch"), 2);
}

TEST_F(Resume, Options) {
  Must(Train(Save() + "--steps=2"));
  Refused(Train(Save() + "--steps=4"), 78, {"has checkpoints", "step 2", "--resume"});
  Refused(Train(Save() + "--steps=4 --resume=" + File("other")), 78, {"has checkpoints"});
  Must(Train(Save() + "--steps=4 --resume=" + File("run/../run/")));
  Refused(Train("--steps=4 --resume"), 64, {"--save=FOLDER"});
  Refused(Train("--steps=4 --resume --save=" + File("w.safetensors")), 64, {"--save=FOLDER"});
  Refused(Train("--steps=4 --save-every=2 --save=" + File("w.safetensors")), 64, {"--save-every", "--save=FOLDER"});
  Refused(Train("--keep=2"), 64, {"--keep", "--save=FOLDER"});
  Refused(Train("--save-sync"), 64, {"--save-sync", "--save=FOLDER"});
  Refused(Train(Save() + "--keep=0"), 64, {"--keep=0"});
  Refused(Train(Save() + "--save-every=0"), 64, {"--save-every=0"});
  Refused(Train(Save() + "--resume --allow-change=bach"), 64, {"bach", "batch, data, lr, metric, model"});
  Refused(Train(Save() + "--allow-change=batch"), 64, {"--resume"});
  Refused(Train("--save="), 64, {"name a file"});
  Refused(Train(Save("no/run") + "--steps=2"), 73, {"no/run"});
  Refused(Train("--steps=2 --save=" + Write("file", "")), 73, {"file"});
  Refused("dprun " + File("plan.bin") + " --save=" + File("eval") + " " + eval_digits, 64, {"--data"});
  Refused("dprun " + File("plan.bin") + " --infer --resume=" + File("run") +
              " --data image=examples/data/digits/test-images-idx3-ubyte",
          78, {"--resume", "--infer"});
}

// A copy of what is saved, and nothing more; with --save-sync, room for the largest tensor.
TEST_F(Resume, SavingTakesTheMemoryThatItSays) {
  if (kSanitized) GTEST_SKIP() << "measured without sanitizers";
  const int width = 1024, layers = 4;
  std::string text =
                  "model wide {\n  opset 18\n  loss \"mse(y,wanted)\"\n  optimizer \"adam(lr=1e-3)\"\n  input x: "
                  "float32[N,1024]\n",
              nodes, at = "x";
  for (int i = 0; i < layers; i++) {
    const std::string w = "w" + std::to_string(i), h = i + 1 < layers ? "h" + std::to_string(i) : "y";
    text += "  parameter " + w + ": float32[1024,1024] = kaiming_uniform()\n";
    nodes += "  " + h + " = MatMul(" + at + ", " + w + ")\n";
    at = h;
  }
  Must("dpc compile " + Write("wide.dpt", text + nodes + "  output y\n}\n") + " --batch=2 -o " + File("wide.bin"));
  const std::string x = Write("x.npy", Npy({2, width}, std::vector<double>(2 * width, 0.5)));
  const std::string run = "dprun " + File("wide.bin") + " --data x=" + x + " --data wanted=" + x +
                          " --steps=3 --metrics=" + File("metrics") + " ";
  const double largest = 4.0 * width * width, all = largest * layers * 3, slack = 3 << 20;
  Must(run);
  const double without = Memory(File("metrics"))["peak_resident_bytes"];
  const Result saved = Must(run + Save() + "--save-every=1");
  EXPECT_NE(saved.err.find("checkpoints of 48.0 MiB in "), std::string::npos) << saved.err;
  EXPECT_NEAR(Memory(File("metrics"))["peak_resident_bytes"], without + all, slack);
  Must(run + Save("sync") + "--save-every=1 --save-sync");
  EXPECT_NEAR(Memory(File("metrics"))["peak_resident_bytes"], without + largest, slack);
  EXPECT_TRUE(Weights(3) == Weights(3, "sync"));
}

TEST_F(Resume, OneFolderIsWrittenByOneProcess) {
  Start(Train(Save() + "--epochs=1000000 --save-every=1 --keep=1"));
  for (int i = 0; i < 3000 && Names("run").empty(); i++) usleep(10000);
  EXPECT_EQ(Shell("dprun " + File("plan.bin") + " " + digits + " --steps=1 --resume " + Save()).code, 73);
}

}  // namespace
