// The campaign applies each damage of the table, at seeded places, to plans of several networks and meshes. If the
// oracles do not find the result equivalent, the checker must reject it, naming the place and a rule that the table
// allows.
//
// Environment: CAMPAIGN_CASES: the number of cases instead of 2,000 (100,000 with DP_FULL, 15,000 under a sanitizer).
// CAMPAIGN_VERBOSE: prints each case and verdict. CAMPAIGN_DAMAGE: only damages whose name has this prefix.
// CAMPAIGN_FIRST: skips earlier cases. CAMPAIGN_BLIND: the number of damages for each rule with a checker that is blind
// to it; the oracles must find what it accepts.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/ir/verify/campaign/campaign.h"

namespace dp_test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { kFullCases = 15000 };
#else
enum { kFullCases = 100000 };
#endif
enum { kCases = 2000, kBatch = 100, kSecondsACase = 30, kTries = 500, kSeedsACase = 100 };

size_t Number(const char *name, size_t otherwise) {
  const char *asked = getenv(name);
  return asked ? strtoul(asked, nullptr, 10) : otherwise;
}

size_t First() { return Number("CAMPAIGN_FIRST", 0); }

const std::vector<Family> &Families() {
  static const std::vector<Family> families = MakeFamilies();
  return families;
}

// ---- cases in their own process -------------------------------------------------------------------------------------

// A damaged plan may make a kernel write anywhere, so batches of cases run in a child process, which reports what it
// knows before each run.
struct Record {
  size_t number;
  bool done, made, equivalent, accepted, class_right, program_named, instruction_named, program_right;
  char rule[32], detail[1024];
};

using Kinds = std::vector<const Damage *>;

struct Run {
  int pipe;
  size_t number;
};

void Send(const Verdict &v, const Run &to, bool done) {
  Record r = {
      to.number,       done, v.made, v.equivalent, v.accepted, v.class_right, v.program_named, v.instruction_named,
      v.program_right, "",   ""};
  snprintf(r.rule, sizeof r.rule, "%s", v.rule.c_str());
  snprintf(r.detail, sizeof r.detail, "%s", v.detail.c_str());
  if (write(to.pipe, &r, sizeof r) != sizeof r) _exit(3);
}

void RunCase(const Kinds &kinds, const Run &run) {
  const Damage &damage = *kinds[run.number % kinds.size()];
  Verdict v;
  alarm(kSecondsACase);
  for (unsigned attempt = 0; attempt < kTries && !v.made; attempt++) {
    unsigned seed = static_cast<unsigned>(run.number * kSeedsACase + attempt) * 2654435761u + 12345;
    const Family &family = Families()[(seed >> 8) % Families().size()];
    v = Judge(
        family, damage, seed, [](const Verdict &known, void *to) { Send(known, *static_cast<const Run *>(to), false); },
        const_cast<Run *>(&run));
  }
  Send(v, run, true);
}

// What is known about cases [first, end): the last record of each. Stops early if the child does.
size_t RunBatch(const Kinds &kinds, size_t first, size_t end, std::vector<Record> *records) {
  int ends[2];
  if (pipe(ends)) abort();
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    close(ends[0]);
    if (!freopen("/dev/null", "w", stderr)) _exit(3);
    for (size_t i = first; i < end; i++) RunCase(kinds, {ends[1], i});
    _exit(0);
  }
  close(ends[1]);
  Record r;
  size_t has = 0, next = first;
  for (ssize_t got; (got = read(ends[0], reinterpret_cast<char *>(&r) + has, sizeof r - has)) > 0;) {
    has += static_cast<size_t>(got);
    if (has < sizeof r) continue;
    has = 0;
    (*records)[r.number] = r;
    if (r.done) next = r.number + 1;
  }
  close(ends[0]);
  int status;
  waitpid(child, &status, 0);
  EXPECT_TRUE(!WIFEXITED(status) || !WEXITSTATUS(status));
  if (next == end) return end;
  // Either this case cannot be executed, or an earlier one corrupted the process: start again with this one.
  Record &fell = (*records)[next];
  if (!fell.made && next > first) return next;
  EXPECT_TRUE(fell.made || blind_to) << "case " << next << " ends its process before it is judged";
  snprintf(fell.detail + strlen(fell.detail), sizeof fell.detail - strlen(fell.detail), "; oracle: ended by signal %d",
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  return next + 1;
}

// Each thread waits for the processes of its own batches. A process that is forked beside other threads cannot be
// followed by the thread sanitizer.
size_t Workers() {
#if defined(__SANITIZE_THREAD__)
  return 1;
#else
  return std::max(1u, std::thread::hardware_concurrency());
#endif
}

std::vector<Record> RunAll(const Kinds &kinds, size_t cases) {
  std::vector<Record> records(cases);
  Families();
  std::atomic<size_t> batch{First()};
  auto work = [&] {
    for (size_t first; (first = batch.fetch_add(kBatch)) < cases;)
      for (size_t at = first, end = std::min(cases, first + kBatch); at < end;) at = RunBatch(kinds, at, end, &records);
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < Workers(); i++) others.emplace_back(work);
  work();
  for (std::thread &other : others) other.join();
  return records;
}

// ---- figures --------------------------------------------------------------------------------------------------------

struct Figures {
  int made = 0, excluded = 0, rejected = 0, right = 0, instruction = 0;
  void Add(const Figures &o) {
    made += o.made;
    excluded += o.excluded;
    rejected += o.rejected;
    right += o.right;
    instruction += o.instruction;
  }
  void Print(const std::string &name) const {
    printf("%-22s %6d %9d %9d %12d %12d\n", name.c_str(), made, excluded, rejected, right, instruction);
  }
};

