// Training that saves checkpoints: the fixture of the tests about them.
#ifndef DP_TESTS_TOOLS_CHECKPOINTS_H
#define DP_TESTS_TOOLS_CHECKPOINTS_H

#include <string>
#include <vector>

#include "tests/tools/tool.h"

using Strings = std::vector<std::string>;

// A small network with dropout, running statistics, Adam and a schedule, shuffled: all that training remembers.
class Checkpoints : public Tools {
 protected:
  void SetUp() override;
  // m.dpt, for batches of 64 unless `more` says otherwise.
  void Compile(const std::string &more, const std::string &plan = "plan.bin");
  std::string Train(const std::string &more, const std::string &plan = "plan.bin") const;
  std::string Save(const std::string &folder = "run") const { return "--save=" + File(folder) + " "; }
  std::string Weights(int step, const std::string &folder = "run") const;
  // The names in a folder, sorted: either those that begin with a dot, or the others but the record of runs.
  Strings Names(const std::string &folder, bool hidden = false) const;
};

#endif
