// mixed: with --precision=bf16 or fp16, products compute in 16 bits, and what follows them goes by the rules of
// PyTorch's autocast. Each operator says what it computes in (dp_op.precision); this pass writes the Casts between
// them. Parameters stay float32 and are cast once. Inputs and outputs keep their types. Runs on the source graph, so
// that everything derived from a node, gradients above all, computes in the node's type.
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "ir/graph/builder.h"
#include "passes/base/pass.h"

enum { HALF, FULL, N_WIDTHS };

typedef struct {
  const dp_compile *compile;
  dp_graph *from, *to;
  dp_value **map;              // by value of `from`
  dp_dtype dtypes[N_WIDTHS];   // of each width
  dp_value **casts[N_WIDTHS];  // by value of `to`, as far as there are
  int32_t n_casts[N_WIDTHS];
  bool *matched;  // by pattern of --keep-fp32
  dp_builder builder;
} mixing;

static bool is_half(dp_dtype dtype) { return dtype == DP_FLOAT16 || dtype == DP_BFLOAT16; }

static bool is_mixable(dp_dtype dtype) { return dtype == DP_FLOAT32 || is_half(dtype); }

// ---- casts ----------------------------------------------------------------------------------------------------------

// It belongs to the node that makes the value, or else to the first that needs it.
static dp_value *cast_to(mixing *m, dp_value *value, dp_dtype dtype, const dp_node *user) {
  m->builder.prefix = value->name;
  dp_value *made = dp_build_cast(&m->builder, value, dtype);
  const dp_node *owner = value->producer ? value->producer : user;
  if (made->producer && owner) {
    made->producer->device = owner->device;
    made->producer->stage = owner->stage;
  }
  return made;
}

// One cast for each value and width.
static dp_value *cast(mixing *m, dp_value *value, int width, const dp_node *user) {
  if (value->type->dtype == m->dtypes[width]) return value;
  while (m->n_casts[width] <= value->id) DP_PUSH(m->to->arena, m->casts[width], m->n_casts[width], (dp_value *)NULL);
  dp_value **known = &m->casts[width][value->id];
  if (!*known) *known = cast_to(m, value, m->dtypes[width], user);
  return *known;
}

// ---- what a node computes in ----------------------------------------------------------------------------------------

static const dp_operand_schema *schema_of(const dp_op *op, int operand) {
  return &op->inputs[operand < op->n_inputs ? operand : op->n_inputs - 1];
}

// Whether the operand may have 16 bits or 32, and others have the same type.
static bool may_mix(const dp_node *node, int operand, const dp_value *value) {
  const dp_operand_schema *schema = schema_of(node->op, operand);
  return value && schema->same && is_mixable(value->type->dtype) && (schema->types & DP_BIT(DP_BFLOAT16)) &&
         (schema->types & DP_BIT(DP_FLOAT32));
}

// Whether the operand follows the others: a parameter, a single number. A constant that 16 bits cannot hold does not.
static bool follows(const mixing *m, const dp_value *value) {
  if (value->kind == DP_VALUE_VARIABLE) return m->to->model->variables[value->variable].kind == DP_PARAMETER;
  if (value->kind != DP_VALUE_CONSTANT) return !value->type->shape.rank;
  if (dp_tensor_count(value->constant) != 1) return false;
  const double number = dp_tensor_get(value->constant, 0);
  return !isfinite(number) ||
         isfinite(dp_element_decode(m->dtypes[HALF], dp_element_encode(m->dtypes[HALF], number, 0)));
}

// The width of the operands that have the same type as this one: FULL if one that the others follow is float32, or if
// none has 16 bits.
static int widest(const mixing *m, const dp_node *node, dp_value *const *in, char same) {
  bool any_half = false;
  for (int i = 0; i < node->n_inputs; i++) {
    if (!may_mix(node, i, in[i]) || schema_of(node->op, i)->same != same) continue;
    const bool half = is_half(in[i]->type->dtype);
    if (!half && !follows(m, in[i])) return FULL;
    any_half |= half;
  }
  return any_half ? HALF : FULL;
}

static bool is_kept(mixing *m, const dp_node *node) {
  const dp_options *o = m->compile->options;
  bool kept = !strncmp(node->name, "metrics/", strlen("metrics/"));  // counts are exact in float32 (metrics.c)
  for (int i = 0; i < o->n_keep_fp32; i++) {
    if (fnmatch(o->keep_fp32[i], node->name, 0)) continue;
    kept = m->matched[i] = true;
  }
  return kept;
}

static int width_of(const mixing *m, const dp_node *node, dp_value *const *in, int operand, dp_op_precision precision) {
  switch (precision) {
    case DP_PRECISION_HALF:
      return HALF;
    case DP_PRECISION_OPERANDS:
      return widest(m, node, in, schema_of(node->op, operand)->same);
    case DP_PRECISION_FIRST: {
      const char same = schema_of(node->op, operand)->same;
      return same == schema_of(node->op, 0)->same ? widest(m, node, in, same) : FULL;
    }
    default:
      return FULL;
  }
}

// ---- the graph ------------------------------------------------------------------------------------------------------

