// Checking and building protobuf messages by protobuf-c's descriptors. See wire.h.
#include "ir/file/wire.h"

#include <string.h>

#include "ir/base/utf8.h"

enum { MAX_FIELDS = 64 };  // per message type

// What was built last from bytes of each hash.
enum { BUILT = 1024, BUILT_BYTES = 40 };
typedef struct {
  const ProtobufCMessageDescriptor *type;  // NULL: a string
  const uint8_t *bytes;
  size_t length;
  void *result;
} built;

typedef struct {
  dp_arena *arena;
  const char *what;
  built *built;         // (BUILT) NULL: nothing is shared
  const uint8_t *data;  // the whole input; messages give positions in it
  uint64_t memory, memory_limit;
  bool tolerant;  // fields that the descriptor does not know are skipped
} walker;

// One field on the wire.
typedef struct {
  const ProtobufCFieldDescriptor *field;  // NULL: unknown, and tolerated
  int wire;                               // 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes
  uint64_t number;                        // for wire type 0
  const uint8_t *bytes;                   // for the others
  size_t length;
} item;

static dp_status bad(const walker *w, const uint8_t *at, const ProtobufCMessageDescriptor *type, const char *why) {
  return dp_fail(EX_DATAERR, "%s: byte %zu of the %s: %s", w->what, (size_t)(at - w->data), type->short_name, why);
}

// ---- the wire -------------------------------------------------------------------------------------------------------

// Returns NULL on success, else what is wrong.
static const char *read_varint(const uint8_t **at, const uint8_t *end, uint64_t *number) {
  if (*at < end && **at < 0x80) {  // most are this short
    *number = *(*at)++;
    return NULL;
  }
  uint64_t n = 0;
  for (int i = 0; i < 10; i++) {
    if (*at == end) return "a number is truncated";
    uint8_t byte = *(*at)++;
    if (i == 9 && byte > 1) return "a number is longer than 64 bits";
    n |= (uint64_t)(byte & 0x7F) << (7 * i);
    if (byte & 0x80) continue;
    if (i && !byte) return "a number is longer than necessary";
    *number = n;
    return NULL;
  }
  return "a number is longer than 64 bits";
}

static const char *read_bytes(const uint8_t **at, const uint8_t *end, uint64_t length, item *it) {
  if (length > (uint64_t)(end - *at)) return "a length extends past the end of its message";
  it->bytes = *at;
  it->length = (size_t)length;
  *at += length;
  return NULL;
}

// Mostly fields are numbered from 1 without gaps.
static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type, unsigned number) {
  if (number - 1 < type->n_fields && type->fields[number - 1].id == number) return &type->fields[number - 1];
  return protobuf_c_message_descriptor_get_field(type, number);
}

static dp_status next_item(const walker *w, const ProtobufCMessageDescriptor *type, const uint8_t **at,
                           const uint8_t *end, item *it) {
  const uint8_t *start = *at;
  uint64_t tag;
  const char *why = read_varint(at, end, &tag);
  if (!why && (tag > UINT32_MAX || !(tag >> 3))) why = "a field number is out of range";
  if (why) return bad(w, start, type, why);
  *it = (item){.wire = (int)(tag & 7)};
  it->field = find_field(type, (unsigned)(tag >> 3));
  if (!it->field && !w->tolerant)
    return dp_fail(EX_DATAERR,
                   "%s: byte %zu of the %s: unknown field %u; it was written by a newer version, or is damaged",
                   w->what, (size_t)(start - w->data), type->short_name, (unsigned)(tag >> 3));
  switch (it->wire) {
    case 0:
      why = read_varint(at, end, &it->number);
      break;
    case 1:
      why = read_bytes(at, end, 8, it);
      break;
    case 2:
      why = read_varint(at, end, &it->number);
      if (!why) why = read_bytes(at, end, it->number, it);
      break;
    case 5:
      why = read_bytes(at, end, 4, it);
      break;
    default:
      why = "a wire type that is not used";
      break;
  }
  return why ? bad(w, start, type, why) : DP_OK;
}

