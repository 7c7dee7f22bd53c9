// Large tensors of a model or plan, kept in a safetensors file beside it: FILE.safetensors beside FILE.
//
// Every dp.Tensor is found, wherever the message holds it. Names inside files select a tensor of that one file, never a
// path.
#ifndef DP_IR_FILE_EXTERNAL_H
#define DP_IR_FILE_EXTERNAL_H

#include "ir/file/model.pb-c.h"
#include "ir/file/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_EXTERNAL_MIN_BYTES = 1 << 20 };  // larger tensors are stored externally

// What was detached from a message: to be written, and to be attached again.
typedef struct {
  size_t count;
  dp_safetensor *tensors;
  Dp__Tensor **messages;
} dp_external;

// Detaches the data of every tensor above DP_EXTERNAL_MIN_BYTES from the message, leaving its name and XXH3. The name
// is that of the tensor's holder, made unique.
dp_status dp_external_detach(dp_arena *arena, ProtobufCMessage *message, dp_external *external) DP_MUST_USE;
// Writes FILE.safetensors, or nothing when nothing was detached.
dp_status dp_external_write(const dp_external *external, const char *path) DP_MUST_USE;
// Restores the message.
void dp_external_attach(const dp_external *external);

// Loads the message's external data from FILE.safetensors into the arena, checked by type, shape and XXH3. Opens no
// file when the message has none. EX_NOINPUT: the file is missing; EX_DATAERR: its content differs.
dp_status dp_external_read(dp_arena *arena, ProtobufCMessage *message, const char *path) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
