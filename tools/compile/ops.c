// dpc ops: the table of operators. Schemas and kernels come from the tables themselves. The sharding rules of an
// operator depend on its attributes and shapes, so the command lists those of its samples.
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "backends/registry.h"
#include "ir/base/suggest.h"
#include "tools/compile/dpc.h"
#include "tools/compile/sample.h"

typedef struct {
  dp_arena *arena;
  bool json;
  int n_names;
  const char **names;
  dp_status status;
} ops_options;

enum { KEY_JSON = 256 };

static error_t parse(int key, char *text, struct argp_state *state) {
  ops_options *o = state->input;
  if (key == KEY_JSON)
    o->json = true;
  else if (key == ARGP_KEY_ARG)
    DP_PUSH(o->arena, o->names, o->n_names, text);
  else
    return ARGP_ERR_UNKNOWN;
  return 0;
}

static const char *full_name(dp_arena *arena, const dp_op *op) {
  return op->domain[0] ? dp_printf(arena, "%s.%s", op->domain, op->name) : op->name;
}

// ---- placements -----------------------------------------------------------------------------------------------------

// "S(0) R -> S(0)"
static const char *print_row(dp_arena *arena, const dp_node *node, const dp_sharding_rule *rule) {
  char text[64];
  const char *line = "";
  for (int i = 0; i < node->n_inputs; i++)
    line = dp_printf(arena, "%s%s ", line, node->inputs[i] ? dp_placement_print(rule->in[i], text, sizeof text) : "-");
  line = dp_printf(arena, "%s->", line);
  for (int i = 0; i < node->n_outputs; i++)
    line = dp_printf(arena, "%s %s", line, dp_placement_print(rule->out[i], text, sizeof text));
  return line;
}

static json_t *list_rows(dp_arena *arena, const dp_op *op) {
  json_t *list = json_array();
  for (const dp_sample *s = op->samples; s && s->inputs; s++) {
    dp_node *node = dp_sample_node(arena, op, s);
    if (!node) continue;
    dp_sharding_rules rules = {0};
    dp_op_sharding_rules(arena, node, &rules);
    for (int i = 0; i < rules.count; i++) {
      const char *line = print_row(arena, node, &rules.rules[i]);
      bool known = false;
      for (size_t k = 0; k < json_array_size(list); k++)
        known |= !strcmp(json_string_value(json_array_get(list, k)), line);
      if (!known) json_array_append_new(list, json_string(line));
    }
  }
  return list;
}

// ---- one operator ---------------------------------------------------------------------------------------------------

static json_t *list_operands(const dp_operand_schema *operands, int count) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++) {
    json_t *types = json_array();
    for (int t = 1; t <= DP_MAX_TYPE; t++)
      if (operands[i].types & DP_BIT(t)) json_array_append_new(types, json_string(dp_type_name((dp_dtype)t)));
    json_t *entry = json_pack("{s:s, s:o, s:b}", "name", operands[i].name ? operands[i].name : "", "types", types,
                              "optional", operands[i].optional);
    if (operands[i].attribute) json_object_set_new(entry, "constant", json_string(operands[i].attribute));
    json_array_append_new(list, entry);
  }
  return list;
}

static json_t *list_attrs(const dp_attr_schema *attrs) {
  static const char *const kinds[] = {"", "int", "float", "string", "ints", "floats", "strings", "dims", "tensor"};
  json_t *list = json_array();
  for (int i = 0; i < DP_MAX_ATTRS && attrs[i].name; i++) {
    json_t *entry = json_pack("{s:s, s:s, s:b}", "name", attrs[i].name, "kind", kinds[attrs[i].kind], "required",
                              attrs[i].required);
    if (attrs[i].has_default && attrs[i].kind == DP_ATTR_STRING && attrs[i].string)
      json_object_set_new(entry, "default", json_string(attrs[i].string));
    else if (attrs[i].has_default && attrs[i].kind == DP_ATTR_FLOAT)
      json_object_set_new(entry, "default", json_real(attrs[i].number));
    else if (attrs[i].has_default && attrs[i].kind == DP_ATTR_INT)
      json_object_set_new(entry, "default", json_integer((json_int_t)attrs[i].number));
    json_array_append_new(list, entry);
  }
  return list;
}

// Its own kernels, and those for many operators that run one of its samples.
static json_t *list_kernels(dp_arena *arena, const dp_target *target, const dp_op *op) {
  json_t *list = json_array();
  for (const dp_kernel *const *k = target->kernels; *k; k++)
    if ((*k)->op ? dp_kernel_computes(*k, op) : dp_sample_runs(arena, op, *k))
      json_array_append_new(list, json_string(dp_kernel_name(arena, *k, op)));
  return list;
}

// Lists the kernels of each backend.
static json_t *list_backends(dp_arena *arena, const dp_op *op) {
  json_t *kernels = json_object();
  for (const dp_backend_entry *const *e = dp_backend_entries; *e; e++)
    json_object_set_new(kernels, (*e)->name, list_kernels(arena, (*e)->target, op));
  return kernels;
}

// Other operators replace it in programs, with their gradients, placements and kernels.
static bool is_composed(const dp_op *op) { return op->specialize && !op->gradient; }

