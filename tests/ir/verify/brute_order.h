// Order of a program by brute force, as an oracle: what each device does for each instruction is a unit of its own, but that
// all members of a collective, and the two ends of a channel, are one; reachability by closing that relation, conflicts by
// comparing all pairs, on the host between all devices, byte by byte. Shares nothing with the checker.
#ifndef DP_TESTS_IR_VERIFY_BRUTE_ORDER_H
#define DP_TESTS_IR_VERIFY_BRUTE_ORDER_H

#include <string>
#include <vector>

#include "ir/plan/plan.pb-c.h"

namespace dp_test {

// The plan's program of that index, of all roles, on all devices. "": fine; else "ORDER.CYCLE", "ORDER.CONFLICT" or
// "ORDER.COLLECTIVE", in this order.
std::string BruteOrder(const Dp__Plan *plan, size_t program);
// The same without a mesh, on one device of each role: role r does programs[r].
std::string BruteOrder(const std::vector<const Dp__Program *> &programs);
std::string BruteOrder(const Dp__Program *program);

}  // namespace dp_test

#endif
