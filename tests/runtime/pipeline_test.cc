// Runs a handwritten pipeline (stage_plan.h). It gives the result of the same training written out here, and the same
// bits for any number of workers. Arenas are exact to the byte. Its trace is checked, and it runs on the null backend.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "backends/cpu/target.h"
#include "backends/null/backend.h"
#include "tests/ir/verify/pipe_plan.h"
#include "tests/runtime/runtime_helper.h"
#include "tests/runtime/stage_plan.h"

namespace {

using namespace dp_test;

constexpr int kIn = StagePlan::kIn, kHidden = StagePlan::kHidden, kClasses = StagePlan::kClasses;

// scores = x w1^T w2^T, mean cross entropy, momentum 0.9; in double.
class TwoLayers {
 public:
  std::vector<double> w1, w2, m1 = std::vector<double>(kHidden * kIn), m2 = std::vector<double>(kClasses * kHidden);
  std::vector<double> scores;

  TwoLayers(const std::vector<float> &a, const std::vector<float> &b)
      : w1(a.begin(), a.end()), w2(b.begin(), b.end()) {}

  double Step(const std::vector<float> &x, const std::vector<int64_t> &label, double lr) {
    size_t n = label.size();
    std::vector<double> dw1(w1.size()), dw2(w2.size());
    double loss = 0;
    scores.assign(n * kClasses, 0);
    for (size_t i = 0; i < n; i++) {
      double h[kHidden] = {}, *s = &scores[i * kClasses], dh[kHidden] = {}, most = -1e300, total = 0;
      for (int a = 0; a < kHidden; a++)
        for (int k = 0; k < kIn; k++) h[a] += w1[a * kIn + k] * x[i * kIn + k];
      for (int c = 0; c < kClasses; c++) {
        for (int a = 0; a < kHidden; a++) s[c] += w2[c * kHidden + a] * h[a];
        most = std::max(most, s[c]);
      }
      for (int c = 0; c < kClasses; c++) total += std::exp(s[c] - most);
      loss += (std::log(total) + most - s[label[i]]) / double(n);
      for (int c = 0; c < kClasses; c++) {
        double ds = (std::exp(s[c] - most) / total - (c == label[i])) / double(n);
        for (int a = 0; a < kHidden; a++) {
          dw2[c * kHidden + a] += ds * h[a];
          dh[a] += ds * w2[c * kHidden + a];
        }
      }
      for (int a = 0; a < kHidden; a++)
        for (int k = 0; k < kIn; k++) dw1[a * kIn + k] += dh[a] * x[i * kIn + k];
    }
    Update(&w1, &m1, dw1, lr);
    Update(&w2, &m2, dw2, lr);
    return loss;
  }

