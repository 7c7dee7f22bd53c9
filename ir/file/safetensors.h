// safetensors: tensors by name in one file: u64 header length, JSON header, data. Format of huggingface/safetensors.
//
// Reading takes the header first, and each tensor's data on demand. Nothing in the file is trusted before it was
// checked: header length, JSON, duplicate names, element types, shapes (products may not overflow), and offsets, which
// must cover the data exactly, without gap or overlap.
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

// Names and table live in `arena`. EX_NOINPUT: missing; EX_DATAERR: not a valid file.
dp_status dp_safetensors_open(dp_arena *arena, const char *path, dp_safetensors *file) DP_MUST_USE;
const dp_safetensor *dp_safetensors_find(const dp_safetensors *file, const char *name);  // NULL when absent
// Copies the tensor's bytes to `data`. EX_IOERR: the file was truncated since it was opened.
dp_status dp_safetensors_read(const dp_safetensors *file, const dp_safetensor *tensor, void *data) DP_MUST_USE;
void dp_safetensors_close(dp_safetensors *file);

// The name that the format reserves for metadata.
#define DP_SAFETENSORS_METADATA "__metadata__"
// Replaces `path` whole. EX_DATAERR: two tensors of one name, or the reserved name.
dp_status dp_safetensors_write(const char *path, const dp_safetensor *tensors, size_t count) DP_MUST_USE;
// Gets the data of tensor `index`, which must stay until the next call; called once for each, in order.
typedef dp_status dp_safetensors_source(void *context, size_t index, const void **data);
// The same with data that is there only when its turn comes; it bypasses the page cache (dp_file_writer_bypass_cache).
dp_status dp_safetensors_write_from(const char *path, const dp_safetensor *tensors, size_t count,
                                    dp_safetensors_source *source, void *context) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
