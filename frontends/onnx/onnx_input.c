// The inputs of an ONNX graph. One symbol may stand for the batch: the name of the inputs' leading dims, or, if none of
// those is symbolic, the only name of other dims. It becomes our N; every other extent must be a number, in the file or
// given by the user.
#include <stdlib.h>
#include <string.h>

#include "frontends/onnx/onnx_reader.h"
#include "ir/base/suggest.h"

typedef struct {
  dp_onnx_reader *reader;
  const Dp__Onnx__Graph *graph;
  bool leading;        // some input has a symbolic leading dim
  const char *symbol;  // NULL: not seen yet
  bool *used;          // for each given dim
} symbols;

static const Dp__Onnx__TensorShape *shape_of(const Dp__Onnx__ValueInfo *input) {
  return input->type && input->type->tensor_type ? input->type->tensor_type->shape : NULL;
}

static bool is_word(const char *text) {
  size_t letters = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
  return *text && !text[letters] && letters < 32 && (*text < '0' || *text > '9') && strcmp(text, "inf") &&
         strcmp(text, "nan");
}

// Parses a dim's name: "K*SYMBOL" and "K*SYMBOL+M", which our writer uses, are multiples; anything else is a symbol.
static const char *read_multiple(dp_arena *arena, const char *param, dp_dim *dim) {
  char *at, *end;
  *dim = dp_dim_batch();
  if (*param < '1' || *param > '9') return param;
  int64_t scale = strtoll(param, &at, 10);
  if (*at != '*') return param;
  size_t length = strcspn(at + 1, "+");
  const char *symbol = dp_strndup(arena, at + 1, length), *rest = at + 1 + length;
  int64_t offset = *rest ? strtoll(rest + 1, &end, 10) : 0;
  bool good = !*rest || (rest[1] >= '0' && rest[1] <= '9' && !*end);
  if (!good || !is_word(symbol) || scale > INT32_MAX || offset < 0 || offset > INT32_MAX) return param;
  *dim = (dp_dim){scale, offset};
  return symbol;
}

// The extent of the dim, if the file or the user gives a number.
static bool is_fixed(const symbols *s, const Dp__Onnx__Dimension *d, int64_t *extent) {
  *extent = d->dim_value;
  if (d->has_dim_value) return true;
  dp_dim multiple;
  const char *name = read_multiple(s->reader->arena, d->dim_param, &multiple);
  const dp_onnx_options *options = s->reader->options;
  for (int i = 0; options && i < options->n_dims; i++) {
    if (strcmp(options->dims[i].name, name)) continue;
    s->used[i] = true;
    return !__builtin_mul_overflow(multiple.scale, options->dims[i].extent, extent) &&
           !__builtin_add_overflow(*extent, multiple.offset, extent);
  }
  return false;
}

// Whether the dim called `param` (possibly "") at axis `axis` is the batch.
static bool is_batch(const symbols *s, const char *param, size_t axis) {
  if (s->leading && !axis) return true;
  return s->symbol && *param && !strcmp(param, s->symbol);
}

static void find_symbol(symbols *s, const dp_onnx_scope *scope) {
  for (int pass = 0; pass < 2 && !s->leading; pass++) {
    for (size_t i = 0; i < s->graph->n_input; i++) {
      const Dp__Onnx__TensorShape *shape = shape_of(s->graph->input[i]);
      if (!shape || dp_names_find(scope->names, s->graph->input[i]->name) >= 0) continue;
      for (size_t d = 0; d < (pass ? shape->n_dim : shape->n_dim > 0); d++) {
        int64_t extent;
        dp_dim multiple;
        if (is_fixed(s, shape->dim[d], &extent)) continue;
        s->leading |= !pass;
        if (!s->symbol && *shape->dim[d]->dim_param)
          s->symbol = read_multiple(s->reader->arena, shape->dim[d]->dim_param, &multiple);
      }
    }
  }
}

