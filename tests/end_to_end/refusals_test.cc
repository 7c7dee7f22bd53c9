// A step that finds data which an operator refuses (a label that is no class, an index out of range, an integer divisor
// of 0) changes nothing, on any device, whichever device has the data. It fails with one message; then training goes on
// as if that batch had never come.
#include <cstdlib>
#include <cstring>

#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// Indices, integer divisors, a normalization over the batch, and state of every kind of Adam.
const char kTokens[] = R"dpt(model tokens {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adamw(lr=0.01,weight_decay=0.1)"
  input token: int64[N,4]
  input whole: int64[N,4]
  input share: int64[N,4]
  parameter embed: float32[9,6] = normal(0,1)
  parameter place: float32[7,6] = normal(0,1)
  parameter n.w: float32[24] = ones
  parameter n.b: float32[24] = zeros
  buffer n.mean: float32[24] = zeros
  buffer n.var: float32[24] = ones
  parameter h.w: float32[12,24] = kaiming_uniform()
  parameter out.w: float32[10,12] = kaiming_uniform()
  parameter out.b: float32[10] = zeros
  constant seven: int64[] = 7
  e = Gather(embed, token)
  divided = Div(whole, share)
  rest = Mod(divided, seven)
  p = Gather(place, rest)
  s = Add(e, p)
  f = Reshape(s) {shape=[N,24]}
  n, m, v = BatchNormalization(f, n.w, n.b, n.mean, n.var) {training_mode=1, unbiased=1}
  h = Gemm(n, h.w) {transB=1}
  a = Tanh(h)
  logits = Gemm(a, out.w, out.b) {transB=1}
  output logits
})dpt";

// What is fed, and one element that is wrong while `wrong` is set.
struct Fed {
  std::string input;
  int64_t sample;
  double value;
  bool wrong = false;
};

Feed FeedOf(const Fed *fed) {
  return [fed, digits = Digits()](const std::string &input, int64_t sample, int64_t element) -> double {
    if (fed->wrong && input == fed->input && sample == fed->sample && !element) return fed->value;
    const int64_t mixed = (sample * 7 + element * 3) % 5;
    if (input == "token") return static_cast<double>(mixed);
    if (input == "whole") return static_cast<double>(20 + 4 * mixed);
    if (input == "share") return static_cast<double>(1 + mixed);
    return digits(input, sample, element);
  };
}

enum { kBatch = 8 };

// The stand-in for a GPU takes a hundred times as long.
bool IsSlow() {
  const char *target = getenv("DP_TEST_TARGET");
  return target && !strcmp(target, "cuda");
}

// Expects the batch with the wrong element, the second, to leave everything as it was.
void ExpectUntouched(const Plan &plan, Fed fed, const std::string &message) {
  SCOPED_TRACE(fed.input + " " + std::to_string(fed.value) + " at sample " + std::to_string(fed.sample));
  Fed good;
  RunOptions options, clean;
  options.feed = FeedOf(&fed);
  options.workers = 2;
  clean.feed = FeedOf(&good);
  clean.workers = 2;
  Training run(plan, options), never(plan, clean);
  EXPECT_EQ(run.Train(0, kBatch), never.Train(0, kBatch));
  const std::map<std::string, Bytes> before = run.State();
  for (int again = IsSlow(); again < 2; again++) {
    fed.wrong = true;
    const std::string failure = run.TryProgram("train", kBatch, kBatch);
    fed.wrong = false;
    EXPECT_EQ(failure.substr(0, 3), "65:") << failure;
    EXPECT_NE(failure.find(message), std::string::npos) << failure;
    EXPECT_EQ(failure.find('\n'), std::string::npos) << failure;
    EXPECT_EQ(run.Replicas(), "");
    for (const auto &entry : run.State()) EXPECT_EQ(entry.second, before.at(entry.first)) << entry.first;
  }
  EXPECT_EQ(run.Train(kBatch, kBatch), never.Train(kBatch, kBatch));
  EXPECT_EQ(run.Train(2 * kBatch, 3), never.Train(2 * kBatch, 3));
  EXPECT_EQ(run.Evaluate(0, 5), never.Evaluate(0, 5));
  EXPECT_EQ(run.State(), never.State());
  EXPECT_EQ(run.Replicas(), "");
}

// The first and the last sample of the batch, which different devices and micro-batches have.
void ExpectUntouchedAnywhere(const char *text, const std::string &strategy, const std::string &input, double value,
                             const std::string &message) {
  SCOPED_TRACE(strategy);
  const Plan plan = Compile(text, "batch=8 precision=fp64 " + strategy);
  for (int64_t sample : {15, 8}) {
    ExpectUntouched(plan, {input, sample, value}, message);
    if (IsSlow()) break;
  }
}

const char *const kStrategies[] = {
    "strategy=single",
    "strategy=data devices=3",
    "strategy=data devices=2 batchnorm=local",
    "strategy=data devices=2 no-fuse=yes",
    "strategy=zero devices=2 zero-stage=1",
    "strategy=zero devices=3 zero-stage=2",
    "strategy=zero devices=2 zero-stage=3",
    "strategy=tensor devices=2",
    "strategy=pipeline devices=2",
    "strategy=pipeline mesh=data:2,pipe:2,tensor:2",
    "strategy=zero zero-stage=2 mesh=data:2,pipe:2",
    "strategy=zero zero-stage=3 mesh=data:2,tensor:2",
};

TEST(Refusals, OfLabels) {
  for (const char *strategy : kStrategies) {
    ExpectUntouchedAnywhere(kCnn, strategy, "label", 10, "label 10 at index ");
    if (!IsSlow()) ExpectUntouchedAnywhere(kMlp, strategy, "label", -1, "label -1 at index ");
  }
}

