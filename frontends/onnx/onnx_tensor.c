// Reads tensors of ONNX files: raw, typed or external data, checked against type and extents before use.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

dp_status dp_onnx_tensor_dtype(int32_t number, const char *what, dp_dtype *dtype) {
  static const char *const others[] = {
      [0] = "none", [8] = "string", [14] = "complex64", [15] = "complex128", [27] = "float6e2m3", [28] = "float6e3m2",
  };
  *dtype = number > 0 && number <= DP_MAX_TYPE ? (dp_dtype)number : DP_NO_TYPE;
  if (dp_type_bytes(*dtype)) return DP_OK;
  if (number > 0 && number < (int32_t)DP_COUNT(others))
    return dp_fail(EX_UNAVAILABLE, "%s has element type %s, which is not supported", what, others[number]);
  return dp_fail(EX_DATAERR, "%s has element type %d, which ONNX does not know", what, number);
}

// ---- several elements in a byte -------------------------------------------------------------------------------------

// Bits of an element in a file.
static unsigned bits_of(dp_dtype dtype) {
  if (dtype == DP_UINT4 || dtype == DP_INT4 || dtype == DP_FLOAT4E2M1) return 4;
  return dtype == DP_UINT2 || dtype == DP_INT2 ? 2 : 8 * (unsigned)dp_type_bytes(dtype);
}

// The bytes for this many elements in a file; the last byte is padded.
static size_t packed_bytes(dp_dtype dtype, size_t count) {
  unsigned bits = bits_of(dtype);
  return bits < 8 ? count / (8 / bits) + (count % (8 / bits) != 0) : count * dp_type_bytes(dtype);
}

// Unpacks the elements, one to a byte; the first has the lowest bits.
static const void *unpack(dp_arena *arena, dp_dtype dtype, size_t count, const uint8_t *packed) {
  unsigned bits = bits_of(dtype), each = 8 / bits, sign = dtype == DP_INT4 || dtype == DP_INT2 ? 1u << (bits - 1) : 0;
  uint8_t *elements = dp_alloc_n(arena, count + 1, 1);
  for (size_t i = 0; i < count; i++) {
    unsigned x = packed[i / each] >> (i % each * bits) & ((1u << bits) - 1);
    elements[i] = (uint8_t)((x ^ sign) - sign);
  }
  return elements;
}

// ---- data -----------------------------------------------------------------------------------------------------------

// Checks type, extents and size, including overflow.
static dp_status read_head(const Dp__Onnx__Tensor *m, dp_tensor *tensor) {
  dp_shape shape = {.rank = (int)m->n_dims};
  DP_TRY(dp_onnx_tensor_dtype(m->data_type, "it", &tensor->dtype));
  if (m->n_dims > DP_MAX_RANK)
    return dp_fail(EX_UNAVAILABLE, "it has rank %zu; at most %d is supported", m->n_dims, DP_MAX_RANK);
  for (size_t i = 0; i < m->n_dims; i++) shape.dims[i] = dp_dim_of(tensor->extents[i] = m->dims[i]);
  DP_TRY(dp_shape_check(&shape, 1));
  tensor->rank = (int)m->n_dims;
  tensor->bytes = (size_t)dp_tensor_count(tensor) * dp_type_bytes(tensor->dtype);
  return DP_OK;
}

// The typed field that holds elements of this type in ONNX.
typedef struct {
  const char *name;
  size_t count, bytes;  // bytes of one of its numbers
  const void *numbers;
} typed_field;

static typed_field field_for(const Dp__Onnx__Tensor *m, dp_dtype dtype) {
  switch (dtype) {
    case DP_FLOAT32:
      return (typed_field){"float_data", m->n_float_data, 4, m->float_data};
    case DP_FLOAT64:
      return (typed_field){"double_data", m->n_double_data, 8, m->double_data};
    case DP_INT64:
      return (typed_field){"int64_data", m->n_int64_data, 8, m->int64_data};
    case DP_UINT32:
    case DP_UINT64:
      return (typed_field){"uint64_data", m->n_uint64_data, 8, m->uint64_data};
    default:
      return (typed_field){"int32_data", m->n_int32_data, 4, m->int32_data};
  }
}

