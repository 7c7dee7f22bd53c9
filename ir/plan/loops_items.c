// What items of a plan's list are compared by. See loops_find.h.
#include <string.h>

#include "ir/plan/loops_fields.h"
#include "ir/plan/loops_find.h"

// What one item is made of. Arrays are used again for the next.
typedef struct {
  dp_arena *arena;
  size_t n_text, text_room, n_numbers, number_room;
  char *text;  // all but the numbers
  uint64_t *numbers;
  bool *is_offset;
} parts;

// The array, with room for more elements than it has.
static void *with_room(dp_arena *arena, void *array, size_t has, size_t room, size_t size) {
  void *larger = dp_alloc_n(arena, room, size);
  return has ? memcpy(larger, array, has * size) : larger;
}

static void add_text(parts *p, const void *data, size_t bytes) {
  if (bytes > p->text_room - p->n_text) {
    p->text_room = 2 * (p->text_room + bytes);
    p->text = with_room(p->arena, p->text, p->n_text, p->text_room, 1);
  }
  if (bytes) memcpy(p->text + p->n_text, data, bytes);
  p->n_text += bytes;
}

static void make_room(parts *p, size_t more) {
  if (more <= p->number_room - p->n_numbers) return;
  p->number_room = 2 * (p->number_room + more);
  p->numbers = with_room(p->arena, p->numbers, p->n_numbers, p->number_room, sizeof *p->numbers);
  p->is_offset = with_room(p->arena, p->is_offset, p->n_numbers, p->number_room, sizeof *p->is_offset);
}

// 64 bits without a sign are an offset in memory or the size of something there. Sizes count as text too.
static void add_numbers(parts *p, const dp_loops_field *field) {
  const bool in_memory = field->is->type == PROTOBUF_C_TYPE_UINT64;
  const bool is_offset = in_memory && !strcmp(field->is->name, "offset");
  if (in_memory && !is_offset) add_text(p, field->at, field->count * field->bytes);
  make_room(p, field->count);
  for (size_t i = 0; i < field->count; i++) {
    uint64_t number = 0;
    memcpy(&number, field->at + i * field->bytes, field->bytes);  // little-endian: the low bytes come first
    if (field->is->type == PROTOBUF_C_TYPE_INT32) number = (uint64_t)(int64_t)(int32_t)number;
    p->is_offset[p->n_numbers] = is_offset;
    p->numbers[p->n_numbers++] = number;
  }
}

static void add_message(parts *p, const ProtobufCMessage *message);

static void add_field(parts *p, const dp_loops_field *field) {
  const ProtobufCType type = field->is->type;
  if (field->is->label == PROTOBUF_C_LABEL_REPEATED || dp_loops_is_message(field))
    add_text(p, &field->count, sizeof field->count);
  if (!dp_loops_is_message(field) && !dp_loops_is_number(field) && !dp_loops_is_text(field))
    add_text(p, field->at, field->count * field->bytes);
  for (size_t i = 0; i < field->count && dp_loops_is_message(field); i++) add_message(p, dp_loops_message(field, i));
  if (dp_loops_is_number(field)) add_numbers(p, field);
  for (size_t i = 0; i < field->count && type == PROTOBUF_C_TYPE_STRING; i++) {
    const char *text = ((char *const *)field->at)[i];
    add_text(p, text, strlen(text) + 1);
  }
  for (size_t i = 0; i < field->count && type == PROTOBUF_C_TYPE_BYTES; i++) {
    const ProtobufCBinaryData *data = &((const ProtobufCBinaryData *)field->at)[i];
    add_text(p, &data->len, sizeof data->len);
    add_text(p, data->data, data->len);
  }
}

static void add_message(parts *p, const ProtobufCMessage *message) {
  for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
    const dp_loops_field field = dp_loops_field_of(message, i);
    add_field(p, &field);
  }
}

dp_loops_items dp_loops_look_at(dp_arena *scratch, size_t n_items, ProtobufCMessage *const *items) {
  dp_loops_items f = {scratch, n_items, dp_alloc_n(scratch, n_items, sizeof *f.items)};
  parts p = {.arena = scratch};
  for (size_t i = 0; i < n_items; i++) {
    p.n_text = p.n_numbers = 0;
    add_message(&p, items[i]);
    f.items[i] = (dp_loops_item){dp_hash64(p.text, p.n_text), p.n_numbers,
                                 dp_memdup(scratch, p.numbers, p.n_numbers * sizeof *p.numbers),
                                 dp_memdup(scratch, p.is_offset, p.n_numbers * sizeof *p.is_offset)};
  }
  return f;
}
