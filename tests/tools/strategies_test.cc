// What one strategy saves, every other strategy loads bit by bit, evaluates and infers to the numbers of one device,
// and goes on to train as one device would have. Tests pairs of strategies, every fourth in the usual run and with
// DP_FULL all, on a GPT with tied embeddings, a vocabulary of 97 and a batch that divides by no number of devices.
#include <cmath>
#include <cstdlib>

#include "tests/end_to_end/gpt.h"
#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

const char *const kStrategies[] = {
    "single",
    "data --devices=3",
    "zero --zero-stage=1 --devices=2",
    "zero --zero-stage=2 --devices=3",
    "zero --zero-stage=3 --devices=4",
    "tensor --devices=2",
    "tensor --devices=8",
    "tensor --mesh=data=2,tensor=2",
    "zero --zero-stage=3 --mesh=tensor=2,data=2",
    "data --devices=2 --microbatches=3",
    "pipeline --devices=4 --microbatches=4 --schedule=gpipe",
    "pipeline --devices=3 --microbatches=5",
    "zero --zero-stage=3 --mesh=data=2,pipe=2",
    "pipeline --mesh=data=2,pipe=2,tensor=2",
    "manual --mesh=a=3",
};
const size_t kCount = sizeof kStrategies / sizeof *kStrategies;
const int kSamples = 20, kPlaces = 6, kVocabulary = 97;

bool IsTried(size_t saved, size_t loaded) { return (saved + loaded) % 4 == 0 || getenv("DP_FULL"); }

class Strategies : public Tools {
 protected:
  Strategies() {
    std::vector<double> tokens, next;
    for (int s = 0; s < kSamples; s++)
      for (int i = 0; i <= kPlaces; i++) {
        const double token = (s * 31 + i * i * 17 + s * i) % kVocabulary;
        if (i < kPlaces) tokens.push_back(token);
        if (i) next.push_back(token);
      }
    labels_.assign(next.begin(), next.end());
    std::string text = dp_test::Gpt(2, 16, 4, kVocabulary, kPlaces, true);
    // Only --strategy=manual has the axis; the vocabulary is not a multiple of it.
    const std::string wte = "wte: float32[97,16] = normal(0,0.5)";
    manual_ = Write("manual.dpt", text.insert(text.find(wte) + wte.size(), " shard(a=0)"));
    text.erase(text.find(" shard(a=0)"), 11);
    model_ = Write("gpt.dpt", text);
    const std::string x = Write("x.npy", Npy({kSamples, kPlaces}, tokens)),
                      label = Write("label.npy", Npy({kSamples, kPlaces}, next));
    data_ = " --data x=" + x + " --data label=" + label;
    eval_ = " --eval-data x=" + x + " --eval-data label=" + label;
    infer_ = " --infer --data x=" + x;
    for (size_t i = 0; i < kCount; i++)
      Must("dpc compile " + (kStrategies[i][0] == 'm' ? manual_ : model_) +
           " --batch=7 --precision=fp64 "
           "--optimizer=adamw(lr=0.01,clip_norm=1,ema=0.9,schedule=cosine,warmup=1,total=9) --strategy=" +
           kStrategies[i] + " -o " + Plan(i));
  }

  std::string Plan(size_t i) const { return File("plan" + std::to_string(i)); }
  std::string Weights(size_t i) const { return File("weights" + std::to_string(i) + ".safetensors"); }
  Result Dprun(size_t plan, const std::string &more) { return Must("dprun " + Plan(plan) + " --quiet " + more); }
  // Four steps from its own initial weights.
  void Train(size_t i) { Dprun(i, data_ + " --steps=4 --seed=" + std::to_string(i + 1) + " --save=" + Weights(i)); }

  std::string model_, manual_, data_, eval_, infer_;
  std::vector<int> labels_;
};

TEST_F(Strategies, WhatOneSavesAnyOtherLoads) {
  for (size_t saved = 0; saved < kCount; saved++) {
    Train(saved);
    const std::string bytes = Read(Weights(saved));
    for (size_t loaded = 0; loaded < kCount; loaded++) {
      if (!IsTried(saved, loaded)) continue;
      SCOPED_TRACE(std::string("saved by ") + kStrategies[saved] + ", loaded by " + kStrategies[loaded]);
      const std::string again = File("again.safetensors");
      Dprun(loaded, data_ + " --steps=0 --init=" + Weights(saved) + " --save=" + again);
      ASSERT_TRUE(Read(again) == bytes);
    }
  }
}

TEST_F(Strategies, EvaluateAndInferAsOneDeviceDoes) {
  for (size_t saved : {size_t(0), kCount - 1}) {
    Train(saved);
    const std::string init = "--init=" + Weights(saved);
    Array one;
    for (size_t i = 0; i < kCount; i++) {
      SCOPED_TRACE(std::string("saved by ") + kStrategies[saved] + ", loaded by " + kStrategies[i]);
      Dprun(i, init + infer_ + " --output logits=" + File("logits.npy"));
      const Array logits = ReadNpy(File("logits.npy"));
      if (i == 0) one = logits;
      EXPECT_EQ(logits.shape, (std::vector<int64_t>{kSamples, kPlaces, kVocabulary}));
      ASSERT_EQ(logits.numbers.size(), one.numbers.size());
      for (size_t k = 0; k < one.numbers.size(); k++)
        ASSERT_NEAR(logits.numbers[k], one.numbers[k], 1e-12 * (1 + std::fabs(one.numbers[k]))) << k;
      const Measures expected = Measure(logits, labels_);
      Dprun(i, init + eval_ + " --metrics=" + File("metrics"));
      const Event eval = Metrics(File("metrics")).at(0);
      EXPECT_NEAR(eval["loss"], expected.loss, 1e-12 * expected.loss);
      EXPECT_NEAR(eval["accuracy"], expected.accuracy, 1e-9);
    }
  }
}

// A checkpoint after step 2, of all strategies; from each, all the others train steps 3 and 4.
TEST_F(Strategies, FromTheCheckpointOfOneAnyOtherTrainsOn) {
  const std::string options = data_ + " --shuffle --seed=5 --metrics=" + File("metrics");
  Dprun(0, options + " --steps=4");
  const std::vector<double> one = Losses(File("metrics"));
  for (size_t saved = 0; saved < kCount; saved++) {
    const std::string folder = File("run" + std::to_string(saved));
    Dprun(saved, options + " --steps=2 --save=" + folder);
    for (size_t loaded = 0; loaded < kCount; loaded++) {
      if (!IsTried(saved, loaded)) continue;
      SCOPED_TRACE(std::string("saved by ") + kStrategies[saved] + ", resumed by " + kStrategies[loaded]);
      Dprun(loaded, options + " --steps=4 --resume=" + folder);
      const std::vector<double> losses = Losses(File("metrics"));
      ASSERT_EQ(losses.size(), 4u);
      for (size_t i = 2; i < 4; i++) EXPECT_NEAR(losses[i], one[i], 1e-9 * one[i]) << i;
    }
  }
}

}  // namespace
