// Converts types, tensors and attributes to and from messages. See proto.h.
#include <string.h>

#include "ir/file/proto_private.h"

// ---- types ----------------------------------------------------------------------------------------------------------

static Dp__Shape *from_dims(dp_arena *arena, const dp_dim *dims, size_t count) {
  Dp__Shape *message = DP_PROTO_NEW(arena, Dp__Shape, dp__shape);
  message->n_dims = count;
  message->dims = dp_alloc_n(arena, count, sizeof *message->dims);
  for (size_t i = 0; i < count; i++) {
    message->dims[i] = DP_PROTO_NEW(arena, Dp__Dim, dp__dim);
    message->dims[i]->scale = dims[i].scale;
    message->dims[i]->offset = dims[i].offset;
  }
  return message;
}

Dp__TensorType *dp_proto_from_type(dp_arena *arena, const dp_type *type) {
  Dp__TensorType *message = DP_PROTO_NEW(arena, Dp__TensorType, dp__tensor_type);
  message->dtype = type->dtype;
  message->shape = from_dims(arena, type->shape.dims, (size_t)type->shape.rank);
  return message;
}

static dp_status to_dtype(int32_t number, dp_dtype *dtype) {
  if (number < 0 || number > DP_MAX_TYPE || !dp_type_bytes((dp_dtype)number))
    return dp_fail(EX_DATAERR, "element type %d is unknown", number);
  *dtype = (dp_dtype)number;
  return DP_OK;
}

static dp_status check_rank(size_t rank) {
  return rank > DP_MAX_RANK ? dp_fail(EX_DATAERR, "rank %zu; at most %d is supported", rank, DP_MAX_RANK) : DP_OK;
}

dp_status dp_proto_to_type(const Dp__TensorType *message, dp_type *type) {
  dp_type t = {0};
  if (!message) return dp_fail(EX_DATAERR, "the type is missing");
  DP_TRY(to_dtype(message->dtype, &t.dtype));
  size_t rank = message->shape ? message->shape->n_dims : 0;
  DP_TRY(check_rank(rank));
  t.shape.rank = (int)rank;
  for (size_t i = 0; i < rank; i++)
    t.shape.dims[i] = (dp_dim){message->shape->dims[i]->scale, message->shape->dims[i]->offset};
  DP_TRY(dp_shape_check(&t.shape, 1));
  *type = t;
  return DP_OK;
}

// ---- tensors --------------------------------------------------------------------------------------------------------

Dp__Tensor *dp_proto_from_tensor(dp_arena *arena, const dp_tensor *tensor) {
  Dp__Tensor *message = DP_PROTO_NEW(arena, Dp__Tensor, dp__tensor);
  message->dtype = tensor->dtype;
  message->n_extents = (size_t)tensor->rank;
  message->extents = dp_memdup(arena, tensor->extents, (size_t)tensor->rank * sizeof *tensor->extents);
  message->raw = (ProtobufCBinaryData){tensor->bytes, (uint8_t *)(uintptr_t)tensor->data};
  return message;
}

dp_status dp_proto_to_tensor(dp_arena *arena, const Dp__Tensor *message, const dp_tensor **tensor) {
  dp_tensor *t = dp_alloc(arena, sizeof *t);
  if (!message) return dp_fail(EX_DATAERR, "the tensor is missing");
  if (*message->external)
    return dp_fail(EX_DATAERR, "the tensor is in another file, as '%s', and was not loaded", message->external);
  DP_TRY(to_dtype(message->dtype, &t->dtype));
  DP_TRY(check_rank(message->n_extents));
  t->rank = (int)message->n_extents;
  for (int i = 0; i < t->rank; i++) t->extents[i] = message->extents[i];
  dp_shape shape = dp_tensor_shape(t);
  DP_TRY(dp_shape_check(&shape, 1));
  t->bytes = (size_t)dp_tensor_count(t) * dp_type_bytes(t->dtype);
  t->data = message->raw.data ? message->raw.data : (const uint8_t *)"";  // never NULL, even when empty
  if (message->raw.len != t->bytes)
    return dp_fail(EX_DATAERR, "the tensor has %zu bytes where its shape and type need %zu", message->raw.len,
                   t->bytes);
  for (size_t i = 0; t->dtype == DP_BOOL && i < t->bytes; i++)
    if (message->raw.data[i] > 1)
      return dp_fail(EX_DATAERR, "element %zu of a bool tensor is %d, neither 0 nor 1", i, message->raw.data[i]);
  *tensor = t;
  return DP_OK;
}

// ---- attributes -----------------------------------------------------------------------------------------------------