 private:
  static void Update(std::vector<double> *w, std::vector<double> *m, const std::vector<double> &dw, double lr) {
    for (size_t i = 0; i < w->size(); i++) {
      (*m)[i] = 0.9 * (*m)[i] + dw[i];
      (*w)[i] -= lr * (*m)[i];
    }
  }
};

dp_session_options Options(int workers) {
  dp_session_options options = {};
  options.workers = workers;
  options.unchecked = true;
  return options;
}

void Feed(Session *session, int n, int step) {
  session->Feed("train", "x", Samples(n * kIn, step), step % 2);
  session->Feed("train", "label", Labels(n, kClasses, step), step % 2);
}

void ExpectNear(const std::vector<float> &found, const std::vector<double> &expected, double most) {
  for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(found[i], expected[i], most) << i;
}

// Full, uneven, with empty micro-batches, a single sample, none.
const int kBatches[] = {8, 8, 7, 5, 8, 3, 1, 0, 8, 2};

struct Form {
  int micro, data;
  bool streams;
};
const Form kForms[] = {{1, 1, false}, {1, 1, true},  {2, 1, false}, {2, 1, true},
                       {3, 1, true},  {8, 1, false}, {2, 2, true},  {3, 3, true}};

TEST(Pipeline, TheCheckerTakesThePlansThatAreRunHere) {
  for (const Form &form : kForms) EXPECT_EQ(StagePlan(form.micro, form.data, form.streams).Verify(), "") << form.micro;
}

TEST(Pipeline, TrainsAsWrittenOut) {
  for (const Form &form : kForms) {
    SCOPED_TRACE(testing::Message() << form.micro << " micro-batches, " << form.data << " devices a stage, streams "
                                    << form.streams);
    StagePlan stages(form.micro, form.data, form.streams);
    Session session(stages.plan, Options(3));
    ASSERT_EQ(session.error, "");
    TwoLayers layers(session.Floats("w1"), session.Floats("w2"));
    int step = 0;
    for (int n : kBatches) {
      SCOPED_TRACE(n);
      Feed(&session, n, step);
      double expected = layers.Step(Samples(n * kIn, step), Labels(n, kClasses, step), 0.02);
      ASSERT_EQ(session.Run("train", n, step, 0.02, step % 2), "");
      double loss = n ? session.Number("train", "loss") : expected;  // without samples there is none
      EXPECT_NEAR(loss, expected, 2e-5 * std::fabs(expected) + 2e-5);
      EXPECT_EQ(session.Number("train", "count"), n);
      const float *scores = static_cast<const float *>(
          dp_session_output(session.session, dp_session_find(session.session, "train"), "scores", nullptr));
      for (size_t i = 0; i < layers.scores.size(); i++)
        EXPECT_NEAR(scores[i], layers.scores[i], 1e-4 * std::fabs(layers.scores[i]) + 1e-4) << i;
      ExpectNear(session.Floats("w1"), layers.w1, 1e-4);
      ExpectNear(session.Floats("m1"), layers.m1, 1e-4);
      ExpectNear(session.Floats("w2"), layers.w2, 1e-4);
      ExpectNear(session.Floats("m2"), layers.m2, 1e-4);
      step++;
    }
  }
}

TEST(Pipeline, TheSameBitsWithAnyNumberOfWorkers) {
  for (const Form &form : kForms) {
    std::vector<char> expected;
    for (int workers : {1, 2, 3, 4}) {
      StagePlan stages(form.micro, form.data, form.streams);
      Session session(stages.plan, Options(workers));
      ASSERT_EQ(session.error, "");
      for (int step = 0; step < 12; step++) {
        int n = kBatches[step % 10];
        Feed(&session, n, step);
        ASSERT_EQ(session.Run("train", n, step, 0.02, step % 2), "");
      }
      std::vector<char> bits = session.Everything();
      if (expected.empty()) expected = bits;
      EXPECT_EQ(bits, expected) << workers << " workers";
    }
  }
}

// A label that is not a class, in the last micro-batch on stage 1: the step fails with the reason, and the next one
// runs.
TEST(Pipeline, AKernelsFailureOnOneStageEndsTheStepOnAll) {
  for (int workers : {1, 4}) {
    StagePlan stages(4, 2, true);
    Session session(stages.plan, Options(workers));
    ASSERT_EQ(session.error, "");
    std::vector<int64_t> label = Labels(8, kClasses, 0);
    label[7] = 12;
    session.Feed("train", "x", Samples(8 * kIn, 0));
    session.Feed("train", "label", label);
    std::string message = session.Run("train", 8);
    EXPECT_EQ(message.substr(0, 4), "65: ");
    EXPECT_NE(message.find("SoftmaxCrossEntropyLoss"), std::string::npos) << message;
    Feed(&session, 8, 0);
    EXPECT_EQ(session.Run("train", 8), "");
    EXPECT_TRUE(std::isfinite(session.Number("train", "loss")));
  }
}

// The plans of the checker's tests: a value on both stages, Relu, concatenated scores in infer.
TEST(Pipeline, ThePlansOfTheCheckersTestsComputeTheSameInAnyNumberOfMicroBatches) {
  std::vector<float> expected;
  for (int micro : {1, 2, 3, 5, 8})
    for (int data : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << micro << " micro-batches, " << data << " devices a stage");
      PipePlan hand(micro, data);
      Session session(hand.plan);
      ASSERT_EQ(session.error, "");
      std::vector<float> found;
      int step = 0;
      for (int n : {8, 5, 1, 7}) {
        Feed(&session, n, step);
        ASSERT_EQ(session.Run("train", n, step, 0.1, step % 2), "");
        found.push_back(static_cast<float>(session.Number("train", "loss")));
        step++;
      }
      session.Feed("infer", "x", Samples(6 * kIn, 9));
      ASSERT_EQ(session.Run("infer", 6), "");
      const float *scores = static_cast<const float *>(
          dp_session_output(session.session, dp_session_find(session.session, "infer"), "scores", nullptr));
      found.insert(found.end(), scores, scores + 6 * kClasses);
      for (const char *name : {"w", "v"})
        for (float x : session.Floats(name)) found.push_back(x);
      if (expected.empty()) expected = found;
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); i++) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
    }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST(Pipeline, EachDeviceHasTheArenasOfItsStage) {
  for (int data : {1, 3}) {
    StagePlan stages(2, data, true);
    Session session(stages.plan, Options(1));
    ASSERT_EQ(session.error, "");
    for (Dp__Space space : {DP__SPACE__PERSISTENT, DP__SPACE__TRANSIENT}) {
      uint64_t expected = 0;
      for (size_t r = 0; r < 2; r++)
        for (size_t a = 0; a < stages.plan->roles[r]->n_arenas; a++)
          if (stages.plan->roles[r]->arenas[a]->space == space)
            expected += stages.plan->roles[r]->arenas[a]->bytes * static_cast<uint64_t>(data);
      EXPECT_EQ(dp_session_bytes(session.session, space), expected);
    }
    // The stages share one host memory.
    EXPECT_EQ(dp_session_bytes(session.session, DP__SPACE__HOST_INPUT), 2u * 256);
    EXPECT_EQ(dp_session_bytes(session.session, DP__SPACE__HOST_OUTPUT), 256u);
  }
}

