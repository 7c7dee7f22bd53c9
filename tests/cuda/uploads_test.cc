// Uploads ahead, on stand-ins for the driver and CUDA's libraries: the inputs of a step lie beside the computing of the
// step before, losses are read a step late, and the device does not wait for the host between steps. None of it changes
// a bit.
#include <algorithm>
#include <set>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// Layers wide enough that their gradients are reduced in several buckets.
std::string Deep() {
  std::string text = "model deep {\n  loss \"mse(y,target)\"\n  optimizer \"sgd(lr=0.01)\"\n  input x: float32[N,64]\n";
  std::string x = "x";
  for (int i = 0; i < 8; i++) {
    const std::string n = std::to_string(i), y = i == 7 ? "y" : "h" + n, columns = i == 7 ? "10" : "64";
    text += "  parameter w" + n + ": float32[64," + columns + "] = uniform(-0.05,0.05)\n";
    text += "  g" + n + " = MatMul(" + x + ", w" + n + ")\n  " + y + " = Tanh(g" + n + ")\n";
    x = y;
  }
  return text + "  output y\n}\n";
}

const std::string kData = "target=cuda batch=8 precision=fp64 strategy=data devices=2";

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, Bytes> state;
};

Outcome Train(const std::string &model, const std::string &options, const std::vector<int64_t> &batches, bool ahead) {
  Training training(Compile(model, options));
  Outcome outcome;
  outcome.losses = ahead ? training.TrainAhead(batches) : training.TrainAll(batches);
  outcome.losses.push_back(training.Evaluate(0, 7));
  const std::vector<double> more = ahead ? training.TrainAhead(batches) : training.TrainAll(batches);
  outcome.losses.insert(outcome.losses.end(), more.begin(), more.end());
  const std::vector<double> inferred = training.Infer(0, 3);
  outcome.losses.insert(outcome.losses.end(), inferred.begin(), inferred.end());
  outcome.state = training.State();
  return outcome;
}

// ---- the same bits --------------------------------------------------------------------------------------------------

// Whole and short batches in turn, so that both slots are used with several n, one step alone, one sample; an
// evaluation between, and inference at the end.
TEST(Uploads, ChangeNoBit) {
  const std::vector<std::vector<int64_t>> runs = {{8, 8, 8, 5, 8, 2, 1, 8}, {8}, {1, 3}};
  for (const char *model : {kMlp, kCnn})
    for (const char *strategy : {"devices=1", "strategy=data devices=2", "strategy=zero zero-stage=3 devices=4",
                                 "mesh=data:2,pipe:2 strategy=pipeline microbatches=4", "devices=1 microbatches=2"})
      for (const std::vector<int64_t> &batches : runs) {
        SCOPED_TRACE(strategy);
        const std::string options = std::string("target=cuda batch=8 precision=fp64 ") + strategy;
        DP_STEER(dp_standin_seed)(0);
        const Outcome in_order = Train(model, options, batches, false);
        for (uint64_t seed : {0, 1, 2}) {
          SCOPED_TRACE(seed);
          DP_STEER(dp_standin_seed)(seed);
          const Outcome ahead = Train(model, options, batches, true);
          EXPECT_EQ(ahead.losses, in_order.losses);
          EXPECT_EQ(ahead.state, in_order.state);
        }
        if (model != kMlp) break;
      }
}

// ---- the clock ------------------------------------------------------------------------------------------------------

struct Span {
  double begin_ns, end_ns;
};

// What ran in some steps of training on two devices that take 100 times as long for everything as the stand-in's do, so
// that the host is the faster.
class Recording {
 public:
  explicit Recording(bool ahead, const std::string &model = kMlp, const std::string &options = kData) {
    Training training(Compile(model, options));
    DP_STEER(dp_standin_slow)(100);
    training.TrainAll({8, 8});
    DP_STEER(dp_standin_record)();
    const std::vector<int64_t> batches(kSteps, 8);
    if (ahead)
      training.TrainAhead(batches);
    else
      training.TrainAll(batches);
    const dp_standin_slice *slices;
    const int64_t count = DP_STEER(dp_standin_slices)(&slices);
    DP_STEER(dp_standin_slow)(1);
    for (int64_t i = 0; i < count; i++)
      if (Is(slices[i], "upload")) streams_.insert(slices[i].stream);
    for (int64_t i = 0; i < count; i++) {
      const Span span = {slices[i].begin_ns, slices[i].end_ns};
      const bool uploads = streams_.count(slices[i].stream) > 0;
      const bool reduces = Is(slices[i], "all_reduce") || Is(slices[i], "boxes");
      if (!uploads && Is(slices[i], "download")) continue;
      (uploads ? uploads_ : reduces ? reductions_ : computing_).push_back(span);
      if (!reduces || uploads) by_stream_[slices[i].stream].push_back(span);
    }
    EXPECT_FALSE(uploads_.empty());
    EXPECT_FALSE(reductions_.empty());
    EXPECT_FALSE(computing_.empty());
  }

  // Of the time that these take, what lies beside computing.
  double Beside(const std::vector<Span> &spans) const {
    double all = 0, beside = 0;
    for (const Span &s : spans) {
      all += s.end_ns - s.begin_ns;
      for (const Span &busy : Union(computing_))
        beside += std::max(0.0, std::min(s.end_ns, busy.end_ns) - std::max(s.begin_ns, busy.begin_ns));
    }
    return beside / all;
  }