static dp_status read_shape(const symbols *s, const Dp__Onnx__TensorShape *m, dp_shape *shape) {
  if (!m)
    return dp_fail(EX_UNAVAILABLE, "its rank is left open, which is not supported; export the model with its shape");
  if (m->n_dim > DP_MAX_RANK)
    return dp_fail(EX_UNAVAILABLE, "it has rank %zu; at most %d is supported", m->n_dim, DP_MAX_RANK);
  *shape = (dp_shape){.rank = (int)m->n_dim};
  for (size_t d = 0; d < m->n_dim; d++) {
    dp_dim open;
    int64_t extent;
    if (is_fixed(s, m->dim[d], &extent))
      shape->dims[d] = dp_dim_of(extent);
    else if (is_batch(s, read_multiple(s->reader->arena, m->dim[d]->dim_param, &open), d))
      shape->dims[d] = open;
    else
      return dp_fail(
          EX_UNAVAILABLE,
          "its extent along axis %zu is left open ('%s'); only the batch%s%s may be: %sexport the model with a "
          "number there",
          d, m->dim[d]->dim_param, s->symbol ? ", here " : "", s->symbol ? s->symbol : "",
          *m->dim[d]->dim_param
              ? dp_printf(s->reader->arena, "say what it is with --dim %s=NUMBER, or ", m->dim[d]->dim_param)
              : "");
  }
  return dp_shape_check(shape, 1);
}

static dp_status read_type(const symbols *s, const Dp__Onnx__ValueInfo *m, dp_type *type) {
  if (!m->type || !m->type->tensor_type) {
    if (m->type && (m->type->has_sequence_type || m->type->has_map_type || m->type->has_optional_type ||
                    m->type->has_sparse_tensor_type))
      return dp_fail(EX_UNAVAILABLE,
                     "it is a sequence, map, optional or sparse tensor instead of a tensor, which is not "
                     "supported");
    return dp_fail(EX_DATAERR, "its type is missing");
  }
  DP_TRY(dp_onnx_tensor_dtype(m->type->tensor_type->elem_type, "it", &type->dtype));
  return read_shape(s, m->type->tensor_type->shape, &type->shape);
}

// Checks that every given dim occurs in some input.
static dp_status check_given(const symbols *s) {
  const dp_onnx_options *options = s->reader->options;
  for (size_t i = 0; options && i < s->graph->n_input; i++) {
    const Dp__Onnx__TensorShape *shape = shape_of(s->graph->input[i]);
    int64_t extent;
    for (size_t d = 0; shape && d < shape->n_dim; d++) (void)is_fixed(s, shape->dim[d], &extent);
  }
  for (int k = 0; options && k < options->n_dims; k++) {
    if (s->used[k]) continue;
    dp_suggest suggest = dp_suggest_begin(options->dims[k].name);
    for (size_t i = 0; i < s->graph->n_input; i++) {
      const Dp__Onnx__TensorShape *shape = shape_of(s->graph->input[i]);
      for (size_t d = 0; shape && d < shape->n_dim; d++)
        if (*shape->dim[d]->dim_param) dp_suggest_offer(&suggest, shape->dim[d]->dim_param);
    }
    char hint[96];
    return dp_fail(EX_USAGE, "--dim %s=%lld: no input has an open dim of that name%s", options->dims[k].name,
                   (long long)options->dims[k].extent, dp_suggest_print(&suggest, hint, sizeof hint));
  }
  return DP_OK;
}

dp_status dp_onnx_input_add(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Graph *graph) {
  const size_t n_dims = reader->options ? (size_t)reader->options->n_dims : 0;
  symbols s = {.reader = reader, .graph = graph, .used = dp_alloc_n(reader->arena, n_dims + 1, sizeof(bool))};
  DP_TRY(check_given(&s));
  find_symbol(&s, scope);
  if (s.symbol && is_word(s.symbol)) reader->model->symbol = dp_strdup(reader->arena, s.symbol);
  dp_names *seen = dp_names_create(reader->arena);
  for (size_t i = 0; i < graph->n_input; i++) {
    const char *name = graph->input[i]->name;
    if (dp_names_find(seen, name) >= 0) return dp_fail(EX_DATAERR, "two inputs are called '%s'", name);
    dp_names_add(seen, name, 0);
    // Old files list initializers as inputs with a default.
    if (dp_names_find(scope->names, name) >= 0) continue;
    dp_type type;
    DP_TRY(dp_status_context(read_type(&s, graph->input[i], &type), "input '%s'", name));
    if (!strncmp(name, "dp.", 3))
      return dp_fail(EX_DATAERR, "input '%s': names that begin with 'dp.' are reserved for the compiler", name);
    DP_TRY(
        dp_onnx_scope_bind(reader, scope, name,
                           (dp_onnx_binding){.value = dp_graph_add_value(reader->graph, DP_VALUE_INPUT, name, type)}));
  }
  return DP_OK;
}