TEST(Refusals, OfIndicesAndDivisors) {
  int count = 0;
  for (const char *strategy : kStrategies) {
    if (IsSlow() && count++ % 4 != 1) continue;
    ExpectUntouchedAnywhere(kTokens, strategy, "token", 9, "index 9 at ");
    if (IsSlow()) continue;
    ExpectUntouchedAnywhere(kTokens, strategy, "token", -10, "index -10 at ");
    ExpectUntouchedAnywhere(kTokens, strategy, "share", 0, "division");
    ExpectUntouchedAnywhere(kTokens, strategy, "label", 99, "label 99 at index ");
  }
}

TEST(Refusals, OfDivisorsOnOneDeviceOfTwo) {
  ExpectUntouchedAnywhere(kTokens, "strategy=zero zero-stage=1 devices=2", "share", 0, "division");
}

// Several micro-batches, so that a count goes over micro-batches, stages and devices.
TEST(Refusals, OfMicroBatches) {
  for (const char *strategy : {"strategy=data devices=2 microbatches=2", "strategy=pipeline devices=3 microbatches=4",
                               "strategy=pipeline mesh=data:2,pipe:2 microbatches=3 schedule=gpipe"})
    ExpectUntouchedAnywhere(kMlp, strategy, "label", 12, "label 12 at index ");
}

// The gradients' norm, which clips them, is garbage too.
TEST(Refusals, WithClipping) {
  ExpectUntouchedAnywhere(kMlp, "strategy=zero zero-stage=2 devices=2 optimizer=adam(lr=0.01,clip_norm=0.5)", "label",
                          10, "label 10 at index ");
}

TEST(Refusals, WithEveryOptimizer) {
  int count = 0;
  for (const char *optimizer : {"rmsprop(momentum=0.5,centered=1)", "adagrad(lr_decay=0.1)", "adamax()", "nadam()",
                                "radam()", "lion(weight_decay=0.1)", "lamb()", "muon()", "adam(ema=0.5)"}) {
    if (IsSlow() && count++ % 4) continue;
    SCOPED_TRACE(optimizer);
    for (const char *strategy : {"strategy=zero zero-stage=2 devices=2", "strategy=pipeline devices=2"}) {
      const std::string words = std::string(strategy) + " optimizer=" + optimizer;
      const Plan plan = Compile(kTokens, "batch=8 precision=fp64 " + words);
      ExpectUntouched(plan, {"label", 15, 99}, "label 99 at index ");
    }
  }
}

// A loss over split classes is decomposed: other nodes find the label, as an index.
TEST(Refusals, OfLabelsWhenClassesAreSplit) {
  std::string text = kMlp;
  for (const char *parameter : {"w2: float32[10,24] = kaiming_uniform()", "b2: float32[10] = kaiming_uniform(24)"})
    text.insert(text.find(parameter) + strlen(parameter), " shard(tensor=0)");
  for (const char *strategy : {"strategy=tensor mesh=tensor:2", "strategy=data mesh=data:2,tensor:2",
                               "strategy=pipeline mesh=data:2,pipe:2,tensor:2"})
    for (double label : {10, -1, -7}) ExpectUntouchedAnywhere(text.c_str(), strategy, "label", label, "index 1");
}

// An ignored label is none that is refused.
TEST(Refusals, NotOfWhatIsTaken) {
  Fed fed = {"token", 8, -9, true};
  RunOptions options;
  options.feed = FeedOf(&fed);
  Training run(Compile(kTokens, "batch=8 strategy=data devices=2"), options);
  EXPECT_EQ(run.TryProgram("train", 8, 8), "");
}

// A program in which no node refuses anything counts nothing.
TEST(Refusals, CostNothingWhereNothingIsRefused) {
  const Plan plan = Compile(kSquares, "batch=8 strategy=data devices=2");
  for (const Location &location : Instructions(plan, "train"))
    for (const char *op : {"CountRefused", "Assign"}) EXPECT_STRNE(At(plan, location)->op, op);
}

// One count for each operand that is refused, and one all-reduce, whichever number of nodes looks at it. The other
// all-reduce is of the number of labels that are not ignored.
TEST(Refusals, AreCountedOnce) {
  const auto count = [](const char *text, const char *options) {
    std::map<std::string, int> counts;
    const Plan plan = Compile(text, options);
    const Dp__Program *train = plan->roles[0]->programs[FindProgram(plan, "train")];
    for (const Location &location : Instructions(plan, "train")) {
      const Dp__Instruction *in = At(plan, location);
      const bool whole = in->n_inputs && in->inputs[0] && train->tensors[in->inputs[0] - 1]->dtype == DP_INT64;
      counts[in->op + std::string(whole ? " of int64" : "")]++;
    }
    return counts;
  };
  std::map<std::string, int> data = count(kMlp, "batch=8 strategy=data devices=2 no-fuse=yes");
  EXPECT_EQ(data["CountRefused of int64"], 1);  // of the loss and its gradient
  EXPECT_EQ(data["AllReduce of int64"], 2);
  std::map<std::string, int> tokens = count(kTokens, "batch=8 strategy=data devices=2 no-fuse=yes");
  EXPECT_EQ(tokens["CountRefused of int64"], 5);  // token, share, seven, rest, label
  EXPECT_EQ(tokens["AllReduce of int64"], 2);
  EXPECT_EQ(tokens["Assign"], 2);
}

}  // namespace
}  // namespace dp_test
