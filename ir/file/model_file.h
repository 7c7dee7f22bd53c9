// Models as files: the text form (.dpt) or a bare dp.Model (model.pb), distinguished by content. docs/model.md
// describes both.
#ifndef DP_IR_FILE_MODEL_FILE_H
#define DP_IR_FILE_MODEL_FILE_H

#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

// Reads regular files only. EX_NOINPUT: missing; EX_DATAERR: not a model, or not a valid one. Large tensors are read
// from PATH.safetensors.
dp_status dp_model_file_read(dp_arena *arena, const char *path, dp_model **model) DP_MUST_USE;
// Reads a model, of any form, that holds the data omitted from a text; it passes depth to dp_model_file_read_from.
typedef dp_status dp_model_source_reader(dp_arena *arena, const char *path, int depth, dp_model **model);
// The same for a text that omits data: the data is looked up by its XXH3 in the model beside the text that the text
// names. That model may itself be such a text, up to `depth` levels. EX_NOINPUT: the model is missing; EX_DATAERR: it
// has no such data, or the name leaves the text's directory.
dp_status dp_model_file_read_from(dp_arena *arena, const char *path, dp_model_source_reader *read_source, int depth,
                                  dp_model **model) DP_MUST_USE;
// Writes text to a path that ends with .dpt, and to any other path a protobuf with tensors above 1 MiB in
// PATH.safetensors. An existing file is replaced whole or not at all; PATH.safetensors is written first. EX_CANTCREAT,
// EX_IOERR.
dp_status dp_model_file_write(const dp_model *model, const char *path) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
