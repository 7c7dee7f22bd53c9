// Runs dpc and dprun as a user does: from a command line to exit code, stdout and stderr. Each test has its own folder;
// metrics are read as JSON.
#ifndef DP_TESTS_TOOLS_TOOL_H
#define DP_TESTS_TOOLS_TOOL_H

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

struct Result {
  int code;  // exit code; 128 + signal if a signal ended it
  std::string out, err;
};

// A line of --metrics: its numbers by name, NaN for null; `event` is separate.
struct Event {
  std::string event;
  std::map<std::string, double> numbers;
  double operator[](const std::string &name) const;
};

class Tools : public testing::Test {
 protected:
  Tools();
  ~Tools() override;

  // Words are separated by spaces and cannot contain any. "dpc compile ..." and "dprun ..." find the programs.
  Result Run(const std::string &command);
  // Runs in two steps: start, then wait. Signal sends a signal in between.
  void Start(const std::string &command);
  void Signal(int number);
  Result Wait();
  // Runs a shell script in a folder, in which dpc and dprun can be called; stdin is empty unless the script redirects
  // it.
  Result Shell(const std::string &script, const std::string &folder = "");
  void StartShell(const std::string &script, const std::string &folder = "");
  // Runs, and fails the test if the exit code is not 0.
  Result Must(const std::string &command);
  // Runs, and expects the exit code and each of the words on stderr, which must have only a few lines.
  void Refused(const std::string &command, int code, const std::vector<std::string> &words);

  std::string File(const std::string &name) const { return folder_ + "/" + name; }
  std::string Write(const std::string &name, const std::string &content) const;  // returns the path
  static std::string Read(const std::string &path);
  static bool Exists(const std::string &path);
  static std::vector<Event> Metrics(const std::string &path);  // all but the last line, which reports memory
  static Event Memory(const std::string &path);                // that last line
  static std::vector<double> Losses(const std::string &path);  // of the steps

 private:
  void Spawn(const std::vector<std::string> &words);

  std::string folder_;
  int pid_ = 0;
};

// The handwritten digits as options.
extern const char digits[];       // --data image=... --data label=...
extern const char eval_digits[];  // --eval-data ...
// The text of a model: y = x w from w = 1, of one number to a sample, whose loss is mse(y, target).
extern const char line_model[];

#endif
