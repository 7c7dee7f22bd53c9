// The operators as a table: lookup, schema checks, sharding rules, cost. See op.h.
#include "ir/graph/op.h"

#include <pthread.h>
#include <string.h>

// ---- lookup ---------------------------------------------------------------------------------------------------------

// The operators by the hash of their names; operators of one name follow each other. At least half is empty
// (IsFoundByDomainAndName of schema_test).
enum { SLOTS = 1024 };
static const dp_op *slots[SLOTS];
static pthread_once_t slots_filled = PTHREAD_ONCE_INIT;

static void fill_slots(void) {
  uint32_t count = 0;
  for (const dp_op *const *op = dp_op_table; *op && ++count <= SLOTS / 2; op++) {
    uint32_t i = dp_hash_name((*op)->name);
    while (slots[i % SLOTS]) i++;
    slots[i % SLOTS] = *op;
  }
}

const dp_op *dp_op_find(const char *domain, const char *name) {
  pthread_once(&slots_filled, fill_slots);
  if (!strcmp(domain, "ai.onnx")) domain = "";
  const dp_op *op;
  for (uint32_t i = dp_hash_name(name); (op = slots[i % SLOTS]); i++)
    if (!strcmp(op->name, name) && !strcmp(op->domain, domain)) return op;
  return NULL;
}

// ---- Casts ----------------------------------------------------------------------------------------------------------

int dp_op_widening(const dp_node *node) {
  if (!node || *node->op->domain || strcmp(node->op->name, "Cast")) return 0;
  const dp_dtype from = node->inputs[0]->type->dtype, to = node->outputs[0]->type->dtype;
  if (!dp_type_is_float(from) || !dp_type_is_float(to)) return 0;
  return (dp_type_bytes(to) > dp_type_bytes(from)) - (dp_type_bytes(to) < dp_type_bytes(from));
}

// ---- rows -----------------------------------------------------------------------------------------------------------

bool dp_op_is_pointwise(const dp_op *op) {
  const uint32_t others = DP_OP_RANDOM | DP_OP_UPDATE | DP_OP_COMMUNICATION | DP_OP_POSITIONAL;
  return dp_op_is(op, DP_OP_ELEMENTWISE) && !(op->flags & others);
}

int dp_op_row(const dp_node *node, int rank) {
  if (dp_op_is_pointwise(node->op)) return rank;
  return node->op->row ? node->op->row(node, rank) : 0;
}

// ---- constant operands as attributes --------------------------------------------------------------------------------

static bool attr_from_tensor(dp_arena *arena, const char *name, dp_attr_kind kind, const dp_tensor *t, dp_attr *attr) {
  size_t count = (size_t)dp_tensor_count(t);
  *attr = (dp_attr){.name = name, .kind = kind, .count = count};
  if ((kind == DP_ATTR_INT || kind == DP_ATTR_FLOAT) && count != 1) return false;
  if (kind == DP_ATTR_INT || kind == DP_ATTR_FLOAT) attr->count = 0;
  if (kind == DP_ATTR_FLOAT) {
    attr->f = dp_tensor_get(t, 0);
    return true;
  }
  if (kind == DP_ATTR_FLOATS) {
    double *floats = dp_alloc_n(arena, count + 1, sizeof *floats);
    for (size_t i = 0; i < count; i++) floats[i] = dp_tensor_get(t, (int64_t)i);
    attr->floats = floats;
    return true;
  }
  bool flag = t->dtype == DP_BOOL && kind != DP_ATTR_DIMS;
  if (t->dtype != DP_INT64 && t->dtype != DP_INT32 && !flag) return false;
  if (kind == DP_ATTR_INT) {
    attr->i = (int64_t)dp_tensor_get(t, 0);
    return true;
  }
  int64_t *ints = dp_alloc_n(arena, count, sizeof *ints);
  for (size_t i = 0; i < count; i++)
    ints[i] = t->dtype == DP_INT64 ? ((const int64_t *)t->data)[i] : (int64_t)dp_tensor_get(t, (int64_t)i);
  attr->ints = ints;
  if (kind == DP_ATTR_INTS) return true;
  if (kind != DP_ATTR_DIMS || count > DP_MAX_RANK) return false;
  dp_dim *dims = dp_alloc_n(arena, count, sizeof *dims);
  for (size_t i = 0; i < count; i++) dims[i] = dp_dim_of(ints[i]);
  attr->dims = dims;
  return true;
}

static const dp_attr_schema *find_attr(const dp_op *op, const char *name) {
  for (int i = 0; i < DP_MAX_ATTRS && op->attrs[i].name; i++)
    if (dp_is_same(op->attrs[i].name, name)) return &op->attrs[i];
  return NULL;
}