Dp__Attribute *dp_proto_from_attr(dp_arena *arena, const dp_attr *attr) {
  Dp__Attribute *message = DP_PROTO_NEW(arena, Dp__Attribute, dp__attribute);
  message->name = dp_proto_string(attr->name);
  message->kind = attr->kind;
  switch (attr->kind) {
    case DP_ATTR_INT:
      message->i = attr->i;
      break;
    case DP_ATTR_FLOAT:
      message->f = attr->f;
      break;
    case DP_ATTR_STRING:
      message->s = dp_proto_string(attr->s);
      break;
    case DP_ATTR_INTS:
      message->n_ints = attr->count;
      message->ints = (int64_t *)(uintptr_t)attr->ints;
      break;
    case DP_ATTR_FLOATS:
      message->n_floats = attr->count;
      message->floats = (double *)(uintptr_t)attr->floats;
      break;
    case DP_ATTR_STRINGS:
      message->n_strings = attr->count;
      message->strings = dp_alloc_n(arena, attr->count, sizeof *message->strings);
      for (size_t i = 0; i < attr->count; i++) message->strings[i] = dp_proto_string(attr->strings[i]);
      break;
    case DP_ATTR_DIMS:
      message->dims = from_dims(arena, attr->dims, attr->count);
      break;
    case DP_ATTR_TENSOR:
      message->tensor = dp_proto_from_tensor(arena, attr->tensor);
      break;
  }
  return message;
}

void dp_proto_from_attrs(dp_arena *arena, int n_attrs, const dp_attr *attrs, size_t *count, Dp__Attribute ***messages) {
  *count = (size_t)n_attrs;
  *messages = dp_alloc_n(arena, (size_t)n_attrs, sizeof **messages);
  for (int i = 0; i < n_attrs; i++) (*messages)[i] = dp_proto_from_attr(arena, &attrs[i]);
}

// A field that belongs to another kind would be silently lost.
static bool has_other_fields(const Dp__Attribute *m) {
  uint64_t zero = 0;
  return (m->i && m->kind != DP_ATTR_INT) || (memcmp(&m->f, &zero, sizeof zero) && m->kind != DP_ATTR_FLOAT) ||
         (*m->s && m->kind != DP_ATTR_STRING) || (m->n_ints && m->kind != DP_ATTR_INTS) ||
         (m->n_floats && m->kind != DP_ATTR_FLOATS) || (m->n_strings && m->kind != DP_ATTR_STRINGS) ||
         (m->dims && m->kind != DP_ATTR_DIMS) || (m->tensor && m->kind != DP_ATTR_TENSOR);
}

static dp_status to_dims(dp_arena *arena, const Dp__Shape *message, dp_attr *attr) {
  size_t count = message ? message->n_dims : 0;
  DP_TRY(check_rank(count));
  dp_dim *dims = dp_alloc_n(arena, count, sizeof *dims);
  for (size_t i = 0; i < count; i++) dims[i] = (dp_dim){message->dims[i]->scale, message->dims[i]->offset};
  attr->count = count;
  attr->dims = dims;
  return DP_OK;
}

static dp_status to_attr(dp_arena *arena, const Dp__Attribute *message, dp_attr *attr) {
  *attr = (dp_attr){.name = message->name, .kind = (dp_attr_kind)message->kind};
  if (!*message->name) return dp_fail(EX_DATAERR, "its name is empty");
  if (message->kind < DP_ATTR_INT || message->kind > DP_ATTR_TENSOR)
    return dp_fail(EX_DATAERR, "kind %d is unknown", message->kind);
  if (has_other_fields(message))
    return dp_fail(EX_DATAERR, "its value is not of the kind %d that it declares", message->kind);
  switch (attr->kind) {
    case DP_ATTR_INT:
      attr->i = message->i;
      break;
    case DP_ATTR_FLOAT:
      attr->f = message->f;
      break;
    case DP_ATTR_STRING:
      attr->s = message->s;
      break;
    case DP_ATTR_INTS:
      attr->count = message->n_ints;
      attr->ints = message->ints;
      break;
    case DP_ATTR_FLOATS:
      attr->count = message->n_floats;
      attr->floats = message->floats;
      break;
    case DP_ATTR_STRINGS:
      attr->count = message->n_strings;
      attr->strings = (const char *const *)message->strings;
      break;
    case DP_ATTR_DIMS:
      return to_dims(arena, message->dims, attr);
    case DP_ATTR_TENSOR:
      return dp_proto_to_tensor(arena, message->tensor, &attr->tensor);
  }
  return DP_OK;
}

dp_status dp_proto_to_attrs(dp_arena *arena, size_t count, Dp__Attribute *const *messages, int *n_attrs,
                            dp_attr **attrs) {
  if (count > INT16_MAX) return dp_fail(EX_DATAERR, "%zu attributes are too many", count);
  dp_attr *list = dp_alloc_n(arena, count, sizeof *list);
  for (size_t i = 0; i < count; i++)
    DP_TRY(dp_status_context(to_attr(arena, messages[i], &list[i]), "attribute '%s'", messages[i]->name));
  *n_attrs = (int)count;
  *attrs = list;
  return DP_OK;
}
