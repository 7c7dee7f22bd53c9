// Every field of the schema of plans, found by reflection, so that a new one cannot be forgotten. docs/plan.md says how
// each is guarded; here each is damaged in many good plans.
//
//   checked: what the checker accepts computes the same as before
//   compared: what the checker and `dpc verify --against` both accept computes the same
//   label: what the checker accepts computes the same, and --against ignores it
//
// Accepted plans run on the CPU, two steps of training, an evaluation and an inference, without crashing. Environment:
// FIELDS_CASES: damaged fields of each name in each plan (1; with DP_FULL 4). FIELDS_ONLY: only names with this
// prefix. FIELDS_VERBOSE: prints each verdict. In the usual run a field has one of the eight kinds of damage in each
// plan, another one in the next; with FIELDS_ONLY or DP_FULL all.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "backends/cpu/backend.h"
#include "backends/null/backend.h"
#include "ir/file/wire.h"
#include "ir/plan/loops.h"
#include "ir/plan/options.h"
#include "ir/plan/plan.h"
#include "ir/plan/plan.pb-c.h"
#include "ir/verify/against.h"
#include "ir/verify/against_learning_rate.h"
#include "ir/verify/verify.h"
#include "passes/emit/learning_rate.h"
#include "passes/pipeline.h"
#include "runtime/learning_rate.h"
#include "runtime/session.h"
#include "tests/ir/verify/campaign/tiny_models.h"
#include "tests/ir/verify/reflect.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {
namespace {

enum { kSecondsACase = 60 };

size_t Number(const char *name, size_t otherwise) {
  const char *asked = getenv(name);
  return asked ? strtoul(asked, nullptr, 10) : otherwise;
}

// ---- what the reference says ----------------------------------------------------------------------------------------

// Maps a field to "checked", "compared" or "label". Reads rows "| `Message` | `field` ... | `field` ... | `field` ...
// |" under the heading.
std::map<std::string, std::string> ReadClasses() {
  std::ifstream file("docs/plan.md");
  std::map<std::string, std::string> classes;
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 2, "##") == 0) here = line == "## Every field, and what holds it";
    if (!here || line.compare(0, 3, "| `") != 0) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    EXPECT_EQ(cells.size(), 4u) << line;
    const std::string message = cells[0].substr(2, cells[0].rfind('`') - 2);
    static const char *const names[] = {"checked", "compared", "label"};
    for (size_t c = 1; c < cells.size() && c < 4; c++) {
      std::istringstream words(cells[c]);
      for (std::string word; words >> word;) {
        const size_t first = word.find('`'), last = word.rfind('`');
        if (first == last) continue;
        const std::string name = message + "." + word.substr(first + 1, last - first - 1);
        EXPECT_TRUE(classes.emplace(name, names[c - 1]).second) << name << " is listed twice";
      }
    }
  }
  return classes;
}

TEST(Fields, TheReferenceSaysOfEachWhatHoldsIt) {
  const std::map<std::string, std::string> classes = ReadClasses();
  std::set<std::string> listed;
  for (const auto &c : classes) listed.insert(c.first);
  EXPECT_EQ(listed, SchemaOf(&dp__plan__descriptor));
}

// ---- good plans -----------------------------------------------------------------------------------------------------

struct Good {
  const char *text;
  std::string name, options, loss, optimizer;
  std::vector<uint8_t> packed;
  int64_t batch;
  Arena arena;
  dp_model *model = nullptr;  // compiled up to `place`, as for --against
  Dp__Schedule *schedule = nullptr;
};

