// The rules' names and the wording of a violation. See rule.h.
#include "ir/plan/rule.h"

#include <stdio.h>

static const struct {
  const char *name, *what;
} rules[DP_RULE_COUNT] = {
    [DP_RULE_NONE] = {"", ""},
    [DP_RULE_FORM_MISSING] = {"FORM.MISSING", "what must be present is present"},
    [DP_RULE_FORM_NAME] = {"FORM.NAME", "names are known, well-formed and used once"},
    [DP_RULE_FORM_INDEX] = {"FORM.INDEX", "indices lie within what they count in"},
    [DP_RULE_FORM_RANGE] = {"FORM.RANGE", "bytes lie within their arena"},
    [DP_RULE_FORM_ALIGN] = {"FORM.ALIGN", "offsets have their arena's alignment"},
    [DP_RULE_FORM_LIMIT] = {"FORM.LIMIT", "numbers lie within their limits"},
    [DP_RULE_FORM_GRAPH] = {"FORM.GRAPH", "logical graphs and variables are well-formed"},
    [DP_RULE_FORM_ROLE] = {"FORM.ROLE",
                           "roles are the stages of the mesh, in order, alike in programs and host memory"},
    [DP_RULE_FORM_OPTIONS] = {"FORM.OPTIONS", "the options that a plan records go with what it is"},
    [DP_RULE_TENSOR_TYPE] = {"TENSOR.TYPE", "a tensor has its value's element type"},
    [DP_RULE_TENSOR_PLACEMENT] = {"TENSOR.PLACEMENT", "a tensor's placements are legal for its value's shape"},
    [DP_RULE_TENSOR_BYTES] = {"TENSOR.BYTES", "a tensor has room for the largest shard"},
    [DP_RULE_TENSOR_LAYOUT] =
        {"TENSOR.LAYOUT",
         "stage and micro-batches are ones that kernels know; what is not plain has four dims and stays on devices, in "
         "blocks of channels each device has whole ones; a variable lies as its storage says in all programs, and what "
         "is moved keeps its layout"},
    [DP_RULE_TENSOR_VERSION] = {"TENSOR.VERSION", "a tensor's version is that of its value"},
    [DP_RULE_TENSOR_SPACE] = {"TENSOR.SPACE", "an instruction works on memory that it reaches"},
    [DP_RULE_ORDER_EVENT] = {"ORDER.EVENT", "each event is signalled by one instruction"},
    [DP_RULE_ORDER_WAIT] = {"ORDER.WAIT", "an instruction waits for an event once"},
    [DP_RULE_ORDER_CYCLE] = {"ORDER.CYCLE", "streams and waits have no cycle: nothing deadlocks"},
    [DP_RULE_ORDER_COLLECTIVE] = {"ORDER.COLLECTIVE", "collectives come in one order"},
    [DP_RULE_ORDER_ALIAS] = {"ORDER.ALIAS", "an instruction's results overlap nothing of it but what they may replace"},
    [DP_RULE_ORDER_CONFLICT] =
        {"ORDER.CONFLICT",
         "conflicting accesses to the same bytes of a device are ordered; accesses to host memory never conflict"},
    [DP_RULE_ORDER_AHEAD] = {"ORDER.AHEAD",
                             "what runs ahead waits for nothing and goes from host input to device input"},
    [DP_RULE_ORDER_BESIDE] = {"ORDER.BESIDE",
                              "nothing else writes device input or, where runs overlap, reads host input"},
    [DP_RULE_MEANING_NODE] = {"MEANING.NODE", "operator and attributes are the logical node's"},
    [DP_RULE_MEANING_KERNEL] = {"MEANING.KERNEL", "the kernel is one of that operator, backend and type"},
    [DP_RULE_MEANING_OPERANDS] = {"MEANING.OPERANDS", "operands and results are the logical node's, in order"},
    [DP_RULE_MEANING_ROW] = {"MEANING.ROW",
                             "on each mesh axis the placements are one of the operator's sharding rules"},
    [DP_RULE_MEANING_CONVERSION] = {"MEANING.CONVERSION",
                                    "communication keeps the value and converts one axis correctly"},
    [DP_RULE_MEANING_MICRO] = {"MEANING.MICRO",
                               "an instruction belongs to one micro-batch; adjacent sets are united, once each"},
    [DP_RULE_MEANING_TRANSFER] = {"MEANING.TRANSFER",
                                  "a Send and a Recv of another stage carry one value on a channel"},
    [DP_RULE_MEANING_UNDEFINED] = {"MEANING.UNDEFINED", "what is read was written, whole, and not overwritten"},
    [DP_RULE_MEANING_CONTENT] = {"MEANING.CONTENT",
                                 "what is read is the declared value, with the declared placement and layout"},
    [DP_RULE_MEANING_STALE] = {"MEANING.STALE", "what is read has the declared version"},
    [DP_RULE_MEANING_INPUT] = {"MEANING.INPUT", "inputs and scalars come whole from the host, under their names"},
    [DP_RULE_MEANING_OUTPUT] = {"MEANING.OUTPUT", "outputs end whole on the host, under their names"},
    [DP_RULE_MEANING_UPDATE] = {"MEANING.UPDATE", "what the graph updates is updated once, in its storage"},
    [DP_RULE_MEANING_STORAGE] = {"MEANING.STORAGE", "variables have storage that programs find and leave whole"},
    [DP_RULE_MEANING_PACKED] = {"MEANING.PACKED", "what is packed is a variable that stays, in bytes of its own"},
    [DP_RULE_MEANING_SKIP] = {"MEANING.SKIP", "all updates are skipped for data that any node refuses"},
    [DP_RULE_MEANING_UNUSED] = {"MEANING.UNUSED", "a node that may refuse data is computed, even if nobody uses it"},
    [DP_RULE_PROGRAM_INIT] = {"PROGRAM.INIT", "init defines each variable that has no data, and no other"},
    [DP_RULE_PROGRAM_OUTPUTS] = {"PROGRAM.OUTPUTS", "train, eval and infer have the outputs that the runtime reads"},
    [DP_RULE_PLAN_CLAIM] = {"PLAN.CLAIM", "what a plan declares of itself as a whole matches its programs"},
};

