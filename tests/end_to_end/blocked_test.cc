// Images in blocks of channels (passes/emit/layout.c) change no result: plans for inference give the bits that plans in
// which all tensors are plain give, on one device and several, for each number of samples. Sums over many channels are
// taken in another order, which is the same on one device and several.
#include <cstdio>
#include <cstring>
#include <regex>
#include <set>

#include "backends/cpu/target.h"
#include "tests/end_to_end/resnet.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// A residual block, pooling of each kind, channels that are joined, scaled by planes of one element and by channel.
const char kBlocks[] = R"dpt(model blocks {
  input x: float32[N,1,8,8]
  parameter a.w: float32[32,1,3,3] = kaiming_uniform()
  parameter a.b: float32[32] = kaiming_uniform(9)
  parameter b.w: float32[32,32,3,3] = kaiming_uniform()
  parameter c.w: float32[64,32,1,1] = kaiming_uniform()
  parameter d.w: float32[64,32,1,1] = kaiming_uniform()
  parameter e.w: float32[5,64,1,1] = kaiming_uniform()
  parameter f.w: float32[64,5,1,1] = kaiming_uniform()
  parameter g.w: float32[16,64,3,3] = kaiming_uniform()
  parameter h.w: float32[32,1,3,3] = kaiming_uniform()
  parameter s: float32[64,1,1] = normal(0,1)
  a = Conv(x, a.w, a.b) {pads=[1,1,1,1]}
  ra = Relu(a)
  p = MaxPool(ra) {kernel_shape=[3,3], strides=[1,1], pads=[1,1,1,1]}
  b = Conv(p, b.w) {pads=[1,1,1,1]}
  rb = Relu(b)
  c = Conv(rb, c.w)
  d = Conv(p, d.w)
  sum = Add(c, d)
  r = Relu(sum)
  m = GlobalAveragePool(r)
  e = Conv(m, e.w)
  re = Relu(e)
  f = Conv(re, f.w)
  sf = Sigmoid(f)
  scaled = Mul(r, sf)
  by = Mul(scaled, s)
  v = AveragePool(by) {kernel_shape=[2,2], strides=[2,2]}
  g = Conv(v, g.w) {pads=[1,1,1,1]}
  both = Concat(g, g) {axis=1}
  y = Conv(both, h.w) {group=32}
  output y
})dpt";

// Weights split over axis `tensor`: 32 channels on two devices are 16 each, two blocks of 8, and 11, 10 and 11 on
// three.
const char kSplit[] = R"dpt(model split {
  input x: float32[N,1,8,8]
  parameter a.w: float32[32,1,3,3] = kaiming_uniform() shard(tensor=0)
  parameter b.w: float32[32,32,3,3] = kaiming_uniform() shard(tensor=1)
  parameter c.w: float32[16,32,3,3] = kaiming_uniform()
  a = Conv(x, a.w) {pads=[1,1,1,1]}
  ra = Relu(a)
  b = Conv(ra, b.w)
  rb = Relu(b)
  y = Conv(rb, c.w)
  output y
})dpt";

size_t CountBlocked(const Plan &plan) {
  size_t count = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t t = 0; t < plan->roles[r]->programs[p]->n_tensors; t++)
        count += plan->roles[r]->programs[p]->tensors[t]->layout > DP__LAYOUT__NHWC;
  return count;
}

const struct {
  const char *model, *options;
  size_t least;  // tensors in blocks
} kCases[] = {
    {kBlocks, "", 14},
    {kBlocks, "threads=2", 14},
    {kBlocks, "no-fuse=yes", 14},
    {kBlocks, "strategy=data devices=3", 14},
    {kBlocks, "mesh=pipe:2 strategy=pipeline microbatches=1", 8},
    {kSplit, "mesh=tensor:2 strategy=manual", 4},
    {kSplit, "mesh=tensor:3 strategy=manual", 0},
    {kSplit, "mesh=data:2,tensor:2 strategy=manual", 4},
};