// The verdict of --against with the model: "" or why not. loss, optimizer: replace the model's unless empty.
std::string Place(dp_arena *arena, const char *text, const std::string &words, const std::string &loss,
                  const std::string &optimizer, dp_model **model, Dp__Schedule **schedule) {
  Options placed;
  Dp__Plan *none = nullptr;
  placed.Set(words);
  placed.options.stop_after = "place";
  if (!loss.empty()) placed.options.loss = loss.c_str();
  if (!optimizer.empty()) placed.options.optimizer = optimizer.c_str();
  std::string message = Parse(arena, text, model);
  if (message.empty()) message = Message(dp_pipeline_run(*model, &placed.options, &none));
  if (message.empty()) message = Message(dp_emit_learning_rate(arena, (*model)->optimizer, schedule));
  return message;
}

// folded: as files have it.
std::unique_ptr<Good> Compile(const char *text, const std::string &words, bool folded) {
  auto good = std::make_unique<Good>();
  good->text = text;
  good->options = words;
  Arena arena;
  dp_model *model = nullptr;
  Dp__Plan *plan = nullptr;
  Options whole;
  whole.Set(words);
  EXPECT_EQ(Parse(arena, text, &model), "");
  EXPECT_EQ(Message(dp_pipeline_run(model, &whole.options, &plan)), "") << words;
  if (folded) plan = dp_plan_loops_fold(arena, plan);
  good->packed.resize(dp__plan__get_packed_size(plan));
  dp__plan__pack(plan, good->packed.data());
  good->batch = plan->batch;
  good->name = plan->name;
  good->loss = plan->loss;
  good->optimizer = plan->optimizer;
  EXPECT_EQ(Place(good->arena, text, words, "", "", &good->model, &good->schedule), "");
  return good;
}

const std::vector<std::unique_ptr<Good>> &GoodPlans() {
  static const struct {
    const char *text, *options;
    bool folded = false;
  } kinds[] = {
      {kDense, "batch=6 precision=fp64 strategy=single"},
      {kDense, "batch=5 strategy=data devices=3 threads=2 optimizer=sgd(lr=0.1,schedule=warm_restarts,period=2)"},
      {kDense, "batch=5 strategy=zero devices=2 optimizer=adam(lr=0.1,schedule=cosine,warmup=2,total=9,min_lr=0.01)"},
      {kDense, "batch=6 precision=fp64 strategy=zero zero-stage=3 devices=2 microbatches=2"},
      {kDense, "batch=7 precision=fp64 strategy=pipeline mesh=data:2,pipe:2 microbatches=3 schedule=1f1b"},
      {kSplit,
       "batch=5 precision=fp64 strategy=data mesh=data:2,tensor:2 optimizer=sgd(lr=0.1,schedule=step,step_size=1)"},
      {kHeads,
       "batch=5 strategy=zero mesh=data:2,tensor:2 optimizer=rmsprop(lr=0.1,schedule=multistep,milestones=[1,3]) "
       "group=*:weight_decay=0.1"},
      {kImages, "batch=5 strategy=data devices=2 calibrated=yes"},
      {kSkip, "batch=6 precision=fp64 strategy=pipeline mesh=pipe:3 microbatches=2"},
      {kImages, "batch=4 mode=infer strategy=data devices=2"},
      {kDense, "batch=5 precision=fp64 strategy=data devices=2 uploads=yes"},
      {kDense, "batch=5 precision=fp64 strategy=data devices=2 offload-bytes=1 offload=optimizer,activations"},
      {kDense, "batch=7 precision=fp64 strategy=data devices=2 microbatches=6", true},
  };
  static const std::vector<std::unique_ptr<Good>> plans = [] {
    std::vector<std::unique_ptr<Good>> all;
    for (const auto &kind : kinds) all.push_back(Compile(kind.text, kind.options, kind.folded));
    return all;
  }();
  return plans;
}

// ---- executing a plan -----------------------------------------------------------------------------------------------

