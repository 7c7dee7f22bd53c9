// Loads a plan, trains it on the handwritten digits, and inspects what each device holds. For tests.
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

// The value of element `element` of sample `sample` of an input.
using Feed = std::function<double(const std::string &input, int64_t sample, int64_t element)>;
constexpr double kIgnored = -100;  // a label that does not count
// label: the digit. target: 1 where the last axis of 10 is the digit, else 0.1. Other inputs: the pixels, 0 to 255.
Feed Digits();
int64_t DigitLabel(int64_t sample);

// What a role asks of one kind of memory; 0: nothing.
uint64_t ArenaBytes(const Dp__Role *role, Dp__Space space);

struct RunOptions {
  int workers = 1;
  bool unchecked = false;
  uint64_t seed = 1;
  bool null_backend = false;
  bool trace = false;
  int64_t slot = 0;  // the host input copy of the first step
  Feed feed = Digits();
  const dp_peers *peers = nullptr;  // where the other devices are
  const char *units = nullptr;      // of the backend, as --device names them; nullptr: all
  const char *map = nullptr;        // as --map has it
};

using Bytes = std::vector<uint8_t>;

class Training {
 public:
  Training(Plan plan, RunOptions options = {});
  ~Training();
  Training(const Training &) = delete;
  Training &operator=(const Training &) = delete;

  // Trains on samples [first, first + n). Returns the loss, which must count as many labels as those samples have.
  double Train(int64_t first, int64_t n);
  // The losses of one step for each entry of `batches`, with samples in order.
  std::vector<double> TrainAll(const std::vector<int64_t> &batches);
  // The same with as many steps on at a time as the session allows. Where inputs are uploaded ahead, what lies in host
  // memory is garbage as soon as it has been taken.
  std::vector<double> TrainAhead(const std::vector<int64_t> &batches);
  // The same; returns "2: 65: label 11 ...", the step (from 0) that fails and its failure; "" if none does.
  std::string TryAhead(const std::vector<int64_t> &batches, std::vector<double> *losses);
  double Evaluate(int64_t first, int64_t n);
  double Correct();  // of the last Evaluate
  // Whether losses are here: some device of this process computes them.
  bool HasLoss() const;
  // The outputs of "infer", concatenated by name.
  std::vector<double> Infer(int64_t first, int64_t n);
  // Runs a program once, alternating between the copies of the inputs. Returns the failure, if any.
  std::string TryProgram(const std::string &program, int64_t first, int64_t n);

  std::map<std::string, Bytes> State() const;  // every variable, whole
  std::vector<double> Numbers(const std::string &variable) const;
  void SetNumbers(const std::string &variable, const std::vector<double> &numbers);
  // "" if devices with the same part of a variable hold the same bytes, else where they differ.
  std::string Replicas() const;
  // What a device that is here holds of a variable; empty if it holds nothing of it.
  Bytes Part(int32_t variable, int64_t device) const;
  // The persistent arena of a device that is here.
  char *Persistent(int64_t device) const { return storages_.at(static_cast<size_t>(device)); }
  std::string TryRead(int32_t variable, void *whole) const;  // the failure, if any
  const dp_model *Model() const { return dp_session_model(session_); }
  uint64_t Allocated(Dp__Space space) const { return dp_session_bytes(session_, space); }

 private:
  void Fill(int program, int64_t first, int64_t n);
  void FillInput(int program, const char *name, uint32_t value, int64_t first, int64_t n);
  double Number(const char *program, const char *output);
  std::string Target() const;
  void CheckCount(const std::string &program);
  void SpoilInputs(int program);

  Plan plan_;
  RunOptions options_;
  dp_backend backend_;
  dp_session *session_ = nullptr;
  std::vector<char *> storages_, offloads_;  // by device; null elsewhere
  int64_t step_ = 0, slot_;
  int64_t labels_ = -1;  // in the last batch fed; -1: labels are computed
};

// The failure to load, "65: message"; "" if there is none.
std::string TryLoad(const Plan &plan);

// Runs init, train and eval on the null backend with `workers` threads, for a few batches. Returns "" or the hazard.
std::string RunNull(const Plan &plan, int workers, const std::vector<int64_t> &batches);

// Compares each pair, relatively.
void ExpectClose(const std::vector<double> &found, const std::vector<double> &expected, double tolerance);
// Expects two plans of one model in float64, the second for one device, to agree: losses of steps with the given
// numbers of samples and of an evaluation to 1e-9, all variables to 1e-8.
void ExpectLikeOneDevice(const Plan &plan, const Plan &single, const std::vector<int64_t> &batches);

}  // namespace dp_test

#endif
