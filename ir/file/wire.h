// Protobuf from outside, unpacked without trust.
//
// protobuf-c's own unpacking has no limit on nesting, takes memory out of proportion to its input and accepts text that
// is no text. Here one walk over the wire comes first: nesting at most 64 deep, every length inside what holds it,
// varints in their shortest form and inside their type's range, known fields of the right wire type, known enum values,
// singular fields at most once, strings UTF-8 without NUL, and the memory that the result takes in proportion to the
// input. Only then are the messages built, in one arena, by the same descriptors; protobuf-c packs them again as ever.
#ifndef DP_IR_FILE_WIRE_H
#define DP_IR_FILE_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_WIRE_MAX_DEPTH = 64 };

// The most memory that a message of so many bytes may take.
static inline uint64_t dp_wire_memory(size_t bytes) { return (UINT64_C(16) << 20) + 48 * (uint64_t)bytes; }

// what: the file, for messages. *message lives in the arena, bytes fields too; data may go afterwards. It must not be
// given to protobuf_c_message_free_unpacked. EX_DATAERR.
dp_status dp_wire_unpack(dp_arena *arena, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                         size_t bytes, const char *what, ProtobufCMessage **message) DP_MUST_USE;
// The same for forms that others define and extend: fields that the descriptor does not know are passed over, unread
// but for their lengths. Everything else is refused as above.
dp_status dp_wire_unpack_known(dp_arena *arena, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                               size_t bytes, const char *what, ProtobufCMessage **message) DP_MUST_USE;
// Packs into the arena.
dp_status dp_wire_pack(dp_arena *arena, const ProtobufCMessage *message, const char *what, uint8_t **data,
                       size_t *bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