TEST(Campaign, WhatIsNotEquivalentIsRejected) {
  const size_t cases = Number("CAMPAIGN_CASES", getenv("DP_FULL") ? size_t(kFullCases) : size_t(kCases));
  const char *asked = getenv("CAMPAIGN_DAMAGE");
  Kinds kinds;
  for (const Damage &damage : Damages())
    if (!asked || !strncmp(damage.name, asked, strlen(asked))) kinds.push_back(&damage);
  const std::vector<Record> records = RunAll(kinds, cases);
  std::map<std::string, Figures> figures;
  Figures all;
  const bool verbose = getenv("CAMPAIGN_VERBOSE");
  for (size_t i = 0; i < cases; i++) {
    const Record &r = records[i];
    const Damage &damage = *kinds[i % kinds.size()];
    Figures one;
    one.made = r.made;
    one.excluded = r.made && r.equivalent;
    bool wrong = r.made && !r.equivalent;
    one.rejected = wrong && !r.accepted;
    one.right = one.rejected && r.class_right;
    one.instruction = one.rejected && r.instruction_named;
    figures[damage.name].Add(one);
    all.Add(one);
    if (wrong) {
      EXPECT_FALSE(r.accepted) << "case " << i << ", " << damage.name << ": " << r.detail;
      EXPECT_TRUE(r.accepted || r.program_right) << "case " << i << ", " << damage.name << ": " << r.detail;
    }
    if (verbose && r.made)
      printf("case %zu %s %s%s: %s\n", i, damage.name, r.equivalent ? "EXCLUDED " : "",
             wrong && !r.class_right ? "CLASS" : "", r.detail);
  }
  printf("%-22s %6s %9s %9s %12s %12s\n", "damage", "made", "excluded", "rejected", "class right", "instruction");
  for (const auto &f : figures) f.second.Print(f.first);
  all.Print("all");
  for (const Damage *damage : kinds)
    EXPECT_TRUE(cases < 20 * kinds.size() || figures[damage->name].rejected) << damage->name;
  EXPECT_GE(all.made, static_cast<int>((cases - First()) * 99 / 100));
  EXPECT_TRUE(asked || all.excluded * 5 <= all.made);
  EXPECT_GE(all.right * 100, all.rejected * 95);
}

// Cases that no other rule refuses.
const char *const kAlone[] = {"ORDER.CONFLICT",    "ORDER.CYCLE",      "ORDER.EVENT",      "ORDER.ALIAS",
                              "MEANING.NODE",      "MEANING.OPERANDS", "MEANING.ROW",      "MEANING.CONVERSION",
                              "MEANING.UNDEFINED", "MEANING.CONTENT",  "MEANING.UPDATE",   "MEANING.OUTPUT",
                              "MEANING.MICRO",     "MEANING.TRANSFER", "ORDER.COLLECTIVE", "TENSOR.TYPE",
                              "TENSOR.BYTES"};

// Applies damages that may break a rule to a checker that is blind to it, and counts how many wrong plans it accepts.
// Rules whose violations another rule always catches are counted, but nothing is expected of them.
TEST(Campaign, WhatABlindCheckerLetsPassTheOraclesFind) {
  const size_t cases = Number("CAMPAIGN_BLIND", getenv("DP_FULL") ? 400 : 0);
  if (!cases) GTEST_SKIP() << "CAMPAIGN_BLIND or DP_FULL asks for it";
  for (int rule = DP_RULE_NONE + 1; rule < DP_RULE_COUNT; rule++) {
    Kinds kinds;
    const std::string name = dp_rule_name(static_cast<dp_rule>(rule));
    for (const Damage &damage : Damages())
      if ((" " + std::string(damage.rules) + " ").find(" " + name + " ") != std::string::npos) kinds.push_back(&damage);
    if (kinds.empty() || name.compare(0, 5, "FORM.") == 0) continue;
    blind_to = static_cast<dp_rule>(rule);
    const std::vector<Record> records = RunAll(kinds, cases);
    blind_to = DP_RULE_NONE;
    size_t passed = 0;
    for (const Record &r : records) passed += r.made && !r.equivalent && r.accepted;
    printf("%-22s %6zu wrong plans pass\n", name.c_str(), passed);
    for (const char *alone : kAlone) EXPECT_TRUE(name != alone || passed) << name;
  }
}

// ---- the oracles themselves -----------------------------------------------------------------------------------------

// On every mesh and in every order, the machine must find the same result as on one device, and the checker and brute
// force must find no fault.
TEST(Oracle, UndamagedPlansAgree) {
  for (const Family &family : Families())
    for (const Member &m : family.members) {
      SCOPED_TRACE(family.name + ", " + m.options);
      Edit whole(m.packed, 0);
      EXPECT_EQ(CheckerSays(whole.Pack()), "");
      for (unsigned seed = 10; seed < 13; seed++) EXPECT_EQ(OraclesSay(whole.plan, m, seed), "");
      // Statistics over each device's own samples may differ between meshes.
      if (!family.text || m.options.find("batchnorm=local") != std::string::npos) continue;
      const std::string batch = m.options.substr(0, m.options.find(' '));
      const auto has = [&](const char *words) { return m.options.find(words) != std::string::npos; };
      const std::string precision = has("precision=fp16")   ? " precision=fp16"
                                    : has("precision=fp32") ? " precision=fp32 mode=infer"
                                                            : " precision=fp64";
      const std::vector<uint8_t> packed = CompilePacked(family.text, batch + precision);
      Edit one(packed, 0);
      Logical logical(packed);
      EXPECT_EQ(Differs(whole.plan, *m.logical, Carry(one.plan, logical, 5), 5), "");
    }
}

}  // namespace
}  // namespace dp_test
