// Plans for tests: a model's text compiled, and copies of its plan with damage.
//
// What cannot fail in a sound tree fails the test and throws, so that nothing goes on with half a plan.
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

// The plan of a model, as it comes back from its bytes. options: words of tests/passes/passes_helper.h, "batch=8 devices=2 strategy=data".
// Every plan is held against the checker here.
Plan Compile(const std::string &text, const std::string &options);
// A file of lines "name number number ...", without its comments (#).
std::vector<std::pair<std::string, std::vector<double>>> ReadNumbers(const std::string &path);
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

// "65: message", or "" for success. Frees the status.
std::string Failure(dp_status status);
void Must(dp_status status);

}  // namespace dp_test

#endif