// Values of different stages have the same offsets on different devices.
TEST(Pipeline, VariableValuesAreReadAndWrittenOnTheirStage) {
  StagePlan stages(1, 2, true);
  Session session(stages.plan, Options(1));
  ASSERT_EQ(session.error, "");
  std::vector<float> before = session.Floats("w1"), w2 = Samples(kClasses * kHidden, 5);
  int32_t index = dp_model_find_variable(dp_session_model(session.session), "w2");
  ASSERT_EQ(Failure(dp_session_variable_write(session.session, index, w2.data())), "");
  EXPECT_EQ(session.Floats("w2"), w2);
  EXPECT_EQ(session.Floats("w1"), before);
}

// ---- traces ---------------------------------------------------------------------------------------------------------

// Each stage's instructions are on tracks of its own devices: a Send on stage 0's, the matching Recv on stage 1's.
TEST(Pipeline, ATransferIsOnBothDevicesTracks) {
  StagePlan stages(2, 2, true);
  dp_session_options options = Options(2);
  options.trace = true;
  Session session(stages.plan, options);
  ASSERT_EQ(session.error, "");
  Feed(&session, 8, 0);
  ASSERT_EQ(session.Run("train", 8), "");
  std::string path = testing::TempDir() + "/pipeline.json", line;
  ASSERT_EQ(Failure(dp_session_trace_write(session.session, path.c_str())), "");
  std::map<std::pair<int, std::string>, int> seen;  // device, operator
  std::map<std::pair<std::string, int>, int> of_micro;
  int named = 0;  // tracks
  FILE *file = fopen(path.c_str(), "r");
  ASSERT_NE(file, nullptr);
  char text[1024];
  while (fgets(text, sizeof text, file)) {
    int device, stream, run, micro;
    double at, length;
    char name[512];
    int fields =
        sscanf(text,
               "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%lf,\"dur\":%lf,\"name\":\"%511[^\"]\",\"cat\":\"train\","
               "\"args\":{\"run\":%d,\"micro\":%d",
               &device, &stream, &at, &length, name, &run, &micro);
    if (fields >= 5) name[strcspn(name, " ")] = 0;  // the operator, without its node or value
    if (fields >= 5) seen[{device, name}]++;
    if (fields == 7) of_micro[{name, micro}]++;
    for (int d = 0; d < 4; d++)
      named += strstr(text, ("\"device " + std::to_string(d) + " (stage" + std::to_string(d / 2) + ")\"").c_str()) !=
               nullptr;
  }
  fclose(file);
  for (int device = 0; device < 4; device++)
    for (const char *op : {"Send", "Recv"}) {
      // Of two micro-batches; stage 1 also sends the count of refused labels.
      const bool counts = (device > 1) == (std::string(op) == "Send");
      EXPECT_EQ((seen[{device, op}]), counts ? 3 : 2) << device << op;
    }
  for (int device : {0, 1}) EXPECT_EQ((seen[{device, "Gemm"}]), 4);
  for (int device : {2, 3}) EXPECT_EQ((seen[{device, "Gemm"}]), 6);
  for (int j : {0, 1}) {
    EXPECT_EQ((of_micro[{"Send", j}]), 4);   // two to each side, on two devices
    EXPECT_EQ((of_micro[{"Gemm", j}]), 10);  // five on two devices
  }
  EXPECT_EQ((of_micro.count({"SGD", 0})), 0u);
  EXPECT_GE(named, 4 * 5);  // streams of four devices
  dp_trace_shares shares;
  ASSERT_EQ(Failure(dp_session_trace_share(session.session, &shares)), "");
  EXPECT_GT(shares.collectives_ns, 0);  // transfers count
}

