// Tensor parallelism: parameters that dpc chooses to split compute what one device computes, on even and uneven meshes,
// alone and beside other axes. A transformer's plan is Megatron's, and each device holds less.
#include <cmath>

#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/gpt.h"
#include "tests/end_to_end/training.h"
#include "tests/ir/base/growth.h"

namespace dp_test {
namespace {

const char *const kOptimizers[] = {"sgd(lr=0.05,momentum=0.9,weight_decay=1e-3)", "adam(lr=1e-2)",
                                   "adamw(lr=1e-2,clip_norm=0.5,schedule=cosine,total=12,warmup=2)"};
// The last batches are short; one has at most as many samples as devices.
const std::vector<int64_t> kBatches = {7, 7, 7, 7, 7, 7, 7, 7, 5, 2};
const int kVocabulary = 97;

Plan With(const std::string &text, const std::string &optimizer, const std::string &rest) {
  return Compile(text, "batch=7 precision=fp64 optimizer=" + optimizer + " " + rest);
}

double Largest(const std::vector<double> &a, const std::vector<double> &b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < a.size() && i < b.size(); i++)
    if (!(std::fabs(a[i] - b[i]) <= largest)) largest = std::fabs(a[i] - b[i]);
  return largest;
}

// Tokens for a GPT, each labelled with the next one; digits for the other networks.
RunOptions Tokens() {
  RunOptions options;
  options.feed = [](const std::string &input, int64_t sample, int64_t location) {
    return double((sample * 31 + (location + (input == "label")) * 17 + sample * location) % kVocabulary);
  };
  return options;
}

// Parameters that are whole on no device.
int Split(const Plan &plan) {
  int count = 0;
  for (size_t i = 0; i < plan->n_variables; i++) {
    const Dp__Variable *p = plan->variables[i];
    uint64_t whole = 8;
    for (size_t d = 0; d < p->type->shape->n_dims; d++) whole *= (uint64_t)p->type->shape->dims[d]->offset;
    count += p->kind == 0 && p->bytes < whole;
  }
  return count;
}

// least: how many parameters each plan splits on average, at least.
void ExpectSame(const std::string &text, const char *optimizer, const std::vector<std::string> &all, int least = 3) {
  RunOptions feed = text.find("model gpt") == 0 ? Tokens() : RunOptions();
  Training one(With(text, optimizer, ""), feed);
  std::vector<double> losses = one.TrainAll(kBatches);
  int split = 0;
  double largest = 0;
  for (const std::string &options : all) {
    SCOPED_TRACE(options);
    Plan plan = With(text, optimizer, options);
    split += Split(plan);
    Training many(plan, feed);
    const std::vector<double> found = many.TrainAll(kBatches);
    ExpectClose(found, losses, 1e-9);
    for (size_t i = 0; i < losses.size(); i++)
      largest = std::max(largest, std::fabs(found[i] - losses[i]) / std::fabs(losses[i]));
    EXPECT_EQ(many.Replicas(), "");
    for (const auto &entry : one.State())
      EXPECT_LT(Largest(many.Numbers(entry.first), one.Numbers(entry.first)), 1e-8) << entry.first;
    EXPECT_NEAR(many.Evaluate(0, 6), one.Evaluate(0, 6), 1e-9);
    EXPECT_EQ(many.Correct(), one.Correct());
  }
  EXPECT_GE(split, least * int(all.size())) << "nothing was put to the test";
  printf("%zu ways to split: losses differ by %.1e at most (relative)\n", all.size(), largest);
}

std::vector<std::string> Devices() {
  std::vector<std::string> all;
  for (int devices : {2, 3, 4, 5, 8}) all.push_back("strategy=tensor devices=" + std::to_string(devices));
  return all;
}

const std::vector<std::string> kHybrids = {"strategy=tensor mesh=data:2,tensor:2", "strategy=data mesh=tensor:3,data:2",
                                           "strategy=zero zero-stage=1 mesh=data:2,tensor:2",
                                           "strategy=zero zero-stage=3 mesh=data:2,tensor:2"};

TEST(Tensor, MlpIsWhatOneDeviceComputes) { ExpectSame(kMlp, kOptimizers[0], Devices()); }
TEST(Tensor, DrawnIsWhatOneDeviceComputes) { ExpectSame(kDrawn, kOptimizers[0], Devices(), 1); }
TEST(Tensor, CnnIsWhatOneDeviceComputes) { ExpectSame(kCnn, kOptimizers[1], Devices()); }
TEST(Tensor, SmoothCnnIsWhatOneDeviceComputes) { ExpectSame(kSmooth, kOptimizers[2], Devices()); }
// It has two heads: more devices seldom split its attention.
TEST(Tensor, BlockIsWhatOneDeviceComputes) { ExpectSame(kBlock, kOptimizers[2], Devices(), 2); }
TEST(Tensor, GptIsWhatOneDeviceComputes) { ExpectSame(Gpt(2, 16, 4), kOptimizers[2], Devices()); }
TEST(Tensor, BesideSamples) {
  ExpectSame(kMlp, kOptimizers[1], kHybrids);
  ExpectSame(kSmooth, kOptimizers[0], kHybrids);
  ExpectSame(Gpt(1, 16, 4), kOptimizers[2], kHybrids);
}

// A device has one column of the result, so the value that is broadcast over columns has as many bytes as the result.
// It is still not written over: the checker would refuse the plan.
TEST(Tensor, WhatIsBroadcastIsNotWrittenOver) {
  const char text[] = R"dpt(model broadcast {
  loss "mse(y,target)"
  optimizer "sgd(lr=0.05)"
  input x: float32[N,8]
  parameter w: float32[8,3] = kaiming_uniform() shard(tensor=S(1))
  parameter v: float32[8,1] = kaiming_uniform()
  h = MatMul(x, w)
  s = MatMul(x, v)
  b = Tanh(s)
  m = Mul(b, h)
  y = Tanh(m)
  output y
})dpt";
  EXPECT_EQ(Split(Compile(text, "precision=fp64 strategy=manual mesh=tensor:3 batch=12")), 1);
}

