// Packs messages by protobuf-c's descriptors, to the bytes that protobuf-c gives, but back to front: every length is
// known when it is written, so nothing is measured first.
#include <string.h>

#include "ir/file/wire.h"

typedef struct {
  dp_arena *arena, *room;  // room: within the arena, has the buffer alone; NULL: there is none
  uint8_t *buffer;
  size_t size, used;  // what is written lies at the end
} packer;

enum { FIRST_BYTES = 64 << 10 };

static void make_room(packer *p, size_t bytes) {
  if (bytes <= p->size - p->used) return;
  const size_t size = 2 * (p->size + bytes) + FIRST_BYTES;
  dp_arena *room = dp_arena_create_within(p->arena);
  uint8_t *larger = dp_alloc(room, size);
  if (p->used) memcpy(larger + size - p->used, p->buffer + p->size - p->used, p->used);
  dp_arena_destroy(p->room);
  p->room = room;
  p->buffer = larger;
  p->size = size;
}

static void put(packer *p, const void *data, size_t bytes) {
  make_room(p, bytes);
  p->used += bytes;
  if (bytes) memcpy(p->buffer + p->size - p->used, data, bytes);
}

static void put_varint(packer *p, uint64_t number) {
  uint8_t text[10];
  size_t n = 0;
  for (; number > 0x7F; number >>= 7) text[n++] = (uint8_t)(number | 0x80);
  text[n++] = (uint8_t)number;
  put(p, text, n);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// wire: the wire type. bytes: in memory.
static const struct {
  uint8_t wire, bytes;
  bool is_signed, zigzag;
} kinds[] = {
    [PROTOBUF_C_TYPE_INT32] = {0, 4, true, false},
    [PROTOBUF_C_TYPE_SINT32] = {0, 4, true, true},
    [PROTOBUF_C_TYPE_SFIXED32] = {5, 4, true, false},
    [PROTOBUF_C_TYPE_INT64] = {0, 8, true, false},
    [PROTOBUF_C_TYPE_SINT64] = {0, 8, true, true},
    [PROTOBUF_C_TYPE_SFIXED64] = {1, 8, true, false},
    [PROTOBUF_C_TYPE_UINT32] = {0, 4, false, false},
    [PROTOBUF_C_TYPE_FIXED32] = {5, 4, false, false},
    [PROTOBUF_C_TYPE_UINT64] = {0, 8, false, false},
    [PROTOBUF_C_TYPE_FIXED64] = {1, 8, false, false},
    [PROTOBUF_C_TYPE_FLOAT] = {5, 4, false, false},
    [PROTOBUF_C_TYPE_DOUBLE] = {1, 8, false, false},
    [PROTOBUF_C_TYPE_BOOL] = {0, 4, false, false},
    [PROTOBUF_C_TYPE_ENUM] = {0, 4, true, false},
    [PROTOBUF_C_TYPE_STRING] = {2, sizeof(char *), false, false},
    [PROTOBUF_C_TYPE_BYTES] = {2, sizeof(ProtobufCBinaryData), false, false},
    [PROTOBUF_C_TYPE_MESSAGE] = {2, sizeof(ProtobufCMessage *), false, false},
};

static uint64_t number_at(ProtobufCType type, const void *at) {
  uint64_t number = 0;
  memcpy(&number, at, kinds[type].bytes);
  if (kinds[type].is_signed && kinds[type].bytes == 4) number = (uint64_t)(int64_t)(int32_t)number;
  if (!kinds[type].zigzag) return number;
  return number << 1 ^ (uint64_t)((int64_t)number >> 63);
}

// ---- fields ---------------------------------------------------------------------------------------------------------

static void put_message(packer *p, const ProtobufCMessage *message);

// One element, without its tag.
static void put_element(packer *p, ProtobufCType type, const void *at) {
  const size_t before = p->used;
  if (type == PROTOBUF_C_TYPE_MESSAGE) {
    put_message(p, *(ProtobufCMessage *const *)at);
  } else if (type == PROTOBUF_C_TYPE_STRING) {
    const char *text = *(const char *const *)at;
    if (text) put(p, text, strlen(text));
  } else if (type == PROTOBUF_C_TYPE_BYTES) {
    const ProtobufCBinaryData *data = at;
    put(p, data->data, data->len);
  } else if (kinds[type].wire) {
    put(p, at, kinds[type].bytes);  // little-endian
    return;
  } else {
    put_varint(p, number_at(type, at));
    return;
  }
  put_varint(p, p->used - before);
}

static void put_tag(packer *p, const ProtobufCFieldDescriptor *field, unsigned wire) {
  put_varint(p, (uint64_t)field->id << 3 | wire);
}

static void put_repeated(packer *p, const ProtobufCFieldDescriptor *field, size_t count, const char *array) {
  const bool packed = field->flags & PROTOBUF_C_FIELD_FLAG_PACKED;
  const size_t before = p->used;
  for (size_t i = count; i-- > 0;) {
    put_element(p, field->type, array + i * kinds[field->type].bytes);
    if (!packed) put_tag(p, field, kinds[field->type].wire);
  }
  if (!packed || !count) return;
  put_varint(p, p->used - before);
  put_tag(p, field, 2);
}

// What proto3 leaves out. -0.0 counts as zero for protobuf-c.
static bool is_zero(ProtobufCType type, const void *at) {
  switch (type) {
    case PROTOBUF_C_TYPE_STRING:
      return !*(const char *const *)at || !**(const char *const *)at;
    case PROTOBUF_C_TYPE_BYTES:
      return !((const ProtobufCBinaryData *)at)->len;
    case PROTOBUF_C_TYPE_MESSAGE:
      return !*(ProtobufCMessage *const *)at;
    case PROTOBUF_C_TYPE_FLOAT:
      return *(const float *)at == 0;
    case PROTOBUF_C_TYPE_DOUBLE:
      return *(const double *)at == 0;
    default:
      return !number_at(type, at);
  }
}

static bool is_absent(const ProtobufCFieldDescriptor *field, const char *message) {
  const void *at = message + field->offset;
  if (field->label == PROTOBUF_C_LABEL_NONE) return is_zero(field->type, at);
  if (field->label != PROTOBUF_C_LABEL_OPTIONAL) return false;
  if (field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING)
    return !*(const void *const *)at || *(const void *const *)at == field->default_value;
  return !*(const protobuf_c_boolean *)(message + field->quantifier_offset);
}

static void put_message(packer *p, const ProtobufCMessage *message) {
  const char *base = (const char *)message;
  for (unsigned f = message ? message->descriptor->n_fields : 0; f-- > 0;) {
    const ProtobufCFieldDescriptor *field = &message->descriptor->fields[f];
    const char *at = base + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
      put_repeated(p, field, *(const size_t *)(base + field->quantifier_offset), *(char *const *)at);
    } else if (!is_absent(field, base)) {
      put_element(p, field->type, at);
      put_tag(p, field, kinds[field->type].wire);
    }
  }
}

dp_status dp_wire_pack(dp_arena *arena, const ProtobufCMessage *message, const char *what, uint8_t **data,
                       size_t *bytes) {
  packer p = {.arena = arena};
  put_message(&p, message);
  if (p.used > INT32_MAX) return dp_fail(EX_DATAERR, "%s: %zu bytes: a protobuf is limited to 2 GiB", what, p.used);
  make_room(&p, 1);
  *data = p.buffer + p.size - p.used;
  *bytes = p.used;
  return DP_OK;
}
