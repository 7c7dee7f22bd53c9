// Sequences of tensors, if it is known at import which tensors they hold: a list of what the graph's names stand for.
// Ordinary operators take them apart and join them, so known shapes stay known.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

struct dp_onnx_sequence {
  int64_t n;
  dp_onnx_binding **items;  // (n)
};

enum { OPSET = 18 };  // of the operators added here

typedef struct {
  dp_onnx_reader *reader;
  dp_onnx_scope *scope, *inner;  // inner: for the added nodes
  const Dp__Onnx__Node *m;
} call;

// ---- operands and results -------------------------------------------------------------------------------------------

static dp_status find_sequence(const call *c, size_t i, const dp_onnx_sequence **sequence) {
  dp_onnx_binding *x = NULL;
  if (i < c->m->n_input) DP_TRY(dp_onnx_scope_find(c->scope, c->m->input[i], &x));
  if (!x || !x->sequence) return dp_fail(EX_DATAERR, "operand %zu is no sequence", i + 1);
  *sequence = x->sequence;
  return DP_OK;
}

static dp_status find_tensor(const call *c, size_t i, dp_onnx_binding **x) {
  *x = NULL;
  if (i < c->m->n_input) DP_TRY(dp_onnx_scope_find_tensor(c->scope, c->m->input[i], x));
  return *x ? DP_OK : dp_fail(EX_DATAERR, "operand %zu is missing", i + 1);
}

// The position that operand i names in a sequence of n; negative ones count from the end. Without the operand:
// `otherwise`.
static dp_status find_position(const call *c, size_t i, int64_t n, int64_t otherwise, int64_t *position) {
  dp_onnx_binding *x = NULL;
  *position = otherwise;
  if (i < c->m->n_input) DP_TRY(dp_onnx_scope_find(c->scope, c->m->input[i], &x));
  if (x) {
    const dp_onnx_known *known = dp_onnx_scope_known(c->reader, x);
    if (!known || known->count != 1 || dp_type_is_float(known->dtype) || dp_dim_is_symbolic(known->numbers[0].i))
      return dp_fail(EX_UNAVAILABLE, "the place '%s' in a sequence is computed from data, which is not supported",
                     x->name);
    *position = known->numbers[0].i.offset;
    if (*position < 0) *position += n;
  }
  return DP_OK;
}

static dp_status bind_sequence(const call *c, int64_t n, dp_onnx_binding **items) {
  dp_onnx_sequence sequence = {n, items};
  if (c->m->n_output != 1) return dp_fail(EX_DATAERR, "one result is expected");
  dp_onnx_binding binding = {.sequence = dp_memdup(c->reader->arena, &sequence, sizeof sequence)};
  return dp_onnx_scope_bind(c->reader, c->scope, c->m->output[0], binding);
}

dp_status dp_onnx_sequence_bind_one(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *name, dp_value *value) {
  const dp_onnx_binding binding = {.name = value->name, .value = value};
  dp_onnx_binding *item = dp_memdup(reader->arena, &binding, sizeof binding);
  const dp_onnx_sequence sequence = {1, dp_memdup(reader->arena, &item, sizeof(dp_onnx_binding *))};
  return dp_onnx_scope_bind(reader, scope, name,
                            (dp_onnx_binding){.sequence = dp_memdup(reader->arena, &sequence, sizeof sequence)});
}

static dp_status alias_result(const call *c, dp_onnx_binding *x) {
  if (c->m->n_output != 1) return dp_fail(EX_DATAERR, "one result is expected");
  return dp_onnx_scope_alias(c->reader, c->scope, c->m->output[0], x);
}

// Copies a list of n bindings, with room for one more.
static dp_status copy_items(const call *c, const dp_onnx_sequence *s, dp_onnx_binding ***items) {
  DP_TRY(dp_onnx_count_work(c->reader, (size_t)s->n + 1));
  *items = dp_alloc_n(c->reader->arena, (size_t)s->n + 1, sizeof **items);
  if (s->n) memcpy(*items, s->items, (size_t)s->n * sizeof **items);
  return DP_OK;
}

