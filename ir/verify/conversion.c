// An instruction that communicates: it keeps each value and changes where it is, on one mesh axis, between host and
// devices, or between a device and its own memory of the host.
#include <string.h>

#include "ir/file/proto.h"
#include "ir/verify/checker.h"

typedef struct {
  const char *op;
  dp_placement_kind from, to;
} conversion;

static const conversion conversions[] = {
    {"AllReduce", DP_PARTIAL, DP_REPLICATE}, {"ReduceScatter", DP_PARTIAL, DP_SHARD},
    {"AllGather", DP_SHARD, DP_REPLICATE},   {"AllToAll", DP_SHARD, DP_SHARD},
    {"Slice", DP_REPLICATE, DP_SHARD},
};

#define FAIL(...) dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_CONVERSION, __VA_ARGS__)

// ---- host and devices -----------------------------------------------------------------------------------------------

static bool has_placement(const dp_checker *c, const dp_checker_tensor *t, dp_placement_kind kind) {
  for (int a = 0; a < c->model->mesh.n_axes; a++)
    if (t->at[a].kind == kind) return true;
  return false;
}

// Whether nothing is said that only collectives and transfers between stages need.
static bool is_bare(const Dp__Instruction *in) {
  const Dp__Communication *m = in->communication;
  return !in->n_attributes && (!m || !(m->n_axes || m->reduction || m->n_peer || m->channel));
}

static dp_status check_host_transfer(dp_checker *c, uint32_t instruction, const dp_checker_tensor *from,
                                     const dp_checker_tensor *to) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  bool gather = !strcmp(in->op, "Gather");
  const dp_checker_tensor *host = gather ? to : from, *device = gather ? from : to;
  Dp__Space space = gather ? DP__SPACE__HOST_OUTPUT : DP__SPACE__HOST_INPUT;
  if (host->claim->space != space || !dp_checker_is_on_device(device))
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_TENSOR_SPACE,
                           "it goes from %s to %s memory; %s expected", dp_plan_form_space(from->claim->space),
                           dp_plan_form_space(to->claim->space),
                           gather ? "a device's to host output is" : "host input to a device's is");
  if (!dp_checker_is_whole(c, host->at)) return FAIL("the host's '%s' is not whole", host->value->name);
  if (has_placement(c, device, DP_PARTIAL)) return FAIL("the devices' '%s' is a partial result", device->value->name);
  if (device->count > !gather)
    return FAIL("'%s' is of micro-batches [%u,%u); the host gets what is of all and gives what is of one or of all",
                device->value->name, device->first, device->first + device->count);
  if (!gather && has_placement(c, device, DP_SHARD) != !strcmp(in->op, "Scatter"))
    return FAIL("Scatter gives each device its part, Broadcast gives each the whole");
  if (!is_bare(in)) return FAIL("between host and devices there is no axis, reduction, channel or peer");
  return DP_OK;
}

// ---- a device and its own memory of the host ------------------------------------------------------------------------

static dp_status check_offload(dp_checker *c, uint32_t instruction, const dp_checker_tensor *from,
                               const dp_checker_tensor *to) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  const bool fetches = !strcmp(in->op, "Fetch");
  const dp_checker_tensor *host = fetches ? from : to, *device = fetches ? to : from;
  char a[256], b[256];
  if (host->claim->space != DP__SPACE__OFFLOAD || !dp_checker_is_on_device(device))
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_TENSOR_SPACE,
                           "it goes from %s to %s memory; %s expected", dp_plan_form_space(from->claim->space),
                           dp_plan_form_space(to->claim->space),
                           fetches ? "offload to a device's is" : "a device's to offload is");
  if (!dp_checker_placed_alike(c, from->at, to->at) || from->first != to->first || from->count != to->count)
    return FAIL("from %s to %s it changes more than the memory", dp_checker_tensor_print(c, from, a, sizeof a),
                dp_checker_tensor_print(c, to, b, sizeof b));
  if (dp_checker_is_concatenated(c, from)) return FAIL("parts of several micro-batches are for Accumulate alone");
  if (!is_bare(in)) return FAIL("between a device and its own memory there is no axis, reduction, channel or peer");
  return DP_OK;
}

// ---- devices --------------------------------------------------------------------------------------------------------

dp_status dp_checker_axis(dp_checker *c, uint32_t instruction, int *axis) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  const Dp__Attribute *a = in->n_attributes == 1 ? in->attributes[0] : NULL;
  if (!a || strcmp(a->name, "axis") || a->kind != DP_ATTR_STRING)
    return FAIL("one attribute, 'axis', is expected: the name of a mesh axis");
  *axis = dp_mesh_find(&c->model->mesh, a->s);
  if (*axis < 0) return FAIL("the mesh has no axis '%s'", a->s);
  const Dp__Communication *m = in->communication;
  if (!m || m->n_axes != 1 || m->axes[0] != (uint32_t)*axis)
    return FAIL("its axis is '%s', which its communication does not say", a->s);
  if (m->n_peer || m->channel) return FAIL("it has a channel or peers, which only Send and Recv have");
  return DP_OK;
}

