// kernels: chooses each compute node's kernel, threads and scratch size, for the largest part on any device and in any
// micro-batch.
//
// In a plan for inference variables stay. Where a kernel gains by it, a node has its own packed copy of one, unless
// other nodes read that variable too: each would have a copy.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/cost/largest_shard.h"
#include "passes/emit/kernels.h"

static dp_kernel_operand operand_of(const dp_model *model, const dp_value *value) {
  return (dp_kernel_operand){value->type->dtype, true, dp_largest_shard_of(model, value), value->layout};
}

int dp_kernels_threads(const dp_compile *compile) {
  if (compile->options->threads > 0) return compile->options->threads;
  return compile->options->target->threads(dp_mesh_devices(&compile->model->mesh));
}

// How many threads a device's part of the node is worth.
static int threads_worth(const dp_compile *compile, const dp_node *node, const dp_kernel_spec *spec) {
  double whole = 1, local = 1;  // elements of the largest operand or result
  for (int k = 0; k < spec->n_inputs + spec->n_outputs; k++) {
    const dp_kernel_operand *o = k < spec->n_inputs ? &spec->inputs[k] : &spec->outputs[k - spec->n_inputs];
    double elements = 1;
    for (int d = 0; o->present && d < o->local.rank; d++) elements *= (double)o->local.whole[d];
    if (!o->present || elements <= whole) continue;
    whole = elements;
    local = (double)dp_local_count(&o->local);
  }
  dp_cost cost = dp_op_cost(node, compile->model->batch);
  double work = (cost.flops > cost.bytes ? cost.flops : cost.bytes) * local / whole;
  work /= compile->options->target->thread_work;
  return work < spec->threads ? (int)dp_max_i64(1, (int64_t)work) : spec->threads;
}

// The values of a region by those of its body: operands, results, then what stays inside.
static int32_t number_values(const dp_graph *body, int32_t *number) {
  int32_t n = 0;
  for (int32_t v = 0; v < body->n_values; v++)
    if (body->values[v]->kind != DP_VALUE_RESULT) number[v] = n++;
  for (int i = 0; i < body->n_outputs; i++) number[body->outputs[i].value->id] = -(n++) - 1;
  for (int32_t v = 0; v < body->n_values; v++) {
    if (body->values[v]->kind != DP_VALUE_RESULT) continue;
    number[v] = number[v] < 0 ? -number[v] - 1 : n++;
  }
  return n;
}

static const int32_t *numbers_of(dp_arena *arena, const int32_t *number, int count, dp_value *const *values) {
  int32_t *numbers = dp_alloc_n(arena, (size_t)count, sizeof *numbers);
  for (int i = 0; i < count; i++) numbers[i] = values[i] ? number[values[i]->id] : -1;
  return numbers;
}

// The values at the body's ends lie as the node's operands and results do.
static void take_layouts(const dp_node *node, dp_kernel_operand *values) {
  for (int i = 0; i < node->n_inputs; i++) values[i].layout = node->inputs[i]->layout;
  for (int i = 0; i < node->n_outputs; i++) values[node->n_inputs + i].layout = node->outputs[i]->layout;
}

static void describe_region(dp_arena *arena, const dp_model *model, const dp_node *region_node, dp_kernel_spec *spec) {
  const dp_graph *body = region_node->body;
  int32_t *number = dp_alloc_n(arena, (size_t)body->n_values, sizeof *number);
  dp_kernel_region *region = dp_alloc(arena, sizeof *region);
  dp_kernel_member *members = dp_alloc_n(arena, (size_t)body->n_nodes, sizeof *members);
  const int32_t n_values = number_values(body, number);
  dp_kernel_operand *values = dp_alloc_n(arena, (size_t)n_values, sizeof *values);
  for (int32_t v = 0; v < body->n_values; v++) values[number[v]] = operand_of(model, body->values[v]);
  take_layouts(region_node, values);
  for (int32_t m = 0; m < body->n_nodes; m++) {
    const dp_node *node = body->nodes[m];
    members[m] = (dp_kernel_member){.op = node->op,
                                    .node = node,
                                    .n_inputs = node->n_inputs,
                                    .n_outputs = node->n_outputs,
                                    .inputs = numbers_of(arena, number, node->n_inputs, node->inputs),
                                    .outputs = numbers_of(arena, number, node->n_outputs, node->outputs)};
  }
  *region = (dp_kernel_region){body->n_nodes, n_values, members, values};
  spec->inputs = values;
  spec->outputs = values + spec->n_inputs;
  spec->region = region;
}

static dp_kernel_operand *operands_of(dp_arena *arena, const dp_model *model, int count, dp_value *const *values) {
  dp_kernel_operand *operands = dp_alloc_n(arena, (size_t)count, sizeof *operands);
  for (int i = 0; i < count; i++)
    if (values[i]) operands[i] = operand_of(model, values[i]);
  return operands;
}

