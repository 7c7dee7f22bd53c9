// Hostile plans for GPUs: the campaign's damages and bytes changed at random, sealed again as any stranger can. Each
// plan is refused, or its programs run on the stand-in, where a function that touches memory which is not its plan's is
// an illegal address. Environment: HOSTILE_CASES (2000; with DP_FULL 40000), HOSTILE_FIRST (0).
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>

#include "backends/registry.h"
#include "ir/plan/plan.h"
#include "runtime/session.h"
#include "tests/ir/verify/campaign/campaign.h"
#include "tests/ir/verify/campaign/tiny_models.h"

namespace dp_test {
namespace {

enum { kSecondsACase = 120 };

size_t Number(const char *name, size_t otherwise) {
  const char *asked = getenv(name);
  return asked ? strtoul(asked, nullptr, 10) : otherwise;
}

struct Good {
  const char *text, *options;
  std::vector<uint8_t> packed;
};

std::vector<Good> &Goods() {
  static std::vector<Good> all = {
      {kDense, "batch=5 strategy=data mesh=data:2", {}},
      {kDense, "batch=5 precision=bf16 strategy=zero zero-stage=3 mesh=data:3", {}},
      {kImages, "batch=5 strategy=data mesh=data:2", {}},
      {kHeads, "batch=5 strategy=data mesh=data:2,tensor:2", {}},
      {kImages, "batch=5 precision=bf16", {}},
      {kIdentity, "batch=5 precision=bf16 strategy=data mesh=data:2 batchnorm=local", {}},
      {kSkip, "batch=6 strategy=data mesh=data:2", {}},
      {kSplit, "batch=5 microbatches=2 strategy=pipeline mesh=pipe:2,tensor:2", {}},
  };
  if (all[0].packed.empty())
    for (Good &good : all) good.packed = CompilePacked(good.text, std::string("target=cuda ") + good.options);
  return all;
}

struct Hostile {
  std::string name;
  std::string packed;  // "": the damage has no place in the plan
};

// Some bytes become others, or those of another place.
std::string ChangeBytes(const std::vector<uint8_t> &packed, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(packed.begin(), packed.end());
  for (unsigned k = 0; k <= random() % 3; k++) {
    const size_t at = random() % bytes.size(), from = random() % bytes.size(), length = 1 + random() % 8;
    if (random() % 2)
      bytes[at] = static_cast<char>(random());
    else
      for (size_t i = 0; i < length && at + i < bytes.size() && from + i < bytes.size(); i++)
        bytes[at + i] = bytes[from + i];
  }
  return bytes;
}

Hostile Make(size_t number) {
  const auto seed = static_cast<unsigned>(number);
  const Good &good = Goods()[number % Goods().size()];
  const size_t kind = number / Goods().size() % (Damages().size() + 10);
  if (kind >= Damages().size()) return {"bytes", ChangeBytes(good.packed, seed)};
  Edit edit(good.packed, seed);
  if (!Damages()[kind].make(edit)) return {};
  return {Damages()[kind].name, edit.Pack()};
}

// Opened as dprun opens it, in the process that uses it.
const dp_backend *Backend() {
  const dp_backend *backend = nullptr;
  const std::string failure = Message(dp_backend_find("cuda")->open(nullptr, &backend));
  if (!failure.empty()) fprintf(stderr, "%s\n", failure.c_str());
  return backend;
}

// ---- running one ----------------------------------------------------------------------------------------------------

// 0, which every label and index may be.
void Feed(dp_session *session, int program) {
  const dp_graph *graph = dp_session_graph(session, program);
  for (int32_t i = 0; i < graph->n_values; i++) {
    const dp_value *v = graph->values[i];
    void *at = v->kind == DP_VALUE_INPUT ? dp_session_input(session, program, v->name, 0) : nullptr;
    const int64_t n = dp_session_model(session)->batch;
    if (at) std::memset(at, 0, size_t(dp_shape_count(&v->type->shape, n)) * dp_type_bytes(v->type->dtype));
  }
}

dp_status RunAll(dp_session *session, int64_t batch) {
  for (const char *name : {"train", "eval", "infer"}) {
    const int program = dp_session_find(session, name);
    if (program >= 0) Feed(session, program);
    for (int64_t n : {batch, dp_max_i64(1, batch - 3), batch}) {
      const dp_step step = {0, n, 0.1};
      if (program >= 0) DP_TRY(dp_session_run(session, program, 0, &step));
    }
  }
  return DP_OK;
}

std::string RunPlan(const Dp__Plan *plan, bool *refused) {
  dp_session_options options = {};
  options.workers = 1;
  dp_session *session = nullptr;
  const std::string refusal = Message(dp_session_create(plan, Backend(), &options, &session));
  *refused = !refusal.empty();
  if (*refused) return refusal;
  const std::string failure = Message(RunAll(session, plan->batch));
  dp_session_destroy(session);
  return failure;
}

struct Verdict {
  size_t number;
  enum { kBegun, kNotMade, kRefused, kRan } what;
  char detail[400];
};

Verdict Judge(size_t number) {
  Verdict v = {number, Verdict::kNotMade, ""};
  const Hostile hostile = Make(number);
  if (hostile.packed.empty()) return v;
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/hostile." + std::to_string(getpid());
  std::string header("DPPLAN\r\n", 8);
  const uint64_t numbers[] = {DP_PLAN_VERSION, hostile.packed.size(),
                              dp_hash64(hostile.packed.data(), hostile.packed.size())};
  header.append(reinterpret_cast<const char *>(numbers), sizeof numbers);
  std::ofstream(path, std::ios::binary) << header << hostile.packed;
  Arena arena;
  Dp__Plan *plan;
  bool refused = true;
  std::string said = Message(dp_plan_read(arena, path.c_str(), &plan));
  if (said.empty()) said = RunPlan(plan, &refused);
  v.what = refused ? Verdict::kRefused : Verdict::kRan;
  snprintf(v.detail, sizeof v.detail, "%s", said.c_str());
  return v;
}

// ---- all of them ----------------------------------------------------------------------------------------------------

// Judges from `first` on in a child process, up to a plan that ends it. Returns the number after the last one.
size_t JudgeFrom(size_t first, size_t end, std::map<size_t, Verdict> *verdicts) {
  int ends[2];
  if (pipe(ends)) abort();
  fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    close(ends[0]);
    for (size_t i = first; i < end; i++) {
      alarm(kSecondsACase);
      Verdict v = {i, Verdict::kBegun, ""};
      if (write(ends[1], &v, sizeof v) != sizeof v) _exit(3);
      v = Judge(i);
      if (write(ends[1], &v, sizeof v) != sizeof v) _exit(3);
    }
    _exit(0);
  }
  close(ends[1]);
  Verdict v;
  while (read(ends[0], &v, sizeof v) == sizeof v) (*verdicts)[v.number] = v;
  close(ends[0]);
  int status;
  waitpid(child, &status, 0);
  return verdicts->empty() ? end : verdicts->rbegin()->first + 1;
}

TEST(Hostile, PlansAreRefusedOrTouchTheirOwnMemoryAlone) {
  Goods();
  std::map<size_t, Verdict> verdicts;
  const size_t first = Number("HOSTILE_FIRST", 0);
  const size_t end = first + Number("HOSTILE_CASES", getenv("DP_FULL") ? 40000 : 2000);
  for (size_t at = first; at < end;) at = JudgeFrom(at, end, &verdicts);
  size_t refused = 0, ran = 0, told = 0;
  for (const auto &[number, v] : verdicts) {
    SCOPED_TRACE("HOSTILE_CASES=1 HOSTILE_FIRST=" + std::to_string(number) + " " + Make(number).name);
    EXPECT_NE(v.what, Verdict::kBegun) << "ended the process";
    refused += v.what == Verdict::kRefused;
    ran += v.what == Verdict::kRan;
    told += v.what == Verdict::kRan && *v.detail;
    if (v.what != Verdict::kRan) continue;
    for (const char *word : {"the GPU failed", "NVRTC"}) EXPECT_FALSE(strstr(v.detail, word)) << v.detail;
    if (*v.detail) std::printf("%s: %s\n", Make(number).name.c_str(), v.detail);
  }
  std::printf("%zu plans: %zu refused, %zu ran, %zu of them to an error\n", verdicts.size(), refused, ran, told);
  EXPECT_EQ(verdicts.size(), end - first);
  if (end - first < 100) return;
  EXPECT_GT(refused, (end - first) / 3);
  EXPECT_GT(ran, (end - first) / 100);
}

// Runs in a process of its own, which an error of the GPU ends. Returns what it returned.
int InChild(const std::function<int()> &run) {
  fflush(stdout);
  const pid_t child = fork();
  if (!child) _exit(run());
  int status;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
  return WEXITSTATUS(status);
}

int RunUncheckedPlan() {
  bool refused;
  for (const Good &good : Goods()) {
    Edit whole(good.packed, 0);
    const std::string failure = RunPlan(whole.plan, &refused);
    if (!failure.empty()) fprintf(stderr, "%s: %s\n", good.options, failure.c_str());
    if (!failure.empty()) return 2;
  }
  Edit edit(Goods()[0].packed, 0);
  // What kernels make lies behind their device's memory.
  for (size_t s = 0; s < edit.program->n_streams; s++)
    for (size_t k = 0; k < edit.program->streams[s]->n_instructions; k++) {
      const Dp__Instruction *in = edit.program->streams[s]->instructions[k];
      for (size_t o = 0; *in->kernel && o < in->n_outputs; o++)
        if (in->outputs[o]) edit.Tensor(in->outputs[o])->offset += 1 << 20;
    }
  dp_session_options options = {};
  options.unchecked = true;
  options.workers = 1;
  dp_session *session = nullptr;
  std::string failure = Message(dp_session_create(edit.plan, Backend(), &options, &session));
  if (failure.empty()) failure = Message(RunAll(session, edit.plan->batch));
  const bool caught = failure.find("illegal memory access") != std::string::npos;
  if (!caught) fprintf(stderr, "not caught: '%s'\n", failure.c_str());
  return caught ? 0 : 1;
}

// What the test counts on: unchanged plans run, and a plan that was never checked is caught where it leaves its memory.
TEST(Hostile, TheStandinCatchesWhatTheCheckerWouldRefuse) {
  Goods();
  EXPECT_EQ(InChild(RunUncheckedPlan), 0);
}

// ---- regions whose extents are equal for one number of samples ------------------------------------------------------

constexpr char kAttention[] = R"dpt(model attention {
  input x: float32[N]
  parameter a: float32[2,3,6,1] = ones
  parameter b: float32[8] = ones
  z = Relu(x)
  first = Sub(a, b)
  q, k, v = Split(first) {axis=2, split=[2,2,2]}
  y = dp.ScaledDotProductAttention(q, k, v)
  second = Add(a, b)
  r, l, w = Split(second) {axis=2, split=[2,2,2]}
  u = dp.ScaledDotProductAttention(r, l, w)
  output z
  output y
  output u
})dpt";