// Inputs by shape: fractions, or classes 0 to 2.
std::string Feed(dp_session *session, int program, int slot, int64_t n, int64_t step) {
  const dp_graph *graph = dp_session_graph(session, program);
  for (int32_t i = 0; i < graph->n_values; i++) {
    const dp_value *v = graph->values[i];
    if (v->kind != DP_VALUE_INPUT) continue;
    char *at = static_cast<char *>(dp_session_input(session, program, v->name, slot));
    if (!at) return std::string("CRASH: there is no place for input ") + v->name;
    const size_t each = dp_type_bytes(v->type->dtype);
    for (int64_t k = 0; k < dp_shape_count(&v->type->shape, n); k++) {
      const int64_t number = (k * 7 + step * 5) % 11;
      dp_element_set(
          v->type->dtype, at + static_cast<size_t>(k) * each,
          dp_type_is_float(v->type->dtype) ? static_cast<double>(number - 5) / 7 : static_cast<double>(number % 3));
    }
  }
  return "";
}

void Take(dp_session *session, int program, int64_t n, std::vector<double> *numbers) {
  const dp_graph *graph = dp_session_graph(session, program);
  std::set<std::string> names;  // their order does not matter
  for (int o = 0; o < graph->n_outputs; o++) names.insert(graph->outputs[o].name);
  for (const std::string &name : names) {
    dp_type type;
    const char *at = static_cast<const char *>(dp_session_output(session, program, name.c_str(), &type));
    for (int64_t k = 0; k < dp_shape_count(&type.shape, n); k++)
      numbers->push_back(dp_element_get(type.dtype, at + static_cast<size_t>(k) * dp_type_bytes(type.dtype)));
  }
}

// What dprun would compute: "" or why it cannot.
std::string Carry(const Dp__Plan *plan, int64_t batch, std::vector<double> *numbers) {
  dp_session_options options = {};
  options.workers = 1;
  options.seed = 3;
  dp_session *session = nullptr;
  std::string failure = Message(dp_session_create(plan, &dp_backend_cpu, &options, &session));
  if (!failure.empty()) return failure;
  const struct {
    const char *program;
    int64_t n, step;
  } runs[] = {{"train", batch, 0}, {"train", batch - 3, 1}, {"eval", batch, 0}, {"infer", batch, 0}};
  const int depth = dp_session_depth(session);
  std::vector<std::pair<int, int64_t>> on;  // programs and their n
  const auto end = [&] {
    failure = Message(dp_session_end(session));
    if (failure.empty()) Take(session, on[0].first, on[0].second, numbers);
    on.erase(on.begin());
  };
  int slot = 0;
  for (const auto &run : runs) {
    const int program = dp_session_find(session, run.program);
    if (program < 0 || !failure.empty()) continue;
    const dp_step step = {run.step, run.n, dp_learning_rate(plan->schedule, run.step)};
    failure = Feed(session, program, slot, run.n, run.step);
    if (failure.empty()) failure = Message(dp_session_begin(session, program, slot, &step));
    if (failure.empty()) on.push_back({program, run.n});
    slot = !slot;
    if (failure.empty() && on.size() == static_cast<size_t>(depth)) end();
  }
  while (failure.empty() && !on.empty()) end();
  const dp_model *model = dp_session_model(session);
  for (int32_t i = 0; i < model->n_variables && failure.empty(); i++) {
    const dp_type &type = *model->variables[i].type;
    const auto count = static_cast<size_t>(dp_shape_count(&type.shape, 0)), each = dp_type_bytes(type.dtype);
    std::vector<char> whole(count * each + 1);
    failure = Message(dp_session_variable_read(session, i, whole.data()));
    for (size_t k = 0; k < count; k++) numbers->push_back(dp_element_get(type.dtype, &whole[k * each]));
  }
  dp_session_destroy(session);
  return failure;
}

