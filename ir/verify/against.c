// See against.h. Values are compared by a hash of everything that they are computed from (XXH3 of 128 bits), in node
// order, so time is linear in the graph. An Identity counts as its operand: the compiler inserts some where it
// partitions the pipeline, which a plan does not say.
#include "ir/verify/against.h"

#include <stdlib.h>
#include <string.h>
// The state is on the stack.
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "ir/file/proto.h"
#include "ir/graph/op.h"
#include "ir/plan/plan.h"

// A graph and what its values are made from, by id.
typedef struct {
  const dp_graph *graph;
  XXH128_hash_t *values;
} hashed;

static void hash_bytes(XXH3_state_t *state, const void *data, size_t bytes) { XXH3_128bits_update(state, data, bytes); }
static void hash_int(XXH3_state_t *state, int64_t number) { hash_bytes(state, &number, sizeof number); }
static void hash_text(XXH3_state_t *state, const char *text) { hash_bytes(state, text, strlen(text) + 1); }

static void hash_tensor(XXH3_state_t *state, const dp_tensor *t) {
  hash_int(state, t->dtype);
  hash_int(state, t->rank);
  hash_bytes(state, t->extents, (size_t)t->rank * sizeof *t->extents);
  hash_bytes(state, t->data, t->bytes);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static void hash_attr(XXH3_state_t *state, const dp_attr *a) {
  hash_text(state, a->name);
  hash_int(state, a->kind);
  hash_int(state, (int64_t)a->count);
  if (a->kind == DP_ATTR_INT) hash_int(state, a->i);
  if (a->kind == DP_ATTR_FLOAT) hash_bytes(state, &a->f, sizeof a->f);
  if (a->kind == DP_ATTR_STRING) hash_text(state, a->s);
  if (a->kind == DP_ATTR_INTS) hash_bytes(state, a->ints, a->count * sizeof *a->ints);
  if (a->kind == DP_ATTR_FLOATS) hash_bytes(state, a->floats, a->count * sizeof *a->floats);
  if (a->kind == DP_ATTR_DIMS) hash_bytes(state, a->dims, a->count * sizeof *a->dims);
  if (a->kind == DP_ATTR_TENSOR) hash_tensor(state, a->tensor);
  for (size_t i = 0; a->kind == DP_ATTR_STRINGS && i < a->count; i++) hash_text(state, a->strings[i]);
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(const dp_attr *const *)a)->name, (*(const dp_attr *const *)b)->name);
}

// Operator and attributes, in the order of their names.
static void hash_operator(dp_arena *arena, XXH3_state_t *state, const dp_node *node) {
  const dp_attr **attrs = dp_alloc_n(arena, (size_t)node->n_attrs + 1, sizeof *attrs);
  for (int i = 0; i < node->n_attrs; i++) attrs[i] = &node->attrs[i];
  qsort(attrs, (size_t)node->n_attrs, sizeof *attrs, by_name);
  hash_text(state, node->op->domain);
  hash_text(state, node->op->name);
  for (int i = 0; i < node->n_attrs; i++) hash_attr(state, attrs[i]);
}

static void hash_source(XXH3_state_t *state, const dp_graph *graph, const dp_value *v) {
  hash_int(state, v->kind);
  if (v->kind == DP_VALUE_CONSTANT) {
    hash_tensor(state, v->constant);
    return;
  }
  hash_text(state, v->kind == DP_VALUE_VARIABLE ? graph->model->variables[v->variable].name : v->name);
  hash_int(state, v->type->dtype);
  hash_bytes(state, v->type->shape.dims, (size_t)v->type->shape.rank * sizeof *v->type->shape.dims);
}

static bool is_identity(const dp_node *node) { return !strcmp(node->op->name, "Identity") && !*node->op->domain; }

static hashed hash_graph(dp_arena *arena, XXH3_state_t *state, const dp_graph *graph) {
  hashed h = {graph, dp_alloc_n(arena, (size_t)graph->n_values + 1, sizeof *h.values)};
  for (int32_t i = 0; i < graph->n_values; i++) {
    if (graph->values[i]->kind == DP_VALUE_RESULT) continue;
    XXH3_128bits_reset(state);
    hash_source(state, graph, graph->values[i]);
    h.values[i] = XXH3_128bits_digest(state);
  }
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    if (is_identity(node)) {
      h.values[node->outputs[0]->id] = h.values[node->inputs[0]->id];
      continue;
    }
    XXH3_128bits_reset(state);
    hash_operator(arena, state, node);
    for (int k = 0; k < node->n_inputs; k++) {
      static const XXH128_hash_t none = {0, 0};
      hash_bytes(state, node->inputs[k] ? &h.values[node->inputs[k]->id] : &none, sizeof none);
    }
    for (int k = 0; k < node->n_outputs; k++) {
      if (!node->outputs[k]) continue;
      hash_int(state, k);
      h.values[node->outputs[k]->id] = XXH3_128bits_digest(state);
    }
  }
  return h;
}

