// Plans for tests: a compiled model, and damaged copies of its plan.
//
// What cannot fail in a sound tree fails the test and throws, so that a test never continues with an incomplete plan.
#ifndef DP_TESTS_END_TO_END_PLANS_H
#define DP_TESTS_END_TO_END_PLANS_H

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"
#include "tests/ir/base/files.h"

namespace dp_test {

using Plan = std::shared_ptr<Dp__Plan>;

// The plan of a model, read back from its bytes. options: words as in tests/passes/passes_helper.h, "batch=8 devices=2
// strategy=data". Every plan goes through the checker.
Plan Compile(const std::string &text, const std::string &options);
// Reads a file of lines "name number number ..."; '#' starts a comment.
std::vector<std::pair<std::string, std::vector<double>>> ReadNumbers(const std::string &path);
Plan Copy(const Plan &plan);
// "" if the checker accepts, else its exit code and message.
std::string Verify(const Plan &plan);

struct Location {
  size_t program, stream, instruction, role = 0;
};
Dp__Instruction *At(const Plan &plan, const Location &location);
size_t FindProgram(const Plan &plan, const std::string &name);
// "train, comm, 3 (AllReduce)"
std::string Describe(const Plan &plan, const Location &location);
// All instructions of a program of a role; those of role 0 that communicate.
std::vector<Location> Instructions(const Plan &plan, const std::string &program, size_t role = 0);
std::vector<Location> Communications(const Plan &plan, const std::string &program);

// A copy without the instruction; its successors follow its predecessors.
Plan WithoutInstruction(const Plan &plan, const Location &location);
// A copy in which an instruction lacks its wait number `wait`.
Plan WithoutWait(const Plan &plan, const Location &location, size_t wait);
// A copy in which each device executes the collective alone, as if its part were the whole.
Plan WithDevicesAlone(const Plan &plan, const Location &location);

// "65: message", or "" for success. Frees the status.
std::string Failure(dp_status status);
void Must(dp_status status);

}  // namespace dp_test

#endif
