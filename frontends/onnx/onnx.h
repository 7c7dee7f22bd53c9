// ONNX models as ours.
//
// Operators, attributes and names stay as they are; saved weights carry the initializers' names. What is computed of
// shapes becomes extents, symbolic where the batch is; what is constant becomes constant. Float initializers are
// parameters, the running statistics of a normalization are buffers. docs/onnx.md tells all of it.
#ifndef DP_FRONTENDS_ONNX_ONNX_H
#define DP_FRONTENDS_ONNX_ONNX_H

#include "ir/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether a path is to be read as ONNX, which its content does not tell: it ends with ".onnx".
bool dp_onnx_is_path(const char *path);
// Reads a model of opset 7 to 28 with one graph, "main". Nothing in the file is believed, and files that it names are read
// beneath its own folder only. EX_NOINPUT: missing; EX_DATAERR: no legal model; EX_UNAVAILABLE: legal, with something in it
// that is not supported; the message names it.
dp_status dp_onnx_import(dp_arena *arena, const char *path, dp_model **model) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
