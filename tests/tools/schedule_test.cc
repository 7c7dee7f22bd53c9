// dprun --schedule: training is that of a plan which was compiled with the schedule, bit for bit, also in pieces; and
// --resume remembers what was asked for.
#include "tests/tools/checkpoints.h"

namespace {

const struct {
  std::string kind, arguments;
} schedules[] = {
    {"constant", ""},
    {"constant", "warmup=5"},
    {"step", "step_size=3,gamma=0.5,min_lr=0.001"},
    {"step", "step_size=4,warmup=3"},
    {"multistep", "milestones=[4,9,20],gamma=0.3,warmup=2"},
    {"exponential", "gamma=0.9"},
    {"cosine", "total=14,min_lr=1e-3"},
    {"cosine", "total=30,warmup=6"},
    {"linear", "total=16,start_factor=0.2,end_factor=0.7,warmup=1"},
    {"polynomial", "total=12,power=2"},
    {"one_cycle", "total=20,pct_start=0.4,div_factor=10,final_div_factor=100"},
    {"warm_restarts", "period=4,period_factor=2,min_lr=1e-4"},
    {"warm_restarts", "period=3,warmup=4"},
    {"wsd", "total=16,decay=6,min_lr=1e-4,warmup=3"},
};

std::string With(const std::string &lr, const std::string &kind, const std::string &arguments) {
  return "--optimizer=adam(lr=" + lr + ",ema=0.9,clip_norm=1,schedule=" + kind + (arguments.empty() ? "" : ",") +
         arguments + ");*.bias:lr_scale=0.5";
}

class Schedule : public Checkpoints {
 protected:
  std::vector<double> Rates() const {
    std::vector<double> rates;
    for (const Event &e : Metrics(File("metrics"))) rates.push_back(e["lr"]);
    return rates;
  }
};

TEST_F(Schedule, IsThatOfAPlanCompiledWithIt) {
  // Its own schedule, of which nothing may be left.
  Compile(With("0.02", "cosine", "total=7,warmup=2,min_lr=0.019"));
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
    const auto &s = schedules[i];
    const std::string spec = " --schedule=" + s.kind + "(" + s.arguments + ") ", n = std::to_string(i);
    Compile(With("0.02", s.kind, s.arguments), "own.bin");
    Must(Train(Save("own" + n) + "--steps=25", "own.bin"));
    const std::vector<double> rates = Rates();
    Must(Train(Save("whole" + n) + "--steps=25" + spec));
    EXPECT_EQ(Rates(), rates) << spec;
    EXPECT_TRUE(Weights(25, "whole" + n) == Weights(25, "own" + n)) << spec;
    for (int end : {4, 11, 25}) Must(Train(Save("parts" + n) + "--resume --steps=" + std::to_string(end) + spec));
    EXPECT_EQ(Rates(), rates) << spec;
    EXPECT_TRUE(Weights(25, "parts" + n) == Weights(25, "own" + n)) << spec;
  }
}

// The schedule goes by the rate that was asked for, on any devices.
TEST_F(Schedule, GoesWithARateAndWithDevices) {
  Compile(With("0.02", "constant", "") + " --strategy=data --devices=2");
  Compile(With("0.05", "warm_restarts", "period=4,warmup=3") + " --strategy=data --devices=2", "own.bin");
  Must(Train(Save("own") + "--steps=12", "own.bin"));
  const std::vector<double> rates = Rates();
  EXPECT_DOUBLE_EQ(rates[2], 0.05);
  EXPECT_LT(rates[4], 0.05);
  const std::string asked = "--lr=0.05 --schedule=warm_restarts(period=4,warmup=3) ";
  Must(Train(Save() + asked + "--steps=5"));
  Must(Train(Save() + asked + "--steps=12 --resume"));
  EXPECT_EQ(Rates(), rates);
  EXPECT_TRUE(Weights(12) == Weights(12, "own"));
}

// As a rate that was asked for.
TEST_F(Schedule, IsRememberedByCheckpoints) {
  Compile(With("0.02", "constant", ""));
  Must(Train(Save() + "--steps=4 --schedule=exponential(gamma=0.5)"));
  EXPECT_NE(Read(File("run/step-4/checkpoint.json")).find("\"schedule\": \"exponential(gamma=0.5)\""),
            std::string::npos);
  EXPECT_NE(Read(File("run/runs.jsonl")).find("--schedule=exponential(gamma=0.5)"), std::string::npos);
  Refused(Train(Save() + "--steps=6 --resume"), 78,
          {"the schedule was exponential(gamma=0.5), by --schedule, and is the plan's now", "--allow-change=schedule"});
  Must(Train(Save() + "--steps=6 --resume --schedule=step(step_size=2)"));
  EXPECT_DOUBLE_EQ(Rates()[5], 0.02 * 0.1 * 0.1);
  Must(Train(Save() + "--steps=8 --resume --allow-change=schedule"));
  EXPECT_DOUBLE_EQ(Rates()[7], 0.02);
  Must(Train(Save() + "--steps=9 --resume"));
  EXPECT_EQ(Read(File("run/step-9/checkpoint.json")).find("\"schedule\""), std::string::npos);
}

TEST_F(Schedule, WhatCannotBeIsRefused) {
  Compile(With("0.02", "constant", ""));
  const struct {
    const char *spec;
    int code;
    Strings words;
  } cases[] = {
      {"cosin(total=4)", 64, {"--schedule", "cosin", "did you mean 'cosine'"}},
      {"cosine", 64, {"--schedule", "needs total="}},
      {"cosine(total=4,step_size=2)", 64, {"step_size=2 has no effect with schedule=cosine"}},
      {"cosine(4)", 64, {"'4' needs a name, as in total=4"}},
      {"cosine(total=4,lr=1)", 64, {"takes no 'lr'"}},
      {"cosine(total=4,ema=0.5)", 64, {"takes no 'ema'"}},
      {"cosine(total=4,warmup=4)", 64, {"leaves no steps"}},
      {"cosine(total=4", 64, {"--schedule"}},
      {"1f1b", 64, {"1f1b"}},
      {"cosine(total=4,min_lr=0.1)", 78, {"the plan's lr=0.02 is less than min_lr=0.1 of --schedule"}},
      {"cosine(total=4,min_lr=0.1) --lr=0.05", 78, {"--lr=0.05 is less than min_lr=0.1 of --schedule"}},
  };
  for (const auto &c : cases) Refused(Train(std::string("--steps=1 --schedule=") + c.spec), c.code, c.words);
  Must(Train("--steps=1 --lr=0.2 --schedule=cosine(total=4,min_lr=0.1)"));
  Must(Train("--steps=1 --schedule=constant"));
  Compile("--mode=infer", "infer.bin");
  Refused("dprun " + File("infer.bin") + " --infer --schedule=constant", 78, {"--schedule", "--infer"});
}

}  // namespace
