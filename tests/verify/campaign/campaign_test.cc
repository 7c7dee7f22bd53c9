// The campaign. Each damage of the table, at places chosen by seed, in plans of several networks and meshes: what the oracles
// do not find equivalent the checker must reject, naming the place and a rule that the table allows.
//
// CAMPAIGN_CASES in the environment: how many in place of 5,000. CAMPAIGN_VERBOSE: what each was and what was said of it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/verify/campaign/campaign.h"

namespace dp_test {
namespace {

constexpr size_t kCases = 5000;
enum { kBatch = 100, kSecondsACase = 30, kTries = 40 };

size_t Cases() {
  const char *asked = getenv("CAMPAIGN_CASES");
  return asked ? strtoul(asked, nullptr, 10) : kCases;
}

const std::vector<Family> &Families() {
  static const std::vector<Family> families = MakeFamilies();
  return families;
}

// ---- cases in a process of their own --------------------------------------------------------------------------------

// A damaged plan may send a kernel anywhere, so batches of cases run in a child, which says what it knows before each run.
struct Record {
  size_t number;
  bool done, made, equivalent, accepted, class_right, program_named, instruction_named, program_right;
  char rule[32], detail[1024];
};

struct Place {
  int pipe;
  size_t number;
};

void Send(const Verdict &v, const Place &to, bool done) {
  Record r = {
      to.number,       done, v.made, v.equivalent, v.accepted, v.class_right, v.program_named, v.instruction_named,
      v.program_right, "",   ""};
  snprintf(r.rule, sizeof r.rule, "%s", v.rule.c_str());
  snprintf(r.detail, sizeof r.detail, "%s", v.detail.c_str());
  if (write(to.pipe, &r, sizeof r) != sizeof r) _exit(3);
}

void RunCase(const Place &place) {
  const Damage &damage = Damages()[place.number % Damages().size()];
  Verdict v;
  alarm(kSecondsACase);
  for (unsigned attempt = 0; attempt < kTries && !v.made; attempt++) {
    unsigned seed = static_cast<unsigned>(place.number * kTries + attempt) * 2654435761u + 12345;
    const Family &family = Families()[(seed >> 8) % Families().size()];
    v = Judge(
        family, damage, seed,
        [](const Verdict &known, void *to) { Send(known, *static_cast<const Place *>(to), false); },
        const_cast<Place *>(&place));
  }
  Send(v, place, true);
}

// What is known of cases [first, end): the last record of each. Ends early when the child does.
size_t RunBatch(size_t first, size_t end, std::vector<Record> *records) {
  int ends[2];
  if (pipe(ends)) abort();
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    close(ends[0]);
    if (!freopen("/dev/null", "w", stderr)) _exit(3);
    for (size_t i = first; i < end; i++) RunCase({ends[1], i});
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
  // The case that it fell at is one that cannot be carried out.
  Record &fell = (*records)[next];
  EXPECT_TRUE(fell.made) << "case " << next << " ends its process before it is judged";
  snprintf(fell.detail + strlen(fell.detail), sizeof fell.detail - strlen(fell.detail), "; oracle: ended by signal %d",
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  return next + 1;
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
  const size_t cases = Cases();
  std::vector<Record> records(cases);
  Families();
  for (size_t at = 0; at < cases;) at = RunBatch(at, std::min(cases, at + kBatch), &records);
  std::map<std::string, Figures> figures;
  Figures all;
  const bool verbose = getenv("CAMPAIGN_VERBOSE");
  for (size_t i = 0; i < cases; i++) {
    const Record &r = records[i];
    const Damage &damage = Damages()[i % Damages().size()];
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
  for (const Damage &damage : Damages())
    EXPECT_TRUE(cases < 20 * Damages().size() || figures[damage.name].rejected) << damage.name;
  EXPECT_GE(all.made, static_cast<int>(cases * 99 / 100));
  EXPECT_LE(all.excluded * 5, all.made);
  EXPECT_GE(all.right * 100, all.rejected * 95);
}

// ---- the oracles themselves -----------------------------------------------------------------------------------------

// The machine finds the same on every mesh, in every order, and the checker and brute force find nothing.
TEST(Oracle, UndamagedPlansAgree) {
  for (const Family &family : Families())
    for (const Member &m : family.members) {
      Edit whole(m.packed, 0);
      EXPECT_EQ(CheckerSays(whole.Pack()), "");
      for (unsigned seed = 10; seed < 13; seed++) EXPECT_EQ(OraclesSay(whole.plan, m, seed), "") << m.options;
      // Statistics of each device's samples are others on another mesh, as they must.
      if (m.options.find("batchnorm=local") != std::string::npos) continue;
      EXPECT_EQ(Differs(whole.plan, *m.logical, family.members[0].outcome, 5), "") << family.name << " " << m.options;
    }
}

}  // namespace
}  // namespace dp_test
