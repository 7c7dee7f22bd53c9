// dp.SGD, dp.Adam and dp.Assign: one, or a region of them. Updates that have attributes, types, learning rate, step and
// skip in common share launches, of up to DP_UPDATE_MOST tensors.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/update.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"
#include "ir/kernel/member.h"

// Where an optimizer's operands are. `in` and `out` of dp_update_tensor are its first operands and results.
typedef struct {
  const char *name;
  bool adam;
  int n_in, lr, step, skip;  // lr, step -1: it takes none
} optimizer;

static const optimizer optimizers[] = {
    {"SGD", false, 3, 3, 4, 5}, {"Adam", true, 4, 4, 5, 6}, {"Assign", false, 2, -1, -1, 2}};

static const optimizer *optimizer_of(const dp_op *op) {
  for (size_t i = 0; i < DP_COUNT(optimizers); i++)
    if (!strcmp(op->domain, "dp") && !strcmp(op->name, optimizers[i].name)) return &optimizers[i];
  return NULL;
}

static bool has(const dp_kernel_spec *spec, int operand) { return operand >= 0 && dp_has_in(spec, operand); }

// Whether an operand, if it is there, is a whole number as the device reads it.
static bool is_number(const dp_kernel_spec *spec, int operand) {
  return !has(spec, operand) || spec->inputs[operand].dtype == DP_INT64;
}

static bool takes(const dp_kernel_spec *spec) {
  const optimizer *o = optimizer_of(spec->op);
  if (!o || spec->n_inputs <= o->lr || !is_number(spec, o->skip)) return false;
  if (o->lr < 0) return true;
  const dp_dtype w = spec->inputs[0].dtype;
  return (DP_BIT(w) & DP_CUDA_FLOATS) && spec->inputs[o->lr].dtype == w && (has(spec, o->step) || !o->adam) &&
         is_number(spec, o->step);
}

static dp_status add_function(const dp_kernel_spec *spec, const dp_cuda_function **function) {
  const optimizer *o = optimizer_of(spec->op);
  const dp_dtype w = spec->inputs[0].dtype;
  const bool assigns = o->lr < 0;
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define ADAM %d\n#define ASSIGN %d\n",
           (assigns ? dp_cuda_type_moved(w) : dp_cuda_type_of(w))->defines, o->adam, assigns);
  return dp_cuda_function_add(o->name, defines, dp_cuda_source_update, function);
}

// The arguments that all tensors of a launch share, without addresses.
static dp_update_arguments arguments_of(const dp_kernel_spec *spec) {
  const dp_node *node = spec->node;
  return (dp_update_arguments){.momentum = dp_node_float(node, "momentum", 0),
                               .dampening = dp_node_float(node, "dampening", 0),
                               .weight_decay = dp_node_float(node, "weight_decay", 0),
                               .beta1 = dp_node_float(node, "beta1", 0.9),
                               .beta2 = dp_node_float(node, "beta2", 0.999),
                               .eps = dp_node_float(node, "eps", 1e-8),
                               .nesterov = dp_node_int(node, "nesterov", 0) != 0,
                               .decoupled = dp_node_int(node, "decoupled", 0) != 0};
}

// Returns the block after the tensor's last.
static int64_t add_tensor(dp_update_arguments *a, int64_t first_block, int64_t count, const void *const *in, int n_in,
                          void *const *out, int n_out) {
  dp_update_tensor *x = &a->tensors[a->n_tensors];
  if (!count) return first_block;
  *x = (dp_update_tensor){.count = count, .first_block = first_block};
  for (int i = 0; i < n_in; i++) x->in[i] = in[i];
  for (int i = 0; i < n_out && i < 3; i++) x->out[i] = out[i];
  a->n_tensors++;
  return first_block + (count + DP_UPDATE_THREADS * DP_UPDATE_EACH - 1) / (DP_UPDATE_THREADS * DP_UPDATE_EACH);
}

static dp_status launch(dp_queue *queue, const dp_cuda_function *function, int64_t blocks,
                        const dp_update_arguments *a) {
  return dp_cuda_launch(queue, function, blocks, DP_UPDATE_THREADS, a, sizeof *a);
}

// ---- one ------------------------------------------------------------------------------------------------------------

static bool match_one(const dp_kernel_spec *spec) { return !spec->region && takes(spec); }

static dp_status prepare_one(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_function *function;
  DP_TRY(add_function(spec, &function));
  *state = (void *)(uintptr_t)function;  // which is never freed
  return DP_OK;
}

static dp_status enqueue_one(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                             void *const *out, void *scratch) {
  (void)scratch;
  const optimizer *o = optimizer_of(spec->op);
  dp_update_arguments a = arguments_of(spec);
  a.lr = has(spec, o->lr) ? in[o->lr] : NULL;
  a.step = has(spec, o->step) ? in[o->step] : NULL;
  a.skip = has(spec, o->skip) ? in[o->skip] : NULL;
  const int64_t blocks = add_tensor(&a, 0, dp_out_count(spec, 0), in, o->n_in, out, spec->n_outputs);
  return launch(queue, state, blocks, &a);
}

