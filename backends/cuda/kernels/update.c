// dp.SGD, dp.Adam and dp.Assign: one, or a region of them. Updates that have attributes, types, learning rate, step,
// scale and skip in common are one launch, which finds its tensors in a table in the GPU's memory. A region may begin
// with Casts of gradients from 16 bits: updates then read these as they lie.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/update.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"
#include "ir/kernel/member.h"

// Where an optimizer's operands are. Those before the gradient are `in` of dp_update_tensor.
typedef struct {
  const char *name;
  bool adam;
  int gradient, lr, step, scale, skip;  // lr, step, scale -1: it takes none
} optimizer;

static const optimizer optimizers[] = {
    {"SGD", false, 2, 3, 4, 5, 6}, {"Adam", true, 3, 4, 5, 6, 7}, {"Assign", false, 1, -1, -1, -1, 2}};

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

// Parameter, state and results lie alike. So does the gradient, unless it lies in NHWC beside others that are plain.
static bool lie_alike(const dp_kernel_spec *spec, const dp_kernel_operand *gradient) {
  const dp_layout layout = spec->inputs[0].layout;
  for (int i = 0; i < spec->n_inputs; i++)
    if (i != optimizer_of(spec->op)->gradient && spec->inputs[i].local.rank == 4 && spec->inputs[i].layout != layout)
      return false;
  for (int k = 0; k < spec->n_outputs; k++)
    if (spec->outputs[k].present && spec->outputs[k].layout != layout) return false;
  return layout == DP_LAYOUT_PLAIN || gradient->layout == layout;
}

// Takes the gradient's layout where the parameter has another, which shows where a plane has several elements and an
// image several channels.
static void lay(const dp_kernel_operand *parameter, const dp_kernel_operand *gradient, dp_update_tensor *x) {
  const int64_t *extents = gradient->local.extents;
  if (gradient->layout == parameter->layout || extents[1] == 1 || extents[2] * extents[3] == 1) return;
  x->channels = extents[1];
  x->plane = extents[2] * extents[3];
}

