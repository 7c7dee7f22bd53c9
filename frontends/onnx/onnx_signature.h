// What PyTorch's newer exporter (torch.onnx.export, dynamo=True) writes into a file about the original network (private
// to frontends/onnx). PyTorch 2.11 has three kinds of metadata:
//   of the graph, ...ExportedProgram.graph_signature: a line for each parameter, buffer and input, "p_w: PARAMETER
//   target='w'", where p_w is its name in the traced program and w the one in the module's state_dict, even if the file
//   no longer has an initializer of that name;
//   of an initializer's value_info, ...InputSpec.kind if it still equals the module's, ...folded_from if the optimizer
//   computed it from others;
//   of a node, ...fx_node: its operation in the traced program, with operands written as %name.
#ifndef DP_FRONTENDS_ONNX_ONNX_SIGNATURE_H
#define DP_FRONTENDS_ONNX_ONNX_SIGNATURE_H

#include "frontends/onnx/onnx_reader.h"

// A parameter or buffer of the module.
typedef struct {
  const char *fx;            // in the traced program; NULL: unknown
  const char *target;        // in state_dict
  bool parameter;            // else a buffer
  bool variable;             // in the state_dict
  bool mentioned;            // an operation of some node takes it
  bool lost;                 // its form in the file could not be determined
  int stamp;                 // used by onnx_undo.c
  dp_onnx_binding *binding;  // its form in the file; NULL: not found (yet)
} dp_onnx_entry;

typedef struct {
  int count;
  dp_onnx_entry *entries;
  dp_names *by_fx, *by_target;  // indices of entries
  dp_names *defined;            // names of the traced program's values that the file still has
  const char *outputs;          // the signature's output lines; ""
  dp_names *infos;              // indices of the graph's value_info
} dp_onnx_signature;

// NULL: the file has no such metadata. Takes time linear in the file's metadata.
dp_onnx_signature *dp_onnx_signature_read(dp_onnx_reader *reader, const dp_onnx_scope *scope);

// The value of the metadata entry whose key ends with `key`; NULL: none.
const char *dp_onnx_signature_find(size_t count, Dp__Onnx__StringStringEntry *const *entries, const char *key);
const char *dp_onnx_signature_of_node(const Dp__Onnx__Node *node);  // its fx_node; NULL
const char *dp_onnx_signature_of_value(const dp_onnx_reader *reader, const dp_onnx_signature *signature,
                                       const char *name, const char *key);
// The operator in the traced program: "linear" for torch.ops.aten.linear.default; allocated in `arena`, "" if there is
// none.
const char *dp_onnx_signature_op(dp_arena *arena, const char *fx_node);
// Operand `at` of the operation as the traced program prints it; "" if it has fewer.
const char *dp_onnx_signature_argument(dp_arena *arena, const char *fx_node, int at);
// Iterates over the operands %name of an operation: *at starts as NULL and advances. NULL at the end.
const char *dp_onnx_signature_next(dp_arena *arena, const char *fx_node, const char **at);
// Iterates over the names in a Python list, ['a', 'b']: *at starts at the list and advances. NULL at the end.
const char *dp_onnx_signature_item(dp_arena *arena, const char **at);
dp_onnx_entry *dp_onnx_signature_entry(const dp_onnx_signature *signature, const dp_names *names, const char *name);

// ---- onnx_undo.c, onnx_mode.c, onnx_guess.c -------------------------------------------------------------------------

// The reasons why training the model would not train the network, in one sentence.
typedef struct {
  dp_arena *arena;
  const char *text;  // NULL: none
} dp_onnx_reasons;

void dp_onnx_reasons_add(dp_onnx_reasons *reasons, const char *format, ...) DP_PRINTF(2, 3);

// A list of names for a message, "a, b and 3 more".
typedef struct {
  int count;
  const char *text;  // the first few; NULL: none
} dp_onnx_list;

void dp_onnx_list_add(dp_arena *arena, dp_onnx_list *list, const char *name);
const char *dp_onnx_list_print(dp_arena *arena, const dp_onnx_list *list);

// Sets the roles of initializers by the signature; restores operands that were merged or folded.
dp_status dp_onnx_undo(dp_onnx_reader *reader, dp_onnx_scope *scope, dp_onnx_signature *signature,
                       dp_onnx_reasons *reasons) DP_MUST_USE;
// Gives BatchNormalization its mode in the traced program. BatchNormalization and Dropout in inference mode are
// reasons. signature: NULL if there is none.
dp_status dp_onnx_mode(dp_onnx_reader *reader, const dp_onnx_signature *signature,
                       dp_onnx_reasons *reasons) DP_MUST_USE;
// Keeps gradients from what the network detaches; what the file cannot tell so is a reason. Roles are known.
dp_status dp_onnx_detach(dp_onnx_reader *reader, const dp_onnx_scope *scope, const dp_onnx_signature *signature,
                         dp_onnx_reasons *reasons) DP_MUST_USE;
// Guesses roles if the file says nothing, with notes about doubtful ones.
dp_status dp_onnx_guess(dp_onnx_reader *reader, dp_onnx_scope *scope) DP_MUST_USE;
// Rows for padding where the file does not say them (onnx_padding.c); roles are known.
dp_status dp_onnx_padding(dp_onnx_reader *reader, dp_onnx_scope *scope) DP_MUST_USE;
// Whether the file comes from PyTorch.
bool dp_onnx_is_from_torch(const dp_onnx_reader *reader);

#endif
