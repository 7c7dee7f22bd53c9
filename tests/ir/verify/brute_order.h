// The order of a program by brute force, as an oracle. What each device does for each instruction is a unit, except
// that all members of a collective, and the two ends of a channel, are one. Reachability is the transitive closure;
// conflicts are found by comparing all pairs, for host memory between all devices and byte by byte. Shares nothing with
// the checker.
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
