// Shared by ir/file/proto*.c.
#ifndef DP_IR_FILE_PROTO_PRIVATE_H
#define DP_IR_FILE_PROTO_PRIVATE_H

#include "ir/file/proto.h"

// A zeroed message of a type, initialised: DP_PROTO_NEW(arena, Dp__Node, dp__node).
#define DP_PROTO_NEW(arena, Type, prefix) ((Type *)dp_proto_new((arena), &prefix##__descriptor))

static inline void *dp_proto_new(dp_arena *arena, const ProtobufCMessageDescriptor *descriptor) {
  void *message = dp_alloc(arena, descriptor->sizeof_message);
  protobuf_c_message_init(descriptor, message);
  return message;
}

dp_arena *dp_proto_shared_arena(const dp_proto_shared *shared);

Dp__Attribute *dp_proto_from_attr(dp_arena *arena, const dp_attr *attr);

// Sharding constraints on a value of that shape.
Dp__Constraint **dp_proto_from_constraints(dp_arena *arena, int count, const dp_constraint *constraints);
dp_status dp_proto_to_constraints(dp_arena *arena, size_t count, Dp__Constraint *const *messages, const dp_shape *shape,
                                  int *n_constraints, dp_constraint **constraints) DP_MUST_USE;

#endif
