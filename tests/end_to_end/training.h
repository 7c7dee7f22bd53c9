// A plan loaded and trained on the handwritten digits, for tests, and a look at what each device holds.
//
// A failure to load or run fails the test or throws.
#ifndef DP_TESTS_END_TO_END_TRAINING_H
#define DP_TESTS_END_TO_END_TRAINING_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "tests/end_to_end/plans.h"

namespace dp_test {

// Element `element` of sample `sample` of an input: its number.
using Feed = std::function<double(const std::string &input, int64_t sample, int64_t element)>;
// label: the digit. target: 1 where the last axis of 10 is the digit, else 0.1. Any other input: the pixels, 0 to 255.
Feed Digits();
int64_t DigitLabel(int64_t sample);

struct RunOptions {
  int workers = 1;
  bool unchecked = false;
  uint64_t seed = 1;
  bool null_backend = false;
  int64_t slot = 0;  // host input copy of the first step
  Feed feed = Digits();
};

using Bytes = std::vector<uint8_t>;

class Training {
 public:
  Training(Plan plan, RunOptions options = {});
  ~Training();
  Training(const Training &) = delete;
  Training &operator=(const Training &) = delete;

  // Trains on samples [first, first + n); the loss, which must be over as many labels as those have.
  double Train(int64_t first, int64_t n);
  // Losses of one step for each of `batches`, samples in order.
  std::vector<double> TrainAll(const std::vector<int64_t> &batches);
  double Evaluate(int64_t first, int64_t n);
  double Correct();  // of the last Evaluate
  // The outputs of "infer", one after the other by name.
  std::vector<double> Infer(int64_t first, int64_t n);
  // Runs a program once, in turns with either copy of the inputs; the failure, if any.
  std::string TryProgram(const std::string &program, int64_t first, int64_t n);

  std::map<std::string, Bytes> State() const;  // every variable, whole
  std::vector<double> Numbers(const std::string &variable) const;
  void SetNumbers(const std::string &variable, const std::vector<double> &numbers);
  // Whether devices that hold the same part of a variable hold the same bytes: "" or where they do not.
  std::string Replicas() const;
  uint64_t Allocated(Dp__Space space) const { return dp_session_bytes(session_, space); }

 private:
  void Fill(int program, int64_t first, int64_t n);
  void FillInput(int program, const char *name, uint32_t value, int64_t first, int64_t n);
  double Number(const char *program, const char *output);
  std::string Target() const;
  void CheckCount(const std::string &program);

  Plan plan_;
  RunOptions options_;
  dp_backend backend_;
  dp_session *session_ = nullptr;
  std::vector<char *> storages_;  // by device
  int64_t step_ = 0, slot_;
  int64_t labels_ = -1;  // that were fed last; -1: they are computed
};

// The failure to load, "65: message"; "" when there is none.
std::string TryLoad(const Plan &plan);

// Init, train and eval on the null backend, with `workers`, a few batches: "" or the hazard.
std::string RunNull(const Plan &plan, int workers, const std::vector<int64_t> &batches);

// Relative, each of them.
void ExpectClose(const std::vector<double> &found, const std::vector<double> &expected, double tolerance);
// Plans of one model in float64, the second for one device: the losses of steps of so many samples and an evaluation agree to
// 1e-9, everything that outlives a step to 1e-8.
void ExpectLikeOneDevice(const Plan &plan, const Plan &single, const std::vector<int64_t> &batches);

}  // namespace dp_test

#endif
