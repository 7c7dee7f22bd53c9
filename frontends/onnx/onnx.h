// Reads ONNX models as ours, and writes ours as ONNX.
//
// Operators, attributes and names are kept, and saved weights have the initializers' names. Computed shapes become
// extents, symbolic if they depend on the batch; other values that are constant become constants. Float initializers
// become parameters, the running statistics of a normalization become buffers. docs/onnx.md has the details.
#ifndef DP_FRONTENDS_ONNX_ONNX_H
#define DP_FRONTENDS_ONNX_ONNX_H

#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether to read a path as ONNX. Content cannot tell, so the name must end with ".onnx".
bool dp_onnx_is_path(const char *path);
// Reads a model of opset 6 to 28; its one graph becomes "main". The file is not trusted, and files that it names are
// read only below its own folder. EX_NOINPUT: missing; EX_DATAERR: not a legal model; EX_UNAVAILABLE: legal, but
// something in it, which the message names, is not supported.
dp_status dp_onnx_import(dp_arena *arena, const char *path, dp_model **model) DP_MUST_USE;
// An open dim of the inputs, by its name in the file, and its size.
typedef struct {
  const char *name;
  int64_t extent;  // at least 1
} dp_onnx_dim;
// What the user says about a file. train: globs of float initializers that are parameters whatever the file says.
// freeze: globs of parameters about which no note is needed. dims: EX_USAGE if no input has such a dim.
typedef struct {
  int n_train;
  const char *const *train;
  int n_freeze;
  const char *const *freeze;
  int n_dims;
  const dp_onnx_dim *dims;
} dp_onnx_options;
dp_status dp_onnx_import_with(dp_arena *arena, const char *path, const dp_onnx_options *options,
                              dp_model **model) DP_MUST_USE;
// The same from memory. path: a possible path of the file, for messages and to find the files that it names.
dp_status dp_onnx_import_bytes(dp_arena *arena, const char *path, const void *data, size_t bytes,
                               dp_model **model) DP_MUST_USE;
// Whether operators of this name are supported, for some types and attributes.
bool dp_onnx_knows(const char *domain, const char *op, int64_t opset);
// Finds the inputs that must be known before the model can be compiled: those from which an operand that becomes an
// attribute is computed (Reshape's shape), an operator that is only ever evaluated at compile time (Range), or the
// course of an If or a Loop. A model that has such inputs can be imported once a Constant replaces each. needed: a flag
// for each input of the graph, in order. EX_UNAVAILABLE: an operator is not supported.
dp_status dp_onnx_needs(dp_arena *arena, const char *path, const void *data, size_t bytes, size_t *n_inputs,
                        bool **needed) DP_MUST_USE;

// Writes a graph of the model as an ONNX file. Operators of domain dp keep their domain, attributes become operands
// where ONNX has them so, initial values that follow a rule are drawn as `dprun --seed=0` does, and SPECs and the like
// become metadata. Reading the file gives the same graph. A device form is written with its communication, and with its
// updates as outputs. mesh: annotates placements on it; no axes: none. external_data: puts tensors above 1 MiB into
// PATH.data, which happens anyway if the model has more than 1 GiB. An existing file is replaced whole, or not at all.
// EX_UNAVAILABLE: ONNX cannot express something; EX_CANTCREAT, EX_IOERR.
dp_status dp_onnx_export(dp_arena *arena, const dp_model *model, const dp_graph *graph, const dp_mesh *mesh,
                         bool external_data, const char *path) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
