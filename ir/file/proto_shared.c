// Equal messages made once. See proto.h.
//
// A table of attributes, by open addressing, and one of types with the last message for each hash.
#include "ir/file/proto_private.h"

#include <string.h>

enum { TYPES = 256, FIRST_CAPACITY = 256 };

typedef struct {
  dp_attr of;
  Dp__Attribute *message;  // NULL: the slot is empty
} slot;

struct dp_proto_shared {
  dp_arena *arena;  // of the messages
  dp_arena *own;    // of the tables
  struct {
    const dp_type *of;
    Dp__TensorType *message;
  } types[TYPES];
  size_t count, capacity;  // of the attributes; a power of two, at most half is taken
  slot *slots;             // (capacity)
};

static void set_capacity(dp_proto_shared *shared, size_t capacity) {
  shared->capacity = capacity;
  shared->slots = dp_alloc_n(shared->own, capacity, sizeof *shared->slots);
}

dp_proto_shared *dp_proto_shared_create(dp_arena *arena) {
  dp_arena *own = dp_arena_create_within(arena);
  dp_proto_shared *shared = dp_alloc(own, sizeof *shared);
  shared->arena = arena;
  shared->own = own;
  set_capacity(shared, FIRST_CAPACITY);
  return shared;
}

dp_arena *dp_proto_shared_arena(const dp_proto_shared *shared) { return shared->arena; }

void dp_proto_shared_destroy(dp_proto_shared *shared) { dp_arena_destroy(shared->own); }

Dp__TensorType *dp_proto_shared_type(dp_proto_shared *shared, const dp_type *type) {
  const size_t bytes = (size_t)type->shape.rank * sizeof *type->shape.dims;
  const size_t i = (dp_hash64(type->shape.dims, bytes) + type->dtype) % TYPES;
  const dp_type *of = shared->types[i].of;
  if (of && dp_type_equal(of, type)) return shared->types[i].message;
  shared->types[i].of = type;
  return shared->types[i].message = dp_proto_from_type(shared->arena, type);
}

// The bytes that an attribute's value consists of.
static const void *value_of(const dp_attr *attr, size_t *bytes) {
  switch (attr->kind) {
    case DP_ATTR_STRING:
      *bytes = strlen(attr->s);
      return attr->s;
    case DP_ATTR_INTS:
      *bytes = attr->count * sizeof *attr->ints;
      return attr->ints;
    case DP_ATTR_FLOATS:
      *bytes = attr->count * sizeof *attr->floats;
      return attr->floats;
    case DP_ATTR_DIMS:
      *bytes = attr->count * sizeof *attr->dims;
      return attr->dims;
    default:
      *bytes = sizeof attr->i;
      return &attr->i;
  }
}

static bool is_same(const dp_attr *a, const dp_attr *b) {
  if (a->name != b->name || a->kind != b->kind || a->count != b->count) return false;
  size_t a_bytes, b_bytes;
  const void *x = value_of(a, &a_bytes), *y = value_of(b, &b_bytes);
  return a_bytes == b_bytes && (!a_bytes || !memcmp(x, y, a_bytes));
}

static slot *probe(const dp_proto_shared *shared, const dp_attr *attr) {
  size_t bytes;
  const void *value = value_of(attr, &bytes);
  for (size_t i = dp_hash_table(value, bytes) + (uintptr_t)attr->name / sizeof(void *);; i++) {
    slot *s = &shared->slots[i & (shared->capacity - 1)];
    if (!s->message || is_same(&s->of, attr)) return s;
  }
}

static void grow(dp_proto_shared *shared) {
  const size_t capacity = shared->capacity;
  const slot *before = shared->slots;
  set_capacity(shared, 2 * capacity);
  for (size_t i = 0; i < capacity; i++)
    if (before[i].message) *probe(shared, &before[i].of) = before[i];
}

static Dp__Attribute *attr_message(dp_proto_shared *shared, const dp_attr *attr) {
  if (attr->kind == DP_ATTR_TENSOR || attr->kind == DP_ATTR_STRINGS) return dp_proto_from_attr(shared->arena, attr);
  if (2 * (shared->count + 1) > shared->capacity) grow(shared);
  slot *s = probe(shared, attr);
  if (!s->message) {
    *s = (slot){*attr, dp_proto_from_attr(shared->arena, attr)};
    shared->count++;
  }
  return s->message;
}

void dp_proto_shared_attrs(dp_proto_shared *shared, int n_attrs, const dp_attr *attrs, size_t *count,
                           Dp__Attribute ***messages) {
  *count = (size_t)n_attrs;
  *messages = n_attrs ? dp_alloc_n(shared->arena, (size_t)n_attrs, sizeof **messages) : NULL;
  for (int i = 0; i < n_attrs; i++) (*messages)[i] = attr_message(shared, &attrs[i]);
}
