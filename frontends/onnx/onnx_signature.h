// What PyTorch's newer exporter (torch.onnx.export, dynamo=True) writes into a file of the network that it came from
// (private to frontends/onnx). Three kinds of metadata tell it, seen in PyTorch 2.11:
//   of the graph, ...ExportedProgram.graph_signature: a line for each parameter, buffer and input, "p_w: PARAMETER
//   target='w'", p_w being its name in the traced program and w that in the module's state_dict, whether or not the file
//   still has an initializer of that name;
//   of an initializer's value_info, ...InputSpec.kind when it still is what the module has, ...folded_from when the
//   optimizer computed it of others;
//   of a node, ...fx_node: the operation of the traced program that it is of, its operands written %name.
#ifndef DP_FRONTENDS_ONNX_ONNX_SIGNATURE_H
#define DP_FRONTENDS_ONNX_ONNX_SIGNATURE_H

#include "frontends/onnx/onnx_reader.h"

// A parameter or buffer of the module.
typedef struct {
  const char *fx;            // in the traced program; NULL: not known
  const char *target;        // in state_dict
  bool parameter;            // else a buffer
  bool variable;             // state_dict has it
  bool mentioned;            // some node is of an operation that takes it
  bool lost;                 // what it is in the file could not be told
  int stamp;                 // of onnx_undo.c
  dp_onnx_binding *binding;  // what it is in the file; NULL: not found (yet)
} dp_onnx_entry;

typedef struct {
  int count;
  dp_onnx_entry *entries;
  dp_names *by_fx, *by_target;  // indices of entries
  dp_names *defined;            // names of the traced program's values that the file still has
  const char *outputs;          // the signature's lines of outputs; ""
  dp_names *infos;              // indices of the graph's value_info
} dp_onnx_signature;

// NULL: the file says nothing. Takes time linear in the file's metadata.
dp_onnx_signature *dp_onnx_signature_read(dp_onnx_reader *reader, const dp_onnx_scope *scope);

// The value of metadata whose key ends with `key`; NULL: there is none.
const char *dp_onnx_signature_find(size_t count, Dp__Onnx__StringStringEntry *const *entries, const char *key);
const char *dp_onnx_signature_of_node(const Dp__Onnx__Node *node);  // its fx_node; NULL
const char *dp_onnx_signature_of_value(const dp_onnx_reader *reader, const dp_onnx_signature *signature,
                                       const char *name, const char *key);
// The operator of the traced program, "linear" of torch.ops.aten.linear.default; of `arena`, "" when it is none.
const char *dp_onnx_signature_op(dp_arena *arena, const char *fx_node);
// The operands %name of an operation one after the other: *at starts NULL and is moved on; NULL at the end.
const char *dp_onnx_signature_next(dp_arena *arena, const char *fx_node, const char **at);
// The names in a list as Python prints it, ['a', 'b'], one after the other: *at starts at the list; NULL at the end.
const char *dp_onnx_signature_item(dp_arena *arena, const char **at);
dp_onnx_entry *dp_onnx_signature_entry(const dp_onnx_signature *signature, const dp_names *names, const char *name);

// ---- onnx_undo.c, onnx_mode.c, onnx_guess.c -------------------------------------------------------------------------

// Reasons why the model is not to be trained as if it were the network, gathered in one sentence.
typedef struct {
  dp_arena *arena;
  const char *text;  // NULL: none
} dp_onnx_reasons;

void dp_onnx_reasons_add(dp_onnx_reasons *reasons, const char *format, ...) DP_PRINTF(2, 3);

// Names in a message, "a, b and 3 more".
typedef struct {
  int count;
  const char *text;  // the first few; NULL: none
} dp_onnx_list;

void dp_onnx_list_add(dp_arena *arena, dp_onnx_list *list, const char *name);
const char *dp_onnx_list_print(dp_arena *arena, const dp_onnx_list *list);

// Roles of initializers by the signature; gives nodes back the operands that were merged or folded.
dp_status dp_onnx_undo(dp_onnx_reader *reader, dp_onnx_scope *scope, dp_onnx_signature *signature,
                       dp_onnx_reasons *reasons) DP_MUST_USE;
// BatchNormalization is of the mode that the traced program had it in; it and Dropout as inference has them are a reason.
// signature: NULL where there is none.
dp_status dp_onnx_mode(dp_onnx_reader *reader, const dp_onnx_signature *signature,
                       dp_onnx_reasons *reasons) DP_MUST_USE;
// Roles where the file says nothing, and notes about those that may be wrong.
dp_status dp_onnx_guess(dp_onnx_reader *reader, dp_onnx_scope *scope) DP_MUST_USE;
// Whether the file comes from PyTorch.
bool dp_onnx_is_from_torch(const dp_onnx_reader *reader);

#endif
