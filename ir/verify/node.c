// An instruction with a kernel: it computes one node of the logical graph, on the node's operands and with its
// attributes, by a sharding rule of the operator on each mesh axis.
#include <string.h>

#include "ir/file/proto.h"
#include "ir/verify/checker.h"

static dp_status check_attributes(dp_checker *c, dp_arena *arena, uint32_t instruction, const dp_node *node) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  dp_node mine = {.op = node->op};
  DP_TRY(dp_checker_wrap(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_NODE,
                         dp_proto_to_attrs(arena, in->n_attributes, in->attributes, &mine.n_attrs, &mine.attrs)));
  for (int i = 0; i < node->n_attrs; i++) {
    const dp_attr *attr = dp_node_attr(&mine, node->attrs[i].name);
    if (!attr || !dp_attr_equal(attr, &node->attrs[i]))
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_NODE,
                             "attribute '%s' %s that of node '%s'", node->attrs[i].name,
                             attr ? "differs from" : "is missing; it must be", node->name);
  }
  if (mine.n_attrs != node->n_attrs)
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_NODE,
                           "it has %d attributes; node '%s' has %d", mine.n_attrs, node->name, node->n_attrs);
  return DP_OK;
}

static bool begins_with(const char *text, const char *start) { return !strncmp(text, start, strlen(start)); }

// Whether it is ".Conv", ".dp.ConvGradInput".
static bool ends_with_operator(const char *end, const Dp__Instruction *in, size_t domain) {
  if (*end++ != '.') return false;
  if (!domain) return !strcmp(end, in->op);
  return begins_with(end, in->domain) && end[domain] == '.' && !strcmp(end + domain + 1, in->op);
}

// "cpu.onednn.dp.ConvGradInput" is a kernel of backend cpu for dp.ConvGradInput.
dp_status dp_checker_kernel(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  const char *backend = c->plan->target->backend;
  const size_t domain = strlen(in->domain);
  const size_t name = strlen(in->kernel), end = domain + (domain > 0) + strlen(in->op) + 1, start = strlen(backend);
  // Only the library's name lies between the two, so that cpu.reference.dp.Conv is no kernel of Conv.
  bool good = name > start + end + 1 && begins_with(in->kernel, backend) && in->kernel[start] == '.' &&
              ends_with_operator(in->kernel + name - end, in, domain) &&
              !memchr(in->kernel + start + 1, '.', name - end - start - 1);
  if (!good)
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_KERNEL,
                           "kernel '%s' is not one of backend %s for this operator", in->kernel, backend);
  if (in->compute_dtype && (!in->outputs[0] || in->compute_dtype != dp_checker_output(c, in, 0)->claim->dtype))
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_KERNEL,
                           "it computes in %s; its result is %s", dp_type_name((dp_dtype)in->compute_dtype),
                           dp_type_name((dp_dtype)dp_checker_output(c, in, 0)->claim->dtype));
  return DP_OK;
}

// ---- operands -------------------------------------------------------------------------------------------------------

static dp_status check_values(dp_checker *c, uint32_t instruction, const dp_node *node, const char *what, size_t count,
                              const uint32_t *indices, int expected, dp_value *const *values) {
  if (count != (size_t)expected)
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_OPERANDS,
                           "it has %zu %ss; node '%s' has %d", count, what, node->name, expected);
  const bool member = !*c->instructions[instruction].claim->kernel;
  for (size_t i = 0; i < count; i++) {
    const dp_checker_tensor *t = indices[i] ? &c->tensors[indices[i] - 1] : NULL;
    const dp_value *is = t ? t->value : NULL;
    if (is != values[i])
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_OPERANDS,
                             "%s %zu is %s%s%s; node '%s' has %s%s%s there", what, i, is ? "'" : "",
                             is ? is->name : "left out", is ? "'" : "", node->name, values[i] ? "'" : "",
                             values[i] ? values[i]->name : "none", values[i] ? "'" : "");
    // What is inside of a region is looked at there.
    const bool inside = t && member && t->claim->space == DP__SPACE__INSIDE;
    if (t && !inside && !dp_checker_is_on_device(t))
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_TENSOR_SPACE,
                             "%s %zu, '%s', is in %s memory; kernels work in the device's", what, i, is->name,
                             dp_plan_form_space(t->claim->space));
  }
  return DP_OK;
}