// ---- added nodes ----------------------------------------------------------------------------------------------------

static char *item_name(const call *c, const char *what, int64_t i) {
  return dp_printf(c->reader->arena, "%s%lld", what, (long long)i);
}

static dp_status bind_ints(const call *c, const char *name, int64_t count, const int64_t *ints) {
  dp_onnx_known *known = dp_onnx_fold_make(c->reader, DP_INT64, 1, &count);
  if (!known) return dp_fail(EX_DATAERR, "the sequence is longer than is taken");
  for (int64_t i = 0; i < count; i++) known->numbers[i].i = dp_dim_of(ints[i]);
  return dp_onnx_scope_bind(c->reader, c->inner, name, (dp_onnx_binding){.known = known});
}

// Adds a node whose operands and results are names of `inner`; attr: NULL or an integer attribute.
static dp_status add_node(const call *c, const char *op, size_t n_inputs, char **inputs, size_t n_outputs,
                          char **outputs, const char *attr, int64_t number) {
  dp_arena *arena = c->reader->arena;
  Dp__Onnx__Node *node = dp_alloc(arena, sizeof *node);
  Dp__Onnx__Attribute *attribute = dp_alloc(arena, sizeof *attribute);
  Dp__Onnx__Attribute **attributes = dp_memdup(arena, &attribute, sizeof(Dp__Onnx__Attribute *));
  dp__onnx__node__init(node);
  dp__onnx__attribute__init(attribute);
  node->op_type = (char *)op;
  node->n_input = n_inputs;
  node->input = inputs;
  node->n_output = n_outputs;
  node->output = outputs;
  attribute->name = (char *)attr;
  attribute->has_type = attribute->has_i = true;
  attribute->type = 2;  // AttributeProto.INT
  attribute->i = number;
  node->n_attribute = attr ? 1 : 0;
  node->attribute = attributes;
  return dp_onnx_walk(c->reader, c->inner, 1, &node);
}

// ---- SplitToSequence ------------------------------------------------------------------------------------------------

// sizes: (n) the sizes of the parts by operand 1, or parts of size one without it.
static dp_status find_sizes(const call *c, dp_dim extent, const char *name, int64_t *n, int64_t **sizes) {
  dp_onnx_binding *split = NULL;
  const dp_onnx_known *known = NULL;
  if (c->m->n_input > 1) DP_TRY(dp_onnx_scope_find_tensor(c->scope, c->m->input[1], &split));
  if (split && !(known = dp_onnx_scope_known(c->reader, split)))
    return dp_fail(EX_UNAVAILABLE, "operand 2, 'split' ('%s'), is computed from data, which is not supported",
                   split->name);
  if (dp_dim_is_symbolic(extent))
    return dp_fail(EX_UNAVAILABLE,
                   "it makes a sequence of '%s' along the batch, whose length is not known before the network runs",
                   name);
  for (int64_t i = 0; known && i < known->count; i++)
    if (dp_type_is_float(known->dtype) || dp_dim_is_symbolic(known->numbers[i].i) || known->numbers[i].i.offset < 0)
      return dp_fail(EX_DATAERR, "operand 2, 'split' ('%s'), is no list of sizes", split->name);
  bool listed = known && known->rank == 1;
  int64_t each = !known ? 1 : listed ? 0 : known->numbers[0].i.offset, total = 0;
  if (!listed && !each) return dp_fail(EX_DATAERR, "it splits into parts of size 0");
  *n = listed ? known->count : extent.offset / each + (extent.offset % each != 0);
  DP_TRY(dp_onnx_count_work(c->reader, (size_t)*n));
  *sizes = dp_alloc_n(c->reader->arena, (size_t)*n + 1, sizeof **sizes);
  for (int64_t i = 0; i < *n; i++) {
    (*sizes)[i] = listed ? known->numbers[i].i.offset : dp_min_i64(each, extent.offset - i * each);
    if (__builtin_add_overflow(total, (*sizes)[i], &total)) total = -1;
    if (total < 0 || total > extent.offset) break;
  }
  if (total != extent.offset)
    return dp_fail(EX_DATAERR, "the parts of '%s' do not make up its extent of %lld", name, (long long)extent.offset);
  return DP_OK;
}

