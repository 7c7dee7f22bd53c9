// normalize: with --normalize NAME=/D,MEAN,STD the input NAME becomes uint8, and the graph begins with what was asked
// for: (x / D - MEAN) / STD, in the type that the input had. Either /D or MEAN,STD may be absent. MEAN and STD are one
// number, or one for each channel with colons between them; channels lie along axis 1 or the last one. So a model is
// fed the bytes of its files everywhere, and nothing else has to know how they are scaled.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/pair.h"
#include "ir/base/suggest.h"
#include "ir/graph/builder.h"
#include "passes/base/pass.h"

enum { MAX_CHANNELS = 4096 };

typedef struct {
  int count;  // 0: absent
  double *numbers;
} numbers;

typedef struct {
  const char *text;  // as given
  const char *name;  // of the input
  numbers divisor, mean, deviation;
} request;

// ---- the option -----------------------------------------------------------------------------------------------------

static dp_status malformed(const char *text) {
  return dp_fail(EX_USAGE,
                 "--normalize %s: expected NAME=/DIVISOR, NAME=MEAN,STD or NAME=/DIVISOR,MEAN,STD, for example "
                 "image=/255 or image=/255,0.49:0.48:0.45,0.25:0.24:0.26",
                 text);
}

// Numbers with colons, up to a comma or the end.
static dp_status parse_numbers(dp_arena *arena, const char *text, const char **at, bool not_zero, numbers *out) {
  for (;; ++*at) {
    char *end;
    const double number = strtod(*at, &end);
    if (end == *at || !isfinite(number) || (not_zero && number == 0) || out->count == MAX_CHANNELS)
      return malformed(text);
    DP_PUSH(arena, out->numbers, out->count, number);
    *at = end;
    if (*end != ':') return *end && *end != ',' ? malformed(text) : DP_OK;
  }
}

static dp_status parse(dp_arena *arena, const char *text, request *r) {
  const char *at;
  *r = (request){.text = text};
  if (!dp_pair_split(arena, text, &r->name, &at)) return malformed(text);
  if (*at == '/') {
    at++;
    DP_TRY(parse_numbers(arena, text, &at, true, &r->divisor));
    if (!*at) return DP_OK;
    at++;
  }
  DP_TRY(parse_numbers(arena, text, &at, false, &r->mean));
  if (!*at++) return malformed(text);
  DP_TRY(parse_numbers(arena, text, &at, true, &r->deviation));
  return *at ? malformed(text) : DP_OK;
}

// ---- the graph ------------------------------------------------------------------------------------------------------

static dp_status find_input(const dp_graph *graph, const request *r, dp_value **input) {
  char text[256];
  dp_suggest suggest = dp_suggest_begin(r->name);
  *input = dp_graph_find_value(graph, r->name);
  if (*input && (*input)->kind == DP_VALUE_INPUT) {
    if (dp_type_is_float((*input)->type->dtype)) return DP_OK;
    return dp_fail(EX_USAGE, "--normalize %s: the input is %s already, and only floats can become bytes", r->name,
                   dp_type_print((*input)->type, text, sizeof text));
  }
  for (int32_t i = 0; i < graph->n_values; i++)
    if (graph->values[i]->kind == DP_VALUE_INPUT) dp_suggest_offer(&suggest, graph->values[i]->name);
  return dp_fail(EX_USAGE, "--normalize %s: the model has no such input%s", r->name,
                 dp_suggest_print(&suggest, text, sizeof text));
}

// The axis that has `count` channels: 1, or the last one. -1: none has.
static int channel_axis(const dp_shape *shape, int count) {
  if (shape->rank > 1 && dp_dim_is(shape->dims[1], count)) return 1;
  return shape->rank > 1 && dp_dim_is(shape->dims[shape->rank - 1], count) ? shape->rank - 1 : -1;
}

