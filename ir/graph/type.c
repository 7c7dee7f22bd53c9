// Types: names, extents symbolic in n, constant tensors. See type.h.
#include "ir/graph/type.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  size_t bytes;
} types[DP_MAX_TYPE + 1] = {
    [DP_FLOAT32] = {"float32", 4},
    [DP_UINT8] = {"uint8", 1},
    [DP_INT8] = {"int8", 1},
    [DP_UINT16] = {"uint16", 2},
    [DP_INT16] = {"int16", 2},
    [DP_INT32] = {"int32", 4},
    [DP_INT64] = {"int64", 8},
    [DP_BOOL] = {"bool", 1},
    [DP_FLOAT16] = {"float16", 2},
    [DP_FLOAT64] = {"float64", 8},
    [DP_UINT32] = {"uint32", 4},
    [DP_UINT64] = {"uint64", 8},
    [DP_BFLOAT16] = {"bfloat16", 2},
    [DP_UINT4] = {"uint4", 1},
    [DP_INT4] = {"int4", 1},
    [DP_UINT2] = {"uint2", 1},
    [DP_INT2] = {"int2", 1},
    [DP_FLOAT8E4M3FN] = {"float8e4m3fn", 1},
    [DP_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 1},
    [DP_FLOAT8E5M2] = {"float8e5m2", 1},
    [DP_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 1},
    [DP_FLOAT4E2M1] = {"float4e2m1", 1},
    [DP_FLOAT8E8M0] = {"float8e8m0", 1},
};

static bool known(dp_dtype dtype) { return (unsigned)dtype <= DP_MAX_TYPE && types[dtype].name; }

const char *dp_type_name(dp_dtype dtype) { return known(dtype) ? types[dtype].name : "?"; }

size_t dp_type_bytes(dp_dtype dtype) { return known(dtype) ? types[dtype].bytes : 0; }

dp_dtype dp_type_from_name(const char *name) {
  if (!strcmp(name, "float")) return DP_FLOAT32;
  if (!strcmp(name, "double")) return DP_FLOAT64;
  for (int i = 0; i <= DP_MAX_TYPE; i++)
    if (types[i].name && !strcmp(types[i].name, name)) return (dp_dtype)i;
  return DP_NO_TYPE;
}

bool dp_shape_in_weight_blocks(const dp_shape *shape) {
  const dp_dim *dims = shape->dims;
  return shape->rank == 4 && !dp_shape_is_symbolic(shape) && dp_shape_count(shape, 0) > 0 &&
         dims[0].offset % DP_LAYOUT_OUT_BLOCK == 0 && dims[1].offset % DP_LAYOUT_IN_BLOCK == 0;
}

bool dp_shape_equal(const dp_shape *a, const dp_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (!dp_dim_equal(a->dims[i], b->dims[i])) return false;
  return true;
}

bool dp_type_equal(const dp_type *a, const dp_type *b) {
  return a == b || (a->dtype == b->dtype && dp_shape_equal(&a->shape, &b->shape));
}

bool dp_shape_is_symbolic(const dp_shape *shape) {
  for (int i = 0; i < shape->rank; i++)
    if (dp_dim_is_symbolic(shape->dims[i])) return true;
  return false;
}

void dp_shape_at(const dp_shape *shape, int64_t n, int64_t extents[DP_MAX_RANK]) {
  for (int i = 0; i < shape->rank; i++) extents[i] = dp_dim_at(shape->dims[i], n);
}

int64_t dp_shape_count(const dp_shape *shape, int64_t n) {
  int64_t count = 1;
  for (int i = 0; i < shape->rank; i++) count *= dp_dim_at(shape->dims[i], n);
  return count;
}

bool dp_shape_product(const dp_shape *shape, int first, int end, dp_dim *product) {
  dp_dim p = {0, 1};
  for (int i = first; i < end; i++) {
    dp_dim d = shape->dims[i], q;
    if (p.scale && d.scale) return false;
    if (d.scale) {  // p is a number
      dp_dim swap = d;
      d = p;
      p = swap;
    }
    if (__builtin_mul_overflow(p.scale, d.offset, &q.scale) || __builtin_mul_overflow(p.offset, d.offset, &q.offset))
      return false;
    p = q;
  }
  *product = p;
  return true;
}

