// Running dpc and dprun as a user does: a command line in, exit code, stdout and stderr out. Files live in a folder of the
// test's own; metrics are read as JSON.
#ifndef DP_TESTS_TOOLS_TOOL_H
#define DP_TESTS_TOOLS_TOOL_H

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

struct Result {
  int code;  // exit code; 128 + signal when a signal ended it
  std::string out, err;
};

// A line of --metrics: its numbers by name, NaN for null; event apart.
struct Event {
  std::string event;
  std::map<std::string, double> numbers;
  double operator[](const std::string &name) const;
};

class Tools : public testing::Test {
 protected:
  Tools();
  ~Tools() override;

  // Words are split at spaces; a word may hold none. "dpc compile ..." and "dprun ..." find the programs.
  Result Run(const std::string &command);
  // The same in pieces: start, then wait; Signal sends in between.
  void Start(const std::string &command);
  void Signal(int number);
  Result Wait();
  // A script of sh in a folder, where dpc and dprun are found as they are; stdin is empty unless the script says otherwise.
  Result Shell(const std::string &script, const std::string &folder = "");
  void StartShell(const std::string &script, const std::string &folder = "");
  // Runs, and fails the test when the exit code is not 0.
  Result Must(const std::string &command);
  // Runs, expects the exit code and, on stderr, each of the words, on at most a few lines.
  void Refused(const std::string &command, int code, const std::vector<std::string> &words);

  std::string File(const std::string &name) const { return folder_ + "/" + name; }
  std::string Write(const std::string &name, const std::string &content) const;  // returns the path
  static std::string Read(const std::string &path);
  static bool Exists(const std::string &path);
  static std::vector<Event> Metrics(const std::string &path);  // all but the last, which says what memory was taken
  static Event Memory(const std::string &path);                // that one
  static std::vector<double> Losses(const std::string &path);  // of the steps

 private:
  void Spawn(const std::vector<std::string> &words);

  std::string folder_;
  int pid_ = 0;
};

// The handwritten digits as options.
extern const char digits[];       // --data image=... --data label=...
extern const char eval_digits[];  // --eval-data ...

#endif
