// See campaign.h.
#include "tests/ir/verify/campaign/campaign.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "ir/plan/loops.h"
#include "ir/plan/plan.h"
#include "ir/verify/verify.h"
#include "passes/pipeline.h"
#include "tests/ir/verify/brute_order.h"
#include "tests/ir/verify/campaign/damage_kinds.h"
#include "tests/ir/verify/campaign/tiny_models.h"
#include "tests/ir/verify/pipe_plan.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {

// ---- plans ----------------------------------------------------------------------------------------------------------

namespace {

std::vector<uint8_t> Packed(const Dp__Plan *plan) {
  std::vector<uint8_t> packed(dp__plan__get_packed_size(plan));
  dp__plan__pack(plan, packed.data());
  return packed;
}

}  // namespace

std::vector<uint8_t> CompilePacked(const std::string &text, const std::string &words) {
  Arena arena;
  dp_model *model = nullptr;
  Dp__Plan *plan = nullptr;
  Options options;
  std::string failure = Parse(arena, text, &model);
  options.Set(words);
  if (failure.empty()) failure = Message(dp_pipeline_run(model, &options.options, &plan));
  if (!failure.empty()) throw std::runtime_error(failure);
  return Packed(plan);
}

namespace {

size_t Instructions(const Dp__Plan *plan) {
  size_t count = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t s = 0; s < plan->roles[r]->programs[p]->n_streams; s++)
        count += plan->roles[r]->programs[p]->streams[s]->n_instructions;
  return count;
}

void AddMember(Family *family, const std::string &options, const std::vector<uint8_t> &packed) {
  Member m;
  m.options = options;
  m.packed = packed;
  Edit whole(m.packed, 0);
  m.logical = std::make_unique<Logical>(m.packed);
  m.outcome = Carry(whole.plan, *m.logical, 1);
  for (const auto &outputs : m.outcome.outputs)
    for (const auto &output : outputs)
      for (double number : output.second)
        if (!std::isfinite(number)) throw std::runtime_error(family->name + ", " + options + ": " + output.first);
  if (!family->members.empty()) {
    Edit first(family->members[0].packed, 0);
    if (Instructions(first.plan) != Instructions(whole.plan))
      throw std::runtime_error(family->name + ": the programs of its meshes differ");
  }
  family->members.push_back(std::move(m));
}

}  // namespace

