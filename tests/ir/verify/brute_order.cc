#include "tests/ir/verify/brute_order.h"

#include <string.h>

#include <algorithm>
#include <bitset>
#include <stdexcept>
#include <vector>

namespace dp_test {
namespace {

enum { kMostSteps = 1024 };

struct Range {
  int space;
  uint64_t begin, end;
};

void Add(std::vector<Range> *ranges, int space, uint64_t offset, uint64_t bytes) {
  if (bytes) ranges->push_back({space, offset, offset + bytes});
}

bool Overlap(const std::vector<Range> &a, const std::vector<Range> &b) {
  for (const Range &x : a)
    for (const Range &y : b)
      if (x.space == y.space && x.begin < y.end && y.begin < x.end) return true;
  return false;
}

struct Step {
  const Dp__Instruction *instruction;
  size_t role, unit;  // unit: a Send and its Recv are one
  std::vector<Range> reads, writes;
  bool collective;
};

Step MakeStep(const Dp__Program *p, const Dp__Instruction *in, size_t role, size_t unit) {
  Step step = {in, role, unit, {}, {}, false};
  for (size_t i = 0; i < in->n_inputs; i++) {
    if (!in->inputs[i]) continue;
    const Dp__DeviceTensor *t = p->tensors[in->inputs[i] - 1];
    Add(&step.reads, t->space, t->offset, t->bytes);
  }
  for (size_t i = 0; i < in->n_outputs; i++) {
    if (!in->outputs[i]) continue;
    const Dp__DeviceTensor *t = p->tensors[in->outputs[i] - 1];
    Add(&step.writes, t->space, t->offset, t->bytes);
  }
  if (in->scratch) Add(&step.writes, DP__SPACE__TRANSIENT, in->scratch->offset, in->scratch->bytes);
  static const char *const alone[] = {"Slice", "Accumulate", "Send", "Recv"};
  step.collective = in->communication && in->communication->n_axes;
  for (const char *op : alone) step.collective &= strcmp(in->op, op) != 0;
  return step;
}

using Set = std::bitset<kMostSteps>;

// Makes one unit of each Send and Recv that alone have a channel. *stuck: one has no other end.
void Pair(std::vector<Step> *steps, bool *stuck) {
  for (Step &send : *steps) {
    const bool sends = !strcmp(send.instruction->op, "Send");
    if (!sends && strcmp(send.instruction->op, "Recv")) continue;
    size_t ends = 0, alike = 0;
    Step *other = nullptr;
    for (Step &end : *steps) {
      const bool is_send = !strcmp(end.instruction->op, "Send");
      if (!is_send && strcmp(end.instruction->op, "Recv")) continue;
      if (!end.instruction->communication || !send.instruction->communication ||
          end.instruction->communication->channel != send.instruction->communication->channel)
        continue;
      (is_send == sends ? alike : ends)++;
      if (is_send != sends) other = &end;
    }
    *stuck |= !ends;
    if (sends && ends == 1 && alike == 1) other->unit = send.unit;
  }
}

// What each unit comes after. An event that nobody or more than one signals orders nothing: a wait for it may be over too
// early. A wait for what nobody signals never ends, which is as good as a cycle: *stuck.
std::vector<Set> Reach(const std::vector<const Dp__Program *> &programs, const std::vector<Step> &steps, bool *stuck) {
  const size_t n = steps.size();
  std::vector<Set> after(n);
  for (size_t r = 0, at = 0; r < programs.size(); r++) {
    const Dp__Program *p = programs[r];
    const size_t first = at;
    std::vector<std::vector<size_t>> signallers(p->events);
    for (size_t s = 0; s < p->n_streams; s++)
      for (size_t i = 0; i < p->streams[s]->n_instructions; i++, at++) {
        if (i) after[steps[at].unit].set(steps[at - 1].unit);
        if (steps[at].instruction->signal) signallers[steps[at].instruction->signal - 1].push_back(steps[at].unit);
      }
    for (size_t i = first; i < at; i++)
      for (size_t w = 0; w < steps[i].instruction->n_waits; w++) {
        const std::vector<size_t> &from = signallers[steps[i].instruction->waits[w]];
        *stuck |= from.empty();
        if (from.size() == 1) after[steps[i].unit].set(from[0]);
      }
  }
  for (size_t k = 0; k < n; k++)
    for (size_t i = 0; i < n; i++)
      if (after[i][k]) after[i] |= after[k];
  return after;
}

bool OnHost(int space) { return space == DP__SPACE__HOST_INPUT || space == DP__SPACE__HOST_OUTPUT; }

// Of two roles: only the host's memory is common to them.
std::vector<Range> Common(const std::vector<Range> &ranges) {
  std::vector<Range> common;
  for (const Range &r : ranges)
    if (OnHost(r.space)) common.push_back(r);
  return common;
}

bool Conflict(const Step &a, const Step &b) {
  if (a.role == b.role) return Overlap(a.writes, b.writes) || Overlap(a.writes, b.reads) || Overlap(a.reads, b.writes);
  const std::vector<Range> writes = Common(a.writes), others = Common(b.writes);
  return Overlap(writes, others) || Overlap(writes, b.reads) || Overlap(a.reads, others);
}

}  // namespace

std::string BruteOrder(const std::vector<const Dp__Program *> &programs) {
  std::vector<Step> steps;
  for (size_t r = 0; r < programs.size(); r++)
    for (size_t s = 0; s < programs[r]->n_streams; s++)
      for (size_t i = 0; i < programs[r]->streams[s]->n_instructions; i++)
        steps.push_back(MakeStep(programs[r], programs[r]->streams[s]->instructions[i], r, steps.size()));
  const size_t n = steps.size();
  if (n > kMostSteps) throw std::length_error("a program too long for brute force");
  bool stuck = false;
  Pair(&steps, &stuck);
  const std::vector<Set> after = Reach(programs, steps, &stuck);
  if (stuck) return "ORDER.CYCLE";
  for (size_t i = 0; i < n; i++)
    if (after[i][i]) return "ORDER.CYCLE";
  std::string found;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) {
      const Step &a = steps[i], &b = steps[j];
      if (a.unit == b.unit || after[a.unit][b.unit] || after[b.unit][a.unit]) continue;
      if (Conflict(a, b)) return "ORDER.CONFLICT";
      if (a.collective && b.collective && a.role == b.role) found = "ORDER.COLLECTIVE";
    }
  return found;
}

std::string BruteOrder(const Dp__Program *program) { return BruteOrder(std::vector<const Dp__Program *>{program}); }

std::string BruteOrder(const Dp__Plan *plan, size_t program) {
  std::vector<const Dp__Program *> programs;
  for (size_t r = 0; r < plan->n_roles; r++) programs.push_back(plan->roles[r]->programs[program]);
  return BruteOrder(programs);
}

}  // namespace dp_test