static dp_status mix_node(mixing *m, const dp_node *node) {
  const dp_op_precision precision = is_kept(m, node) ? DP_PRECISION_FULL : node->op->precision;
  dp_value **in = dp_alloc_n(m->to->arena, (size_t)node->n_inputs + 1, sizeof *in);
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]) in[i] = dp_graph_copy_value(m->to, node->inputs[i], m->map);
  const bool was_half = node->n_inputs && in[0] && is_half(in[0]->type->dtype);
  dp_value **mixed = dp_memdup(m->to->arena, in, ((size_t)node->n_inputs + 1) * sizeof *in);
  for (int i = 0; i < node->n_inputs; i++)
    if (may_mix(node, i, in[i])) mixed[i] = cast(m, in[i], width_of(m, node, in, i, precision), node);
  dp_node *copy = dp_graph_copy_node(m->to, node, m->map);
  for (int i = 0; i < node->n_inputs; i++) copy->inputs[i] = mixed[i];
  if (m->builder.status) return m->builder.status;
  DP_TRY(dp_op_infer(copy));
  dp_value *result = copy->n_outputs ? copy->outputs[0] : NULL;
  if (precision == DP_PRECISION_WITHIN && was_half && result && result->type->dtype == DP_FLOAT32)
    m->map[node->outputs[0]->id] = cast(m, result, HALF, copy);
  return m->builder.status;
}

// The model's outputs have the types that it declares.
static void give_outputs(mixing *m) {
  for (int i = 0; i < m->from->n_outputs; i++) {
    const dp_value *declared = m->from->outputs[i].value;
    dp_value *value = m->map[declared->id];
    const dp_dtype dtype = declared->type->dtype;
    if (value->type->dtype != dtype)
      value = dtype == DP_FLOAT32 ? cast(m, value, FULL, NULL) : cast_to(m, value, dtype, NULL);
    dp_graph_add_output(m->to, m->from->outputs[i].name, value);
  }
  for (int i = 0; i < m->from->n_updates; i++)
    dp_graph_add_update(m->to, m->from->updates[i].variable, m->map[m->from->updates[i].value->id]);
}

static dp_status check_patterns(const mixing *m) {
  const dp_options *o = m->compile->options;
  for (int i = 0; i < o->n_keep_fp32; i++) {
    if (m->matched[i]) continue;
    dp_suggest suggest = dp_suggest_begin(o->keep_fp32[i]);
    for (int32_t k = 0; k < m->from->n_nodes; k++) dp_suggest_offer(&suggest, m->from->nodes[k]->name);
    char hint[96];
    return dp_fail(EX_USAGE, "--keep-fp32=%s: no node has a name that matches%s", o->keep_fp32[i],
                   dp_suggest_print(&suggest, hint, sizeof hint));
  }
  return DP_OK;
}

static dp_status expect_float32(const dp_model *model, const char *precision) {
  for (int32_t i = 0; i < model->n_variables; i++) {
    const dp_variable *v = &model->variables[i];
    if (v->kind == DP_PARAMETER && (DP_BIT(v->type->dtype) & DP_FLOATS) && v->type->dtype != DP_FLOAT32)
      return dp_fail(EX_CONFIG,
                     "--precision=%s is for models in float32, and parameter '%s' is %s: leave the option out",
                     precision, v->name, dp_type_name(v->type->dtype));
  }
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  const dp_dtype half = dp_options_half(compile->options);
  compile->unchanged = half == DP_NO_TYPE;
  if (half == DP_NO_TYPE) return DP_OK;
  dp_model *model = compile->model;
  DP_TRY(expect_float32(model, half == DP_FLOAT16 ? "fp16" : "bf16"));
  mixing m = {.compile = compile, .from = dp_model_find_graph(model, "main"), .dtypes = {half, DP_FLOAT32}};
  m.to = dp_graph_create(model, "main");
  m.builder = (dp_builder){.graph = m.to};
  m.map = dp_alloc_n(model->arena, (size_t)m.from->n_values, sizeof(dp_value *));
  m.matched = dp_alloc_n(model->arena, (size_t)compile->options->n_keep_fp32 + 1, sizeof *m.matched);
  for (int32_t i = 0; i < m.from->n_values; i++)
    if (m.from->values[i]->kind != DP_VALUE_RESULT) dp_graph_copy_value(m.to, m.from->values[i], m.map);
  for (int32_t i = 0; i < m.from->n_nodes; i++)
    DP_TRY(dp_status_context(mix_node(&m, m.from->nodes[i]), "node '%s' (%s) in 16 bits", m.from->nodes[i]->name,
                             m.from->nodes[i]->op->name));
  give_outputs(&m);
  if (m.builder.status) return m.builder.status;
  DP_TRY(check_patterns(&m));
  dp_model_add_graph(model, m.to);
  dp_graph_free(m.from);
  return DP_OK;
}

const dp_pass dp_pass_mixed = {
    .name = "mixed",
    .what = "writes the casts of --precision=bf16 and fp16",
    .needs = DP_HAS_LOSS,
    .run = run,
};
