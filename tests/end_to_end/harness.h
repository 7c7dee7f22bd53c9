// The whole way at library level, for tests: a model's text is compiled, the plan is loaded and trained on the handwritten
// digits, and what each device holds is looked at. Plans can be damaged on the way.
//
// A failure to compile, load or run fails the test and throws, so that nothing goes on with half a session.
#ifndef DP_TESTS_END_TO_END_HARNESS_H
#define DP_TESTS_END_TO_END_HARNESS_H

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/plan.pb-c.h"
#include "passes/passes.h"
#include "runtime/session.h"

namespace dp_test {

// ---- plans ----------------------------------------------------------------------------------------------------------

using Plan = std::shared_ptr<Dp__Plan>;

// The plan of a model, as it comes back from its bytes. options: words of passes_helper.h, "batch=8 devices=2 strategy=data".
// Every plan is held against the checker here.
Plan Compile(const std::string &text, const std::string &options);
std::string ReadText(const std::string &path);
Plan Copy(const Plan &plan);
// "" when the checker accepts; its message, after its exit code.
std::string Verify(const Plan &plan);

struct Place {
  size_t program, stream, instruction;
};
Dp__Instruction *At(const Plan &plan, const Place &place);
size_t FindProgram(const Plan &plan, const std::string &name);
// "train, comm, 3 (AllReduce)"
std::string Describe(const Plan &plan, const Place &place);
// Every instruction of a program; those that communicate.
std::vector<Place> Instructions(const Plan &plan, const std::string &program);
std::vector<Place> Communications(const Plan &plan, const std::string &program);

// A copy without the instruction; what followed it follows what it followed.
Plan WithoutInstruction(const Plan &plan, const Place &place);
// A copy in which an instruction does not wait for its wait number `wait`.
Plan WithoutWait(const Plan &plan, const Place &place, size_t wait);
// A copy in which each device does the collective with itself alone: what it has is taken for the whole.
Plan WithDevicesAlone(const Plan &plan, const Place &place);

// ---- training -------------------------------------------------------------------------------------------------------

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

  // Trains on samples [first, first + n); the loss.
  double Train(int64_t first, int64_t n);
  // Losses of one step for each of `batches`, samples in order.
  std::vector<double> TrainAll(const std::vector<int64_t> &batches);
  double Evaluate(int64_t first, int64_t n);
  double Correct();  // of the last Evaluate
  // Runs a program once, in turns with either copy of the inputs; the failure, if any.
  std::string TryProgram(const std::string &program, int64_t first, int64_t n);

  std::map<std::string, Bytes> State() const;  // every persistent value, whole
  std::vector<double> Numbers(const std::string &persistent) const;
  void SetNumbers(const std::string &persistent, const std::vector<double> &numbers);
  // Whether devices that hold the same part of a persistent value hold the same bytes: "" or where they do not.
  std::string Replicas() const;

 private:
  void Fill(int program, int64_t first, int64_t n);
  double Number(const char *program, const char *output);

  Plan plan_;
  RunOptions options_;
  dp_backend backend_;
  dp_session *session_ = nullptr;
  std::vector<char *> homes_;  // by device
  int64_t step_ = 0, slot_;
};

// The failure to load, "65: message"; "" when there is none.
std::string TryLoad(const Plan &plan);

// Init, train and eval on the null backend, with `workers`, a few batches: "" or the hazard.
std::string RunNull(const Plan &plan, int workers, const std::vector<int64_t> &batches);

// Relative, each of them.
void ExpectClose(const std::vector<double> &found, const std::vector<double> &expected, double tolerance);

}  // namespace dp_test

#endif
