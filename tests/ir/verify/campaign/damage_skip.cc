// Damages to what skips updates when data is refused. Logical graph and instructions are changed together, so that the
// plan is consistent and wrong.
#include <cstring>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {
namespace {

// Every instruction, or member of a region, that computes the node in the program, on any stage.
template <typename Visit>
void EachOf(Edit &e, uint32_t node, const Visit &visit) {
  for (size_t r = 0; r < e.plan->n_roles; r++)
    for (size_t p = 0; p < e.plan->roles[r]->n_programs; p++) {
      const Dp__Program *program = e.plan->roles[r]->programs[p];
      if (program->graph != e.program->graph) continue;
      for (size_t s = 0; s < program->n_streams; s++)
        for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
          Dp__Instruction *in = program->streams[s]->instructions[i];
          if (in->n_nodes == 1 && in->nodes[0] == node && !in->n_members) visit(in);
          for (size_t m = 0; m < in->n_members; m++)
            if (in->members[m]->nodes[0] == node) visit(in->members[m]);
        }
    }
}

// A node of one of the operators with that many operands.
bool ChooseNode(Edit &e, const std::vector<std::pair<std::string, size_t>> &operators, uint32_t *chosen) {
  const Dp__Graph *graph = e.plan->graphs[e.program->graph];
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < graph->n_nodes; i++)
    for (const auto &op : operators)
      if (op.first == graph->nodes[i]->op && graph->nodes[i]->n_inputs == op.second) found.push_back(i);
  return e.Choose(found, chosen);
}

}  // namespace

// One update is never skipped.
bool SkipDropped(Edit &e) {
  uint32_t node;
  if (!ChooseNode(e, {{"SGD", 7}, {"Adam", 8}, {"Assign", 3}}, &node)) return false;
  e.plan->graphs[e.program->graph]->nodes[node]->n_inputs--;
  EachOf(e, node, [](Dp__Instruction *in) { in->n_inputs--; });
  return true;
}

// More is taken than the node takes whose data is counted.
bool SkipLimit(Edit &e) {
  uint32_t node;
  if (!ChooseNode(e, {{"CountRefused", 1}}, &node)) return false;
  auto raise = [](size_t count, Dp__Attribute *const *attributes) {
    for (size_t i = 0; i < count; i++)
      if (!strcmp(attributes[i]->name, "limit")) attributes[i]->dims->dims[0]->offset += 1000;
  };
  Dp__Node *counts = e.plan->graphs[e.program->graph]->nodes[node];
  raise(counts->n_attributes, counts->attributes);
  EachOf(e, node, [&](Dp__Instruction *in) { raise(in->n_attributes, in->attributes); });
  return true;
}

}  // namespace dp_test