// One number, or one for each channel, in a shape that broadcasts to the input's.
static dp_status add_constant(dp_graph *graph, const request *r, const dp_value *input, const numbers *n,
                              const char *what, dp_value **constant) {
  const dp_shape *shape = &input->type->shape;
  const int axis = n->count == 1 ? -1 : channel_axis(shape, n->count);
  char text[256];
  if (n->count > 1 && axis < 0)
    return dp_fail(EX_USAGE, "--normalize %s: it gives %d numbers, but the input %s has no such axis of channels",
                   r->text, n->count, dp_type_print(input->type, text, sizeof text));
  dp_tensor *tensor = dp_alloc(graph->arena, sizeof *tensor);
  const size_t bytes = dp_type_bytes(input->type->dtype);
  char *data = dp_alloc_n(graph->arena, (size_t)n->count, bytes);
  for (int i = 0; i < n->count; i++) dp_element_set(input->type->dtype, data + (size_t)i * bytes, n->numbers[i]);
  *tensor = (dp_tensor){.dtype = input->type->dtype, .bytes = (size_t)n->count * bytes, .data = data};
  tensor->rank = axis < 0 ? 0 : shape->rank - axis;
  for (int d = 0; d < tensor->rank; d++) tensor->extents[d] = d ? 1 : n->count;
  *constant = dp_graph_add_constant(graph, dp_printf(graph->arena, "normalize/%s/%s", r->name, what), tensor);
  return DP_OK;
}

// The nodes that were added last come first, in their order.
static void move_to_front(dp_graph *graph, int32_t n_before) {
  const int32_t added = graph->n_nodes - n_before;
  dp_node **nodes = dp_alloc_n(graph->arena, (size_t)graph->n_nodes, sizeof(dp_node *));
  for (int32_t i = 0; i < graph->n_nodes; i++) nodes[i < n_before ? i + added : i - n_before] = graph->nodes[i];
  dp_graph_reorder(graph, nodes);
}

static void replace_uses(dp_graph *graph, int32_t n_nodes, const dp_value *input, dp_value *by) {
  for (int32_t i = 0; i < n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k] == input) graph->nodes[i]->inputs[k] = by;
  for (int i = 0; i < graph->n_outputs; i++)
    if (graph->outputs[i].value == input) graph->outputs[i].value = by;
}

static dp_status apply(dp_graph *graph, const request *r) {
  dp_value *input = NULL, *constant = NULL;
  DP_TRY(find_input(graph, r, &input));
  const struct {
    const numbers *numbers;
    const char *op, *what;
  } steps[] = {{&r->divisor, "Div", "divisor"}, {&r->mean, "Sub", "mean"}, {&r->deviation, "Div", "deviation"}};
  const dp_dtype dtype = input->type->dtype;
  const int32_t n_before = graph->n_nodes;
  dp_builder b = {.graph = graph, .prefix = dp_printf(graph->arena, "normalize/%s", r->name)};
  dp_value *constants[DP_COUNT(steps)] = {0};
  for (size_t i = 0; i < DP_COUNT(steps); i++) {
    if (!steps[i].numbers->count) continue;
    DP_TRY(add_constant(graph, r, input, steps[i].numbers, steps[i].what, &constant));
    constants[i] = constant;
  }
  input->type = dp_model_type(graph->model, &(dp_type){DP_UINT8, input->type->shape});
  dp_value *y = dp_build_cast(&b, input, dtype);
  for (size_t i = 0; i < DP_COUNT(steps); i++)
    if (constants[i]) y = dp_build2(&b, steps[i].op, y, constants[i]);
  DP_TRY(b.status);
  replace_uses(graph, n_before, input, y);
  move_to_front(graph, n_before);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  const dp_options *o = compile->options;
  dp_graph *main = dp_model_find_graph(compile->model, "main");
  compile->unchanged = !o->n_normalize;
  for (int i = 0; i < o->n_normalize; i++) {
    request r;
    DP_TRY(parse(main->arena, o->normalize[i], &r));
    DP_TRY(apply(main, &r));
  }
  return DP_OK;
}

const dp_pass dp_pass_normalize = {
    .name = "normalize",
    .what = "puts the normalizing of inputs that are bytes into the graph",
    .needs = DP_HAS_BATCH,
    .run = run,
};