  // Of the uploads of the second step and later ones, how many are over before the computing of the step before is.
  double UploadsBeside() const {
    double before = 0, all = 0;
    std::vector<double> over(kSteps);
    for (const auto &[stream, spans] : by_stream_)
      for (size_t i = 0; i < spans.size() && !streams_.count(stream); i++) {
        double &end_ns = over[i * kSteps / spans.size()];
        end_ns = std::max(end_ns, spans[i].end_ns);
      }
    for (const void *stream : streams_) {
      const std::vector<Span> &spans = by_stream_.at(stream);
      EXPECT_EQ(spans.size() % kSteps, 0u);
      for (size_t i = spans.size() / kSteps; i < spans.size(); i++, all++)
        before += spans[i].end_ns < over[i * kSteps / spans.size() - 1];
    }
    return before / all;
  }
  double ReductionsBeside() const { return Beside(reductions_); }

  // From the first computing to the last, the time in which nothing but uploads runs.
  double Idle() const {
    std::vector<Span> all = computing_;
    all.insert(all.end(), reductions_.begin(), reductions_.end());
    const std::vector<Span> busy = Union(all);
    double idle = 0;
    for (size_t i = 1; i < busy.size(); i++) idle += busy[i].begin_ns - busy[i - 1].end_ns;
    return idle / (busy.back().end_ns - busy.front().begin_ns);
  }

 private:
  static constexpr int kSteps = 6;

  static bool Is(const dp_standin_slice &slice, const std::string &word) {
    return std::string(slice.what).find(word) != std::string::npos;
  }

  static std::vector<Span> Union(std::vector<Span> spans) {
    std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) { return a.begin_ns < b.begin_ns; });
    std::vector<Span> whole;
    for (const Span &s : spans) {
      if (whole.empty() || s.begin_ns > whole.back().end_ns)
        whole.push_back(s);
      else
        whole.back().end_ns = std::max(whole.back().end_ns, s.end_ns);
    }
    return whole;
  }

  std::set<const void *> streams_;                       // of uploads
  std::map<const void *, std::vector<Span>> by_stream_;  // without collectives
  std::vector<Span> uploads_, reductions_, computing_;
};

TEST(Uploads, LieBesideTheStepBefore) {
  DP_STEER(dp_standin_seed)(0);
  const Recording ahead(true), in_order(false);
  EXPECT_EQ(ahead.UploadsBeside(), 1);
  EXPECT_EQ(in_order.UploadsBeside(), 0);
}

TEST(Uploads, CollectivesLieBesideComputing) {
  DP_STEER(dp_standin_seed)(0);
  EXPECT_GT(Recording(true, Deep(), kData).ReductionsBeside(), 0.3);
  EXPECT_GT(Recording(true, Deep(), "target=cuda batch=8 strategy=zero zero-stage=3 devices=2").ReductionsBeside(),
            0.3);
}

TEST(Uploads, LeaveTheDeviceNoTimeToIdle) {
  DP_STEER(dp_standin_seed)(0);
  const Recording ahead(true), in_order(false);
  EXPECT_LT(ahead.Idle(), 0.01);
  EXPECT_GT(in_order.Idle(), 0.02);
}

// ---- failures -------------------------------------------------------------------------------------------------------

// Wrong data is told of the step that has it, though the next one has been begun. Neither has changed anything, and the
// session can go on.
TEST(Uploads, WrongDataIsOfItsStep) {
  for (uint64_t seed : {0, 1, 2, 3})
    for (int64_t wrong : {0, 1, 2, 4}) {
      SCOPED_TRACE(testing::Message() << seed << " " << wrong);
      DP_STEER(dp_standin_seed)(seed);
      RunOptions options;
      const Feed digits = Digits();
      bool spoilt = true;
      options.feed = [&](const std::string &input, int64_t sample, int64_t element) {
        if (spoilt && input == "label" && sample == wrong * 8 + 3) return 11.0;
        return digits(input, sample, element);
      };
      Training training(Compile(kMlp, kData), options);
      std::vector<double> losses;
      const std::string failure = training.TryAhead({8, 8, 8, 8, 8}, &losses);
      EXPECT_EQ(failure.substr(0, 6), std::to_string(wrong) + ": 65:") << failure;
      EXPECT_NE(failure.find("label 11"), std::string::npos) << failure;
      EXPECT_EQ(losses.size(), static_cast<size_t>(wrong));
      spoilt = false;
      Training before(Compile(kMlp, kData), options);
      before.TrainAll(std::vector<int64_t>(static_cast<size_t>(wrong), 8));
      EXPECT_EQ(training.State(), before.State());
      EXPECT_EQ(training.TryAhead({8, 8, 8}, &losses), "");
    }
}

TEST(Uploads, NothingIsLeft) {
  const dp_standin_counts left = DP_STEER(dp_standin_count)();
  EXPECT_EQ(left.pending, 0);
  EXPECT_EQ(left.device_allocations, 0);
  EXPECT_EQ(left.host_allocations, 0);
  EXPECT_EQ(left.streams, 0);
  EXPECT_EQ(left.events, 0);
}

}  // namespace
}  // namespace dp_test