// ---- what a field may hold ------------------------------------------------------------------------------------------

static int wire_of(ProtobufCType type) {
  switch (type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
      return 2;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
      return 5;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
      return 1;
    default:
      return 0;
  }
}

size_t dp_wire_element_bytes(ProtobufCType type) {
  switch (type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
      return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
      return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

static const char *check_number(const ProtobufCFieldDescriptor *field, uint64_t number) {
  int64_t n = (int64_t)number;
  bool fits = true;
  switch (field->type) {
    case PROTOBUF_C_TYPE_BOOL:
      fits = number <= 1;
      break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_SINT32:
      fits = number <= UINT32_MAX;
      break;
    case PROTOBUF_C_TYPE_INT32:
      fits = n >= INT32_MIN && n <= INT32_MAX;
      break;
    case PROTOBUF_C_TYPE_ENUM:
      fits = n >= INT32_MIN && n <= INT32_MAX && protobuf_c_enum_descriptor_get_value(field->descriptor, (int)n);
      break;
    default:
      break;
  }
  return fits ? NULL : "a number is out of its field's range";
}

static bool is_packed(const item *it) {
  return it->field->label == PROTOBUF_C_LABEL_REPEATED && it->wire == 2 && wire_of(it->field->type) != 2;
}

// The number of elements in a packed field. *why is set when the field is malformed.
static size_t packed_count(const item *it, const char **why) {
  size_t count = 0, each = dp_wire_element_bytes(it->field->type);
  if (wire_of(it->field->type)) {
    if (it->length % each) *why = "a list of numbers ends inside a number";
    return it->length / each;
  }
  const uint8_t *at = it->bytes, *end = at + it->length;
  for (uint64_t number; at < end && !*why; count++) {
    *why = read_varint(&at, end, &number);
    if (!*why) *why = check_number(it->field, number);
  }
  return count;
}

// ---- the walk -------------------------------------------------------------------------------------------------------

static uint64_t allocation(uint64_t bytes) { return (bytes + 15) & ~UINT64_C(15); }

static dp_status walk_message(walker *w, const ProtobufCMessageDescriptor *type, const uint8_t *at, const uint8_t *end,
                              int depth);

static dp_status walk_item(walker *w, const ProtobufCMessageDescriptor *type, const item *it, const uint8_t *start,
                           int depth) {
  const char *why = NULL;
  size_t count = 1;
  if (is_packed(it))
    count = packed_count(it, &why);
  else if (it->wire != wire_of(it->field->type))
    why = "a field has the wrong wire type";
  else if (it->wire == 0)
    why = check_number(it->field, it->number);
  else if (it->field->type == PROTOBUF_C_TYPE_STRING && dp_utf8_check(it->bytes, it->length) != it->length)
    why = "a string is not UTF-8, or holds NUL";
  if (why) return dp_status_context(bad(w, start, type, why), "field '%s'", it->field->name);
  if (it->field->label == PROTOBUF_C_LABEL_REPEATED) w->memory += count * dp_wire_element_bytes(it->field->type);
  if (it->field->type == PROTOBUF_C_TYPE_STRING || it->field->type == PROTOBUF_C_TYPE_BYTES)
    w->memory += allocation(it->length + 1);
  if (w->memory > w->memory_limit) return bad(w, start, type, "it would need memory out of proportion to its size");
  if (it->field->type != PROTOBUF_C_TYPE_MESSAGE) return DP_OK;
  return walk_message(w, it->field->descriptor, it->bytes, it->bytes + it->length, depth + 1);
}

static dp_status walk_message(walker *w, const ProtobufCMessageDescriptor *type, const uint8_t *at, const uint8_t *end,
                              int depth) {
  if (type->n_fields > MAX_FIELDS) return dp_fail(EX_SOFTWARE, "%s has %u fields", type->name, type->n_fields);
  if (depth > DP_WIRE_MAX_DEPTH) return bad(w, at, type, "messages are nested more than 64 deep");
  // The arrays of repeated fields are counted element by element; each may round up to the arena's alignment.
  w->memory += allocation(type->sizeof_message);
  uint64_t seen = 0;
  while (at < end) {
    const uint8_t *start = at;
    item it;
    DP_TRY(next_item(w, type, &at, end, &it));
    if (!it.field) continue;
    uint64_t bit = UINT64_C(1) << (it.field - type->fields);
    if (seen & bit && it.field->label != PROTOBUF_C_LABEL_REPEATED)
      return dp_status_context(bad(w, start, type, "it occurs twice"), "field '%s'", it.field->name);
    if (!(seen & bit)) w->memory += 16;
    seen |= bit;
    DP_TRY(walk_item(w, type, &it, start, depth));
  }
  return DP_OK;
}

// ---- building -------------------------------------------------------------------------------------------------------

static dp_status build(const walker *w, const ProtobufCMessageDescriptor *type, const uint8_t *at, const uint8_t *end,
                       ProtobufCMessage **message);

static void set_number(ProtobufCType type, uint64_t number, void *to) {
  if (type == PROTOBUF_C_TYPE_SINT32 || type == PROTOBUF_C_TYPE_SINT64) number = (number >> 1) ^ (~(number & 1) + 1);
  memcpy(to, &number, dp_wire_element_bytes(type));  // little-endian: the low bytes come first
}

// Where a message or string of these bytes is, or is to be entered; NULL: it is not shared.
static built *find_built(const walker *w, const ProtobufCMessageDescriptor *type, const item *it) {
  if (!w->built || it->length > BUILT_BYTES) return NULL;
  built *b = &w->built[dp_hash64(it->bytes, it->length) % BUILT];
  if (b->result && b->type == type && b->length == it->length && !memcmp(b->bytes, it->bytes, it->length)) return b;
  *b = (built){type, it->bytes, it->length, NULL};
  return b;
}

static dp_status build_string(const walker *w, const item *it, char **to) {
  built *b = find_built(w, NULL, it);
  *to = b && b->result ? b->result : dp_strndup(w->arena, (const char *)it->bytes, it->length);
  if (b) b->result = *to;
  return DP_OK;
}

static dp_status build_message(const walker *w, const item *it, ProtobufCMessage **to) {
  const ProtobufCMessageDescriptor *type = it->field->descriptor;
  built *b = find_built(w, type, it);
  if (b && b->result) {
    *to = b->result;
    return DP_OK;
  }
  DP_TRY(build(w, type, it->bytes, it->bytes + it->length, to));
  // What it holds may have taken its place.
  if (b && b->type == type && b->bytes == it->bytes && b->length == it->length) b->result = *to;
  return DP_OK;
}

static dp_status set_element(const walker *w, const item *it, void *to) {
  switch (it->field->type) {
    case PROTOBUF_C_TYPE_STRING:
      return build_string(w, it, to);
    case PROTOBUF_C_TYPE_BYTES:
      *(ProtobufCBinaryData *)to =
          (ProtobufCBinaryData){it->length, it->length ? dp_memdup(w->arena, it->bytes, it->length) : NULL};
      return DP_OK;
    case PROTOBUF_C_TYPE_MESSAGE:
      return build_message(w, it, to);
    default:
      if (it->wire)
        memcpy(to, it->bytes, it->length);
      else
        set_number(it->field->type, it->number, to);
      return DP_OK;
  }
}

// Appends the item's elements to the array, which has `*count` elements so far.
static dp_status add_elements(const walker *w, const item *it, char *array, size_t *count) {
  size_t each = dp_wire_element_bytes(it->field->type);
  if (!is_packed(it)) return set_element(w, it, array + (*count)++ * each);
  if (wire_of(it->field->type)) {
    if (it->length) memcpy(array + *count * each, it->bytes, it->length);
    *count += it->length / each;
    return DP_OK;
  }
  const uint8_t *at = it->bytes, *end = at + it->length;
  for (uint64_t number = 0; at < end && !read_varint(&at, end, &number);)
    set_number(it->field->type, number, array + (*count)++ * each);
  return DP_OK;
}

// Allocates the arrays of repeated fields, sized by the number of elements on the wire.
static dp_status make_arrays(const walker *w, const ProtobufCMessageDescriptor *type, const uint8_t *at,
                             const uint8_t *end, char *base) {
  size_t counts[MAX_FIELDS] = {0};
  while (at < end) {
    item it;
    const char *why = NULL;
    DP_TRY(next_item(w, type, &at, end, &it));
    if (!it.field) continue;
    counts[it.field - type->fields] += is_packed(&it) ? packed_count(&it, &why) : 1;
  }
  for (unsigned i = 0; i < type->n_fields; i++) {
    const ProtobufCFieldDescriptor *field = &type->fields[i];
    if (field->label != PROTOBUF_C_LABEL_REPEATED || !counts[i]) continue;
    *(void **)(base + field->offset) = dp_alloc_n(w->arena, counts[i], dp_wire_element_bytes(field->type));
  }
  return DP_OK;
}

static dp_status build(const walker *w, const ProtobufCMessageDescriptor *type, const uint8_t *at, const uint8_t *end,
                       ProtobufCMessage **message) {
  char *base = dp_alloc(w->arena, type->sizeof_message);
  protobuf_c_message_init(type, base);
  DP_TRY(make_arrays(w, type, at, end, base));
  while (at < end) {
    item it;
    DP_TRY(next_item(w, type, &at, end, &it));
    if (!it.field) continue;
    if (it.field->label == PROTOBUF_C_LABEL_REPEATED) {
      DP_TRY(add_elements(w, &it, *(char **)(base + it.field->offset), (size_t *)(base + it.field->quantifier_offset)));
      continue;
    }
    DP_TRY(set_element(w, &it, base + it.field->offset));
    // proto2 records whether a number was given.
    if (it.field->label == PROTOBUF_C_LABEL_OPTIONAL && it.field->quantifier_offset)
      *(protobuf_c_boolean *)(base + it.field->quantifier_offset) = true;
  }
  *message = (ProtobufCMessage *)base;
  return DP_OK;
}

static dp_status unpack(walker *w, const ProtobufCMessageDescriptor *descriptor, size_t bytes,
                        ProtobufCMessage **message) {
  if (!bytes) w->data = (const uint8_t *)"";
  w->memory_limit = dp_wire_memory(bytes);
  DP_TRY(walk_message(w, descriptor, w->data, w->data + bytes, 1));
  return build(w, descriptor, w->data, w->data + bytes, message);
}

dp_status dp_wire_unpack(dp_arena *arena, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                         size_t bytes, const char *what, ProtobufCMessage **message) {
  walker w = {.arena = arena, .what = what, .data = data};
  return unpack(&w, descriptor, bytes, message);
}

dp_status dp_wire_unpack_shared(dp_arena *arena, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                                size_t bytes, const char *what, ProtobufCMessage **message) {
  dp_arena *table = dp_arena_create_within(arena);
  walker w = {.arena = arena, .what = what, .data = data, .built = dp_alloc_n(table, BUILT, sizeof(built))};
  dp_status status = unpack(&w, descriptor, bytes, message);
  dp_arena_destroy(table);
  return status;
}

dp_status dp_wire_unpack_known(dp_arena *arena, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                               size_t bytes, const char *what, ProtobufCMessage **message) {
  walker w = {.arena = arena, .what = what, .data = data, .tolerant = true};
  return unpack(&w, descriptor, bytes, message);
}
