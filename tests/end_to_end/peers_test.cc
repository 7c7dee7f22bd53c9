// Plans whose devices are in several processes: each process computes, bit for bit, what one process with all devices
// does. Threads stand for the processes, each with a session of its own, and a post office carries their messages late
// and out of order.
#include <functional>
#include <thread>

#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"
#include "tests/runtime/post_office.h"

namespace dp_test {
namespace {

const std::vector<int64_t> kBatches = {12, 12, 5, 1, 12};

void OnThreads(int processes, const std::function<void(int)> &work) {
  std::vector<std::thread> threads;
  for (int p = 0; p < processes; p++) threads.emplace_back(work, p);
  for (std::thread &thread : threads) thread.join();
}

RunOptions With(const dp_peers *peers, int workers) {
  RunOptions options;
  options.workers = workers;
  options.peers = peers;
  return options;
}

// Device d is in process process_of[d].
void ExpectLikeOneProcess(const std::string &text, const std::string &options, const std::vector<int> &process_of,
                          uint64_t seed) {
  SCOPED_TRACE(options);
  const Plan plan = Compile(text, "batch=12 " + options);
  Training all(plan);
  const std::vector<double> losses = all.TrainAll(kBatches);
  const double evaluated = all.Evaluate(100, 7);
  PostOffice office(process_of, seed);
  const int processes = *std::max_element(process_of.begin(), process_of.end()) + 1;
  int64_t compared = 0;
  std::mutex mutex;
  OnThreads(processes, [&](int p) {
    Training mine(plan, With(office.Counter(p), 1 + p % 2));
    const std::vector<double> found = mine.TrainAll(kBatches);
    const double then = mine.Evaluate(100, 7);
    std::lock_guard<std::mutex> lock(mutex);
    if (mine.HasLoss()) {
      EXPECT_EQ(found, losses) << "process " << p;
      EXPECT_EQ(then, evaluated) << "process " << p;
      compared++;
    }
    for (size_t d = 0; d < process_of.size(); d++)
      for (int32_t v = 0; process_of[d] == p && v < mine.Model()->n_variables; v++)
        EXPECT_EQ(mine.Part(v, static_cast<int64_t>(d)), all.Part(v, static_cast<int64_t>(d)))
            << mine.Model()->variables[v].name << " on device " << d;
  });
  EXPECT_GT(compared, 0);
  EXPECT_GT(office.Carried(), 0);
  EXPECT_EQ(office.Complaints(), "");
}

TEST(Peers, ComputeWhatOneProcessDoes) {
  uint64_t seed = 1;
  for (const char *text : {kMlp, kCnn}) {
    for (const char *options :
         {"strategy=data devices=2", "strategy=zero zero-stage=1 devices=2", "strategy=zero zero-stage=3 devices=2",
          "strategy=tensor devices=2", "strategy=pipeline devices=2 microbatches=3"})
      ExpectLikeOneProcess(text, options, {0, 1}, seed++);
  }
  for (const char *options : {"strategy=data devices=4", "strategy=zero zero-stage=2 devices=4",
                              "strategy=data mesh=data:2,tensor:2", "strategy=pipeline mesh=data:2,pipe:2"})
    for (const std::vector<int> &process_of : {std::vector<int>{0, 0, 1, 1}, {0, 1, 0, 1}, {2, 0, 1, 0}, {3, 2, 1, 0}})
      ExpectLikeOneProcess(kMlp, options, process_of, seed++);
}

// Without messages there is nothing to wait for.
TEST(Peers, OneProcessMayHaveAll) {
  const Plan plan = Compile(kMlp, "batch=12 strategy=data devices=3");
  PostOffice office({0, 0, 0}, 1);
  Training all(plan), same(plan, With(office.Counter(0), 2));
  EXPECT_EQ(same.TrainAll(kBatches), all.TrainAll(kBatches));
  EXPECT_EQ(same.State(), all.State());
  EXPECT_EQ(office.Carried(), 0);
}

// Each process has the rows of an output that its devices compute; together they have all.
TEST(Peers, EachHasItsPartOfAnOutput) {
  const Plan plan = Compile(kMlp, "batch=12 strategy=data devices=3");
  const std::vector<double> expected = Training(plan).Infer(40, 11);
  PostOffice office({0, 1, 0}, 1);
  std::vector<double> parts[2];
  OnThreads(2, [&](int p) { parts[p] = Training(plan, With(office.Counter(p), 1)).Infer(40, 11); });
  int mine[2] = {};
  for (size_t i = 0; i < expected.size(); i++) {
    const int p = parts[0].at(i) == expected[i] ? 0 : 1;
    EXPECT_EQ(parts[p].at(i), expected[i]) << i;
    EXPECT_EQ(parts[1 - p].at(i), 0) << i;
    mine[p]++;
  }
  EXPECT_GT(mine[0], mine[1]);
  EXPECT_GT(mine[1], 0);
}

// A variable can be read where all parts of it are.
TEST(Peers, WhatIsElsewhereCannotBeRead) {
  const Plan plan = Compile(kMlp, "batch=12 strategy=zero zero-stage=3 devices=4");
  PostOffice office({0, 0, 1, 1}, 1);
  OnThreads(2, [&](int p) {
    Training mine(plan, With(office.Counter(p), 1));
    const int32_t weight = dp_model_find_variable(mine.Model(), "w1");
    Bytes whole(24 * 64 * 4);
    EXPECT_NE(mine.TryRead(weight, whole.data()).find("69: a part of 'w1' is on device"), std::string::npos);
  });
  const Plan data = Compile(kMlp, "batch=12 strategy=data devices=4");
  PostOffice another({0, 0, 1, 1}, 1);
  std::map<std::string, Bytes> states[2];
  OnThreads(2, [&](int p) {
    Training mine(data, With(another.Counter(p), 1));
    mine.TrainAll(kBatches);
    states[p] = mine.State();
  });
  EXPECT_EQ(states[0], states[1]);
}

// A message that fails ends the run in both processes, whichever message it is; so does a process that is gone.
TEST(Peers, ALostMessageEndsTheRun) {
  const Plan plan = Compile(kMlp, "batch=12 strategy=pipeline mesh=data:2,pipe:2");
  for (int64_t number = 0;; number++) {
    PostOffice office({0, 1, 0, 1}, static_cast<uint64_t>(number));
    office.Fail(number);
    std::string failures[2];
    OnThreads(2, [&](int p) {
      Training mine(plan, With(office.Counter(p), 2));
      failures[p] = mine.TryProgram("train", 0, 12);
    });
    EXPECT_EQ(office.Complaints(), "");
    if (office.Carried() <= number) {
      EXPECT_EQ(failures[0] + failures[1], "");
      break;
    }
    for (const std::string &failure : failures) {
      EXPECT_EQ(failure.substr(0, 4), "76: ") << "message " << number;
      EXPECT_NE(failure.find("is lost"), std::string::npos) << failure;
    }
  }
}

TEST(Peers, ALostProcessEndsTheRun) {
  const Plan plan = Compile(kMlp, "batch=12 strategy=data devices=3");
  for (int lost = 0; lost < 3; lost++) {
    PostOffice office({0, 1, 2}, 5);
    std::string failures[3];
    OnThreads(3, [&](int p) {
      Training mine(plan, With(office.Counter(p), 1));
      mine.Train(0, 12);
      if (p == lost)
        office.Lose(p);
      else
        failures[p] = mine.TryProgram("train", 12, 12);
    });
    for (int p = 0; p < 3; p++) {
      EXPECT_EQ(failures[p].substr(0, 4), p == lost ? "" : "76: ") << failures[p];
    }
    EXPECT_EQ(office.Complaints(), "");
  }
}

}  // namespace
}  // namespace dp_test
