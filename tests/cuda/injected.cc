// See injected.h.
#include "tests/cuda/injected.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

namespace {

std::map<std::string, int64_t> CountsOf(const std::string &report) {
  std::map<std::string, int64_t> counts;
  std::istringstream lines(report);
  for (std::string name, number; lines >> name >> number;) counts[name] = atoll(number.c_str());
  return counts;
}

// What gives something back, with nobody to tell; what only looks how far GPUs are, or how much memory is left; what
// there is another way for: the driver's memory instead of NCCL's, a context that is current already. All that a run
// saves is as without the failure.
bool MayBeIgnored(const std::string &call) {
  static const std::regex names(
      "Destroy|Free|Unload|Release|ErrorString|ncclCommFinalize|ncclCommAbort|WindowDeregister|EventQuery|"
      "cuMemGetInfo|cuCtxSetCurrent|ncclMemAlloc|ncclGetVersion");
  return std::regex_search(call, names);
}

// The driver, cuBLASLt and cuDNN tell that there is no memory; NCCL and NVRTC do not.
int CodeOf(const std::string &call, int error) { return call.rfind("cu", 0) == 0 && error == kNoMemory ? 71 : 69; }

}  // namespace

Injected::Injected() { setenv("XDG_CACHE_HOME", File("").c_str(), 1); }

Injected::~Injected() {
  for (const char *name : {"DP_STANDIN_FAIL", "DP_STANDIN_TRACE", "DP_STANDIN_REPORT", "XDG_CACHE_HOME"})
    unsetenv(name);
}

std::vector<std::string> Injected::Calls() const {
  std::vector<std::string> calls;
  std::ifstream trace(File("calls"));
  for (std::string number, name; trace >> number >> name;) calls.push_back(name);
  return calls;
}

void Injected::RunWell(const std::string &command) {
  command_ = command;
  Must(command);
  setenv("DP_STANDIN_TRACE", File("calls").c_str(), 1);
  setenv("DP_STANDIN_REPORT", File("report").c_str(), 1);
  Must(command);
  good_calls_ = Calls();
  good_counts_ = CountsOf(Read(File("report")));
  good_bytes_ = Read(Saved());
  ASSERT_GT(good_bytes_.size(), 1000u);
  ExpectNothingLeft();
}

void Injected::ExpectNothingLeft() const {
  std::map<std::string, int64_t> counts = CountsOf(Read(File("report")));
  ASSERT_EQ(counts.size(), good_counts_.size()) << "no report";
  for (const char *kind : {"device_allocations", "host_allocations", "streams", "events", "graphs"})
    EXPECT_EQ(counts.at(kind), 0) << kind;
  for (const char *kind : {"modules", "contexts", "handles"}) EXPECT_LE(counts.at(kind), good_counts_.at(kind)) << kind;
}

void Injected::ExpectIgnored(const Result &result, const std::string &failed) const {
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(MayBeIgnored(failed)) << failed;
  EXPECT_TRUE(SavedWell()) << failed;
}

bool Injected::SavedWell() const { return Exists(Saved()) && Read(Saved()) == good_bytes_; }

void Injected::ExpectRefused(const Result &result, int code) const {
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_EQ(result.err.find("dprun: "), 0u) << result.err;
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
}

bool Injected::FailsWell(size_t number, int error) {
  setenv("DP_STANDIN_FAIL", (std::to_string(number) + ":" + std::to_string(error)).c_str(), 1);
  unlink(Saved().c_str());
  unlink(File("report").c_str());
  const Result result = Run(command_);
  unsetenv("DP_STANDIN_FAIL");
  const std::vector<std::string> calls = Calls();
  if (calls.size() < number) {  // it asked less often how far the GPUs are
    EXPECT_EQ(result.code, 0) << result.err;
    return false;
  }
  const std::string failed = calls[number - 1];
  SCOPED_TRACE("call " + std::to_string(number) + ", " + failed + ", error " + std::to_string(error));
  ExpectNothingLeft();
  if (result.code == 0)
    ExpectIgnored(result, failed);
  else
    ExpectRefused(result, CodeOf(failed, error));
  return result.code != 0;
}