const dp_kernel dp_kernel_cuda_update = {
    .name = "cuda.update",
    .types = DP_STORED,
    .shares_state = true,
    .in_place = true,
    .match = match_one,
    .prepare = prepare_one,
    .enqueue = enqueue_one,
};

// ---- a region -------------------------------------------------------------------------------------------------------

static bool match_region(const dp_kernel_spec *spec) {
  const dp_kernel_region *r = spec->region;
  if (!r || !r->n_members) return false;
  for (int m = 0; m < r->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(r, m, r->values, &member);
    if (!takes(&member.spec)) return false;
  }
  return dp_members_are_independent(spec);
}

// Members that share launches. lr, step, skip: values of the region; -1: none.
typedef struct {
  const dp_cuda_function *function;
  dp_update_arguments arguments;  // but for addresses and tensors
  int32_t lr, step, skip;
} launch_group;

typedef struct {
  int n_groups;
  launch_group *groups;
  int *group_of;  // (members)
} region_state;

static void release(void *state) {
  region_state *s = state;
  if (!s) return;
  free(s->groups);
  free(s->group_of);
  free(s);
}

static bool is_same(const launch_group *a, const launch_group *b) {
  return a->function == b->function && a->lr == b->lr && a->step == b->step && a->skip == b->skip &&
         !memcmp(&a->arguments, &b->arguments, offsetof(dp_update_arguments, n_tensors));
}

static dp_status add_member(const dp_kernel_region *r, int m, region_state *s) {
  const dp_kernel_member *member = &r->members[m];
  const optimizer *o = optimizer_of(member->op);
  dp_member_spec made;
  dp_member_spec_make(r, m, r->values, &made);
  launch_group *group = &s->groups[s->n_groups];
  *group = (launch_group){.arguments = arguments_of(&made.spec),
                          .lr = has(&made.spec, o->lr) ? member->inputs[o->lr] : -1,
                          .step = has(&made.spec, o->step) ? member->inputs[o->step] : -1,
                          .skip = has(&made.spec, o->skip) ? member->inputs[o->skip] : -1};
  DP_TRY(add_function(&made.spec, &group->function));
  int g = 0;
  while (!is_same(&s->groups[g], group)) g++;
  s->group_of[m] = g;
  s->n_groups += g == s->n_groups;
  return DP_OK;
}

static dp_status prepare_region(const dp_kernel_spec *spec, void **state) {
  const dp_kernel_region *r = spec->region;
  region_state *s = calloc(1, sizeof *s);
  if (s) s->groups = calloc((size_t)r->n_members, sizeof *s->groups);
  if (s) s->group_of = calloc((size_t)r->n_members, sizeof *s->group_of);
  dp_status status = DP_OK;
  if (!s || !s->groups || !s->group_of)
    status = dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  for (int m = 0; m < r->n_members && !status; m++) status = add_member(r, m, s);
  if (status)
    release(s);
  else
    *state = s;
  return status;
}

static dp_status enqueue_group(const dp_kernel_spec *spec, const region_state *s, int g, dp_queue *queue,
                               const void *const *in, void *const *out) {
  const launch_group *group = &s->groups[g];
  dp_update_arguments a = group->arguments;
  int64_t blocks = 0;
  a.lr = group->lr < 0 ? NULL : in[group->lr];
  a.step = group->step < 0 ? NULL : in[group->step];
  a.skip = group->skip < 0 ? NULL : in[group->skip];
  for (int m = 0; m < spec->region->n_members; m++) {
    if (s->group_of[m] != g) continue;
    const dp_kernel_member *member = &spec->region->members[m];
    const int n_in = optimizer_of(member->op)->n_in;
    const void *from[4] = {0};
    void *to[3] = {0};
    for (int i = 0; i < n_in; i++) from[i] = member->inputs[i] < 0 ? NULL : in[member->inputs[i]];
    for (int k = 0; k < member->n_outputs; k++)
      to[k] = member->outputs[k] < 0 ? NULL : out[member->outputs[k] - spec->n_inputs];
    const int64_t count = dp_local_count(&spec->region->values[member->outputs[0]].local);
    blocks = add_tensor(&a, blocks, count, from, n_in, to, member->n_outputs);
    if (a.n_tensors < DP_UPDATE_MOST) continue;
    DP_TRY(launch(queue, group->function, blocks, &a));
    a.n_tensors = blocks = 0;
  }
  return launch(queue, group->function, blocks, &a);
}

static dp_status enqueue_region(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                void *const *out, void *scratch) {
  (void)scratch;
  const region_state *s = state;
  for (int g = 0; g < s->n_groups; g++) DP_TRY(enqueue_group(spec, s, g, queue, in, out));
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_update_Region = {
    .name = "cuda.updates.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .priority = 1,
    .shares_state = true,
    .in_place = true,
    .match = match_region,
    .prepare = prepare_region,
    .release = release,
    .enqueue = enqueue_region,
};
