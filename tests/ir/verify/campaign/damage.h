// The damages of the campaign, in one table. docs/campaign.md says which of its rules were written before the checker
// saw them.
#ifndef DP_TESTS_IR_VERIFY_CAMPAIGN_DAMAGE_H
#define DP_TESTS_IR_VERIFY_CAMPAIGN_DAMAGE_H

#include <string>
#include <vector>

#include "tests/ir/verify/campaign/edit.h"

namespace dp_test {

struct Damage {
  const char *name;         // "wait.missing": class and kind
  bool (*make)(Edit &e);    // at a random place; false: the plan has no such place, and may be half changed
  const char *rules;        // the rules that it may break, separated by spaces; "*": any
  bool whole_plan = false;  // it changes more than one program
};

const std::vector<Damage> &Damages();

}  // namespace dp_test

#endif