dp_kernel_spec dp_kernels_spec(const dp_compile *compile, int threads, dp_arena *arena, const dp_node *node) {
  const dp_model *model = compile->model;
  dp_kernel_spec spec = {
      .op = node->op, .node = node, .n_inputs = node->n_inputs, .n_outputs = node->n_outputs, .threads = threads};
  spec.isa = compile->options->isa;
  spec.tf32 = dp_options_fast_math(compile->options, "tf32");
  spec.winograd = dp_options_fast_math(compile->options, "winograd");
  if (node->body) {
    describe_region(arena, model, node, &spec);
  } else {
    spec.inputs = operands_of(arena, model, node->n_inputs, node->inputs);
    spec.outputs = operands_of(arena, model, node->n_outputs, node->outputs);
  }
  return spec;
}

const dp_kernel *dp_kernels_select(const dp_compile *compile, const dp_kernel_spec *spec) {
  const dp_target *target = compile->options->target;
  const bool reference_only = target->isa && !target->isa();  // no instruction set that its libraries support
  return dp_kernel_select(target, spec, reference_only);
}

typedef struct {
  const dp_compile *compile;
  int threads;
  const int32_t *readers;  // (variables) operands that are it, in the graph
  const int32_t *uses;     // (variables) operands that are it, in all graphs; more where its update is not the only one
  const dp_update **updates;  // (variables) NULL: it has none
} work;

// A variable that stays as it is between runs, and in this graph is for the kernel alone. NULL: its operand is no such.
static dp_value *weight_of(const work *w, const dp_node *node, const dp_kernel *kernel) {
  const dp_options *options = w->compile->options;
  // Where inputs are uploaded ahead, a run may begin before the last one is over.
  if (!kernel->packed_bytes || !dp_options_infers(options) || options->uploads || options->target->uploads) return NULL;
  dp_value *v = node->inputs[kernel->packs];
  const bool is = v && v->kind == DP_VALUE_VARIABLE && v->space == DP_SPACE_PERSISTENT && w->readers[v->variable] == 1;
  return is ? v : NULL;
}

// Says of a value that it lies so, if the node then has the same kind of kernel.
static bool lay(const work *w, dp_arena *arena, const dp_node *node, int threads, dp_value *v, dp_layout layout) {
  v->layout = layout;
  const dp_kernel_spec spec = dp_kernels_spec(w->compile, threads, arena, node);
  const dp_kernel *kernel = dp_kernels_select(w->compile, &spec);
  if (kernel && kernel->lays == layout) return true;
  v->layout = DP_LAYOUT_PLAIN;
  return false;
}

// Whether the node that makes a variable's first value for this alone, if there is one, makes it so.
static bool lay_first_value(const work *w, dp_arena *arena, int32_t variable, dp_layout layout) {
  const dp_update *update = w->updates[variable];
  if (!update) return true;
  const dp_node *node = update->value->producer;
  return node && node->n_outputs == 1 && lay(w, arena, node, w->threads, update->value, layout);
}

// Lays the weight as the kernel gains by, if it is whole on each device, and no other node has it but one that makes
// its first value.
static bool lays(const work *w, dp_arena *arena, const dp_node *node, const dp_kernel *kernel, dp_value *weight,
                 dp_kernel_spec *spec) {
  const int threads = spec->threads;
  if (kernel->lays == DP_LAYOUT_PLAIN || w->uses[weight->variable] != 1) return false;
  if (!lay(w, arena, node, threads, weight, kernel->lays)) return false;
  if (!lay_first_value(w, arena, weight->variable, kernel->lays)) {
    weight->layout = DP_LAYOUT_PLAIN;
    return false;
  }
  w->compile->model->variables[weight->variable].layout = kernel->lays;
  *spec = dp_kernels_spec(w->compile, threads, arena, node);
  return true;
}

// The kernel, and in spec->threads how many it gets. A library may have what a part of so many takes and not what fewer
// take, so a kernel must match with those that it gets, or one is looked for again, for no more than these.
static const dp_kernel *select_kernel(const dp_compile *compile, const dp_node *node, dp_kernel_spec *spec) {
  for (;;) {
    const dp_kernel *kernel = dp_kernels_select(compile, spec);
    const int most = spec->threads;
    if (kernel) spec->threads = kernel->parts || kernel->own_threads ? threads_worth(compile, node, spec) : 1;
    if (!kernel || spec->threads == most || !kernel->match || kernel->match(spec)) return kernel;
  }
}