std::vector<Family> MakeFamilies() {
  static const struct {
    const char *name, *text, *options;
    std::vector<const char *> meshes;
  } kinds[] = {
      {"dense", kDense, "batch=5", {"data:2", "data:3", "data:4"}},
      {"images", kImages, "batch=5", {"data:2", "data:3"}},
      {"images, statistics of each device", kImages, "batch=6 batchnorm=local", {"data:2", "data:3"}},
      {"images, computed again", kImages, "batch=5 recompute=*", {"data:2", "data:3"}},
      {"split, parameters sharded, computed again",
       kSplit,
       "batch=5 strategy=zero zero-stage=3 recompute=*",
       {"data:2,tensor:2"}},
      {"dense, two stages, computed again", kDense, "batch=7 microbatches=3 recompute=*", {"pipe:2"}},
      {"dense, state sharded", kDense, "batch=5 strategy=zero", {"data:2", "data:3"}},
      {"squares", kSkip, "batch=6", {"data:3", "data:4"}},
      {"split", kSplit, "batch=5", {"data:2,tensor:2", "data:2,tensor:3"}},
      {"split turned", kSplit, "batch=7", {"tensor:2,data:3", "tensor:3,data:2"}},
      {"dense over two axes", kDense, "batch=6", {"data:2,tensor:2", "data:3,tensor:2"}},
      {"dense, parameters sharded", kDense, "batch=5 strategy=zero zero-stage=3", {"data:2", "data:3"}},
      {"split, parameters sharded",
       kSplit,
       "batch=5 strategy=zero zero-stage=3",
       {"data:2,tensor:2", "data:2,tensor:3"}},
      {"heads", kHeads, "batch=5", {"data:2,tensor:2"}},
      {"heads, state sharded", kHeads, "batch=5 strategy=zero", {"data:3,tensor:2"}},
      {"heads, parameters sharded", kHeads, "batch=5 strategy=zero zero-stage=3", {"tensor:2,data:2"}},
      {"dense, accumulated", kDense, "batch=5 microbatches=2", {"data:2", "data:3"}},
      {"dense, six micro-batches", kDense, "batch=7 microbatches=6", {"data:2", "data:3"}},
      {"dense, two stages", kDense, "batch=7 microbatches=3 schedule=1f1b", {"pipe:2"}},
      {"dense, two stages, sharded", kDense, "batch=5 microbatches=2 strategy=zero", {"data:2,pipe:2"}},
      {"squares, two stages", kSkip, "batch=5 microbatches=2 schedule=gpipe", {"pipe:2"}},
      {"squares, three stages", kSkip, "batch=5 microbatches=2 schedule=1f1b", {"pipe:3"}},
      {"split, two stages", kSplit, "batch=5 microbatches=2", {"pipe:2,tensor:2"}},
      {"images, two stages", kImages, "batch=5", {"pipe:2"}},
      {"dense, two stages, parameters sharded",
       kDense,
       "batch=5 microbatches=2 strategy=zero zero-stage=3",
       {"data:2,pipe:2"}},
      {"dense, uploaded ahead", kDense, "batch=5 uploads=yes", {"data:2", "data:3"}},
      {"dense, parameters sharded, uploaded ahead",
       kDense,
       "batch=5 strategy=zero zero-stage=3 uploads=yes",
       {"data:2", "data:3"}},
      {"squares, two stages, uploaded ahead", kSkip, "batch=5 microbatches=2 uploads=yes", {"pipe:2"}},
      {"dense, offloaded", kDense, "batch=5 offload-bytes=1 offload=optimizer,activations", {"data:2", "data:3"}},
      {"heads, state offloaded",
       kHeads,
       "batch=5 strategy=zero offload-bytes=1 offload=optimizer",
       {"data:2,tensor:2"}},
      {"dense, two stages, offloaded",
       kDense,
       "batch=7 microbatches=3 offload-bytes=1 offload=optimizer,activations",
       {"pipe:2"}},
      // Regions with products and reductions.
      {"dense, on GPUs", kDense, "batch=5 target=cuda", {"data:2", "data:3"}},
      {"heads, on GPUs", kHeads, "batch=5 target=cuda", {"data:2,tensor:2"}},
      {"squares, on GPUs", kSkip, "batch=6 target=cuda", {"data:2", "data:3"}},
      // The scale of float16's gradients.
      {"convolved, channels-last", kConvolved, "batch=5 target=cuda precision=fp16", {"data:2", "data:3"}},
      {"convolved, channels-last, parameters sharded",
       kConvolved,
       "batch=5 target=cuda precision=fp16 strategy=zero zero-stage=3",
       {"data:2"}},
      {"convolved, channels-last, accumulated, state sharded",
       kConvolved,
       "batch=5 target=cuda precision=fp16 strategy=zero zero-stage=2 microbatches=2",
       {"data:2", "data:3"}},
      {"convolved, channels-last, two stages",
       kConvolved,
       "batch=5 target=cuda precision=fp16 microbatches=2",
       {"pipe:2"}},
      {"convolved, in blocks", kWide, "batch=5 mode=infer precision=fp32", {"data:2", "data:3"}},
      {"half", kHalf, "batch=5 precision=fp16", {"data:2", "data:3"}},
      {"half, parameters sharded", kHalf, "batch=5 precision=fp16 strategy=zero zero-stage=3", {"data:2", "data:3"}},
      {"half, two stages", kHalf, "batch=7 microbatches=3 precision=fp16", {"pipe:2"}},
      {"split three ways", kSplit, "batch=5 microbatches=2 schedule=1f1b", {"data:2,pipe:2,tensor:2"}},
  };
  std::vector<Family> families;
  for (const auto &kind : kinds) {
    families.push_back({kind.name, {}, kind.text});
    for (const char *mesh : kind.meshes) {
      std::string options = std::string(kind.options) + " mesh=" + mesh;
      if (options.find("precision=") == std::string::npos) options += " precision=fp64";
      if (options.find("strategy=") == std::string::npos)
        options += options.find("pipe:") == std::string::npos ? " strategy=data" : " strategy=pipeline";
      AddMember(&families.back(), options, CompilePacked(kind.text, options));
    }
  }
  for (int data : {1, 2}) {
    families.push_back({"two stages by hand", {}, nullptr});
    AddMember(&families.back(), "data=" + std::to_string(data), Packed(PipePlan(2 + data, data).plan));
  }
  for (const Family &family : families)
    for (const Member &member : family.members) OtherPlans().push_back(member.packed);
  return families;
}

