// The fields of messages as loops see them: numbers, which may change, messages, and all else. Private to the files of
// loops.
#ifndef DP_IR_PLAN_LOOPS_FIELDS_H
#define DP_IR_PLAN_LOOPS_FIELDS_H

#include "ir/file/wire.h"

// The elements of one field.
typedef struct {
  const ProtobufCFieldDescriptor *is;
  size_t count, bytes;  // bytes of one
  char *at;
} dp_loops_field;

static inline bool dp_loops_is_message(const dp_loops_field *f) { return f->is->type == PROTOBUF_C_TYPE_MESSAGE; }

static inline bool dp_loops_is_number(const dp_loops_field *f) {
  const ProtobufCType type = f->is->type;
  return type == PROTOBUF_C_TYPE_INT32 || type == PROTOBUF_C_TYPE_INT64 || type == PROTOBUF_C_TYPE_UINT32 ||
         type == PROTOBUF_C_TYPE_UINT64;
}

static inline bool dp_loops_is_text(const dp_loops_field *f) {
  return f->is->type == PROTOBUF_C_TYPE_STRING || f->is->type == PROTOBUF_C_TYPE_BYTES;
}

// A message that is absent is a field without elements.
static inline dp_loops_field dp_loops_field_of(const ProtobufCMessage *message, unsigned i) {
  const ProtobufCFieldDescriptor *is = &message->descriptor->fields[i];
  dp_loops_field f = {is, 1, dp_wire_element_bytes(is->type), (char *)(uintptr_t)message + is->offset};
  if (is->label == PROTOBUF_C_LABEL_REPEATED) {
    f.count = *(const size_t *)((const char *)message + is->quantifier_offset);
    f.at = *(char **)f.at;
  } else if (is->type == PROTOBUF_C_TYPE_MESSAGE) {
    f.count = *(void **)f.at != NULL;
  }
  return f;
}

static inline ProtobufCMessage *dp_loops_message(const dp_loops_field *f, size_t i) {
  return ((ProtobufCMessage **)f->at)[i];
}

#endif
