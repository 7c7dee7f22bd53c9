// Operands that are packed: each rule for them broken alone.
#include <cstdlib>

#include "tests/end_to_end/digit_models.h"
#include "tests/ir/verify/damaged.h"

namespace dp_test {
namespace {

Dp__Program *Named(Dp__Plan *plan, const std::string &name) {
  for (size_t i = 0; i < plan->roles[0]->n_programs; i++)
    if (name == plan->roles[0]->programs[i]->name) return plan->roles[0]->programs[i];
  throw std::runtime_error("no program " + name);
}

// The nth convolution of the program.
Dp__Instruction *Convolution(Dp__Program *program, size_t nth) {
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
      if (!strcmp(program->streams[s]->instructions[i]->op, "Conv") && !nth--)
        return program->streams[s]->instructions[i];
  throw std::runtime_error("no such convolution");
}

Dp__Instruction *Communication(Dp__Program *program) {
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
      if (!*program->streams[s]->instructions[i]->kernel) return program->streams[s]->instructions[i];
  throw std::runtime_error("no communication");
}

Dp__Packed *Packed(Dp__Plan *plan, size_t nth) {
  Dp__Packed *packed = Convolution(Named(plan, "infer"), nth)->packed;
  if (!packed) throw std::runtime_error("it packs nothing");
  return packed;
}

// The plan frees it.
Dp__Packed *NewPacked(Dp__Plan *plan) {
  auto *packed = static_cast<Dp__Packed *>(malloc(sizeof(Dp__Packed)));
  dp__packed__init(packed);
  packed->operand = 1;
  packed->bytes = 1 << 14;
  packed->offset = Room(plan, DP__SPACE__PERSISTENT, packed->bytes);
  return packed;
}

Verdict Check(const std::function<void(Dp__Plan *)> &damage) {
  return CheckDamaged(kCnn, "batch=6 mode=infer", damage);
}

// How the last packed operand ends the arena, so that what is moved does not leave another claim broken.
void Fit(Dp__Plan *plan) {
  uint64_t end = 0;
  for (size_t i = 0; i < plan->n_variables; i++)
    end = std::max(end, plan->variables[i]->offset + plan->variables[i]->bytes);
  for (size_t nth : {0, 1}) end = std::max(end, Packed(plan, nth)->offset + Packed(plan, nth)->bytes);
  ArenaOf(plan, DP__SPACE__PERSISTENT)->bytes = (end + 63) / 64 * 64;
}

TEST(Packed, AGoodPlanHolds) {
  EXPECT_EQ(Check([](Dp__Plan *plan) { EXPECT_LT(Packed(plan, 0)->offset, Packed(plan, 1)->offset); }).message, "");
}

TEST(Packed, HasBytesOfItsOwn) {
  const struct {
    const char *what;
    std::function<void(Dp__Plan *)> damage;
  } cases[] = {
      {"another's", [](Dp__Plan *p) { Packed(p, 1)->offset = Packed(p, 0)->offset; }},
      {"another's last", [](Dp__Plan *p) { Packed(p, 0)->bytes = Packed(p, 1)->offset - Packed(p, 0)->offset + 1; }},
      {"a variable's", [](Dp__Plan *p) { Packed(p, 0)->offset = p->variables[0]->offset; }},
      {"all variables'", [](Dp__Plan *p) { Packed(p, 0)->bytes += Packed(p, 0)->offset, Packed(p, 0)->offset = 0; }},
  };
  for (const auto &c : cases) {
    const Verdict v = Check([&](Dp__Plan *p) { c.damage(p), Fit(p); });
    EXPECT_EQ(v.rule, "MEANING.PACKED") << c.what << ": " << v.message;
    EXPECT_NE(v.message.find("(Conv): rule MEANING.PACKED: operand 1 is packed in bytes ["), std::string::npos)
        << v.message;
  }
}

TEST(Packed, IsAVariableThatStays) {
  const Verdict value = Check([](Dp__Plan *p) { Packed(p, 1)->operand = 0; });
  EXPECT_EQ(value.rule, "MEANING.PACKED") << value.message;
  EXPECT_NE(value.message.find("only a variable in its storage on the device can be"), std::string::npos);
  for (const char *program : {"train", "eval"}) {
    const Verdict v =
        CheckDamaged(kCnn, "batch=6", [&](Dp__Plan *p) { Convolution(Named(p, program), 0)->packed = NewPacked(p); });
    const bool trains = !strcmp(program, "train");
    EXPECT_EQ(v.rule, trains ? "MEANING.PACKED" : "") << v.message;
    EXPECT_EQ(v.message.find("the program updates 'c1.w'") != std::string::npos, trains) << v.message;
  }
}

TEST(Packed, RunsDoNotOverlap) {
  const Verdict v = Check([](Dp__Plan *p) { ArenaOf(p, DP__SPACE__HOST_OUTPUT)->copies = 2; });
  EXPECT_NE(v.message.find("runs of this plan overlap"), std::string::npos) << v.message;
  EXPECT_EQ(v.rule, "MEANING.PACKED");
}

TEST(Packed, HasAGoodForm) {
  const struct {
    const char *rule;
    std::function<void(Dp__Plan *)> damage;
  } cases[] = {
      {"FORM.INDEX", [](Dp__Plan *p) { Packed(p, 0)->operand = 3; }},
      {"FORM.INDEX", [](Dp__Plan *p) { Packed(p, 0)->operand = UINT32_MAX; }},
      {"FORM.MISSING", [](Dp__Plan *p) { Packed(p, 0)->bytes = 0; }},
      {"FORM.RANGE", [](Dp__Plan *p) { Packed(p, 1)->bytes = UINT64_MAX; }},
      {"FORM.RANGE", [](Dp__Plan *p) { Packed(p, 1)->offset = UINT64_MAX - 63; }},
      {"FORM.ALIGN", [](Dp__Plan *p) { Packed(p, 1)->offset -= 4; }},
      {"PLAN.CLAIM", [](Dp__Plan *p) { Packed(p, 1)->bytes -= 64; }},
      {"PLAN.CLAIM", [](Dp__Plan *p) { ArenaOf(p, DP__SPACE__PERSISTENT)->bytes += 64; }},
      // Of communication, which has no kernel.
      {"FORM.INDEX", [](Dp__Plan *p) { Communication(Named(p, "infer"))->packed = NewPacked(p); }},
  };
  for (const auto &c : cases) {
    const Verdict v = Check(c.damage);
    EXPECT_EQ(v.rule, c.rule) << v.message;
  }
}

}  // namespace
}  // namespace dp_test
