// kernels: chooses each compute node's kernel, threads and scratch size, for the largest part on any device and in any
// micro-batch.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/cost/largest_shard.h"
#include "passes/emit/kernels.h"

static dp_kernel_operand operand_of(const dp_model *model, const dp_value *value) {
  return (dp_kernel_operand){value->type.dtype, true, dp_largest_shard_of(model, value)};
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

static dp_status choose_kernel(dp_compile *compile, dp_node *node) {
  const dp_model *model = compile->model;
  dp_kernel_spec spec = {.op = node->op,
                         .node = node,
                         .n_inputs = node->n_inputs,
                         .n_outputs = node->n_outputs,
                         .threads = dp_kernels_threads(compile)};
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]) spec.inputs[i] = operand_of(model, node->inputs[i]);
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]) spec.outputs[i] = operand_of(model, node->outputs[i]);
  const dp_target *target = compile->options->target;
  const bool reference_only = target->isa && !target->isa();  // no instruction set that its libraries support
  const dp_kernel *kernel = dp_kernel_select(target, &spec, reference_only);
  if (!kernel) {
    char text[256];
    const dp_value *x = node->inputs && node->n_inputs && node->inputs[0] ? node->inputs[0] : node->outputs[0];
    return dp_fail(EX_UNAVAILABLE, "node '%s' (%s): backend %s has no kernel for it (first operand: %s)", node->name,
                   node->op->name, target->name, dp_type_print(&x->type, text, sizeof text));
  }
  spec.threads = kernel->parts || kernel->own_threads ? threads_worth(compile, node, &spec) : 1;
  node->kernel = dp_kernel_name(node->graph->arena, kernel, node->op);
  node->threads = spec.threads;
  node->scratch_bytes = kernel->scratch_bytes ? kernel->scratch_bytes(&spec) : 0;
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  const dp_options *options = compile->options;
  if (options->isa) {
    if (!options->target->set_isa)
      return dp_fail(EX_USAGE, "--isa=%s: backend %s does not support a choice of instruction set", options->isa,
                     options->target->name);
    DP_TRY(options->target->set_isa(options->isa));
  }
  for (int g = 0; g < compile->model->n_graphs; g++) {
    const dp_graph *graph = compile->model->graphs[g];
    for (int32_t i = 0; i < graph->n_nodes; i++)
      if (!dp_op_is(graph->nodes[i]->op, DP_OP_COMMUNICATION)) DP_TRY(choose_kernel(compile, graph->nodes[i]));
  }
  return DP_OK;
}

const dp_pass dp_pass_kernels = {
    .name = "kernels",
    .what = "chooses kernels, with threads and scratch",
    .needs = DP_HAS_STREAMS,
    .gives = DP_HAS_KERNELS,
    .run = run,
};
