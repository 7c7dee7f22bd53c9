// Order of a program by brute force, as an oracle: reachability by closing the relation, conflicts by comparing all
// pairs of instructions. A Send and the Recv of its channel are one step, of two roles. Shares nothing with the checker.
#ifndef DP_TESTS_IR_VERIFY_BRUTE_ORDER_H
#define DP_TESTS_IR_VERIFY_BRUTE_ORDER_H

#include <string>
#include <vector>

#include "ir/plan/plan.pb-c.h"

namespace dp_test {

// "": fine; else "ORDER.CYCLE", "ORDER.CONFLICT" or "ORDER.COLLECTIVE", in this order.
std::string BruteOrder(const Dp__Program *program);
// A program of all roles together: role r does programs[r].
std::string BruteOrder(const std::vector<const Dp__Program *> &programs);
// The plan's program of that index, in all roles.
std::string BruteOrder(const Dp__Plan *plan, size_t program);

}  // namespace dp_test

#endif
