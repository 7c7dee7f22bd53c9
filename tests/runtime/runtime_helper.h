// Compiles models to plans and runs plans in sessions, for tests.
#ifndef DP_TESTS_RUNTIME_RUNTIME_HELPER_H
#define DP_TESTS_RUNTIME_RUNTIME_HELPER_H

#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/backend.h"
#include "passes/base/pass.h"
#include "runtime/session.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {

// A convolutional network with whole-batch statistics, dropout and momentum on 2x4x4 pictures of 3 classes.
extern const char kNetwork[];

// The plan of a model; options as in tests/passes/passes_helper.h.
class CompiledPlan {
 public:
  CompiledPlan(const std::string &text, const std::string &options);
  CompiledPlan(const CompiledPlan &) = delete;
  CompiledPlan &operator=(const CompiledPlan &) = delete;
  Dp__Program *Program(const std::string &name) const;

  Arena arena;
  Dp__Plan *plan = nullptr;
};

// A session on a plan. If it cannot be created, `error` says why, as "65: message".
class Session {
 public:
  explicit Session(const Dp__Plan *plan, dp_session_options options = {}, const dp_backend *backend = &dp_backend_cpu);
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session() { dp_session_destroy(session); }

  // Copies data to an input.
  template <typename T>
  void Feed(const std::string &program, const std::string &input, const std::vector<T> &data, int slot = 0) {
    void *at = InputOf(program, input, slot);
    if (!data.empty()) memcpy(at, data.data(), data.size() * sizeof(T));
  }
  // "" or the failure.
  std::string Run(const std::string &program, int64_t n, int64_t step = 0, double lr = 0.1, int slot = 0);
  double Number(const std::string &program, const std::string &output) const;
  // All bytes of a variable, whole.
  std::vector<char> Bytes(const std::string &variable) const;
  std::vector<float> Floats(const std::string &variable) const;
  // All variables, concatenated.
  std::vector<char> Everything() const;

  dp_session *session = nullptr;
  std::string error;

 private:
  void *InputOf(const std::string &program, const std::string &input, int slot);
};

std::string Failure(dp_status status);  // "65: message"; frees it

// Numbers of a fixed pattern, between -1 and 1, and classes.
std::vector<float> Samples(int64_t count, int seed);
std::vector<int64_t> Labels(int64_t count, int classes, int seed);

// The losses of `steps` steps of kNetwork, the last with a short batch, then the loss of an evaluation; on request also
// the number of labels in each.
std::vector<double> TrainNetwork(Session *session, int steps, int64_t batch = 6, std::vector<double> *counts = nullptr);

}  // namespace dp_test

#endif