bool dp_checker_is_innermost(const dp_checker *c, const dp_placement *at, int axis) {
  if (at[axis].kind != DP_SHARD) return true;
  for (int later = axis + 1; later < c->model->mesh.n_axes; later++)
    if (at[later].kind == DP_SHARD && at[later].dim == at[axis].dim) return false;
  return true;
}

// What is wrong with a conversion on this axis between tensors of devices, or NULL.
static const char *wrong_with(const dp_checker *c, const conversion *rule, int axis, const dp_checker_tensor *from,
                              const dp_checker_tensor *to) {
  for (int i = 0; i < c->model->mesh.n_axes; i++)
    if (i != axis && !dp_placement_equal(from->at[i], to->at[i])) return "it changes more than this axis";
  if (from->at[axis].kind != rule->from || to->at[axis].kind != rule->to ||
      dp_placement_equal(from->at[axis], to->at[axis]))
    return "it does not convert so";
  if (!dp_checker_is_innermost(c, from->at, axis) || !dp_checker_is_innermost(c, to->at, axis))
    return "a later axis splits the same dim and must be joined first";
  // The sequential axis has no devices to communicate: a device takes a part of what it has.
  if (axis == c->pipe || (axis == c->micro && strcmp(rule->op, "Slice"))) return "no devices could meet there";
  if (axis != c->micro && (from->first != to->first || from->count != to->count)) return "it changes the micro-batches";
  if (dp_checker_is_concatenated(c, from) || dp_checker_is_concatenated(c, to))
    return "parts of several micro-batches are for Accumulate alone";
  return NULL;
}

static dp_status check_collective(dp_checker *c, uint32_t instruction, const conversion *rule,
                                  const dp_checker_tensor *from, const dp_checker_tensor *to) {
  int axis = -1;
  char a[256], b[256];
  DP_TRY(dp_checker_axis(c, instruction, &axis));
  if (!dp_checker_is_on_device(from) || !dp_checker_is_on_device(to))
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_TENSOR_SPACE,
                           "it goes from %s to %s memory; devices' is expected", dp_plan_form_space(from->claim->space),
                           dp_plan_form_space(to->claim->space));
  const char *wrong = wrong_with(c, rule, axis, from, to);
  if (wrong)
    return FAIL("from %s to %s on axis '%s': %s", dp_checker_tensor_print(c, from, a, sizeof a),
                dp_checker_tensor_print(c, to, b, sizeof b), c->model->mesh.axes[axis].name, wrong);
  int32_t reduction = rule->from == DP_PARTIAL ? (int32_t)from->at[axis].reduction : 0;
  if (c->instructions[instruction].claim->communication->reduction != reduction)
    return FAIL("it reduces by %s; '%s' is partial by %s", reduction ? "sum" : "maximum", from->value->name,
                reduction ? "maximum" : "sum");
  return DP_OK;
}

// One operand and its result.
static dp_status check_pair(dp_checker *c, uint32_t instruction, size_t k) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  const dp_checker_tensor *from = dp_checker_input(c, in, k), *to = dp_checker_output(c, in, k);
  if (from->value != to->value) return FAIL("it makes '%s' of '%s'", to->value->name, from->value->name);
  if (in->compute_dtype && in->compute_dtype != to->claim->dtype)
    return FAIL("it computes in %s; the value is %s", dp_type_name((dp_dtype)in->compute_dtype),
                dp_type_name((dp_dtype)to->claim->dtype));
  c->report->conversions++;
  if (!strcmp(in->op, "Scatter") || !strcmp(in->op, "Broadcast") || !strcmp(in->op, "Gather"))
    return check_host_transfer(c, instruction, from, to);
  if (!strcmp(in->op, "Offload") || !strcmp(in->op, "Fetch")) return check_offload(c, instruction, from, to);
  for (size_t i = 0; i < DP_COUNT(conversions); i++)
    if (!strcmp(in->op, conversions[i].op)) return check_collective(c, instruction, &conversions[i], from, to);
  return FAIL("this checker cannot follow a value through it");
}

dp_status dp_checker_conversion(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  if (!strcmp(in->op, "Accumulate")) return dp_checker_accumulate(c, instruction);
  if (!strcmp(in->op, "Send") || !strcmp(in->op, "Recv")) return dp_checker_send_or_recv(c, instruction);
  bool bucket = !strcmp(in->op, "AllReduce");
  if (in->n_nodes || !in->n_inputs || in->n_inputs != in->n_outputs || (in->n_inputs > 1 && !bucket))
    return FAIL("communication has %s and no logical node",
                bucket ? "a result for each operand" : "one operand, one result");
  for (size_t k = 0; k < in->n_inputs; k++) {
    if (!in->inputs[k] || !in->outputs[k]) return FAIL("operand or result %zu is left out", k);
    dp_dtype first = dp_checker_input(c, in, 0)->value->type->dtype,
             dtype = dp_checker_input(c, in, k)->value->type->dtype;
    if (dtype != first)
      return FAIL("operand %zu is %s, operand 0 is %s: one element type is expected", k, dp_type_name(dtype),
                  dp_type_name(first));
  }
  if (in->communication && (in->communication->n_peer || in->communication->channel))
    return FAIL("it has a channel or peers, which only Send and Recv have");
  for (size_t k = 0; k < in->n_inputs; k++) DP_TRY(check_pair(c, instruction, k));
  return DP_OK;
}