// Without an instruction set all tensors are plain.
bool HasBlocks() { return dp_target_cpu.isa(); }

TEST(Blocked, ChangesNoBit) {
  for (const auto &c : kCases)
    for (int workers : {1, 3}) {
      SCOPED_TRACE(std::string(c.options) + " " + std::to_string(workers));
      RunOptions options;
      options.workers = workers;
      const std::string common = std::string("batch=6 mode=infer ") + c.options;
      const Plan blocked = Compile(c.model, common), plain = Compile(c.model, common + " layout=plain");
      EXPECT_GE(CountBlocked(blocked), HasBlocks() ? c.least : 0);
      EXPECT_EQ(CountBlocked(plain), 0u);
      Training a(blocked, options), b(plain, options);
      for (int64_t n : {6, 1, 5, 6, 2, 3, 1}) EXPECT_EQ(a.Infer(n, n), b.Infer(n, n)) << n;
    }
}

// The model with numbers instead of rules, those that another session has drawn, so that no program writes weights.
std::string Given(const std::string &model, const Training &drawn) {
  static const std::regex rule(R"(parameter (\S+): (\S+) = \w+\([^)]*\))");
  std::string text;
  auto from = model.begin();
  for (std::sregex_iterator at(model.begin(), model.end(), rule), end; at != end; ++at) {
    text.append(from, (*at)[0].first);
    text += "parameter " + at->str(1) + ": " + at->str(2) + " = [";
    for (double number : drawn.Numbers(at->str(1))) {
      char digits[32];
      snprintf(digits, sizeof digits, "%.9g,", number);
      text += digits;
    }
    text.back() = ']';
    from = (*at)[0].second;
  }
  return text.append(from, model.end());
}

bool HasTiles() { return dp_target_cpu.isa() && !strncmp(dp_target_cpu.isa(), "avx512", 6); }

size_t CountLaid(const Plan &plan) {
  size_t count = 0;
  for (size_t v = 0; v < plan->n_variables; v++) count += plan->variables[v]->layout == DP__LAYOUT__OIHW16I32O;
  return count;
}

// The model with outputs that read some weights too, which are then plain, and last by name.
std::string Reading(std::string model, const std::vector<std::string> &weights) {
  model.resize(model.rfind('}'));
  for (const std::string &w : weights) model += "  z." + w + " = ReduceSum(" + w + ")\n  output z." + w + "\n";
  return model + "}\n";
}

std::vector<double> First(std::vector<double> numbers, size_t count) {
  numbers.resize(count);
  return numbers;
}

// Weights lie as tiles read them, whether they are given or drawn; where others read them too, tiles pack them.
TEST(Blocked, WeightsLieInBlocks) {
  const Training training(Compile(kBlocks, "batch=6 mode=infer"));
  const std::string given = Given(kBlocks, training), read = Reading(kBlocks, {"b.w", "c.w", "d.w"});
  for (const char *options : {"", "threads=2", "strategy=data devices=3", "plain-weights=yes",
                              "mesh=pipe:2 strategy=pipeline microbatches=1"}) {
    SCOPED_TRACE(options);
    const std::string common = std::string("batch=6 mode=infer ") + options;
    const Plan laid = Compile(given, common), drawn = Compile(kBlocks, common), plain = Compile(read, common);
    // b.w, c.w and d.w; others have no whole blocks
    for (const Plan &plan : {laid, drawn}) EXPECT_EQ(CountLaid(plan), HasTiles() ? 3u : 0u);
    EXPECT_EQ(CountLaid(plain), 0u);
    Training a(laid), b(drawn), c(plain);
    EXPECT_EQ(a.State(), c.State());
    EXPECT_EQ(b.State(), c.State());
    for (int64_t n : {6, 1, 5}) {
      const std::vector<double> results = a.Infer(n, n);
      EXPECT_EQ(results, b.Infer(n, n)) << n;
      EXPECT_EQ(results, First(c.Infer(n, n), results.size())) << n;
    }
    const std::vector<double> before = a.Infer(0, 6);
    std::vector<double> numbers = a.Numbers("b.w");
    for (double &x : numbers) x = static_cast<float>(0.5 - x);
    for (Training *one : {&a, &b, &c}) one->SetNumbers("b.w", numbers);
    EXPECT_EQ(a.Numbers("b.w"), numbers);
    const std::vector<double> after = a.Infer(0, 6);
    EXPECT_NE(after, before);
    EXPECT_EQ(after, b.Infer(0, 6));
    EXPECT_EQ(after, First(c.Infer(0, 6), after.size()));
  }
}