static dp_status choose_kernel(const work *w, dp_arena *arena, dp_node *node) {
  const dp_compile *compile = w->compile;
  dp_kernel_spec spec = dp_kernels_spec(compile, w->threads, arena, node);
  const dp_kernel *kernel = select_kernel(compile, node, &spec);
  if (!kernel) {
    char text[256];
    const dp_value *x = node->inputs && node->n_inputs && node->inputs[0] ? node->inputs[0] : node->outputs[0];
    return dp_fail(EX_UNAVAILABLE, "node '%s' (%s): backend %s has no kernel for it (first operand: %s)", node->name,
                   node->op->name, compile->options->target->name, dp_type_print(x->type, text, sizeof text));
  }
  dp_value *weight = weight_of(w, node, kernel);
  const bool laid = weight && lays(w, arena, node, kernel, weight, &spec);
  const bool packs = weight && !laid && !compile->options->plain_weights;
  node->kernel = dp_kernel_name(node->graph->arena, kernel, node->op);
  node->threads = spec.threads;
  node->packed_bytes = packs ? kernel->packed_bytes(&spec) : 0;
  spec.packed = node->packed_bytes > 0;
  node->scratch_bytes = kernel->scratch_bytes ? kernel->scratch_bytes(&spec) : 0;
  return DP_OK;
}

// Nodes are described one by one; the memory for it goes back after so many.
enum { NODES_AN_ARENA = 1024 };

static int32_t *counts_of(dp_arena *arena, const dp_model *model) {
  return dp_alloc_n(arena, (size_t)model->n_variables, sizeof(int32_t));
}

static void count_readers(const dp_graph *graph, int32_t *readers) {
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
      const dp_value *v = graph->nodes[i]->inputs[k];
      if (v && v->kind == DP_VALUE_VARIABLE) readers[v->variable]++;
    }
}

// Finds updates; one of several, or whose value others have too, counts as a use.
static void count_updates(const dp_graph *graph, int32_t *uses, const dp_update **updates) {
  int32_t *users = dp_alloc_n(graph->arena, (size_t)graph->n_values, sizeof *users);
  for (int i = 0; i < graph->n_updates; i++) users[graph->updates[i].value->id]++;
  for (int i = 0; i < graph->n_outputs; i++) users[graph->outputs[i].value->id]++;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) users[graph->nodes[i]->inputs[k]->id]++;
  for (int i = 0; i < graph->n_updates; i++) {
    const dp_update *update = &graph->updates[i];
    if (updates[update->variable] || users[update->value->id] > 1) uses[update->variable]++;
    updates[update->variable] = update;
  }
}

static dp_status choose_all(work w, const dp_graph *graph) {
  int32_t *readers = counts_of(graph->arena, graph->model);
  count_readers(graph, readers);
  w.readers = readers;
  for (int32_t i = 0; i < graph->n_nodes; i += NODES_AN_ARENA) {
    dp_arena *scratch = dp_arena_create(0);
    if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
    dp_status status = DP_OK;
    for (int32_t k = i; k < graph->n_nodes && k < i + NODES_AN_ARENA && !status; k++)
      if (!dp_op_is(graph->nodes[k]->op, DP_OP_COMMUNICATION)) status = choose_kernel(&w, scratch, graph->nodes[k]);
    dp_arena_destroy(scratch);
    DP_TRY(status);
  }
  return DP_OK;
}

dp_status dp_kernels_hold_isa(const dp_compile *compile) {
  const dp_options *options = compile->options;
  if (!options->isa) return DP_OK;
  if (!options->target->set_isa)
    return dp_fail(EX_USAGE, "--isa=%s: backend %s does not support a choice of instruction set", options->isa,
                   options->target->name);
  return options->target->set_isa(options->isa);
}

static dp_status run(dp_compile *compile) {
  DP_TRY(dp_kernels_hold_isa(compile));
  compile->unchanged = true;
  const dp_model *model = compile->model;
  int32_t *uses = counts_of(model->arena, model);
  const dp_update **updates = dp_alloc_n(model->arena, (size_t)model->n_variables, sizeof *updates);
  for (int g = 0; g < model->n_graphs && dp_options_infers(compile->options); g++) {
    count_readers(model->graphs[g], uses);
    count_updates(model->graphs[g], uses, updates);
  }
  const work w = {.compile = compile, .threads = dp_kernels_threads(compile), .uses = uses, .updates = updates};
  for (int g = 0; g < model->n_graphs; g++) DP_TRY(choose_all(w, model->graphs[g]));
  return DP_OK;
}

const dp_pass dp_pass_kernels = {
    .name = "kernels",
    .what = "chooses kernels, with threads, scratch and what they pack",
    .needs = DP_HAS_STREAMS,
    .gives = DP_HAS_KERNELS,
    .run = run,
};
