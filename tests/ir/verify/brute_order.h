// The order of a program by brute force, as an oracle. What each device does for each instruction is a unit, except
// that all members of a collective are one unit, and so are the two ends of a channel. Reachability is the transitive
// closure. Conflicts are found by comparing all pairs, and in host memory by comparing all devices byte by byte. Shares
// no code with the checker.
#ifndef DP_TESTS_IR_VERIFY_BRUTE_ORDER_H
#define DP_TESTS_IR_VERIFY_BRUTE_ORDER_H

#include <string>
#include <vector>

#include "ir/plan/plan.pb-c.h"

namespace dp_test {

// Checks the program `program` of the plan, with all roles on all devices. Returns "", or "ORDER.CYCLE",
// "ORDER.CONFLICT" or "ORDER.COLLECTIVE", in this order of precedence.
std::string BruteOrder(const Dp__Plan *plan, size_t program);
// The same without a mesh, with one device for each role: role r runs programs[r].
std::string BruteOrder(const std::vector<const Dp__Program *> &programs);
std::string BruteOrder(const Dp__Program *program);

}  // namespace dp_test

#endif