static dp_status take_constant_operands(dp_node *node) {
  const dp_op *op = node->op;
  for (int i = 0; i < node->n_inputs && i < op->n_inputs; i++) {
    const dp_operand_schema *schema = &op->inputs[i];
    dp_value *x = node->inputs[i];
    if (!schema->attribute || !x) continue;
    if (x->kind != DP_VALUE_CONSTANT)
      return dp_fail(EX_DATAERR, "operand '%s' must be a constant, but '%s' is computed", schema->name, x->name);
    dp_attr attr, *attrs = dp_alloc_n(node->graph->arena, (size_t)node->n_attrs + 1, sizeof *attrs);
    if (dp_node_attr(node, schema->attribute))
      return dp_fail(EX_DATAERR, "'%s' is given both as an operand and as an attribute", schema->attribute);
    if (!attr_from_tensor(node->graph->arena, schema->attribute, find_attr(op, schema->attribute)->kind, x->constant,
                          &attr))
      return dp_fail(EX_DATAERR, "operand '%s' ('%s') does not have the type or size that the attribute needs",
                     schema->name, x->name);
    memcpy(attrs, node->attrs, (size_t)node->n_attrs * sizeof *attrs);
    attrs[node->n_attrs++] = attr;
    node->attrs = attrs;
    node->inputs[i] = NULL;
  }
  while (node->n_inputs && !node->inputs[node->n_inputs - 1]) node->n_inputs--;
  return DP_OK;
}

// ---- schema ---------------------------------------------------------------------------------------------------------

static const dp_operand_schema *operand_schema(const dp_op *op, int i) {
  return &op->inputs[i < op->n_inputs ? i : op->n_inputs - 1];
}

static dp_status check_operands(const dp_node *node) {
  const dp_op *op = node->op;
  if (node->n_inputs > op->n_inputs && !op->variadic)
    return dp_fail(EX_DATAERR, "%d operands are given; the operator has at most %d", node->n_inputs, op->n_inputs);
  if ((node->n_outputs > op->n_outputs && !op->variadic_results) || node->n_outputs < 1)
    return dp_fail(EX_DATAERR, "%d results are requested; the operator has 1 to %d", node->n_outputs, op->n_outputs);
  for (int i = 0; i < op->n_outputs; i++)
    if (!op->outputs[i].optional && (i >= node->n_outputs || !node->outputs[i]))
      return dp_fail(EX_DATAERR, "result %d, '%s', is required", i + 1, op->outputs[i].name);
  dp_dtype same[128] = {0};
  for (int i = 0; i < (node->n_inputs > op->n_inputs ? node->n_inputs : op->n_inputs); i++) {
    const dp_operand_schema *schema = operand_schema(op, i);
    const dp_value *x = i < node->n_inputs ? node->inputs[i] : NULL;
    if (!x) {
      if (!schema->optional && !schema->attribute)
        return dp_fail(EX_DATAERR, "operand %d, '%s', is missing", i + 1, schema->name);
      continue;
    }
    dp_dtype dtype = x->type->dtype;
    if (!(schema->types & DP_BIT(dtype)))
      return dp_fail(EX_DATAERR, "operand '%s' ('%s') has type %s, which this operator does not support", schema->name,
                     x->name, dp_type_name(dtype));
    dp_dtype *letter = &same[(unsigned char)schema->same & 127];
    if (schema->same && *letter && *letter != dtype)
      return dp_fail(EX_DATAERR, "operand '%s' ('%s') has type %s where %s is expected", schema->name, x->name,
                     dp_type_name(dtype), dp_type_name(*letter));
    if (schema->same) *letter = dtype;
  }
  return DP_OK;
}

static bool is_hint(const dp_node *node, const dp_attr *attr) {
  return dp_is_same(attr->name, DP_ATTR_INPLACE) && !find_attr(node->op, attr->name);
}

// Whether a result may share its operand's memory follows from who reads the operand and when.
static dp_status drop_hints(dp_node *node) {
  int kept = 0;
  for (int i = 0; i < node->n_attrs; i++) {
    if (!is_hint(node, &node->attrs[i]))
      kept++;
    else if (node->attrs[i].kind != DP_ATTR_INT)
      return dp_fail(EX_DATAERR, "attribute '%s' must be 0 or 1", DP_ATTR_INPLACE);
  }
  if (kept == node->n_attrs) return DP_OK;
  dp_attr *attrs = dp_alloc_n(node->graph->arena, (size_t)kept, sizeof *attrs);
  kept = 0;
  for (int i = 0; i < node->n_attrs; i++)
    if (!is_hint(node, &node->attrs[i])) attrs[kept++] = node->attrs[i];
  node->attrs = attrs;
  node->n_attrs = kept;
  return DP_OK;
}

