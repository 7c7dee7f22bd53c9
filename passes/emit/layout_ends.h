// The operands and results of a node, its ends, and which of them belong together: an instruction may move or update
// several tensors that have nothing to do with each other. Private to the pass layout.
#ifndef DP_PASSES_EMIT_LAYOUT_ENDS_H
#define DP_PASSES_EMIT_LAYOUT_ENDS_H

#include "ir/graph/graph.h"

// Operand k of the node, or the result after its operands; NULL: left out.
static inline dp_value *dp_layout_end(const dp_node *node, int k) {
  return k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
}
static inline int dp_layout_ends(const dp_node *node) { return node->n_inputs + node->n_outputs; }

// What operand k of a communication becomes: several may go together to one result.
static inline dp_value *dp_layout_moved_to(const dp_node *node, int k) {
  return node->outputs[k < node->n_outputs ? k : 0];
}
// Whether the two lie otherwise. Between a Send and its Recv there is nothing that lies anywhere.
static inline bool dp_layout_is_turned(const dp_node *node, int k) {
  const dp_value *from = node->inputs[k], *to = dp_layout_moved_to(node, k);
  return from->space != DP_SPACE_NONE && to->space != DP_SPACE_NONE && from->layout != to->layout;
}

typedef struct {
  int group;    // of an end with four dims, from 0, less than its ends and members together; -1: it belongs to none
  bool stored;  // a variable's old value that an update replaces, or its new one: both lie alike
} dp_layout_end_role;

// (ends) NULL: all ends belong together.
const dp_layout_end_role *dp_layout_roles(dp_arena *arena, const dp_node *node);

#endif