// What two nodes read, what devices have parts of, and first values that several variables share.
TEST(Blocked, OthersDoNotLieInBlocks) {
  const std::string common = "batch=6 mode=infer";
  std::string twice = kBlocks;
  const std::string d = "Conv(p, d.w)";
  twice.replace(twice.find(d), d.size(), "Conv(p, c.w)");
  EXPECT_EQ(CountLaid(Compile(twice, common)), HasTiles() ? 1u : 0u);
  EXPECT_EQ(CountLaid(Compile(kBlocks, common)), HasTiles() ? 3u : 0u);
  EXPECT_EQ(CountLaid(Compile(kBlocks, common + " layout=plain")), 0u);
  EXPECT_EQ(CountLaid(Compile(kSplit, common + " mesh=tensor:2 strategy=manual")), 0u);
  const std::string filled = std::regex_replace(kBlocks, std::regex(R"((32,1,1\] = )kaiming_uniform\(\))"), "$1ones");
  const Plan plan = Compile(filled, common);
  Training a(plan), b(Compile(Reading(filled, {"b.w", "c.w", "d.w"}), common));
  EXPECT_EQ(a.State(), b.State());
  const std::vector<double> results = a.Infer(0, 6);
  EXPECT_EQ(results, First(b.Infer(0, 6), results.size()));
}

// Windows of one tap whose sums are of more channels than are added up at a time, and of several taps with a stride.
const char kDeep[] = R"dpt(model deep {
  input x: float32[N,1,12,15]
  parameter a.w: float32[416,1,3,3] = kaiming_uniform()
  parameter b.w: float32[96,416,3,3] = kaiming_uniform()
  parameter b.b: float32[96] = kaiming_uniform(9)
  parameter c.w: float32[96,416,1,1] = kaiming_uniform()
  a = Conv(x, a.w) {pads=[1,1,1,1]}
  b = Conv(a, b.w, b.b) {pads=[1,1,1,1], strides=[2,2]}
  c = Conv(a, c.w)
  mb = GlobalAveragePool(b)
  mc = GlobalAveragePool(c)
  y = Add(mb, mc)
  output y
})dpt";

TEST(Blocked, ManyChannelsHaveOneOrderOnAllDevices) {
  std::string split = kDeep;
  for (const char *of : {"b.w", "c.w"}) {
    const std::string init = "kaiming_uniform()";
    const size_t at = split.find(init, split.find(std::string("parameter ") + of));
    split.replace(at, init.size(), init + " shard(tensor=0)");
  }
  const Plan plain = Compile(kDeep, "batch=6 mode=infer layout=plain"), one = Compile(kDeep, "batch=6 mode=infer");
  const Plan others[] = {Compile(kDeep, "batch=6 mode=infer threads=2"), Compile(kDeep, "batch=6 mode=infer threads=5"),
                         Compile(kDeep, "batch=6 mode=infer strategy=data devices=4"),
                         Compile(split.c_str(), "batch=6 mode=infer mesh=tensor:3 strategy=manual"),
                         Compile(split.c_str(), "batch=6 mode=infer mesh=data:2,tensor:2 strategy=manual")};
  for (int64_t n : {6, 1, 5}) {
    Training a(plain, {}), b(one, {});
    const std::vector<double> expected = a.Infer(n, n), found = b.Infer(n, n);
    EXPECT_GE(CountBlocked(one), HasBlocks() ? 3u : 0u);
    ASSERT_EQ(expected.size(), found.size());
    for (size_t i = 0; i < found.size(); i++) ASSERT_NEAR(expected[i], found[i], 1e-4) << i;
    for (const Plan &other : others) {
      EXPECT_GE(CountBlocked(other), HasBlocks() ? 3u : 0u);
      Training c(other, {});
      EXPECT_EQ(found, c.Infer(n, n)) << n;
    }
  }
}

