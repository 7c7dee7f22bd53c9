// safetensors: tensors by name in one file: u64 header length, JSON header, data. Format of huggingface/safetensors.
//
// Reading maps the file; nothing of it is believed before it was checked: header length, JSON, duplicate names, element
// types, shapes (products may not overflow), and offsets that must cover the data exactly, without gap or overlap.
#ifndef DP_IR_FILE_SAFETENSORS_H
#define DP_IR_FILE_SAFETENSORS_H

#include "ir/base/file.h"
#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name;
  dp_tensor tensor;  // data: in the mapped file (reading), the caller's (writing)
} dp_safetensor;

typedef struct {
  dp_file_map map;
  size_t count;
  dp_safetensor *tensors;  // sorted by name
} dp_safetensors;

// Names and table live in `arena`, the data until dp_safetensors_close.
dp_status dp_safetensors_open(dp_arena *arena, const char *path, dp_safetensors *file) DP_MUST_USE;
const dp_tensor *dp_safetensors_find(const dp_safetensors *file, const char *name);  // NULL when absent
void dp_safetensors_close(dp_safetensors *file);

// Replaces `path` whole. Names must differ.
dp_status dp_safetensors_write(const char *path, const dp_safetensor *tensors, size_t count) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
