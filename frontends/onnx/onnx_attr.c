// Attributes of ONNX nodes. Floats have single precision in the file, but people write hyperparameters as decimals
// (1e-5, 0.1). So each is widened to the shortest decimal that gives the same float: equal in single precision, and
// what was meant in double.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontends/onnx/onnx_reader.h"
#include "ir/base/utf8.h"

// AttributeProto.AttributeType
enum { FLOAT = 1, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS };

const Dp__Onnx__Attribute *dp_onnx_attr_find(const Dp__Onnx__Node *node, const char *name) {
  for (size_t i = 0; i < node->n_attribute; i++)
    if (!strcmp(node->attribute[i]->name, name)) return node->attribute[i];
  return NULL;
}

int64_t dp_onnx_attr_int(const Dp__Onnx__Node *node, const char *name, int64_t otherwise) {
  const Dp__Onnx__Attribute *a = dp_onnx_attr_find(node, name);
  return a && dp_onnx_attr_kind(a) == DP_ATTR_INT ? a->i : otherwise;
}

dp_attr_kind dp_onnx_attr_kind(const Dp__Onnx__Attribute *m) {
  static const dp_attr_kind kinds[] = {
      [FLOAT] = DP_ATTR_FLOAT,   [INT] = DP_ATTR_INT,   [STRING] = DP_ATTR_STRING,  [TENSOR] = DP_ATTR_TENSOR,
      [FLOATS] = DP_ATTR_FLOATS, [INTS] = DP_ATTR_INTS, [STRINGS] = DP_ATTR_STRINGS};
  if (m->type > 0) return m->type < (int32_t)DP_COUNT(kinds) ? kinds[m->type] : (dp_attr_kind)0;
  if (m->has_f) return DP_ATTR_FLOAT;
  if (m->has_i) return DP_ATTR_INT;
  if (m->has_s) return DP_ATTR_STRING;
  if (m->t) return DP_ATTR_TENSOR;
  if (m->n_floats) return DP_ATTR_FLOATS;
  if (m->n_ints) return DP_ATTR_INTS;
  return m->n_strings ? DP_ATTR_STRINGS : (dp_attr_kind)0;
}

double dp_onnx_attr_widen(float number) {
  char text[32];
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)number);
    if (strtof(text, NULL) == number) return strtod(text, NULL);
  }
  return (double)number;  // NaN or infinity
}

static dp_status read_string(dp_onnx_reader *reader, const ProtobufCBinaryData *bytes, const char **string) {
  if (dp_utf8_check(bytes->data, bytes->len) != bytes->len)
    return dp_fail(EX_DATAERR, "it is a string that is not UTF-8, or holds NUL");
  DP_TRY(dp_onnx_count_work(reader, bytes->len));
  *string = bytes->len ? dp_strndup(reader->arena, (const char *)bytes->data, bytes->len) : "";
  return DP_OK;
}

static dp_status read_attr(dp_onnx_reader *reader, const Dp__Onnx__Attribute *m, dp_attr *attr) {
  *attr = (dp_attr){.name = m->name, .kind = dp_onnx_attr_kind(m)};
  switch (attr->kind) {
    case DP_ATTR_INT:
      attr->i = m->i;
      return DP_OK;
    case DP_ATTR_FLOAT:
      attr->f = dp_onnx_attr_widen(m->f);
      return DP_OK;
    case DP_ATTR_STRING:
      return read_string(reader, &m->s, &attr->s);
    case DP_ATTR_INTS:
      attr->count = m->n_ints;
      attr->ints = m->ints;
      return DP_OK;
    case DP_ATTR_FLOATS: {
      DP_TRY(dp_onnx_count_work(reader, m->n_floats));
      double *floats = dp_alloc_n(reader->arena, m->n_floats, sizeof *floats);
      for (size_t i = 0; i < m->n_floats; i++) floats[i] = dp_onnx_attr_widen(m->floats[i]);
      attr->count = m->n_floats;
      attr->floats = floats;
      return DP_OK;
    }
    case DP_ATTR_STRINGS: {
      const char **strings = dp_alloc_n(reader->arena, m->n_strings, sizeof *strings);
      for (size_t i = 0; i < m->n_strings; i++) DP_TRY(read_string(reader, &m->strings[i], &strings[i]));
      attr->count = m->n_strings;
      attr->strings = strings;
      return DP_OK;
    }
    case DP_ATTR_TENSOR:
      if (!m->t) return dp_fail(EX_DATAERR, "it has no tensor");
      return dp_onnx_tensor_read(reader, m->t, &attr->tensor);
    default:
      if (m->type == GRAPH || m->n_graphs || m->g)
        return dp_fail(EX_UNAVAILABLE, "it is a graph: control flow is not supported");
      return dp_fail(EX_UNAVAILABLE, "attributes of type %d are not supported", m->type);
  }
}

dp_status dp_onnx_attr_read(dp_onnx_reader *reader, const Dp__Onnx__Attribute *message, dp_attr *attr) {
  return dp_status_context(read_attr(reader, message, attr), "attribute '%s'", message->name);
}

void dp_onnx_attr_add_int(dp_onnx_reader *reader, Dp__Onnx__Node *node, const char *name, int64_t i) {
  Dp__Onnx__Attribute *attribute = dp_alloc(reader->arena, sizeof *attribute);
  *attribute = (Dp__Onnx__Attribute)DP__ONNX__ATTRIBUTE__INIT;
  attribute->name = (char *)(uintptr_t)name;
  attribute->has_type = attribute->has_i = true;
  attribute->type = 2;
  attribute->i = i;
  Dp__Onnx__Attribute **all = dp_alloc_n(reader->arena, node->n_attribute + 1, sizeof(Dp__Onnx__Attribute *));
  for (size_t i = 0; i < node->n_attribute; i++) all[i] = node->attribute[i];
  all[node->n_attribute++] = attribute;
  node->attribute = all;
}