// What the null backend finds: "" or the race, or why there is no result. Results that are right by luck do not hide
// it.
std::string Watch(const Dp__Plan *plan, int64_t batch) {
  const dp_backend null = dp_backend_null(dp_backend_cpu.target);
  dp_session_options options = {};
  options.workers = 2;
  dp_session *session = nullptr;
  std::string failure = Message(dp_session_create(plan, &null, &options, &session));
  if (!failure.empty()) return failure;
  for (const char *name : {"train", "eval", "infer"}) {
    const int program = dp_session_find(session, name);
    if (program < 0) continue;
    int slot = 0, on = 0;
    for (int64_t n : {batch, batch - 3}) {
      const dp_step step = {0, n, 0.1};
      if (failure.empty()) failure = Message(dp_session_begin(session, program, slot, &step));
      slot = !slot;
      if (++on == dp_session_depth(session) && failure.empty()) on--, failure = Message(dp_session_end(session));
    }
    if (failure.empty()) failure = Message(dp_session_end(session));
  }
  dp_session_destroy(session);
  return failure;
}

bool Same(const std::vector<double> &a, const std::vector<double> &b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++)
    if (!(std::fabs(a[i] - b[i]) <= 1e-4 * (std::fabs(a[i]) + 1e-3)) && !(std::isnan(a[i]) && std::isnan(b[i])))
      return false;
  return true;
}

// ---- a case ---------------------------------------------------------------------------------------------------------

struct Case {
  size_t plan;
  std::string field;
  size_t instance, kind;
};

struct Verdict {
  size_t number;
  bool made, checker, against, carried, same;  // accepted by checker and against; run to the end
  bool done;
  char field[64], detail[512];
};

std::unique_ptr<Arena> Unpack(const std::vector<uint8_t> &packed, Dp__Plan **plan) {
  auto arena = std::make_unique<Arena>();
  ProtobufCMessage *message;
  if (dp_wire_unpack(*arena, &dp__plan__descriptor, packed.data(), packed.size(), "plan", &message)) abort();
  *plan = reinterpret_cast<Dp__Plan *>(message);
  return arena;
}

// Reads it back from a valid file, as any reader would: "" or the message.
std::string ReadBack(const std::string &packed, dp_arena *arena, Dp__Plan **plan) {
  static const std::string path = std::string(getenv("TEST_TMPDIR")) + "/field." + std::to_string(getpid());
  std::string header("DPPLAN\r\n", 8);
  const uint64_t numbers[] = {DP_PLAN_VERSION, packed.size(), dp_hash64(packed.data(), packed.size())};
  header.append(reinterpret_cast<const char *>(numbers), sizeof numbers);
  std::ofstream(path, std::ios::binary) << header << packed;
  std::string message = Message(dp_plan_read(arena, path.c_str(), plan));
  return message.empty() ? Message(dp_verify_plan(*plan, nullptr)) : message;
}

std::string Against(const Good &good, const Dp__Plan *plan) {
  Arena arena;
  dp_against_report report;
  dp_model *model = good.model;
  Dp__Schedule *schedule = good.schedule;
  std::string message;
  // What was requested, and what the plan records.
  Dp__Plan *whole;
  const std::unique_ptr<Arena> undamaged = Unpack(good.packed, &whole);
  if (!plan->options) return "it records no options";
  const char *a, *b, *differs = dp_plan_options_differ(arena, whole->options, plan->options, &a, &b);
  if (!differs) differs = dp_plan_options_differ(arena, plan->options, whole->options, &a, &b);
  if (differs) return std::string("option ") + differs;
  // The plan's own SPECs produce its graphs.
  if (plan->loss != good.loss || plan->optimizer != good.optimizer)
    message = Place(arena, good.text, good.options, plan->loss, plan->optimizer, &model, &schedule);
  if (message.empty()) message = Message(dp_against_check(arena, plan, model, &report));
  return message.empty() ? Message(dp_against_learning_rate_check(plan->schedule, schedule)) : message;
}

void Say(Verdict *v, const std::string &what) { snprintf(v->detail, sizeof v->detail, "%s", what.c_str()); }

