// Equal messages made once. See proto.h.
//
// A table has the last message for each hash of what it was made from. Types outlive the table.
#include "ir/file/proto_private.h"

enum { SLOTS = 256 };

struct dp_proto_shared {
  dp_arena *arena;
  struct {
    const dp_type *of;
    Dp__TensorType *message;
  } types[SLOTS];
  struct {
    dp_attr of;
    Dp__Attribute *message;  // NULL: none yet
  } attrs[SLOTS];
};

dp_proto_shared *dp_proto_shared_create(dp_arena *arena) {
  dp_proto_shared *shared = dp_alloc(arena, sizeof *shared);
  shared->arena = arena;
  return shared;
}

Dp__TensorType *dp_proto_shared_type(dp_proto_shared *shared, const dp_type *type) {
  const size_t bytes = (size_t)type->shape.rank * sizeof *type->shape.dims;
  const size_t i = (dp_hash64(type->shape.dims, bytes) + type->dtype) % SLOTS;
  const dp_type *of = shared->types[i].of;
  if (of && of->dtype == type->dtype && dp_shape_equal(&of->shape, &type->shape)) return shared->types[i].message;
  shared->types[i].of = type;
  return shared->types[i].message = dp_proto_from_type(shared->arena, type);
}

// Whether both have the same number, or point to the same list.
static bool is_same(const dp_attr *a, const dp_attr *b) {
  return a->name == b->name && a->kind == b->kind && a->count == b->count && a->i == b->i;
}

static Dp__Attribute *attr_message(dp_proto_shared *shared, const dp_attr *attr) {
  if (attr->kind == DP_ATTR_TENSOR) return dp_proto_from_attr(shared->arena, attr);
  const uint64_t key[] = {(uintptr_t)attr->name, attr->kind, attr->count, (uint64_t)attr->i};
  const size_t i = dp_hash64(key, sizeof key) % SLOTS;
  if (shared->attrs[i].message && is_same(&shared->attrs[i].of, attr)) return shared->attrs[i].message;
  shared->attrs[i].of = *attr;
  return shared->attrs[i].message = dp_proto_from_attr(shared->arena, attr);
}

void dp_proto_shared_attrs(dp_proto_shared *shared, int n_attrs, const dp_attr *attrs, size_t *count,
                           Dp__Attribute ***messages) {
  *count = (size_t)n_attrs;
  *messages = n_attrs ? dp_alloc_n(shared->arena, (size_t)n_attrs, sizeof **messages) : NULL;
  for (int i = 0; i < n_attrs; i++) (*messages)[i] = attr_message(shared, &attrs[i]);
}