// gradient: its type in memory.
static dp_status add_function(const dp_kernel_spec *spec, dp_dtype gradient, const dp_cuda_function **function) {
  const optimizer *o = optimizer_of(spec->op);
  const bool assigns = o->lr < 0;
  const dp_cuda_type *(*type_of)(dp_dtype) = assigns ? dp_cuda_type_moved : dp_cuda_type_of;
  char defines[512];
  snprintf(defines, sizeof defines, "%s%s#define ADAM %d\n#define ASSIGN %d\n", type_of(spec->inputs[0].dtype)->defines,
           type_of(gradient)->second, o->adam, assigns);
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

static int64_t blocks_of(int64_t count) {
  return (count + DP_UPDATE_THREADS * DP_UPDATE_EACH - 1) / (DP_UPDATE_THREADS * DP_UPDATE_EACH);
}

static dp_status launch(dp_queue *queue, const dp_cuda_function *function, int64_t blocks,
                        const dp_update_arguments *a) {
  return dp_cuda_launch(queue, function, blocks, DP_UPDATE_THREADS, a, sizeof *a);
}

// ---- one ------------------------------------------------------------------------------------------------------------

static bool match_one(const dp_kernel_spec *spec) {
  return !spec->region && takes(spec) && lie_alike(spec, &spec->inputs[optimizer_of(spec->op)->gradient]);
}

static dp_status prepare_one(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_function *function;
  DP_TRY(add_function(spec, spec->inputs[optimizer_of(spec->op)->gradient].dtype, &function));
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
  a.scale = has(spec, o->scale) ? in[o->scale] : NULL;
  a.skip = has(spec, o->skip) ? in[o->skip] : NULL;
  a.one.count = dp_out_count(spec, 0);
  for (int i = 0; i < o->gradient; i++) a.one.in[i] = in[i];
  a.one.gradient = in[o->gradient];
  lay(&spec->inputs[0], &spec->inputs[o->gradient], &a.one);
  for (int i = 0; i < spec->n_outputs && i < 3; i++) a.one.out[i] = out[i];
  return launch(queue, state, blocks_of(a.one.count), &a);
}

const dp_kernel dp_kernel_cuda_update = {
    .name = "cuda.update",
    .types = DP_STORED,
    .channels_last = true,
    .shares_state = true,
    .in_place = true,
    .match = match_one,
    .prepare = prepare_one,
    .enqueue = enqueue_one,
};

// ---- a region -------------------------------------------------------------------------------------------------------

// The operand of the region that is the update's gradient, or that a Cast makes it from.
static int32_t gradient_of(const dp_kernel_region *r, const dp_kernel_member *update) {
  const int32_t gradient = update->inputs[optimizer_of(update->op)->gradient];
  for (int m = 0; m < r->n_members; m++)
    if (dp_member_is_cast(&r->members[m]) && r->members[m].outputs[0] == gradient) return r->members[m].inputs[0];
  return gradient;
}

static bool takes_gradient(const dp_kernel_region *r, const dp_kernel_member *update) {
  const int32_t stored = gradient_of(r, update), made = update->inputs[optimizer_of(update->op)->gradient];
  const bool computes = optimizer_of(update->op)->lr >= 0;
  return stored == made ||
         (computes && (DP_BIT(r->values[stored].dtype) & (DP_BIT(DP_BFLOAT16) | DP_BIT(DP_FLOAT16))) &&
          r->values[made].dtype == DP_FLOAT32);
}

// Whether a Cast makes nothing but the gradient: all else is read where the region has it.
static bool reads_operands(const dp_kernel_spec *spec, const dp_kernel_member *update) {
  for (int i = 0; i < update->n_inputs; i++)
    if (i != optimizer_of(update->op)->gradient && update->inputs[i] >= spec->n_inputs) return false;
  return true;
}

static bool match_region(const dp_kernel_spec *spec) {
  const dp_kernel_region *r = spec->region;
  if (!r) return false;
  int n_updates = 0;
  for (int m = 0; m < r->n_members; m++) {
    if (dp_member_is_cast(&r->members[m])) continue;
    dp_member_spec member;
    dp_member_spec_make(r, m, r->values, &member);
    if (!takes(&member.spec) || !takes_gradient(r, &r->members[m]) || !reads_operands(spec, &r->members[m]))
      return false;
    if (!lie_alike(&member.spec, &r->values[gradient_of(r, &r->members[m])])) return false;
    n_updates++;
  }
  return n_updates && dp_members_are_independent(spec);
}

// Members of one launch. lr, step, scale, skip: values of the region; -1: none.
typedef struct {
  const dp_cuda_function *function;
  dp_update_arguments arguments;  // all but the addresses of these values
  int32_t lr, step, scale, skip;
  int64_t blocks;
} launch_group;

typedef struct {
  int n_groups;
  launch_group *groups;
  int *group_of;           // (members) -1: a Cast
  const dp_cuda_gpu *gpu;  // that has `table`: the tensors of each group, group after group
  void *table;
} region_state;

static void release(void *state) {
  region_state *s = state;
  if (!s) return;
  if (s->table) dp_cuda_gpu_release(s->gpu, s->table);
  free(s->groups);
  free(s->group_of);
  free(s);
}

static bool is_same(const launch_group *a, const launch_group *b) {
  return a->function == b->function && a->lr == b->lr && a->step == b->step && a->scale == b->scale &&
         a->skip == b->skip && !memcmp(&a->arguments, &b->arguments, offsetof(dp_update_arguments, n_tensors));
}

static dp_status add_member(const dp_kernel_region *r, int m, region_state *s) {
  const dp_kernel_member *member = &r->members[m];
  const optimizer *o = optimizer_of(member->op);
  s->group_of[m] = -1;
  if (!o) return DP_OK;
  dp_member_spec made;
  dp_member_spec_make(r, m, r->values, &made);
  launch_group *group = &s->groups[s->n_groups];
  *group = (launch_group){.arguments = arguments_of(&made.spec),
                          .lr = has(&made.spec, o->lr) ? member->inputs[o->lr] : -1,
                          .step = has(&made.spec, o->step) ? member->inputs[o->step] : -1,
                          .scale = has(&made.spec, o->scale) ? member->inputs[o->scale] : -1,
                          .skip = has(&made.spec, o->skip) ? member->inputs[o->skip] : -1};
  DP_TRY(add_function(&made.spec, r->values[gradient_of(r, member)].dtype, &group->function));
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

// Appends the tensors of group g to the table, which has room for them; those without elements are left out.
static void add_group(const dp_kernel_spec *spec, region_state *s, int g, const void *const *in, void *const *out,
                      dp_update_tensor *tensors) {
  launch_group *group = &s->groups[g];
  for (int m = 0; m < spec->region->n_members; m++) {
    const dp_kernel_member *member = &spec->region->members[m];
    const int64_t count = dp_local_count(&spec->region->values[member->outputs[0]].local);
    if (s->group_of[m] != g || !count) continue;
    dp_update_tensor *x = &tensors[group->arguments.n_tensors++];
    *x = (dp_update_tensor){
        .count = count, .first_block = group->blocks, .gradient = in[gradient_of(spec->region, member)]};
    lay(&spec->region->values[member->inputs[0]], &spec->region->values[gradient_of(spec->region, member)], x);
    for (int i = 0; i < optimizer_of(member->op)->gradient; i++)
      x->in[i] = member->inputs[i] < 0 ? NULL : in[member->inputs[i]];
    for (int k = 0; k < member->n_outputs && k < 3; k++)
      x->out[k] = member->outputs[k] < 0 ? NULL : out[member->outputs[k] - spec->n_inputs];
    group->blocks += blocks_of(count);
  }
}

// Fills the table: group after group.
static void fill(const dp_kernel_spec *spec, region_state *s, const void *const *in, void *const *out,
                 dp_update_tensor *tensors) {
  const dp_update_tensor *table = s->table;
  for (int g = 0; g < s->n_groups; g++) {
    dp_update_arguments *a = &s->groups[g].arguments;
    a->tensors = table;
    add_group(spec, s, g, in, out, tensors);
    table += a->n_tensors;
    tensors += a->n_tensors;
  }
}

static dp_status settle(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out) {
  region_state *s = state;
  const size_t bytes = (size_t)spec->region->n_members * sizeof(dp_update_tensor);
  s->gpu = dp_cuda_gpu_current();
  DP_TRY(dp_cuda_gpu_allocate(s->gpu, bytes, &s->table));
  dp_update_tensor *tensors = calloc(1, bytes);
  if (!tensors) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  fill(spec, s, in, out, tensors);
  dp_status status = dp_cuda_gpu_upload(s->gpu, s->table, tensors, bytes);
  free(tensors);
  return status;
}

static dp_status enqueue_region(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                void *const *out, void *scratch) {
  (void)spec, (void)out, (void)scratch;
  const region_state *s = state;
  for (int g = 0; g < s->n_groups; g++) {
    const launch_group *group = &s->groups[g];
    dp_update_arguments a = group->arguments;
    a.lr = group->lr < 0 ? NULL : in[group->lr];
    a.step = group->step < 0 ? NULL : in[group->step];
    a.scale = group->scale < 0 ? NULL : in[group->scale];
    a.skip = group->skip < 0 ? NULL : in[group->skip];
    DP_TRY(launch(queue, group->function, group->blocks, &a));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_update_Region = {
    .name = "cuda.updates.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .channels_last = true,
    .priority = 1,
    .in_place = true,
    .match = match_region,
    .prepare = prepare_region,
    .settle = settle,
    .release = release,
    .enqueue = enqueue_region,
};