// tell: called with what is known before anything that may end the process.
template <typename Tell>
Verdict Judge(const Case &c, const std::vector<double> &expected, Tell tell) {
  Verdict v = {};
  const Good &good = *GoodPlans()[c.plan];
  Dp__Plan *damaged, *plan;
  const std::unique_ptr<Arena> arena = Unpack(good.packed, &damaged);
  const std::vector<Field> alike = FieldsOf(&damaged->base)[c.field];
  std::mt19937 random(static_cast<unsigned>(c.plan * 131 + c.instance * 31 + c.kind));
  v.made = DamageField(*arena, alike[c.instance], alike, c.kind, &random);
  if (!v.made) return v;
  std::string packed(dp__plan__get_packed_size(damaged), 0);
  dp__plan__pack(damaged, reinterpret_cast<uint8_t *>(&packed[0]));
  if (packed == std::string(good.packed.begin(), good.packed.end())) {
    v.made = false;
    return v;
  }
  tell(v);
  Arena own;
  std::string said = ReadBack(packed, own, &plan);
  v.checker = said.empty();
  Say(&v, said);
  if (!v.checker) return v;
  tell(v);
  said = Against(good, plan);
  v.against = said.empty();
  Say(&v, said);
  tell(v);
  std::vector<double> numbers;
  const std::string failure = Carry(plan, good.batch, &numbers);
  if (failure.compare(0, 6, "CRASH:") == 0) abort();
  v.carried = failure.empty();
  const std::string race = v.carried ? Watch(plan, good.batch) : "";
  v.same = v.carried && race.empty() && Same(expected, numbers);
  Say(&v, said + (!v.carried      ? "; " + failure
                  : !race.empty() ? "; null: " + race
                  : v.same        ? "; the same"
                                  : "; ANOTHER RESULT"));
  return v;
}

// ---- all cases ------------------------------------------------------------------------------------------------------

enum { kSampled = 8 };

std::vector<Case> Cases() {
  const size_t each = Number("FIELDS_CASES", getenv("DP_FULL") ? 4 : 1);
  const char *only = getenv("FIELDS_ONLY");
  const bool all = only || getenv("DP_FULL");
  std::vector<Case> cases;
  std::mt19937 random(1);
  for (size_t p = 0; p < GoodPlans().size(); p++) {
    Dp__Plan *plan;
    const std::unique_ptr<Arena> arena = Unpack(GoodPlans()[p]->packed, &plan);
    for (const auto &field : FieldsOf(&plan->base)) {
      if (only && field.first.compare(0, strlen(only), only) != 0) continue;
      const size_t count = field.second.size(), chosen = std::min(each, count);
      for (size_t i = 0; i < chosen; i++) {
        size_t instance = chosen == count ? i : random() % count;
        // Most fields of many messages are empty: prefer one that is not.
        for (size_t k = 0; k < count && !i && chosen < count && field.second[instance].Empty(); k++)
          instance = (instance + 1) % count;
        for (size_t kind = 0; kind < kDamageKinds; kind++)
          if (all || (kind + p + i) % kSampled == 0) cases.push_back({p, field.first, instance, kind});
      }
    }
  }
  return cases;
}

