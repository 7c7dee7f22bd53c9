// Unpacks protobuf from untrusted sources.
//
// protobuf-c's own unpacking has no limit on nesting, uses memory out of proportion to its input and accepts strings
// that are not text. So one walk over the wire comes first. It checks nesting (at most 64 deep), every length against
// what holds it, varints (shortest form, in their type's range), wire types of known fields, enum values, singular
// fields (at most once), strings (UTF-8 without NUL), and that the result's memory is in proportion to the input. Only
// then are the messages built, in one arena, from the same descriptors.
#ifndef DP_IR_FILE_WIRE_H
#define DP_IR_FILE_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_WIRE_MAX_DEPTH = 64 };

// The most memory that unpacking a message of so many bytes may use.
static inline uint64_t dp_wire_memory(size_t bytes) { return (UINT64_C(16) << 20) + 48 * (uint64_t)bytes; }

// The memory of one element of a field, in bytes: a pointer for a message or a string.
size_t dp_wire_element_bytes(ProtobufCType type);

// what: the file's name, for messages. *message lives in the arena, including bytes fields; data may be freed
// afterwards. Do not pass it to protobuf_c_message_free_unpacked. EX_DATAERR.
dp_status dp_wire_unpack(dp_arena *arena, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                         size_t bytes, const char *what, ProtobufCMessage **message) DP_MUST_USE;
// The same, but short messages and strings of equal bytes may be one and the same, so they are not to be changed.
dp_status dp_wire_unpack_shared(dp_arena *arena, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                                size_t bytes, const char *what, ProtobufCMessage **message) DP_MUST_USE;
// dp_wire_unpack for formats that others define and extend: unknown fields are skipped; only their lengths are checked.
// Everything else is refused as above.
dp_status dp_wire_unpack_known(dp_arena *arena, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                               size_t bytes, const char *what, ProtobufCMessage **message) DP_MUST_USE;
// Packs into the arena: the bytes that protobuf-c would give. Fields of a oneof and unknown fields are not supported.
// EX_DATAERR: more than 2 GiB.
dp_status dp_wire_pack(dp_arena *arena, const ProtobufCMessage *message, const char *what, uint8_t **data,
                       size_t *bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
