// Large tensors of a model or plan, kept in a safetensors file beside it: FILE.safetensors beside FILE.
//
// A message is searched for dp.Tensor wherever it holds them. Names inside files choose a tensor of that one file and
// never a path.
#ifndef DP_IR_FILE_EXTERNAL_H
#define DP_IR_FILE_EXTERNAL_H

#include "ir/file/model.pb-c.h"
#include "ir/file/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_EXTERNAL_MIN_BYTES = 1 << 20 };  // tensors above this go out

// What was taken out of a message, to be written and to be put back.
typedef struct {
  size_t count;
  dp_safetensor *tensors;
  Dp__Tensor **messages;
} dp_external;

// Takes the data of every tensor above DP_EXTERNAL_MIN_BYTES out of the message, leaving its name and XXH3. The name is
// that of what holds the tensor, made unique.
dp_status dp_external_detach(dp_arena *arena, ProtobufCMessage *message, dp_external *external) DP_MUST_USE;
// Writes FILE.safetensors; nothing when nothing was taken out.
dp_status dp_external_write(const dp_external *external, const char *path) DP_MUST_USE;
// Makes the message whole again.
void dp_external_attach(const dp_external *external);

// Fetches into the arena what the message keeps in FILE.safetensors, checked by type, shape and XXH3. Opens no file
// when the message is whole. EX_NOINPUT: the file is missing; EX_DATAERR: it holds something else.
dp_status dp_external_read(dp_arena *arena, ProtobufCMessage *message, const char *path) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
