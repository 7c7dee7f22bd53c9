// The campaign: seeded damages, judged by the checker and by the oracles.
#ifndef DP_TESTS_IR_VERIFY_CAMPAIGN_CAMPAIGN_H
#define DP_TESTS_IR_VERIFY_CAMPAIGN_CAMPAIGN_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/plan/rule.h"
#include "tests/ir/verify/campaign/damage.h"
#include "tests/ir/verify/campaign/oracle_meaning.h"

namespace dp_test {

// One model compiled for several meshes, always to the same instructions.
struct Member {
  std::string options;
  std::vector<uint8_t> packed;
  std::unique_ptr<Logical> logical;
  Outcome outcome;
};
struct Family {
  std::string name;
  std::vector<Member> members;
  const char *text;  // the model; NULL: handwritten plans
};
std::vector<Family> MakeFamilies();
// words: see tests/passes/passes_helper.h. Throws if the model cannot be compiled.
std::vector<uint8_t> CompilePacked(const std::string &text, const std::string &words);

// The rule that the checker is blind to; DP_RULE_NONE: it sees all. See blind.cc.
extern dp_rule blind_to;

// The checker's verdict on a plan that was read back from a valid file: "" or its message.
std::string CheckerSays(const std::string &packed);
// The oracles' verdict: "" if the plan is equivalent.
std::string OraclesSay(const Dp__Plan *plan, const Member &member, unsigned seed);

struct Verdict {
  bool made = false;
  bool equivalent = true;  // on all meshes
  bool accepted = false;   // on a mesh where it is not equivalent
  bool class_right = false;
  bool program_named = false, instruction_named = false, program_right = false;
  std::string rule;    // the first one broken, on the first mesh where it is not equivalent
  std::string detail;  // for readers
};

// Applies damage number `damage` of the table at a place that the seed selects. progress: called before anything that
// may crash, with what is known so far.
Verdict Judge(const Family &family, const Damage &damage, unsigned seed, void (*progress)(const Verdict &, void *),
              void *context);

}  // namespace dp_test

#endif
