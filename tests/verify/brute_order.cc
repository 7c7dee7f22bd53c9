#include "tests/verify/brute_order.h"

#include <string.h>

#include <vector>

namespace dp_test {
namespace {

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

}  // namespace

std::string BruteOrder(const Dp__Program *p) {
  std::vector<Step> steps;
  std::vector<size_t> signaller(p->events);
  std::vector<std::pair<size_t, size_t>> edges;
  for (size_t s = 0; s < p->n_streams; s++)
    for (size_t i = 0; i < p->streams[s]->n_instructions; i++) {
      const Dp__Instruction *in = p->streams[s]->instructions[i];
      if (i) edges.push_back({steps.size() - 1, steps.size()});
      if (in->signal) signaller[in->signal - 1] = steps.size();
      steps.push_back(MakeStep(p, in));
    }
  const size_t n = steps.size();
  for (size_t i = 0; i < n; i++)
    for (size_t w = 0; w < steps[i].instruction->n_waits; w++)
      edges.push_back({signaller[steps[i].instruction->waits[w]], i});
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  for (const auto &edge : edges) before[edge.first][edge.second] = true;
  for (size_t k = 0; k < n; k++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; before[i][k] && j < n; j++)
        if (before[k][j]) before[i][j] = true;
  for (size_t i = 0; i < n; i++)
    if (before[i][i]) return "ORDER.CYCLE";
  std::string found;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) {
      if (before[i][j] || before[j][i]) continue;
      const Step &a = steps[i], &b = steps[j];
      if (Overlap(a.writes, b.writes) || Overlap(a.writes, b.reads) || Overlap(a.reads, b.writes))
        return "ORDER.CONFLICT";
      if (a.collective && b.collective) found = "ORDER.COLLECTIVE";
    }
  return found;
}

}  // namespace dp_test
