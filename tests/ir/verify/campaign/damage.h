// The damages of the campaign: one table. Which of its rules were written before the checker saw any of them: docs/campaign.md.
#ifndef DP_TESTS_IR_VERIFY_CAMPAIGN_DAMAGE_H
#define DP_TESTS_IR_VERIFY_CAMPAIGN_DAMAGE_H

#include <string>
#include <vector>

#include "tests/ir/verify/campaign/edit.h"

namespace dp_test {

struct Damage {
  const char *name;         // "wait.missing": class and kind
  bool (*make)(Edit &e);    // at a random place; false: the plan has none to damage so, and may be half changed
  const char *rules;        // that it may break, apart by spaces; "*": any
  bool whole_plan = false;  // what it changes is not of one program
};

const std::vector<Damage> &Damages();

}  // namespace dp_test

#endif