// The names of the parts: results of one Split, or, if that has too few results, of a Slice for each.
static dp_status put_parts(const call *c, int64_t axis, int64_t n, const int64_t *sizes, char **parts) {
  for (int64_t i = 0; i < n; i++) parts[i] = item_name(c, "", i);
  if (n <= DP_MAX_REPEATED) {
    DP_TRY(bind_ints(c, "sizes", n, sizes));
    return add_node(c, "Split", 2, (char *[]){"x", "sizes"}, (size_t)n, parts, "axis", axis);
  }
  int64_t at = 0;
  DP_TRY(bind_ints(c, "axis", 1, &axis));
  for (int64_t i = 0; i < n; i++) {
    char *start = item_name(c, "start", i), *end = item_name(c, "end", i);
    DP_TRY(bind_ints(c, start, 1, &at));
    at += sizes[i];
    DP_TRY(bind_ints(c, end, 1, &at));
    char **inputs = dp_memdup(c->reader->arena, (char *[]){"x", start, end, "axis"}, 4 * sizeof *inputs);
    DP_TRY(add_node(c, "Slice", 4, inputs, 1, &parts[i], NULL, 0));
  }
  return DP_OK;
}

static dp_status split_to(call *c) {
  dp_onnx_binding *x;
  DP_TRY(find_tensor(c, 0, &x));
  const dp_shape shape = dp_onnx_scope_type(x).shape;
  int64_t axis = dp_onnx_attr_int(c->m, "axis", 0), n = 0, *sizes = NULL;
  if (axis < -shape.rank || axis >= shape.rank)
    return dp_fail(EX_DATAERR, "axis is %lld where the operand has rank %d", (long long)axis, shape.rank);
  if (axis < 0) axis += shape.rank;
  DP_TRY(find_sizes(c, shape.dims[axis], x->name, &n, &sizes));
  bool squeezed = (c->m->n_input < 2 || !*c->m->input[1]) && !dp_onnx_attr_int(c->m, "keepdims", 1);
  char **parts = dp_alloc_n(c->reader->arena, (size_t)n + 1, sizeof *parts);
  dp_onnx_binding **items = dp_alloc_n(c->reader->arena, (size_t)n + 1, sizeof *items);
  DP_TRY(dp_onnx_scope_alias(c->reader, c->inner, "x", x));
  if (n) DP_TRY(put_parts(c, axis, n, sizes, parts));
  if (squeezed) DP_TRY(bind_ints(c, "axes", 1, &axis));
  for (int64_t i = 0; i < n; i++) {
    if (squeezed) {
      char *from = parts[i];
      parts[i] = item_name(c, "squeezed", i);
      char **inputs = dp_memdup(c->reader->arena, (char *[]){from, "axes"}, 2 * sizeof *inputs);
      DP_TRY(add_node(c, "Squeeze", 2, inputs, 1, &parts[i], NULL, 0));
    }
    DP_TRY(dp_onnx_scope_find(c->inner, parts[i], &items[i]));
  }
  return bind_sequence(c, n, items);
}

// ---- ConcatFromSequence ---------------------------------------------------------------------------------------------

