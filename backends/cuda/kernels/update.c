// dp.SGD, dp.Adam and dp.Assign: one, or a region of them. Updates that have attributes, types, learning rate, step,
// scale and skip in common are one launch (table.h). A region may begin with Casts of gradients from 16 bits: updates
// then read these as they lie.
#include <stdio.h>
#include <string.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/update.h"
#include "backends/cuda/kernels/table.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

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

// lr, step, scale, skip: values of the region; -1: none.
typedef struct {
  dp_cuda_table_launch base;
  dp_update_arguments arguments;  // those of all tensors, but the addresses of these values
  int32_t lr, step, scale, skip;
} region_launch;

static bool is_same(const void *x, const void *y) {
  const region_launch *a = x, *b = y;
  return a->lr == b->lr && a->step == b->step && a->scale == b->scale && a->skip == b->skip &&
         !memcmp(&a->arguments, &b->arguments, offsetof(dp_update_arguments, n_tensors));
}

static dp_status describe(const dp_kernel_region *region, int m, void *launch) {
  const dp_kernel_member *member = &region->members[m];
  const optimizer *o = optimizer_of(member->op);
  if (!o) return DP_OK;  // a Cast
  dp_member_spec made;
  dp_member_spec_make(region, m, region->values, &made);
  region_launch *own = launch;
  *own = (region_launch){.arguments = arguments_of(&made.spec),
                         .lr = has(&made.spec, o->lr) ? member->inputs[o->lr] : -1,
                         .step = has(&made.spec, o->step) ? member->inputs[o->step] : -1,
                         .scale = has(&made.spec, o->scale) ? member->inputs[o->scale] : -1,
                         .skip = has(&made.spec, o->skip) ? member->inputs[o->skip] : -1};
  return add_function(&made.spec, region->values[gradient_of(region, member)].dtype, &own->base.function);
}

static int64_t list(const dp_kernel_spec *spec, int m, const void *const *in, void *const *out, int64_t first_block,
                    void *tensor) {
  const dp_kernel_region *r = spec->region;
  const dp_kernel_member *member = &r->members[m];
  const int32_t gradient = gradient_of(r, member);
  dp_update_tensor *x = tensor;
  *x = (dp_update_tensor){.count = dp_local_count(&r->values[member->outputs[0]].local),
                          .first_block = first_block,
                          .gradient = in[gradient]};
  lay(&r->values[member->inputs[0]], &r->values[gradient], x);
  for (int i = 0; i < optimizer_of(member->op)->gradient; i++)
    x->in[i] = member->inputs[i] < 0 ? NULL : in[member->inputs[i]];
  for (int k = 0; k < member->n_outputs && k < 3; k++)
    x->out[k] = member->outputs[k] < 0 ? NULL : out[member->outputs[k] - spec->n_inputs];
  return blocks_of(x->count);
}

static dp_status prepare_region(const dp_kernel_spec *spec, void **state) {
  static const dp_cuda_table_kind updates = {sizeof(region_launch), sizeof(dp_update_tensor), describe, is_same, list};
  return dp_cuda_table_prepare(spec, &updates, state);
}

static dp_status enqueue_region(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                void *const *out, void *scratch) {
  (void)spec, (void)out, (void)scratch;
  const dp_cuda_table *table = state;
  for (int l = 0; l < table->n_launches; l++) {
    const region_launch *own = dp_cuda_table_at(table, l);
    dp_update_arguments a = own->arguments;
    a.lr = own->lr < 0 ? NULL : in[own->lr];
    a.step = own->step < 0 ? NULL : in[own->step];
    a.scale = own->scale < 0 ? NULL : in[own->scale];
    a.skip = own->skip < 0 ? NULL : in[own->skip];
    a.n_tensors = own->base.n_tensors;
    a.tensors = own->base.tensors;
    DP_TRY(launch(queue, own->base.function, own->base.blocks, &a));
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
    .settle = dp_cuda_table_settle,
    .release = dp_cuda_table_release,
    .enqueue = enqueue_region,
};