// Plain are the picture, and the means of the last images, whose planes have one element.
TEST(Blocked, OfResNet50NothingElseIsPlain) {
  if (!HasBlocks()) GTEST_SKIP() << "oneDNN needs AVX2";
  const std::string text = ResNetText(true).Text();
  const Plan plan = Compile(text.c_str(), "batch=3 mode=infer");
  const Dp__Program *program = plan->roles[0]->programs[0];
  std::set<std::string> images;
  for (size_t t = 0; t < program->n_tensors; t++) {
    const Dp__DeviceTensor *tensor = program->tensors[t];
    const Dp__Value *value = plan->graphs[program->graph]->values[tensor->value];
    const bool image =
        value->type && value->type->shape && value->type->shape->n_dims == 4 && tensor->space == DP__SPACE__TRANSIENT;
    if (image && tensor->layout == DP__LAYOUT__PLAIN) images.insert(value->name);
  }
  EXPECT_EQ(images, (std::set<std::string>{"mean", "x"}));
  EXPECT_GT(CountBlocked(plan), 100u);
}

// Convolutions whose copies or planes would have sizes that cannot be counted: many phases, whose copy alone would take
// 2^62 elements; many of 64 GiB; planes of more windows than an int has. Others compute them.
TEST(Blocked, WhatCannotBeCountedIsNotTiled) {
  const char *const sizes[][3] = {
      {"2,2", "16,16,2,2",
       "strides=[1073741824,268435456], dilations=[1073741824,1073741824], "
       "pads=[1073741824,1073741824,1073741824,1073741824]"},
      {"2,2", "16,16,2,2", "strides=[16384,16384], dilations=[16384,16384], pads=[16384,16384,16384,16384]"},
      {"2,2", "16,16,1,1", "pads=[32767,458751,32767,458751]"},
      {"2,2", "0,16,1,1", "pads=[32767,458751,32767,458751]"},
  };
  for (const auto &[plane, weights, attributes] : sizes) {
    SCOPED_TRACE(attributes);
    const std::string text = std::string("model m {\n parameter a: float32[16,16,1,1] = ones\n parameter b: float32[") +
                             weights + "] = ones\n parameter d: float32[16," +
                             std::string(weights).substr(0, std::string(weights).find(',')) +
                             ",1,1] = ones\n input x: float32[N,16," + plane + "]\n c = Conv(x, a)\n y = Conv(c, b) {" +
                             attributes + "}\n z = Conv(y, d)\n output z\n}\n";
    const Plan plan = Compile(text, "batch=1 mode=infer threads=1");
    for (const Location &at : Instructions(plan, plan->roles[0]->programs[0]->name))
      EXPECT_STRNE(At(plan, at)->kernel, "cpu.fast_blocked.Conv");
  }
}

// Gradients have no kernels for blocks, and BatchNormalization in training has none either.
TEST(Blocked, TrainingIsPlain) {
  EXPECT_EQ(CountBlocked(Compile(kBlocks, "batch=6 loss=mse(y,target) optimizer=sgd(lr=0.1)")), 0u);
}

}  // namespace
}  // namespace dp_test