// Stores a number of a wider field as its element. The field holds the bits of narrow floats, and the bytes of packed
// elements.
static dp_status narrow(dp_dtype dtype, const typed_field *field, size_t i, void *element) {
  static const struct {
    int64_t low, high;
  } ranges[DP_MAX_TYPE + 1] = {
      [DP_UINT8] = {0, UINT8_MAX},
      [DP_INT8] = {INT8_MIN, INT8_MAX},
      [DP_UINT16] = {0, UINT16_MAX},
      [DP_INT16] = {INT16_MIN, INT16_MAX},
      [DP_BOOL] = {0, 1},
      [DP_FLOAT16] = {0, UINT16_MAX},
      [DP_BFLOAT16] = {0, UINT16_MAX},
      [DP_UINT32] = {0, UINT32_MAX},
      [DP_FLOAT8E4M3FN] = {0, UINT8_MAX},
      [DP_FLOAT8E4M3FNUZ] = {0, UINT8_MAX},
      [DP_FLOAT8E5M2] = {0, UINT8_MAX},
      [DP_FLOAT8E5M2FNUZ] = {0, UINT8_MAX},
      [DP_FLOAT8E8M0] = {0, UINT8_MAX},
      [DP_UINT4] = {0, UINT8_MAX},
      [DP_INT4] = {0, UINT8_MAX},
      [DP_FLOAT4E2M1] = {0, UINT8_MAX},
      [DP_UINT2] = {0, UINT8_MAX},
      [DP_INT2] = {0, UINT8_MAX},
  };
  uint64_t wide = field->bytes == 8 ? ((const uint64_t *)field->numbers)[i] : 0;
  int64_t number = field->bytes == 8 ? (wide > INT64_MAX ? -1 : (int64_t)wide) : ((const int32_t *)field->numbers)[i];
  if (number < ranges[dtype].low || number > ranges[dtype].high)
    return dp_fail(EX_DATAERR, "element %zu of %s is %lld, which is no %s", i, field->name, (long long)number,
                   dp_type_name(dtype));
  memcpy(element, &number, dp_type_bytes(dtype));  // little-endian: the low bytes come first
  return DP_OK;
}

static dp_status read_typed(dp_onnx_reader *reader, const Dp__Onnx__Tensor *m, dp_tensor *tensor) {
  typed_field field = field_for(m, tensor->dtype);
  size_t each = dp_type_bytes(tensor->dtype);
  size_t count = packed_bytes(tensor->dtype, (size_t)dp_tensor_count(tensor)) / each;
  size_t all = m->n_float_data + m->n_double_data + m->n_int32_data + m->n_int64_data + m->n_uint64_data;
  if (field.count != count || all != count)
    return dp_fail(EX_DATAERR, "it has %zu numbers in %s, %zu in all; its type and extents ask for %zu there",
                   field.count, field.name, all, count);
  tensor->data = field.numbers;
  if (field.bytes == each || !count) return DP_OK;
  DP_TRY(dp_onnx_count_work(reader, count));
  char *data = dp_alloc_n(reader->arena, count, each);
  for (size_t i = 0; i < count; i++) DP_TRY(narrow(tensor->dtype, &field, i, data + i * each));
  tensor->data = data;
  return DP_OK;
}

// C allows only 0 and 1 in a bool.
static dp_status check_bools(const dp_tensor *tensor) {
  const uint8_t *bytes = tensor->data;
  for (size_t i = 0; tensor->dtype == DP_BOOL && i < tensor->bytes; i++)
    if (bytes[i] > 1) return dp_fail(EX_DATAERR, "element %zu is %d, which is no bool", i, bytes[i]);
  return DP_OK;
}

static dp_status read_tensor(dp_onnx_reader *reader, const Dp__Onnx__Tensor *m, dp_tensor *tensor) {
  DP_TRY(read_head(m, tensor));
  if (m->has_segment) return dp_fail(EX_UNAVAILABLE, "it is a segment of a tensor, which is not supported");
  if (m->data_location < 0 || m->data_location > 1)
    return dp_fail(EX_DATAERR, "data location %d is unknown", m->data_location);
  bool external = m->data_location == 1;
  size_t count = (size_t)dp_tensor_count(tensor), bytes = packed_bytes(tensor->dtype, count);
  size_t typed = m->n_float_data + m->n_double_data + m->n_int32_data + m->n_int64_data + m->n_uint64_data;
  if ((external + (m->raw_data.len > 0) + (typed > 0)) > 1)
    return dp_fail(EX_DATAERR, "its data stands in more than one place");
  if (external) {
    DP_TRY(dp_onnx_external_read(reader, m, bytes, &tensor->data));
  } else if (m->raw_data.len) {
    if (m->raw_data.len != bytes)
      return dp_fail(EX_DATAERR, "it has %zu bytes of data; its type and extents ask for %zu", m->raw_data.len, bytes);
    tensor->data = m->raw_data.data;
  } else {
    DP_TRY(read_typed(reader, m, tensor));
  }
  if (!tensor->data) tensor->data = dp_alloc(reader->arena, 1);
  if (bits_of(tensor->dtype) < 8 || tensor->dtype == DP_BOOL) DP_TRY(dp_onnx_count_work(reader, count));
  if (bits_of(tensor->dtype) < 8) tensor->data = unpack(reader->arena, tensor->dtype, count, tensor->data);
  return check_bools(tensor);
}

dp_status dp_onnx_tensor_read(dp_onnx_reader *reader, const Dp__Onnx__Tensor *message, const dp_tensor **tensor) {
  dp_tensor *t = dp_alloc(reader->arena, sizeof *t);
  DP_TRY(dp_status_context(read_tensor(reader, message, t), "tensor '%s'", message->name));
  *tensor = t;
  return DP_OK;
}