// Runs the cases from `first` on in a child process, up to one that ends it. The question is whether an accepted plan
// harms the process.
size_t RunFrom(const std::vector<Case> &cases, size_t first, std::vector<Verdict> *verdicts) {
  int ends[2];
  if (pipe(ends)) abort();
  fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    close(ends[0]);
    if (!freopen("/dev/null", "w", stderr)) _exit(3);
    size_t plan = SIZE_MAX;
    std::vector<double> expected;
    for (size_t i = first; i < cases.size(); i++) {
      alarm(kSecondsACase);
      if (cases[i].plan != plan) {
        plan = cases[i].plan;
        expected.clear();
        Dp__Plan *whole;
        const std::unique_ptr<Arena> arena = Unpack(GoodPlans()[plan]->packed, &whole);
        dp_fault fault = {};
        if (dp_plan_loops_expand(*arena, whole, &fault)) _exit(4);
        if (!Carry(whole, GoodPlans()[plan]->batch, &expected).empty()) _exit(4);
      }
      auto send = [&](Verdict v, bool done) {
        v.number = i;
        v.done = done;
        if (write(ends[1], &v, sizeof v) != sizeof v) _exit(3);
      };
      send(Judge(cases[i], expected, [&](const Verdict &v) { send(v, false); }), true);
    }
    _exit(0);
  }
  close(ends[1]);
  size_t next = first, has = 0;
  Verdict v;
  for (ssize_t got; (got = read(ends[0], reinterpret_cast<char *>(&v) + has, sizeof v - has)) > 0;) {
    has += static_cast<size_t>(got);
    if (has < sizeof v) continue;
    has = 0;
    (*verdicts)[v.number] = v;
    if (v.done) next = v.number + 1;
  }
  close(ends[0]);
  int status;
  waitpid(child, &status, 0);
  EXPECT_TRUE(!WIFEXITED(status) || !WEXITSTATUS(status)) << WEXITSTATUS(status);
  if (WIFEXITED(status) && WEXITSTATUS(status)) return cases.size();
  return next == cases.size() ? next : next + 1;  // the case in between ended the process
}

struct Figures {
  int made = 0;
  int checker = 0, against = 0, runtime = 0;  // cases that each of these refuses
  int same = 0;
};

TEST(Fields, WhatIsAcceptedComputesTheSame) {
  const std::map<std::string, std::string> classes = ReadClasses();
  const std::vector<Case> cases = Cases();
  std::vector<Verdict> verdicts(cases.size());
  for (size_t at = 0; at < cases.size();) at = RunFrom(cases, at, &verdicts);
  std::map<std::string, Figures> figures;
  for (size_t i = 0; i < cases.size(); i++) {
    const Case &c = cases[i];
    const Verdict &v = verdicts[i];
    const std::string where = c.field + ", damage " + std::to_string(c.kind) + " of number " +
                              std::to_string(c.instance) + ", " + GoodPlans()[c.plan]->name + " " +
                              GoodPlans()[c.plan]->options + ": " + v.detail;
    Figures &f = figures[c.field];
    EXPECT_TRUE(v.done) << "the process ended: " << where;
    if (!v.made || !v.done) continue;
    if (getenv("FIELDS_VERBOSE")) printf("%s%s\n", v.checker ? "ACCEPTED " : "", where.c_str());
    f.made++;
    f.checker += !v.checker;
    f.against += v.checker && !v.against;
    f.runtime += v.checker && !v.carried;
    f.same += v.same;
    auto is = classes.find(c.field);
    const std::string is_class = is == classes.end() ? "" : is->second;
    EXPECT_TRUE(is_class != "label" || !v.checker || v.against) << where;  // --against ignores it
    const bool accepted = v.checker && (v.against || is_class != "compared");
    EXPECT_TRUE(!accepted || v.same || !v.carried) << is_class << ", " << where;
  }
  printf("%-32s %-9s %6s %8s %8s %8s %6s\n", "field", "held by", "made", "checker", "against", "runtime", "same");
  Figures all;
  for (const auto &f : figures) {
    auto is = classes.find(f.first);
    const Figures &n = f.second;
    printf("%-32s %-9s %6d %8d %8d %8d %6d\n", f.first.c_str(), is == classes.end() ? "?" : is->second.c_str(), n.made,
           n.checker, n.against, n.runtime, n.same);
    all.made += n.made, all.checker += n.checker, all.against += n.against, all.runtime += n.runtime,
        all.same += n.same;
    const bool held = is != classes.end() && is->second != "label" && n.made >= 8;
    EXPECT_TRUE(!held || n.checker || n.against || n.runtime) << f.first << ": nothing refuses any damage of it";
  }
  printf("%-42s %6d %8d %8d %8d %6d\n", "all", all.made, all.checker, all.against, all.runtime, all.same);
}

}  // namespace
}  // namespace dp_test
