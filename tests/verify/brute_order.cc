#include "tests/verify/brute_order.h"

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
  std::vector<Range> reads, writes;
  bool collective;
};

Step MakeStep(const Dp__Program *p, const Dp__Instruction *in) {
  Step step = {in, {}, {}, false};
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
  step.collective = in->communication && in->communication->n_axes && strcmp(in->op, "Slice");
  return step;
}

using Set = std::bitset<kMostSteps>;

// What each step comes after. An event that nobody or more than one signals orders nothing: a wait for it may be over too
// early. A wait for what nobody signals never ends, which is as good as a cycle: *stuck.
std::vector<Set> Reach(const Dp__Program *p, const std::vector<Step> &steps, bool *stuck) {
  const size_t n = steps.size();
  if (n > kMostSteps) throw std::length_error("a program too long for brute force");
  std::vector<Set> after(n);
  std::vector<std::vector<size_t>> signallers(p->events);
  size_t at = 0;
  for (size_t s = 0; s < p->n_streams; s++)
    for (size_t i = 0; i < p->streams[s]->n_instructions; i++, at++) {
      if (i) after[at].set(at - 1);
      if (steps[at].instruction->signal) signallers[steps[at].instruction->signal - 1].push_back(at);
    }
  *stuck = false;
  for (size_t i = 0; i < n; i++)
    for (size_t w = 0; w < steps[i].instruction->n_waits; w++) {
      const std::vector<size_t> &from = signallers[steps[i].instruction->waits[w]];
      *stuck |= from.empty();
      if (from.size() == 1) after[i].set(from[0]);
    }
  for (size_t k = 0; k < n; k++)
    for (size_t i = 0; i < n; i++)
      if (after[i][k]) after[i] |= after[k];
  return after;
}

}  // namespace

std::string BruteOrder(const Dp__Program *p) {
  std::vector<Step> steps;
  for (size_t s = 0; s < p->n_streams; s++)
    for (size_t i = 0; i < p->streams[s]->n_instructions; i++)
      steps.push_back(MakeStep(p, p->streams[s]->instructions[i]));
  const size_t n = steps.size();
  bool stuck;
  const std::vector<Set> after = Reach(p, steps, &stuck);
  if (stuck) return "ORDER.CYCLE";
  for (size_t i = 0; i < n; i++)
    if (after[i][i]) return "ORDER.CYCLE";
  std::string found;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) {
      if (after[i][j] || after[j][i]) continue;
      const Step &a = steps[i], &b = steps[j];
      if (Overlap(a.writes, b.writes) || Overlap(a.writes, b.reads) || Overlap(a.reads, b.writes))
        return "ORDER.CONFLICT";
      if (a.collective && b.collective) found = "ORDER.COLLECTIVE";
    }
  return found;
}

}  // namespace dp_test
