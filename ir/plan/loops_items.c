// What items of a plan's list are compared by. See loops_find.h.
#include <string.h>

#include "ir/plan/loops_fields.h"
#include "ir/plan/loops_find.h"

// The array, with room for more elements than it has.
static void *with_room(dp_arena *arena, void *array, size_t has, size_t more, size_t size, size_t *room) {
  if (more <= *room - has) return array;
  *room = 2 * (*room + more);
  void *larger = dp_alloc_n(arena, *room, size);
  return has ? memcpy(larger, array, has * size) : larger;
}

static void add_text(dp_loops_items *f, const void *data, size_t bytes) {
  f->text = with_room(f->scratch, f->text, f->n_text, bytes, 1, &f->text_room);
  if (bytes) memcpy(f->text + f->n_text, data, bytes);
  f->n_text += bytes;
}

// 64 bits without a sign are an offset in memory or the size of something there. Sizes count as text too.
static void add_numbers(dp_loops_items *f, const dp_loops_field *field) {
  const bool in_memory = field->is->type == PROTOBUF_C_TYPE_UINT64;
  const bool is_offset = in_memory && !strcmp(field->is->name, "offset");
  if (in_memory && !is_offset) add_text(f, field->at, field->count * field->bytes);
  f->numbers = with_room(f->scratch, f->numbers, f->n_numbers, field->count, sizeof *f->numbers, &f->number_room);
  for (size_t i = 0; i < field->count; i++) {
    dp_loops_number *n = &f->numbers[f->n_numbers++];
    *n = (dp_loops_number){.is_offset = is_offset};
    memcpy(&n->is, field->at + i * field->bytes, field->bytes);  // little-endian: the low bytes come first
    if (field->is->type == PROTOBUF_C_TYPE_INT32) n->is = (uint64_t)(int64_t)(int32_t)n->is;
  }
}

static void add_message(dp_loops_items *f, const ProtobufCMessage *message);

static void add_field(dp_loops_items *f, const dp_loops_field *field) {
  const ProtobufCType type = field->is->type;
  if (field->is->label == PROTOBUF_C_LABEL_REPEATED || dp_loops_is_message(field))
    add_text(f, &field->count, sizeof field->count);
  if (!dp_loops_is_message(field) && !dp_loops_is_number(field) && !dp_loops_is_text(field))
    add_text(f, field->at, field->count * field->bytes);
  for (size_t i = 0; i < field->count && dp_loops_is_message(field); i++) add_message(f, dp_loops_message(field, i));
  if (dp_loops_is_number(field)) add_numbers(f, field);
  for (size_t i = 0; i < field->count && type == PROTOBUF_C_TYPE_STRING; i++) {
    const char *text = ((char *const *)field->at)[i];
    add_text(f, text, strlen(text) + 1);
  }
  for (size_t i = 0; i < field->count && type == PROTOBUF_C_TYPE_BYTES; i++) {
    const ProtobufCBinaryData *data = &((const ProtobufCBinaryData *)field->at)[i];
    add_text(f, &data->len, sizeof data->len);
    add_text(f, data->data, data->len);
  }
}

static void add_message(dp_loops_items *f, const ProtobufCMessage *message) {
  for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
    const dp_loops_field field = dp_loops_field_of(message, i);
    add_field(f, &field);
  }
}

dp_loops_items dp_loops_look_at(dp_arena *scratch, size_t n_items, ProtobufCMessage *const *items) {
  dp_loops_items f = {.scratch = scratch, .n_items = n_items};
  f.first = dp_alloc_n(scratch, n_items + 1, sizeof *f.first);
  f.rest = dp_alloc_n(scratch, n_items, sizeof *f.rest);
  for (size_t i = 0; i < n_items; i++) {
    f.n_text = 0;
    add_message(&f, items[i]);
    f.rest[i] = dp_hash64(f.text, f.n_text);
    f.first[i + 1] = f.n_numbers;
  }
  return f;
}