dp_status dp_shape_check(const dp_shape *shape, int64_t n) {
  char text[256];
  if (shape->rank < 0 || shape->rank > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "a tensor has rank %d; at most %d is supported", shape->rank, DP_MAX_RANK);
  // An extent of 0 must not hide an overflow of the others: strides would overflow.
  int64_t count = 16;
  for (int i = 0; i < shape->rank; i++) {
    int64_t extent;
    dp_dim d = shape->dims[i];
    if (__builtin_mul_overflow(d.scale, n, &extent) || __builtin_add_overflow(extent, d.offset, &extent) ||
        extent < 0 || d.scale < 0 || (d.scale > 0 && d.offset < 0))
      return dp_fail(EX_DATAERR, "shape %s has an extent that is negative or too large",
                     dp_shape_print(shape, text, sizeof text));
    if (__builtin_mul_overflow(count, extent ? extent : 1, &count) || count > INT64_MAX / 2)
      return dp_fail(EX_DATAERR, "shape %s has more elements than can be addressed",
                     dp_shape_print(shape, text, sizeof text));
  }
  return DP_OK;
}

char *dp_shape_print(const dp_shape *shape, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "[");
  for (int i = 0; i < shape->rank && used < bytes; i++) {
    dp_dim d = shape->dims[i];
    const char *comma = i ? "," : "";
    if (!d.scale)
      used += (size_t)snprintf(text + used, bytes - used, "%s%lld", comma, (long long)d.offset);
    else {
      used += d.scale == 1 ? (size_t)snprintf(text + used, bytes - used, "%sN", comma)
                           : (size_t)snprintf(text + used, bytes - used, "%s%lld*N", comma, (long long)d.scale);
      if (d.offset && used < bytes) used += (size_t)snprintf(text + used, bytes - used, "%+lld", (long long)d.offset);
    }
  }
  if (used < bytes) snprintf(text + used, bytes - used, "]");
  return text;
}

char *dp_type_print(const dp_type *type, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "%s", dp_type_name(type->dtype));
  if (used < bytes) dp_shape_print(&type->shape, text + used, bytes - used);
  return text;
}

dp_status dp_shape_broadcast(const dp_shape *a, const dp_shape *b, dp_shape *result) {
  dp_shape r = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (int i = 0; i < r.rank; i++) {
    int ia = i - (r.rank - a->rank), ib = i - (r.rank - b->rank);
    dp_dim da = ia < 0 ? dp_dim_of(1) : a->dims[ia], db = ib < 0 ? dp_dim_of(1) : b->dims[ib];
    if (dp_dim_equal(da, db) || dp_dim_is(db, 1))
      r.dims[i] = da;
    else if (dp_dim_is(da, 1))
      r.dims[i] = db;
    else {
      char ta[256], tb[256];
      return dp_fail(EX_DATAERR, "shapes %s and %s do not broadcast together", dp_shape_print(a, ta, sizeof ta),
                     dp_shape_print(b, tb, sizeof tb));
    }
  }
  *result = r;
  return DP_OK;
}

int64_t dp_tensor_count(const dp_tensor *tensor) {
  int64_t count = 1;
  for (int i = 0; i < tensor->rank; i++) count *= tensor->extents[i];
  return count;
}

dp_shape dp_tensor_shape(const dp_tensor *tensor) {
  dp_shape shape = {.rank = tensor->rank};
  for (int i = 0; i < tensor->rank; i++) shape.dims[i] = dp_dim_of(tensor->extents[i]);
  return shape;
}

double dp_tensor_get(const dp_tensor *tensor, int64_t index) {
  return dp_element_get(tensor->dtype, (const char *)tensor->data + (size_t)index * dp_type_bytes(tensor->dtype));
}