const char *dp_rule_name(dp_rule rule) { return rule < DP_RULE_COUNT ? rules[rule].name : ""; }

const char *dp_rule_what(dp_rule rule) { return rule < DP_RULE_COUNT ? rules[rule].what : ""; }

// "role stage1, program train, stream comm, instruction 3 (dp.AllReduce): "
static void print_location(const dp_fault *fault, char *text, size_t bytes) {
  const char *domain = fault->op_domain ? fault->op_domain : "";
  char role[256] = "";
  if (fault->role) snprintf(role, sizeof role, "role %s%s", fault->role, fault->program ? ", " : ": ");
  if (!fault->program)
    snprintf(text, bytes, "%s", role);
  else if (!fault->stream)
    snprintf(text, bytes, "%sprogram %s: ", role, fault->program);
  else
    snprintf(text, bytes, "%sprogram %s, stream %s, instruction %zu (%s%s%s): ", role, fault->program, fault->stream,
             fault->instruction, domain, *domain ? "." : "", fault->op ? fault->op : "");
}

dp_status dp_rule_fail(dp_fault *fault, dp_rule rule, const char *format, ...) {
  char location[768], text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fault->rule = rule;
  print_location(fault, location, sizeof location);
  return dp_fail(EX_DATAERR, "%srule %s: %s", location, dp_rule_name(rule), text);
}

dp_status dp_rule_wrap(dp_fault *fault, dp_rule rule, dp_status status) {
  if (!status || dp_status_code(status) == DP_EX_MEMORY) return status;
  char location[768];
  fault->rule = rule;
  print_location(fault, location, sizeof location);
  return dp_status_context(status, "%srule %s", location, dp_rule_name(rule));
}