// ---- the checker ----------------------------------------------------------------------------------------------------

std::string CheckerSays(const std::string &packed) {
  static const std::string path =
      std::string(getenv("TEST_TMPDIR") ? getenv("TEST_TMPDIR") : "/tmp") + "/damaged." + std::to_string(getpid());
  std::string header("DPPLAN\r\n", 8);
  uint64_t numbers[] = {DP_PLAN_VERSION, packed.size(), dp_hash64(packed.data(), packed.size())};
  header.append(reinterpret_cast<const char *>(numbers), sizeof numbers);
  std::ofstream(path, std::ios::binary) << header << packed;
  Arena arena;
  Dp__Plan *plan;
  std::string message = Message(dp_plan_read(arena, path.c_str(), &plan));
  if (message.empty()) message = Message(dp_verify_plan(plan, nullptr));
  if (message.compare(0, path.size(), path) == 0) message.erase(0, path.size() + 2);
  return message;
}

// ---- the oracles ----------------------------------------------------------------------------------------------------

std::string OraclesSay(const Dp__Plan *plan, const Member &member, unsigned seed) {
  try {
    for (size_t p = 0; p < plan->roles[0]->n_programs; p++) {
      std::string order = BruteOrder(plan, p);
      if (!order.empty()) return order;
    }
    return Differs(plan, *member.logical, member.outcome, seed);
  } catch (const std::exception &beyond) {  // for example sizes beyond the memory
    return beyond.what();
  }
}

// ---- a case ---------------------------------------------------------------------------------------------------------

namespace {

// The rule and the location, from the checker's message.
void Read(const std::string &message, Verdict *v) {
  static const std::regex form(
      "^(?:role \\w+(?:, |: ))?(?:program (\\w+)(?:, stream (\\w+), instruction (\\d+) \\(([\\w.]+)\\))?: )?rule "
      "([A-Z]+\\.[A-Z]+): "
      "(?:.|\n)*");
  std::smatch match;
  if (!std::regex_match(message, match, form)) return;
  v->program_named = match[1].matched;
  v->instruction_named = match[3].matched;
  v->rule = match[5];
}

bool Allows(const Damage &damage, const std::string &rule) {
  if (!strcmp(damage.rules, "*")) return true;
  return (std::string(" ") + damage.rules + " ").find(" " + rule + " ") != std::string::npos;
}

}  // namespace

Verdict Judge(const Family &family, const Damage &damage, unsigned seed, void (*progress)(const Verdict &, void *),
              void *context) {
  Verdict v;
  for (const Member &member : family.members) {
    Edit edit(member.packed, seed);
    if (!damage.make(edit)) continue;
    const std::string packed = edit.Pack();
    if (packed.size() == member.packed.size() && !memcmp(packed.data(), member.packed.data(), packed.size())) continue;
    v.made = true;
    std::string message = CheckerSays(packed);
    // For a blind checker, only what it accepts matters.
    if (!message.empty() && (!v.equivalent || blind_to)) continue;
    Verdict known = v;
    known.equivalent = false;
    known.detail = family.name + ", " + member.options + ", program " + edit.program->name + ", seed " +
                   std::to_string(seed) + ": checker: " + (message.empty() ? "holds" : message);
    known.accepted = message.empty();
    Read(message, &known);
    known.class_right = Allows(damage, known.rule);
    const size_t place = message.find(": rule ") == std::string::npos ? 0 : message.find(": rule ");
    known.program_right = damage.whole_plan || message.find(std::string("program ") + edit.program->name) < place;
    progress(known, context);
    dp_fault fault = {};
    std::string oracle = Message(dp_plan_loops_expand(edit.arena, edit.plan, &fault));
    if (oracle.empty()) oracle = OraclesSay(edit.plan, member, seed);
    known.detail += "; oracle: " + (oracle.empty() ? "equivalent" : oracle);
    if (oracle.empty()) {
      if (v.equivalent) v.detail = known.detail;
      if (v.equivalent) v.rule = known.rule;
      continue;
    }
    if (v.equivalent || known.accepted) v = known;
  }
  return v;
}

}  // namespace dp_test
