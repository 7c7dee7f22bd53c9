// Models as files: the text form (.dpt) or a bare dp.Model (model.pb), told apart by content. docs/model.md describes
// both.
#ifndef DP_IR_FILE_MODEL_FILE_H
#define DP_IR_FILE_MODEL_FILE_H

#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

// Regular files only. EX_NOINPUT: missing; EX_DATAERR: no model, or not a legal one. Large tensors are fetched from
// PATH.safetensors.
dp_status dp_model_file_read(dp_arena *arena, const char *path, dp_model **model) DP_MUST_USE;
// Reads a model that a text leaves its data in, of any form; depth goes to dp_model_file_read_from.
typedef dp_status dp_model_source_reader(dp_arena *arena, const char *path, int depth, dp_model **model);
// The same of a text that leaves data out: it is taken from the model that the text names, beside it, by its XXH3. That
// may be such a text in turn, `depth` times. EX_NOINPUT: the model is missing; EX_DATAERR: it has no such data, or the
// name leaves the text's folder.
dp_status dp_model_file_read_from(dp_arena *arena, const char *path, dp_model_source_reader *read_source, int depth,
                                  dp_model **model) DP_MUST_USE;
// A path that ends with .dpt gets text, any other protobuf with tensors above 1 MiB in PATH.safetensors. A file that is
// there is replaced whole, or not at all; of the two, PATH.safetensors comes first. EX_CANTCREAT, EX_IOERR.
dp_status dp_model_file_write(const dp_model *model, const char *path) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
