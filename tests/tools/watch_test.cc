// --best and --early-stop: which evaluation is kept, when training ends, and that being killed changes neither.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "tests/tools/checkpoints.h"

namespace {

const int kEpoch = 23, kEpochs = 40;  // steps, epochs

class Watch : public Checkpoints {
 protected:
  void SetUp() override {
    Checkpoints::SetUp();
    Compile("--optimizer=adam(lr=0.2)");  // so large a rate that the loss goes up and down
  }

  std::string BestLink(const std::string &folder = "run") {
    char to[64] = "";
    return readlink(File(folder + "/best").c_str(), to, sizeof to - 1) < 0 ? "" : to;
  }

  // What a field of the evaluations was, epoch by epoch, of a run that nothing ended.
  std::vector<double> Evaluations(const std::string &field) {
    std::vector<double> values;
    Must(Train("--epochs=" + std::to_string(kEpochs) + " " + eval_digits));
    for (const Event &e : Metrics(File("metrics")))
      if (e.event == "eval") values.push_back(e[field]);
    unlink(File("metrics").c_str());
    return values;
  }
};

// The epochs, from 1, of the best value and of the end.
struct Course {
  size_t best, end;
};
Course Follow(const std::vector<double> &values, double sign, size_t patience) {
  Course c = {1, 1};
  while (c.end < values.size() && c.end - c.best < patience) {
    c.end++;
    if (sign * values[c.end - 1] > sign * values[c.best - 1]) c.best = c.end;
  }
  return c;
}

TEST_F(Watch, KeepsTheBestAndEndsInTime) {
  const struct {
    const char *metric;
    double sign;
  } metrics[] = {{"loss", -1}, {"accuracy", 1}};
  for (const auto &m : metrics) {
    SCOPED_TRACE(m.metric);
    const std::vector<double> values = Evaluations(m.metric);
    for (size_t patience : {2u, 4u}) {
      const Course course = Follow(values, m.sign, patience);
      ASSERT_LT(course.end, size_t(kEpochs)) << "the values do not go up and down enough";
      const std::string folder = std::string(m.metric) + std::to_string(patience),
                        best = "step-" + std::to_string(kEpoch * course.best),
                        last = "step-" + std::to_string(kEpoch * course.end);
      const Result result =
          Must(Train(Save(folder) + "--keep=1 --epochs=" + std::to_string(kEpochs) + " --best=" + m.metric +
                     " --early-stop=" + std::to_string(patience) + " --json " + eval_digits));
      EXPECT_EQ(BestLink(folder), best);
      Strings names = {"best", best, last};
      std::sort(names.begin(), names.end());
      EXPECT_EQ(Names(folder), names);
      EXPECT_NE(result.out.find("\"best_step\":" + std::to_string(kEpoch * course.best)), std::string::npos)
          << result.out;
      // The link leads to weights that evaluate to that value.
      Must("dprun " + File("plan.bin") + " --quiet --metrics=" + File("again") +
           " --init=" + File(folder + "/best/weights.safetensors") + " " + eval_digits);
      EXPECT_EQ(Metrics(File("again")).at(0)[m.metric], values[course.best - 1]);
    }
  }
}

TEST_F(Watch, KilledAndResumedItIsTheSame) {
  const std::vector<double> values = Evaluations("loss");
  const Course course = Follow(values, -1, 5);
  ASSERT_LT(course.end, size_t(kEpochs));
  const std::string watched =
      "--early-stop=5 --best=loss --keep=2 --epochs=" + std::to_string(kEpochs) + " " + eval_digits + " ";
  const auto begun = std::chrono::steady_clock::now();
  Must(Train(Save("whole") + watched));
  const auto took = std::chrono::steady_clock::now() - begun;
  const std::string whole = Read(File("metrics"));
  unlink(File("metrics").c_str());
  std::minstd_rand random(11);
  int killed = 0;
  for (int i = 0; i < 12; i++) {
    Start(Train(Save() + watched + "--save-every=4 --resume"));
    // Shares of what the whole took, so that no machine is fast enough to end after two.
    std::this_thread::sleep_for(took / 1000 * (random() % 200));
    Signal(SIGKILL);
    killed += Wait().code == 128 + SIGKILL;
  }
  EXPECT_GT(killed, 2);
  Must(Train(Save() + watched + "--save-every=4 --resume"));
  EXPECT_EQ(BestLink(), BestLink("whole"));
  const int last = kEpoch * int(course.end);
  EXPECT_TRUE(Weights(last) == Weights(last, "whole"));
  const std::vector<Event> pieces = Metrics(File("metrics"));
  Write("whole_metrics", whole);
  const std::vector<Event> at_once = Metrics(File("whole_metrics"));
  ASSERT_EQ(pieces.size(), at_once.size());
  for (size_t i = 0; i < pieces.size(); i++) EXPECT_EQ(pieces[i].numbers.at("loss"), at_once[i].numbers.at("loss"));
  // It stays ended.
  Must(Train(Save() + watched + "--resume"));
  EXPECT_EQ(Metrics(File("metrics")).back()["step"], last);
}

// Ended after each epoch and resumed: each evaluation is made again, and none counts twice.
TEST_F(Watch, InPiecesItIsTheSame) {
  const std::vector<double> values = Evaluations("loss");
  const Course course = Follow(values, -1, 3);
  ASSERT_LT(course.end, size_t(kEpochs));
  for (size_t epoch = 1; epoch <= course.end + 2; epoch++)
    Must(Train(Save() + "--early-stop=3 --best=loss --keep=1 --resume --epochs=" + std::to_string(epoch) + " " +
               eval_digits));
  EXPECT_EQ(BestLink(), "step-" + std::to_string(kEpoch * course.best));
  EXPECT_EQ(Metrics(File("metrics")).back()["step"], double(kEpoch * course.end));
}

// A run that does not judge forgets nothing of one that did, and only the best and the newest are kept.
TEST_F(Watch, ARunWithoutItForgetsNothing) {
  const std::string common = Save() + "--keep=1 --resume ", judged = std::string(" --best=loss ") + eval_digits;
  Must(Train(common + "--epochs=1" + judged));
  const std::string first = "step-" + std::to_string(kEpoch), change = " --lr=5 --allow-change=lr ";
  Must(Train(common + "--epochs=2" + change + judged));
  ASSERT_EQ(BestLink(), first);
  Must(Train(common + "--epochs=2" + change));
  Must(Train(common + "--epochs=3" + change));
  Must(Train(common + "--epochs=4" + change + judged));
  EXPECT_EQ(BestLink(), first);
  Strings names = {"best", first, "step-" + std::to_string(4 * kEpoch)};
  EXPECT_EQ(Names("run"), names);
}

TEST_F(Watch, ANewRunMayNotBeJudgedByAnotherMetric) {
  Must(Train(Save() + "--epochs=2 --best=loss " + eval_digits));
  const std::string again = Train(Save() + "--epochs=3 --best=accuracy --resume ") + eval_digits;
  Refused(again, 78, {"the best was by loss and is by accuracy now", "--allow-change=metric"});
  Must(again + " --allow-change=metric");
  EXPECT_FALSE(BestLink().empty());
}

TEST_F(Watch, WhatCannotBeIsRefused) {
  Refused(Train("--best=loss ") + eval_digits, 64, {"--save=FOLDER"});
  Refused(Train(Save() + "--best=loss"), 64, {"--best", "--eval-data"});
  Refused(Train("--early-stop=2"), 64, {"--early-stop", "--eval-data"});
  Refused(Train("--early-stop=0 ") + eval_digits, 64, {"--early-stop=0"});
  Refused(Train(Save() + "--best=top5 ") + eval_digits, 64, {"no such metric", "loss, accuracy, perplexity"});
  Refused(Train("--histograms"), 64, {"--tensorboard=DIR"});
  Refused(Train("--verbose"), 78, {"--quiet"});
}

// The result as JSON, on stdout alone; what is said besides goes to stderr.
TEST_F(Watch, JsonAndVerbose) {
  const std::string run = "dprun " + File("plan.bin") + " " + digits + " --json ";
  EXPECT_EQ(Must(run + "--steps=3 --quiet").out.rfind("{\"event\":\"result\",\"steps\":3,\"of\":\"training\",", 0), 0u);
  const Result verbose = Must(run + "--steps=1 --verbose " + eval_digits);
  for (const char *word : {"optimizer adam(lr=0.2)", "batch 64", "data: 1437 samples in 23 batches",
                           "evaluation: 360 samples in 6 batches", "parameters: 4 of 1824 numbers"})
    EXPECT_NE(verbose.err.find(word), std::string::npos) << word << verbose.err;
  EXPECT_NE(verbose.out.find("\"of\":\"evaluation\""), std::string::npos) << verbose.out;
  EXPECT_EQ(std::count(verbose.out.begin(), verbose.out.end(), '\n'), 1);
}

}  // namespace