// An update is written where the variable lies.
static dp_status check_update(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  for (size_t i = 0; i < in->n_outputs; i++) {
    const dp_checker_tensor *result = dp_checker_output(c, in, i);
    const dp_checker_tensor *operand = i < in->n_inputs ? dp_checker_input(c, in, i) : NULL;
    if (!result) continue;
    if (!operand || operand->claim->space != result->claim->space || operand->claim->offset != result->claim->offset ||
        operand->claim->bytes != result->claim->bytes)
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_UPDATE,
                             "result %zu, '%s', does not lie where operand %zu lies, which it replaces", i,
                             result->value->name, i);
  }
  return DP_OK;
}

// ---- sharding rules -------------------------------------------------------------------------------------------------

static dp_placement placement_on(const dp_checker_tensor *t, int axis) { return t ? t->at[axis] : dp_replicate(); }

static bool rule_applies(const dp_checker *c, const Dp__Instruction *in, const dp_sharding_rule *rule, int axis) {
  if (!dp_sharding_rule_holds_on(rule, &c->model->mesh.axes[axis])) return false;
  for (size_t i = 0; i < in->n_inputs; i++)
    if (!dp_placement_equal(rule->in[i], placement_on(dp_checker_input(c, in, i), axis))) return false;
  for (size_t i = 0; i < in->n_outputs; i++)
    if (!dp_placement_equal(rule->out[i], placement_on(dp_checker_output(c, in, i), axis))) return false;
  return true;
}

static dp_status fail_rules(dp_checker *c, uint32_t instruction, int axis) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  char text[512];
  size_t used = 0;
  for (size_t i = 0; i < in->n_inputs + in->n_outputs && used < sizeof text; i++) {
    char one[64];
    const dp_checker_tensor *t =
        i < in->n_inputs ? dp_checker_input(c, in, i) : dp_checker_output(c, in, i - in->n_inputs);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                             i == in->n_inputs ? " -> "
                             : i               ? ","
                                               : "",
                             dp_placement_print(placement_on(t, axis), one, sizeof one));
  }
  return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_ROW,
                         "on axis '%s' its placements are %s, which no sharding rule of the operator allows",
                         c->model->mesh.axes[axis].name, text);
}

static dp_status check_rules(dp_checker *c, dp_arena *arena, uint32_t instruction, const dp_node *node) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  dp_placement given[2 * DP_MAX_OPERANDS * DP_MAX_MESH];
  int n_given = 0, n_axes = c->model->mesh.n_axes;
  bool whole = true;
  for (size_t i = 0; i < in->n_inputs + in->n_outputs; i++) {
    const dp_checker_tensor *t =
        i < in->n_inputs ? dp_checker_input(c, in, i) : dp_checker_output(c, in, i - in->n_inputs);
    whole &= !t || dp_checker_is_whole(c, t->at);
    for (int a = 0; t && a < n_axes; a++)
      if (t->at[a].kind == DP_SHARD) given[n_given++] = t->at[a];
  }
  if (whole) return DP_OK;  // every operator's first rule
  dp_sharding_rules rules;
  dp_op_sharding_rules_at(arena, node, n_given, given, &rules);
  for (int a = 0; a < n_axes; a++) {
    bool found = false;
    for (int r = 0; r < rules.count && !found; r++) found = rule_applies(c, in, &rules.rules[r], a);
    if (!found) return fail_rules(c, instruction, a);
  }
  return DP_OK;
}

dp_status dp_checker_node(dp_checker *c, dp_arena *rules, uint32_t instruction) {
  const dp_checker_instruction *s = &c->instructions[instruction];
  const Dp__Instruction *in = s->claim;
  if (in->n_nodes != 1 || in->communication)
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_NODE,
                           "it names %zu logical nodes%s; an instruction with a kernel has one", in->n_nodes,
                           in->communication ? " and a communication" : "");
  const dp_node *node = c->graph->nodes[in->nodes[0]];
  if (node->op != s->op)
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_NODE, "node '%s' is %s%s%s",
                           node->name, node->op->domain, *node->op->domain ? "." : "", node->op->name);
  DP_TRY(check_attributes(c, rules, instruction, node));
  DP_TRY(check_values(c, instruction, node, "operand", in->n_inputs, in->inputs, node->n_inputs, node->inputs));
  DP_TRY(check_values(c, instruction, node, "result", in->n_outputs, in->outputs, node->n_outputs, node->outputs));
  if (!in->outputs[0])
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_OPERANDS,
                           "its first result is left out");
  if (*in->kernel) DP_TRY(dp_checker_kernel(c, instruction));  // a member has its region's
  if (dp_op_is(s->op, DP_OP_UPDATE)) DP_TRY(check_update(c, instruction));
  c->report->nodes++;
  c->shared.computed[in->nodes[0]] = true;
  DP_TRY(dp_checker_micro_node(c, instruction));
  return check_rules(c, rules, instruction, node);
}
