// The campaign: damages made by seed, judged by the checker and by the oracles.
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

// One model compiled for several meshes, all with the same instructions.
struct Member {
  std::string options;
  std::vector<uint8_t> packed;
  std::unique_ptr<Logical> logical;
  Outcome outcome;
};
struct Family {
  std::string name;
  std::vector<Member> members;
  const char *text;  // the model; NULL: its plans are written by hand
};
std::vector<Family> MakeFamilies();
// words: of tests/passes/passes_helper.h. Throws when the model cannot be compiled.
std::vector<uint8_t> CompilePacked(const std::string &text, const std::string &words);

// A rule that the checker does not see; DP_RULE_NONE: it sees all. See blind.cc.
extern dp_rule blind_to;

// What the checker says of a plan, read back from a file with a right checksum: "" or its message.
std::string CheckerSays(const std::string &packed);
// What the oracles say: "" when the plan is equivalent.
std::string OraclesSay(const Dp__Plan *plan, const Member &member, unsigned seed);

struct Verdict {
  bool made = false;
  bool equivalent = true;  // on all meshes
  bool accepted = false;   // on a mesh on which it is not equivalent
  bool class_right = false;
  bool program_named = false, instruction_named = false, program_right = false;
  std::string rule;    // the first broken, on the first mesh on which it is not equivalent
  std::string detail;  // for people
};

// Damage number `damage` of the table at a place that the seed chooses. progress: called before what may crash, with what is
// known.
Verdict Judge(const Family &family, const Damage &damage, unsigned seed, void (*progress)(const Verdict &, void *),
              void *context);

}  // namespace dp_test

#endif