// ---- the null backend -----------------------------------------------------------------------------------------------

std::string RunOnNull(const Dp__Plan *plan, int runs) {
  dp_backend null = dp_backend_null(&dp_target_cpu);
  Session session(plan, Options(4), &null);
  std::string failure = session.error;
  for (int i = 0; i < runs && failure.empty(); i++) failure = session.Run("train", 8, i);
  return failure;
}

TEST(Pipeline, TheNullBackendSeesNoRaceInAGoodPlan) {
  for (const Form &form : kForms) EXPECT_EQ(RunOnNull(StagePlan(form.micro, form.data, form.streams).plan, 5), "");
}

TEST(Pipeline, TheNullBackendSeesASendOfWhatIsBeingMade) {
  StagePlan stages(2, 1, true);
  stages.Find(1, "Send")->waits[0]--;  // waits for what precedes the instruction that makes it
  std::string failure = RunOnNull(stages.plan, 2000);
  EXPECT_NE(failure.find("race"), std::string::npos) << failure;
}

// ---- invalid plans --------------------------------------------------------------------------------------------------

std::string Refusal(const StagePlan &stages) {
  Session session(stages.plan, Options(2));
  return session.error.empty() ? session.Run("train", 8) : session.error;
}

TEST(Pipeline, AChannelHasTwoEndsThatNameEachOther) {
  struct Damage {
    const char *what;
    void (*make)(StagePlan *stages);
    const char *message;
  };
  const Damage damages[] = {
      {"no receiver", [](StagePlan *s) { s->Find(1, "Recv")->communication->channel = 77; }, "one sender"},
      {"two senders",
       [](StagePlan *s) { s->Find(1, "Send")->communication->channel = s->Find(0, "Send")->communication->channel; },
       "one sender"},
      {"no peer", [](StagePlan *s) { s->Find(0, "Send")->communication->n_peer = 0; }, "one peer"},
      {"an operand too many", [](StagePlan *s) { s->Find(1, "Recv")->inputs[0] = 1; }, "an operand or a result"},
      {"itself", [](StagePlan *s) { s->Find(0, "Send")->communication->peer[0]->offset = 2; },
       "which does not name it"},
      {"another", [](StagePlan *s) { s->Find(1, "Recv")->communication->peer[0]->axis = 0; }, "which does not name it"},
      {"no axis", [](StagePlan *s) { s->Find(1, "Recv")->communication->peer[0]->axis = 9; },
       "an axis that the mesh does not have"},
      {"far", [](StagePlan *s) { s->Find(1, "Send")->communication->peer[0]->scale = INT64_MAX - 1; },
       "which does not name it"},
      {"another value",
       [](StagePlan *s) { s->Find(1, "Recv")->outputs[0] = s->Find(1, "SoftmaxCrossEntropyLossGrad")->outputs[0]; },
       "the tensors sent and received differ"},
  };
  for (const Damage &damage : damages) {
    StagePlan stages(2, 2, true);
    damage.make(&stages);
    std::string refusal = Refusal(stages);
    EXPECT_EQ(refusal.substr(0, 4), "65: ") << damage.what;
    EXPECT_NE(refusal.find(damage.message), std::string::npos) << damage.what << ": " << refusal;
  }
}

