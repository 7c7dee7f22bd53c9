// ONNX models as ours, and ours as ONNX.
//
// Operators, attributes and names stay as they are; saved weights carry the initializers' names. What is computed of
// shapes becomes extents, symbolic where the batch is; what is constant becomes constant. Float initializers are
// parameters, the running statistics of a normalization are buffers. docs/onnx.md tells all of it.
#ifndef DP_FRONTENDS_ONNX_ONNX_H
#define DP_FRONTENDS_ONNX_ONNX_H

#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether a path is to be read as ONNX, which its content does not tell: it ends with ".onnx".
bool dp_onnx_is_path(const char *path);
// Reads a model of opset 6 to 28 with one graph, "main". Nothing in the file is believed, and files that it names are read
// beneath its own folder only. EX_NOINPUT: missing; EX_DATAERR: no legal model; EX_UNAVAILABLE: legal, with something in it
// that is not supported; the message names it.
dp_status dp_onnx_import(dp_arena *arena, const char *path, dp_model **model) DP_MUST_USE;
// An open dim of inputs, by its name in the file, and what it is.
typedef struct {
  const char *name;
  int64_t extent;  // at least 1
} dp_onnx_dim;
// What its user says of a file. train: globs of float initializers that are parameters whatever the file says. dims:
// EX_USAGE when no input has such a dim.
typedef struct {
  int n_train;
  const char *const *train;
  int n_dims;
  const dp_onnx_dim *dims;
} dp_onnx_options;
dp_status dp_onnx_import_with(dp_arena *arena, const char *path, const dp_onnx_options *options,
                              dp_model **model) DP_MUST_USE;
// The same from memory. path: the file that the bytes could be, for messages and for what they name beside it.
dp_status dp_onnx_import_bytes(dp_arena *arena, const char *path, const void *data, size_t bytes,
                               dp_model **model) DP_MUST_USE;
// Whether something is made of operators of that name, for some types and attributes.
bool dp_onnx_knows(const char *domain, const char *op, int64_t opset);
// Which of the graph's inputs must be known before the model can be compiled, because an operand that our operator takes
// as an attribute is computed of them (Reshape's shape), what is only ever evaluated beforehand (Range), or what decides
// about an If or a Loop. Models whose inputs they are become importable by putting a Constant in each one's place. needed:
// of as many flags as the graph has inputs, in their order. EX_UNAVAILABLE: there is an operator that is not supported.
dp_status dp_onnx_needs(dp_arena *arena, const char *path, const void *data, size_t bytes, size_t *n_inputs,
                        bool **needed) DP_MUST_USE;

// Writes a graph of the model as an ONNX file: operators of domain dp in a domain of their own, attributes as operands where
// ONNX has them so, first values that follow a rule as `dprun --seed=0` makes them, SPECs and the like as metadata. Reading
// it again gives the same graph. A device form is written with its communication, its updates as outputs.
// mesh: for which placements are annotated; no axes: none. external_data: tensors above 1 MiB go into PATH.data, as they do
// by themselves above 1 GiB. A file that is there is replaced whole, or not at all. EX_UNAVAILABLE: something in it that
// ONNX cannot say; EX_CANTCREAT, EX_IOERR.
dp_status dp_onnx_export(dp_arena *arena, const dp_model *model, const dp_graph *graph, const dp_mesh *mesh,
                         bool external_data, const char *path) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