static dp_status check_attrs(const dp_node *node) {
  static const char *const kinds[] = {"?",
                                      "an int",
                                      "a float",
                                      "a string",
                                      "a list of ints",
                                      "a list of floats",
                                      "a list of strings",
                                      "a list of extents",
                                      "a tensor"};
  for (int i = 0; i < node->n_attrs; i++) {
    dp_attr *attr = &node->attrs[i];
    const dp_attr_schema *schema = find_attr(node->op, attr->name);
    if (!schema) return dp_fail(EX_DATAERR, "there is no attribute '%s'", attr->name);
    if (dp_node_attr(node, attr->name) != attr) return dp_fail(EX_DATAERR, "attribute '%s' is given twice", attr->name);
    attr->name = schema->name;  // found faster from now on
    if (attr->kind == schema->kind) continue;
    if (attr->kind == DP_ATTR_INT && schema->kind == DP_ATTR_FLOAT) {
      *attr = dp_attr_float(attr->name, (double)attr->i);
    } else if (attr->kind == DP_ATTR_INTS && schema->kind == DP_ATTR_DIMS && attr->count <= DP_MAX_RANK) {
      dp_shape shape = {.rank = (int)attr->count};
      for (size_t k = 0; k < attr->count; k++) shape.dims[k] = dp_dim_of(attr->ints[k]);
      *attr = dp_attr_dims(node->graph->arena, attr->name, &shape);
    } else {
      return dp_fail(EX_DATAERR, "attribute '%s' is %s where %s is expected", attr->name, kinds[attr->kind],
                     kinds[schema->kind]);
    }
  }
  for (int i = 0; i < DP_MAX_ATTRS && node->op->attrs[i].name; i++)
    if (node->op->attrs[i].required && !dp_node_attr(node, node->op->attrs[i].name))
      return dp_fail(EX_DATAERR, "attribute '%s' is missing", node->op->attrs[i].name);
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  DP_TRY(take_constant_operands(node));
  DP_TRY(check_operands(node));
  DP_TRY(drop_hints(node));
  DP_TRY(check_attrs(node));
  DP_TRY(node->op->infer(node));
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i])
      DP_TRY(dp_shape_check(&node->outputs[i]->type->shape, dp_max_i64(node->graph->model->batch, 1)));
  return DP_OK;
}

dp_status dp_op_infer(dp_node *node) {
  const char *domain = node->op->domain;
  return dp_status_context(infer(node), "node '%s' (%s%s%s)", node->name, domain, *domain ? "." : "", node->op->name);
}

// ---- rows and cost --------------------------------------------------------------------------------------------------

dp_sharding_rule *dp_sharding_add(dp_sharding_rules *rules) {
  dp_sharding_rule rule = {.in = dp_alloc_n(rules->arena, (size_t)rules->node->n_inputs, sizeof *rule.in),
                           .out = dp_alloc_n(rules->arena, (size_t)rules->node->n_outputs, sizeof *rule.out)};
  DP_PUSH(rules->arena, rules->rules, rules->count, rule);
  return &rules->rules[rules->count - 1];
}

bool dp_sharding_rule_holds_on(const dp_sharding_rule *rule, const dp_mesh_axis *axis) {
  return !rule->axis || (!strcmp(rule->axis, axis->name) && rule->groups % axis->size == 0);
}

static void add_view(dp_sharding_rules *rules, int64_t outer, int64_t unit) {
  for (int i = 0; i < rules->n_views; i++)
    if (rules->views[i].outer == outer && rules->views[i].unit == unit) return;
  DP_PUSH(rules->arena, rules->views, rules->n_views, dp_shard_in(0, outer, unit));
}

void dp_op_sharding_rules_at(dp_arena *arena, const dp_node *node, int n_given, const dp_placement *given,
                             dp_sharding_rules *rules) {
  *rules = (dp_sharding_rules){.arena = arena, .node = node};
  add_view(rules, 1, 1);
  for (int i = 0; i < n_given; i++)
    if (given[i].kind == DP_SHARD) add_view(rules, given[i].outer, given[i].unit);
  dp_sharding_add(rules);
  if (node->op->sharding) node->op->sharding(rules);
}

void dp_op_sharding_rules(dp_arena *arena, const dp_node *node, dp_sharding_rules *rules) {
  dp_op_sharding_rules_at(arena, node, 0, NULL, rules);
}

static double value_bytes(const dp_value *value, int64_t n) {
  return value ? (double)dp_shape_count(&value->type->shape, n) * (double)dp_type_bytes(value->type->dtype) : 0;
}

dp_cost dp_op_cost(const dp_node *node, int64_t n) {
  if (node->op->cost) return node->op->cost(node, n);
  dp_cost cost = {0};
  for (int i = 0; i < node->n_inputs; i++) cost.bytes += value_bytes(node->inputs[i], n);
  for (int i = 0; i < node->n_outputs; i++) cost.bytes += value_bytes(node->outputs[i], n);
  return cost;
}
