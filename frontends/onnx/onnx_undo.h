// The parts of onnx_undo.c (private to frontends/onnx): onnx_give.c gives operands back, onnx_whole.c checks whether
// every parameter is there afterwards.
#ifndef DP_FRONTENDS_ONNX_ONNX_UNDO_H
#define DP_FRONTENDS_ONNX_ONNX_UNDO_H

#include "frontends/onnx/onnx_signature.h"

// The origin of an initializer.
typedef struct {
  dp_onnx_entry *of;  // the one parameter or buffer; NULL: none, or several
  bool folded;        // it was computed
  bool several;       // of more than one parameter
} dp_onnx_origin;

typedef struct {
  Dp__Onnx__Node *node;
  size_t operand;
  dp_onnx_binding *binding;
  const dp_onnx_origin *origin;
} dp_onnx_slot;

// The nodes of one operation of the traced program.
typedef struct {
  const char *fx;
  int n_nodes;
  Dp__Onnx__Node **nodes;
} dp_onnx_operation;

typedef struct {
  dp_onnx_reader *reader;
  dp_onnx_scope *scope;
  dp_onnx_signature *signature;
  int32_t n_bindings;       // the file's own
  dp_onnx_origin *origins;  // (n_bindings)
  int n_operations;
  dp_onnx_operation *operations;
  bool merged;  // something was merged
} dp_onnx_undoing;

// Makes the operand that parameter or buffer; *done: the form is certain.
dp_status dp_onnx_give(dp_onnx_undoing *u, const dp_onnx_slot *slot, dp_onnx_entry *entry, bool *done) DP_MUST_USE;
// Makes it a separate constant: one that was merged with a parameter.
dp_status dp_onnx_give_constant(dp_onnx_undoing *u, const dp_onnx_slot *slot) DP_MUST_USE;
// Whether a rule of the exporter rewrote the node, so that it may stand for more than the operation that it names.
bool dp_onnx_is_rewritten(const Dp__Onnx__Node *node);
// Adds what is missing to the reasons.
void dp_onnx_whole(const dp_onnx_undoing *u, dp_onnx_reasons *reasons);

#endif