TEST(Pipeline, WhatCannotBePutTogetherIsRefused) {
  struct Damage {
    const char *what;
    void (*make)(StagePlan *stages);
  };
  const Damage damages[] = {
      {"no micro-batch of the mesh",
       [](StagePlan *s) { s->Train(1)->tensors[s->Find(1, "Gemm")->outputs[0] - 1]->micro->first = 2; }},
      {"of no micro-batches",
       [](StagePlan *s) { s->Train(1)->tensors[s->Find(1, "Accumulate")->inputs[1] - 1]->micro = nullptr; }},
      {"an operand less", [](StagePlan *s) { s->Find(1, "Accumulate")->inputs[0] = 0; }},
      {"over devices", [](StagePlan *s) { s->Find(1, "Accumulate")->communication->axes[0] = 1; }},
      {"over no axis", [](StagePlan *s) { s->Find(1, "Accumulate")->communication = nullptr; }},
      {"two values",
       [](StagePlan *s) { s->Find(1, "Accumulate")->inputs[1] = s->Find(1, "SoftmaxCrossEntropyLoss")->outputs[0]; }},
      {"a collective of stages",
       [](StagePlan *s) {
         s->Find(1, "AllReduce")->communication->axes[0] = 1;
         Dp__DeviceTensor *t = s->Train(1)->tensors[s->Find(1, "AllReduce")->inputs[0] - 1];
         t->placements[1]->kind = DP_PARTIAL;
       }},
  };
  for (const Damage &damage : damages) {
    StagePlan stages(2, 2, true);
    damage.make(&stages);
    EXPECT_EQ(Refusal(stages).substr(0, 4), "65: ") << damage.what;
  }
}

TEST(Pipeline, RolesCoverTheDevices) {
  StagePlan both(1, 2, true), none(1, 2, true);
  both.plan->roles[0]->devices[0]->count = 2;
  EXPECT_NE(Refusal(both).find("has two roles, 'stage0' and 'stage1'"), std::string::npos) << Refusal(both);
  none.plan->roles[1]->devices[1]->count = 1;
  EXPECT_NE(Refusal(none).find("has no role"), std::string::npos) << Refusal(none);
}

// Both send first: with one stream each, nobody receives.
TEST(Pipeline, StagesThatWaitForEachOtherAreRefused) {
  StagePlan stages(1, 1, false);
  Dp__Stream *stream = stages.Train(1)->streams[0];
  size_t receive = 0, send = 0;
  for (size_t i = 0; i < stream->n_instructions; i++) {
    if (stream->instructions[i] == stages.Find(1, "Recv")) receive = i;
    if (stream->instructions[i] == stages.Find(1, "Send")) send = i;
  }
  std::swap(stream->instructions[receive], stream->instructions[send]);
  std::string refusal = Refusal(stages);
  EXPECT_EQ(refusal.substr(0, 4), "65: ");
  EXPECT_NE(refusal.find("wait for each other"), std::string::npos) << refusal;
}

}  // namespace
