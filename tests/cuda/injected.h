// What a run of dprun must come to if a call of the driver or of a library was told to fail (DP_STANDIN_FAIL,
// DP_STANDIN_NCCL_CALL): one message and the code that fits the error, or the bytes of a good run; and nothing is left.
#ifndef DP_TESTS_CUDA_INJECTED_H
#define DP_TESTS_CUDA_INJECTED_H

#include "tests/tools/tool.h"

// What DP_STANDIN_FAIL tells a call to return: the context is lost, or there is no memory.
enum { kLost = 719, kNoMemory = 2 };

class Injected : public Tools {
 protected:
  Injected();
  ~Injected() override;

  // Runs a command that saves to Saved(), undisturbed: for the cache of functions, then for what a good run makes,
  // keeps and calls.
  void RunWell(const std::string &command);
  std::string Saved() const { return File("out.safetensors"); }
  // The names of the calls that the last run made, in order. What NVRTC is asked on other threads may come anywhere.
  std::vector<std::string> Calls() const;
  // Runs RunWell's command with call `number` (from 1) failing so, and looks at how it ends. Whether it was refused;
  // if not, the call is one that may be ignored, and what was saved is what the good run saved. A call that is not made
  // is passed over.
  bool FailsWell(size_t number, int error);
  // The run ended well, though call `failed` did not.
  void ExpectIgnored(const Result &result, const std::string &failed) const;
  bool SavedWell() const;  // the bytes of the good run
  void ExpectRefused(const Result &result, int code) const;
  // Nothing that the last run made is left but what a process keeps as long as it lives: contexts, functions and the
  // handles of libraries, as many as a good run keeps.
  void ExpectNothingLeft() const;

  std::vector<std::string> good_calls_;

 private:
  std::string command_, good_bytes_;
  std::map<std::string, int64_t> good_counts_;
};

#endif