// Only what is annotated is split, and samples where --split says so.
TEST(Tensor, ManualIsAsAnnotated) {
  std::string text = kMlp;
  const std::string first = "float32[24,64] = kaiming_uniform()", second = "float32[10,24] = kaiming_uniform()";
  text.replace(text.find(first), first.size(), first + " shard(tensor=0)");
  text.replace(text.find(second), second.size(), second + " shard(tensor=1)");
  const std::vector<std::string> all = {"strategy=manual mesh=tensor:2", "strategy=manual mesh=tensor:5",
                                        "strategy=manual mesh=data:2,tensor:3",
                                        "strategy=manual mesh=data:2,tensor:2 split=x:0"};
  RunOptions feed;
  Training one(With(text, kOptimizers[1], ""), feed);
  const std::vector<double> losses = one.TrainAll(kBatches);
  for (const std::string &options : all) {
    SCOPED_TRACE(options);
    Plan plan = With(text, kOptimizers[1], options);
    EXPECT_EQ(Split(plan), 2);
    ExpectClose(Training(plan, feed).TrainAll(kBatches), losses, 1e-9);
  }
}

// ---- what the plan does ---------------------------------------------------------------------------------------------

// All-reduced values, in buckets or alone.
size_t Reduced(const Plan &plan) {
  size_t count = 0;
  for (const Location &location : Communications(plan, "train"))
    if (std::string(At(plan, location)->op) == "AllReduce") count += At(plan, location)->n_inputs;
  return count;
}

uint64_t Held(const Plan &plan) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < plan->n_variables; i++) bytes += plan->variables[i]->bytes;
  return bytes;
}

TEST(Tensor, ATransformersLayersReduceTwiceEachWay) {
  auto Count = [](int layers) {
    return Reduced(Compile(Gpt(layers, 64, 4), "batch=32 optimizer=adam(lr=1e-3) strategy=tensor devices=4"));
  };
  size_t one = Count(1);
  EXPECT_EQ(Count(2), one + 4);
  EXPECT_EQ(Count(3), one + 8);
}

TEST(Tensor, EachDeviceHoldsItsShare) {
  const std::string text = Gpt(2, 64, 4), options = "batch=7 optimizer=adam(lr=1e-3) ";
  double whole = double(Held(Compile(text, options)));
  for (int devices : {2, 4}) {
    double held = double(Held(Compile(text, options + "strategy=tensor devices=" + std::to_string(devices))));
    EXPECT_LT(held, whole / devices * 1.2);
  }
}

// The search examines one of many equal layers.
TEST(Tensor, TimeGrowsAsTheNetworkDoes) {
  auto compile = [](int layers) {
    Compile(Gpt(layers, 64, 8), "batch=8 optimizer=adam(lr=1e-3) strategy=tensor devices=8");
  };
  EXPECT_LT(Growth(6, 48, compile), 8 * 3);
}

}  // namespace
}  // namespace dp_test
