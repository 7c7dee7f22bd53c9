// The order that a program's streams and events impose, found by iterating until nothing changes. For tests of small
// programs.
#ifndef DP_TESTS_RUNTIME_PLAN_ORDER_H
#define DP_TESTS_RUNTIME_PLAN_ORDER_H

#include <map>
#include <set>
#include <utility>

#include "ir/plan/plan.pb-c.h"

namespace dp_test {

using Location = std::pair<size_t, size_t>;  // stream, instruction

// What happens before each instruction of one role's program, by its own streams and events alone.
std::map<Location, std::set<Location>> Before(const Dp__Program *program);

}  // namespace dp_test

#endif