static dp_status concat_from(call *c) {
  const dp_onnx_sequence *s = NULL;
  DP_TRY(find_sequence(c, 0, &s));
  int64_t axis = dp_onnx_attr_int(c->m, "axis", 0);
  bool stacks = dp_onnx_attr_int(c->m, "new_axis", 0) != 0;
  if (!s->n) return dp_fail(EX_UNAVAILABLE, "it joins the tensors of an empty sequence, which is not supported");
  DP_TRY(dp_onnx_count_work(c->reader, (size_t)s->n));
  char **names = dp_alloc_n(c->reader->arena, (size_t)s->n, sizeof *names);
  if (stacks) DP_TRY(bind_ints(c, "axes", 1, &axis));
  for (int64_t i = 0; i < s->n; i++) {
    names[i] = item_name(c, "", i);
    DP_TRY(dp_onnx_scope_alias(c->reader, c->inner, names[i], s->items[i]));
    if (!stacks) continue;
    char **inputs = dp_memdup(c->reader->arena, (char *[]){names[i], "axes"}, 2 * sizeof *inputs);
    names[i] = item_name(c, "unsqueezed", i);
    DP_TRY(add_node(c, "Unsqueeze", 2, inputs, 1, &names[i], NULL, 0));
  }
  dp_onnx_binding *y;
  DP_TRY(add_node(c, "Concat", (size_t)s->n, names, 1, (char *[]){"y"}, "axis", axis));
  DP_TRY(dp_onnx_scope_find(c->inner, "y", &y));
  return alias_result(c, y);
}

// ---- lists ----------------------------------------------------------------------------------------------------------

static dp_status empty(call *c) { return bind_sequence(c, 0, NULL); }

static dp_status construct(call *c) {
  dp_onnx_binding **items = dp_alloc_n(c->reader->arena, c->m->n_input + 1, sizeof *items);
  for (size_t i = 0; i < c->m->n_input; i++) DP_TRY(find_tensor(c, i, &items[i]));
  return bind_sequence(c, (int64_t)c->m->n_input, items);
}

static dp_status insert(call *c) {
  const dp_onnx_sequence *s = NULL;
  dp_onnx_binding *x, **items = NULL;
  int64_t position = 0;
  DP_TRY(find_sequence(c, 0, &s));
  DP_TRY(find_tensor(c, 1, &x));
  DP_TRY(find_position(c, 2, s->n, s->n, &position));
  if (position < 0 || position > s->n)
    return dp_fail(EX_DATAERR, "place %lld is outside of a sequence of %lld", (long long)position, (long long)s->n);
  DP_TRY(copy_items(c, s, &items));
  memmove(items + position + 1, items + position, (size_t)(s->n - position) * sizeof(dp_onnx_binding *));
  items[position] = x;
  return bind_sequence(c, s->n + 1, items);
}

static dp_status find_item(const call *c, int64_t otherwise, const dp_onnx_sequence **s, int64_t *position) {
  DP_TRY(find_sequence(c, 0, s));
  DP_TRY(find_position(c, 1, (*s)->n, otherwise < 0 ? otherwise + (*s)->n : otherwise, position));
  if (*position >= 0 && *position < (*s)->n) return DP_OK;
  return dp_fail(EX_DATAERR, "place %lld is outside of a sequence of %lld", (long long)*position, (long long)(*s)->n);
}

static dp_status erase(call *c) {
  const dp_onnx_sequence *s = NULL;
  dp_onnx_binding **items = NULL;
  int64_t position = 0;
  DP_TRY(find_item(c, -1, &s, &position));
  DP_TRY(copy_items(c, s, &items));
  memmove(items + position, items + position + 1, (size_t)(s->n - position) * sizeof(dp_onnx_binding *));
  return bind_sequence(c, s->n - 1, items);
}

static dp_status at(call *c) {
  const dp_onnx_sequence *s = NULL;
  int64_t position = 0;
  if (c->m->n_input != 2) return dp_fail(EX_DATAERR, "two operands are expected");
  DP_TRY(find_item(c, 0, &s, &position));
  return alias_result(c, s->items[position]);
}

static dp_status length(call *c) {
  const dp_onnx_sequence *s = NULL;
  DP_TRY(find_sequence(c, 0, &s));
  dp_onnx_known *known = dp_onnx_fold_make(c->reader, DP_INT64, 0, NULL);
  if (!known || c->m->n_output != 1) return dp_fail(EX_DATAERR, "one result is expected");
  known->numbers[0].i = dp_dim_of(s->n);
  return dp_onnx_scope_bind(c->reader, c->scope, c->m->output[0], (dp_onnx_binding){.known = known});
}