// ---- where two values differ ----------------------------------------------------------------------------------------

static bool is_same(const hashed *a, const dp_value *x, const hashed *b, const dp_value *y) {
  if (!x || !y) return x == y;
  return XXH128_isEqual(a->values[x->id], b->values[y->id]);
}

static bool is_same_operator(dp_arena *arena, XXH3_state_t *state, const dp_node *x, const dp_node *y) {
  XXH3_128bits_reset(state);
  hash_operator(arena, state, x);
  XXH128_hash_t of_x = XXH3_128bits_digest(state);
  XXH3_128bits_reset(state);
  hash_operator(arena, state, y);
  return XXH128_isEqual(of_x, XXH3_128bits_digest(state)) && x->n_inputs == y->n_inputs;
}

static const char *describe(dp_arena *arena, const dp_value *v) {
  static const char *const kinds[] = {"a result", "the input", "the scalar", "the constant", "the variable"};
  if (!v) return "nothing";
  if (v->kind != DP_VALUE_RESULT) return dp_printf(arena, "%s '%s'", kinds[v->kind], v->name);
  const dp_op *op = v->producer->op;
  return dp_printf(arena, "'%s' = %s%s%s", v->name, op->domain, *op->domain ? "." : "", op->name);
}

static const dp_value *behind_identities(const dp_value *v) {
  while (v && v->kind == DP_VALUE_RESULT && is_identity(v->producer)) v = v->producer->inputs[0];
  return v;
}

static const dp_attr *attr_of(const dp_node *node, const char *name) {
  for (int i = 0; i < node->n_attrs; i++)
    if (!strcmp(node->attrs[i].name, name)) return &node->attrs[i];
  return NULL;
}

// The first attribute of x that y does not have, or has with another value; NULL: none, or x and y come of two
// operators.
static const char *differing_attr(const dp_value *x, const dp_value *y) {
  if (!x || !y || x->kind != DP_VALUE_RESULT || y->kind != DP_VALUE_RESULT) return NULL;
  const dp_node *a = x->producer, *b = y->producer;
  for (int i = 0; a->op == b->op && i < a->n_attrs; i++) {
    const dp_attr *other = attr_of(b, a->attrs[i].name);
    if (!other || !dp_attr_equal(&a->attrs[i], other)) return a->attrs[i].name;
  }
  return NULL;
}

// Goes from operand to differing operand for as long as the operators are the same, and reports where they are not.
static dp_status fail_at_difference(dp_arena *arena, XXH3_state_t *state, const char *program, const char *what,
                                    const hashed *a, const dp_value *x, const hashed *b, const dp_value *y) {
  x = behind_identities(x);
  y = behind_identities(y);
  while (x && y && x->kind == DP_VALUE_RESULT && y->kind == DP_VALUE_RESULT && x->result == y->result &&
         is_same_operator(arena, state, x->producer, y->producer)) {
    int k = 0;
    while (k < x->producer->n_inputs && is_same(a, x->producer->inputs[k], b, y->producer->inputs[k])) k++;
    if (k == x->producer->n_inputs) break;
    const dp_node *of_x = x->producer, *of_y = y->producer;
    x = behind_identities(of_x->inputs[k]);
    y = behind_identities(of_y->inputs[k]);
  }
  const char *attr = differing_attr(x, y);
  if (!attr) attr = differing_attr(y, x);
  return dp_fail(EX_DATAERR, "program %s, %s: the plan has %s where the model has %s%s%s%s", program, what,
                 describe(arena, x), describe(arena, y), attr ? " with another '" : "", attr ? attr : "",
                 attr ? "'" : "");
}

// ---- programs -------------------------------------------------------------------------------------------------------

static const dp_value *output_of(const dp_graph *graph, const char *name) {
  for (int i = 0; i < graph->n_outputs; i++)
    if (!strcmp(graph->outputs[i].name, name)) return graph->outputs[i].value;
  return NULL;
}

static const dp_value *update_of(const dp_graph *graph, const char *variable) {
  for (int i = 0; i < graph->n_updates; i++)
    if (!strcmp(graph->model->variables[graph->updates[i].variable].name, variable)) return graph->updates[i].value;
  return NULL;
}

