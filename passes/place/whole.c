// Whether a placed program needs the whole batch at once: whether a value made from all micro-batches, through a
// parameter or buffer, is used to compute one of them. Statistics of the batch are such values (BatchNormalization in
// training): a micro-batch could not leave the first stage before the last one arrives. The count of labels is not: it
// depends on inputs alone and is available first. See place.h.
#include "passes/place/place.h"

// What a value depends on. origin: the node that completed it, if it is complete; -1: its users will.
typedef struct {
  enum { INPUTS = 0, PARAMETERS, WHOLE_BATCH } of;
  int32_t origin;
} mark;

static mark mark_of_source(const dp_model *model, const dp_value *v) {
  dp_variable_kind kind = v->kind == DP_VALUE_VARIABLE ? model->variables[v->variable].kind : DP_STORED_CONSTANT;
  return (mark){kind == DP_PARAMETER || kind == DP_BUFFER ? PARAMETERS : INPUTS, -1};
}

// The mark of the operand that depends on the most.
static mark mark_of_node(const dp_node *node, const mark *marks, int micro, bool *parts, int32_t *sum) {
  mark most = {INPUTS, -1};
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *x = node->inputs[k];
    if (!x) continue;
    if (marks[x->id].of > most.of) most = marks[x->id];
    *parts |= x->placements[micro].kind != DP_REPLICATE;
    if (x->placements[micro].kind == DP_PARTIAL && x->producer) *sum = x->producer->id;
  }
  if (most.of == WHOLE_BATCH && most.origin < 0 && node->logical) most.origin = node->id;
  return most;
}

// A node of the device form that completes what a part of the batch needs; -1: none.
static int32_t find_gathered(const dp_graph *placed, int micro, mark *marks) {
  for (int32_t i = 0; i < placed->n_values; i++) marks[i] = mark_of_source(placed->model, placed->values[i]);
  for (int32_t i = 0; i < placed->n_nodes; i++) {
    const dp_node *node = placed->nodes[i];
    bool parts = false;
    int32_t sum = -1;
    mark most = mark_of_node(node, marks, micro, &parts, &sum);
    for (int k = 0; k < node->n_outputs; k++) {
      const dp_value *y = node->outputs[k];
      if (!y) continue;
      bool whole = y->placements[micro].kind == DP_REPLICATE;
      if (most.of == WHOLE_BATCH && !whole) return most.origin >= 0 ? most.origin : i;
      marks[y->id] = most.of == PARAMETERS && parts && whole ? (mark){WHOLE_BATCH, sum} : most;
    }
  }
  return -1;
}

const dp_node *dp_place_whole_find(const dp_graph *program, const int32_t *starts, const dp_graph *placed) {
  const dp_mesh *mesh = &placed->model->mesh;
  if (dp_mesh_microbatches(mesh) == 1) return NULL;
  mark *marks = dp_alloc_n(placed->arena, (size_t)placed->n_values, sizeof *marks);
  const int32_t found = find_gathered(placed, dp_mesh_find(mesh, DP_MESH_MICRO), marks);
  if (found < 0) return NULL;
  int32_t i = 0;
  while (i + 1 < program->n_nodes && starts[i + 1] <= found) i++;
  return program->nodes[i];
}