// ---- SequenceMap ----------------------------------------------------------------------------------------------------

// Item i of the operands that are sequences, and the other operands as they are.
static dp_status find_round(const call *c, int64_t n, int64_t i, dp_onnx_binding **inputs) {
  for (size_t k = 0; k < c->m->n_input; k++) {
    DP_TRY(dp_onnx_scope_find(c->scope, c->m->input[k], &inputs[k]));
    if (!inputs[k]) return dp_fail(EX_DATAERR, "operand %zu is missing", k + 1);
    const dp_onnx_sequence *s = inputs[k]->sequence;
    if (s && s->n != n)
      return dp_fail(EX_DATAERR, "its sequences have %lld and %lld tensors", (long long)n, (long long)s->n);
    if (s) inputs[k] = s->items[i];
  }
  return DP_OK;
}

static dp_status map(call *c) {
  dp_arena *arena = c->reader->arena;
  const dp_onnx_sequence *s = NULL;
  const Dp__Onnx__Graph *body = NULL;
  DP_TRY(find_sequence(c, 0, &s));
  DP_TRY(dp_onnx_control_graph(c->m, "body", &body));
  if (body->n_output != c->m->n_output)
    return dp_fail(EX_DATAERR, "%zu results are asked for; its graph has %zu", c->m->n_output, body->n_output);
  DP_TRY(dp_onnx_count_work(c->reader, (size_t)s->n * (1 + body->n_output)));
  dp_onnx_binding **inputs = dp_alloc_n(arena, c->m->n_input, sizeof *inputs);
  dp_onnx_binding **results = dp_alloc_n(arena, body->n_output, sizeof *results);
  dp_onnx_sequence *made = dp_alloc_n(arena, body->n_output, sizeof *made);
  for (size_t k = 0; k < body->n_output; k++)
    made[k] = (dp_onnx_sequence){s->n, dp_alloc_n(arena, (size_t)s->n + 1, sizeof(dp_onnx_binding *))};
  for (int64_t i = 0; i < s->n; i++) {
    DP_TRY(find_round(c, s->n, i, inputs));
    DP_TRY(dp_onnx_control_run(c->reader, c->scope, c->m, body, item_name(c, "", i), c->m->n_input, inputs, results));
    for (size_t k = 0; k < body->n_output; k++) made[k].items[i] = results[k];
  }
  for (size_t k = 0; k < body->n_output; k++)
    if (*c->m->output[k])
      DP_TRY(dp_onnx_scope_bind(c->reader, c->scope, c->m->output[k], (dp_onnx_binding){.sequence = &made[k]}));
  return DP_OK;
}

static const struct {
  const char *op;
  dp_status (*function)(call *c);
} table[] = {{"SplitToSequence", split_to},
             {"ConcatFromSequence", concat_from},
             {"SequenceEmpty", empty},
             {"SequenceConstruct", construct},
             {"SequenceInsert", insert},
             {"SequenceErase", erase},
             {"SequenceAt", at},
             {"SequenceLength", length},
             {"SequenceMap", map}};

bool dp_onnx_sequence_knows(const char *op) {
  for (size_t i = 0; i < DP_COUNT(table); i++)
    if (!strcmp(op, table[i].op)) return true;
  return false;
}

dp_status dp_onnx_sequence_read(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  const char *prefix = dp_printf(reader->arena, "%s/", dp_onnx_name(reader, scope, m));
  call c = {reader, scope, dp_onnx_scope_create(reader, prefix, OPSET), m};
  for (size_t i = 0; i < DP_COUNT(table) && !*done; i++) {
    if (strcmp(m->op_type, table[i].op)) continue;
    *done = true;
    return table[i].function(&c);
  }
  return DP_OK;
}