static dp_status check_program(dp_arena *arena, const char *name, const dp_graph *plan, const dp_graph *model,
                               dp_against_report *report) {
  XXH3_state_t whole, *state = &whole;
  hashed a = hash_graph(arena, state, plan), b = hash_graph(arena, state, model);
  if (plan->n_outputs != model->n_outputs || plan->n_updates != model->n_updates)
    return dp_fail(EX_DATAERR, "program %s: the plan has %d outputs and %d updates, the model %d and %d", name,
                   plan->n_outputs, plan->n_updates, model->n_outputs, model->n_updates);
  for (int i = 0; i < model->n_outputs; i++) {
    const dp_value *x = output_of(plan, model->outputs[i].name), *y = model->outputs[i].value;
    if (!is_same(&a, x, &b, y))
      return fail_at_difference(arena, state, name, dp_printf(arena, "output '%s'", model->outputs[i].name), &a, x, &b,
                                y);
  }
  for (int i = 0; i < model->n_updates; i++) {
    const char *of = model->model->variables[model->updates[i].variable].name;
    const dp_value *x = update_of(plan, of), *y = model->updates[i].value;
    if (!is_same(&a, x, &b, y))
      return fail_at_difference(arena, state, name, dp_printf(arena, "update of '%s'", of), &a, x, &b, y);
  }
  report->programs++;
  report->outputs += model->n_outputs;
  report->updates += model->n_updates;
  return DP_OK;
}

// ---- variables ------------------------------------------------------------------------------------------------------

static bool is_same_init(const dp_init *a, const dp_init *b) {
  if (a->kind != b->kind || a->a != b->a || a->b != b->b) return false;
  if (a->kind != DP_INIT_TENSOR) return true;
  return a->tensor->bytes == b->tensor->bytes && !memcmp(a->tensor->data, b->tensor->data, a->tensor->bytes);
}

static dp_status check_variables(const dp_model *plan, const dp_model *model, dp_against_report *report) {
  if (plan->n_variables != model->n_variables)
    return dp_fail(EX_DATAERR, "the plan keeps %d values, the model %d", plan->n_variables, model->n_variables);
  for (int32_t i = 0; i < model->n_variables; i++) {
    const dp_variable *b = &model->variables[i];
    int32_t at = dp_model_find_variable(plan, b->name);
    if (at < 0) return dp_fail(EX_DATAERR, "the plan does not keep '%s', which the model has", b->name);
    const dp_variable *a = &plan->variables[at];
    char x[256], y[256];
    if (a->kind != b->kind || a->frozen != b->frozen || a->type->dtype != b->type->dtype ||
        !dp_shape_equal(&a->type->shape, &b->type->shape))
      return dp_fail(EX_DATAERR, "'%s' is %s%s in the plan, %s%s in the model, or of another kind", b->name,
                     dp_type_print(a->type, x, sizeof x), a->frozen ? " frozen" : "",
                     dp_type_print(b->type, y, sizeof y), b->frozen ? " frozen" : "");
    if (!is_same_init(&a->init, &b->init))
      return dp_fail(EX_DATAERR, "'%s' begins with other values in the plan than in the model", b->name);
    report->variables++;
  }
  return DP_OK;
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static dp_status read_model(dp_arena *arena, const Dp__Plan *plan, dp_model **model, dp_graph ***graphs) {
  DP_TRY(dp_plan_model(arena, plan, model));
  *graphs = dp_alloc_n(arena, plan->n_graphs + 1, sizeof **graphs);
  for (size_t i = 0; i < plan->n_graphs; i++) DP_TRY(dp_proto_to_graph(*model, plan->graphs[i], &(*graphs)[i]));
  return DP_OK;
}

dp_status dp_against_check(dp_arena *arena, const Dp__Plan *plan, const dp_model *model, dp_against_report *report) {
  dp_model *own;
  dp_graph **graphs;
  *report = (dp_against_report){0};
  DP_TRY(read_model(arena, plan, &own, &graphs));
  DP_TRY(check_variables(own, model, report));
  const Dp__Role *role = plan->roles[0];  // the others have the same programs (ir/plan/form.c)
  for (int i = 0; i < model->n_graphs; i++) {
    const dp_graph *wanted = model->graphs[i]->logical ? model->graphs[i]->logical : model->graphs[i];
    size_t p = 0;
    while (p < role->n_programs && strcmp(role->programs[p]->name, wanted->name)) p++;
    if (p == role->n_programs)
      return dp_fail(EX_DATAERR, "the plan has no program %s, which the model gives", wanted->name);
    DP_TRY(check_program(arena, wanted->name, graphs[role->programs[p]->graph], wanted, report));
  }
  if ((size_t)report->programs != role->n_programs)
    return dp_fail(EX_DATAERR, "the plan has %zu programs, the model gives %d", role->n_programs, report->programs);
  return DP_OK;
}
