// safetensors: tensors by name in one file: u64 header length, JSON header, data. Format of huggingface/safetensors.
//
// Reading takes the header first, then each tensor's data when it is asked for; nothing of the file is believed before
// it was checked: header length, JSON, duplicate names, element types, shapes (products may not overflow), and offsets
// that must cover the data exactly, without gap or overlap.
#ifndef DP_IR_FILE_SAFETENSORS_H
#define DP_IR_FILE_SAFETENSORS_H

#include "ir/base/file.h"
#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name;
  dp_tensor tensor;  // data: the caller's (writing); NULL (reading)
  uint64_t offset;   // of the data in the file (reading)
} dp_safetensor;

typedef struct {
  dp_file_reader reader;
  size_t count;
  dp_safetensor *tensors;  // sorted by name
} dp_safetensors;

// Names and table live in `arena`.
dp_status dp_safetensors_open(dp_arena *arena, const char *path, dp_safetensors *file) DP_MUST_USE;
const dp_safetensor *dp_safetensors_find(const dp_safetensors *file, const char *name);  // NULL when absent
// The tensor's bytes into `data`. EX_IOERR: the file has become shorter since it was opened.
dp_status dp_safetensors_read(const dp_safetensors *file, const dp_safetensor *tensor, void *data) DP_MUST_USE;
void dp_safetensors_close(dp_safetensors *file);

// The name that the format keeps for what is no tensor.
#define DP_SAFETENSORS_METADATA "__metadata__"
// Replaces `path` whole. EX_DATAERR: two tensors of one name, or one of the format's own.
dp_status dp_safetensors_write(const char *path, const dp_safetensor *tensors, size_t count) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