Spot First(const Edit &edit, const char *op) {
  return edit.Where([op](const Dp__Instruction *in) { return !strcmp(in->op, op); }).at(0);
}

// Rows of the first attention become N long where they were 8: it copies its parts to scratch then.
void MakeSymbolic(Edit *edit) {
  Dp__Graph *graph = edit->plan->graphs[edit->program->graph];
  uint32_t z = 0;
  for (size_t v = 0; v < graph->n_values; v++) {
    const std::string name = graph->values[v]->name;
    if (name == "z") z = static_cast<uint32_t>(v) + 1;
    if (name != "first" && name != "q" && name != "k" && name != "v" && name != "y") continue;
    Dp__Dim *row = graph->values[v]->type->shape->dims[3];
    row->scale = 1;
    row->offset = 0;
  }
  for (size_t n = 0; n < graph->n_nodes; n++)
    if (!strcmp(graph->nodes[n]->op, "Sub")) graph->nodes[n]->inputs[1] = z;
  const Spot sub = First(*edit, "Sub"), relu = First(*edit, "Relu");
  edit->At(sub)->inputs[1] = edit->At(relu)->outputs[0];
  if (sub.at < relu.at) edit->Swap(sub, relu);
  Dp__Instruction *region = edit->At(First(*edit, "Region"));
  region->scratch = edit->New(dp__scratch__init);
  region->scratch->offset = edit->ArenaBytes(DP__SPACE__TRANSIENT);
  region->scratch->bytes = 4096;
  for (size_t a = 0; a < edit->role->n_arenas; a++)
    if (edit->role->arenas[a]->space == DP__SPACE__TRANSIENT) edit->role->arenas[a]->bytes += region->scratch->bytes;
}

// The checker takes the plan, whose second attention needs no scratch and has none. It must not run as the first does,
// whose operands have the same extents when n is 8.
TEST(Hostile, RegionsThatNeedNoScratchTouchNone) {
  Edit edit(CompilePacked(kAttention, "target=cuda mode=infer batch=8"), 0);
  MakeSymbolic(&edit);
  const auto run = [&edit] {
    bool refused;
    const std::string failure = RunPlan(edit.plan, &refused);
    if (!failure.empty()) fprintf(stderr, "%s: %s\n", refused ? "refused" : "ran", failure.c_str());
    return int(!failure.empty());
  };
  EXPECT_EQ(InChild(run), 0);
}

}  // namespace
}  // namespace dp_test