static json_t *describe(dp_arena *arena, const dp_op *op) {
  return json_pack("{s:s, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:o, s:o}", "name", full_name(arena, op), "inputs",
                   list_operands(op->inputs, op->n_inputs), "outputs", list_operands(op->outputs, op->n_outputs),
                   "attributes", list_attrs(op->attrs), "gradient", op->gradient != NULL, "lower",
                   op->decompose != NULL, "composed", is_composed(op), "communication",
                   dp_op_is(op, DP_OP_COMMUNICATION), "placements", list_rows(arena, op), "kernels",
                   list_backends(arena, op));
}

// ---- as text --------------------------------------------------------------------------------------------------------

static void print_strings(const char *label, const json_t *list) {
  for (size_t i = 0; i < json_array_size(list); i++)
    printf("  %-12s %s\n", i ? "" : label, json_string_value(json_array_get(list, i)));
}

static void print_operands(const char *label, const json_t *list) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *entry = json_array_get(list, i), *types = json_object_get(entry, "types");
    printf("  %-12s %s:", i ? "" : label, json_string_value(json_object_get(entry, "name")));
    for (size_t t = 0; t < json_array_size(types); t++) printf(" %s", json_string_value(json_array_get(types, t)));
    if (json_is_true(json_object_get(entry, "optional"))) printf(" (optional)");
    const json_t *constant = json_object_get(entry, "constant");
    if (constant) printf(" (a constant, becomes the attribute '%s')", json_string_value(constant));
    printf("\n");
  }
}

static void print_attrs(const json_t *list) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *entry = json_array_get(list, i), *value = json_object_get(entry, "default");
    printf("  %-12s %s: %s", i ? "" : "attributes", json_string_value(json_object_get(entry, "name")),
           json_string_value(json_object_get(entry, "kind")));
    if (json_is_string(value))
      printf(" = \"%s\"", json_string_value(value));
    else if (value)
      printf(" = %.9g", json_number_value(value));
    printf("%s\n", json_is_true(json_object_get(entry, "required")) ? " (required)" : "");
  }
}

static void print_op(const json_t *op) {
  printf("%s\n", json_string_value(json_object_get(op, "name")));
  print_operands("inputs", json_object_get(op, "inputs"));
  print_operands("outputs", json_object_get(op, "outputs"));
  print_attrs(json_object_get(op, "attributes"));
  if (json_is_true(json_object_get(op, "composed"))) {
    printf("  %-12s of other operators, which have the gradients, placements and kernels\n", "composed");
    return;
  }
  printf("  %-12s %s\n", "gradient", json_is_true(json_object_get(op, "gradient")) ? "yes" : "no");
  if (json_is_true(json_object_get(op, "lower"))) printf("  %-12s yes\n", "lower");
  print_strings("placements", json_object_get(op, "placements"));
  if (json_is_true(json_object_get(op, "communication")))
    printf("  %-12s none: devices exchange by the runtime\n", "kernels");
  const char *label = "kernels";
  for (const dp_backend_entry *const *e = dp_backend_entries; *e; e++) {
    const json_t *kernels = json_object_get(json_object_get(op, "kernels"), (*e)->name);
    print_strings(label, kernels);
    if (json_array_size(kernels)) label = "";
  }
}

static dp_status check_name(dp_arena *arena, const char *name) {
  dp_suggest suggest = dp_suggest_begin(name);
  for (const dp_op *const *op = dp_op_table; *op; op++) {
    if (!strcmp(full_name(arena, *op), name)) return DP_OK;
    dp_suggest_offer(&suggest, full_name(arena, *op));
  }
  char hint[128];
  return dp_fail(EX_USAGE, "unknown operator '%s'%s (`dpc ops` lists them)", name,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

dp_status dp_dpc_ops_run(dp_arena *arena, int argc, char **argv) {
  static const struct argp_option table[] = {{"json", KEY_JSON, 0, 0, "As JSON", 0}, {0}};
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "[OPERATOR...]",
      .doc =
          "Lists the operators: operands and their types, attributes, gradient, how they may be split on one mesh axis "
          "(R whole, S(d) split along dim d, P(sum) to be summed), kernels.\v"
          "Examples:\n  dpc ops\n  dpc ops Conv dp.SGD\n  dpc ops --json",
  };
  ops_options o = {.arena = arena};
  DP_TRY(dp_cli_parse(&argp, argc, argv, &o));
  for (int i = 0; i < o.n_names; i++) DP_TRY(check_name(arena, o.names[i]));
  json_t *all = json_array();
  for (const dp_op *const *op = dp_op_table; *op; op++) {
    bool wanted = !o.n_names;
    for (int i = 0; i < o.n_names; i++) wanted |= !strcmp(full_name(arena, *op), o.names[i]);
    if (wanted) json_array_append_new(all, describe(arena, *op));
  }
  if (o.json) {
    json_dumpf(all, stdout, JSON_INDENT(1));
    printf("\n");
  } else {
    for (size_t i = 0; i < json_array_size(all); i++) print_op(json_array_get(all, i));
  }
  json_decref(all);
  return DP_OK;
}
