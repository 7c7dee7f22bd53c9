// Order of a program by brute force, as an oracle: reachability by closing the relation, conflicts by comparing all
// pairs of instructions. Shares nothing with the checker.
#ifndef DP_TESTS_VERIFY_BRUTE_ORDER_H
#define DP_TESTS_VERIFY_BRUTE_ORDER_H

#include <string>

#include "ir/plan.pb-c.h"

namespace dp_test {

// "": fine; else "ORDER.CYCLE", "ORDER.CONFLICT" or "ORDER.COLLECTIVE", in this order.
std::string BruteOrder(const Dp__Program *program);

}  // namespace dp_test

#endif
