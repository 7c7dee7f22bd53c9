// Exponential moving averages of parameters: after each step a = decay * a + (1 - decay) * w', and a = w' after the
// first one, as torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn(decay). "eval" and "infer" read the
// averages instead of the parameters. See optimizer.h.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/train/optimizer_math.h"

void dp_optimizer_average(dp_optimizer_formula *f, dp_value *updated, double decay) {
  dp_builder *b = f->builder;
  f->n_changes = 0;
  f->changes = NULL;
  f->dtype = updated->type->dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
  const dp_optimizer_state a = dp_optimizer_state_add(f, DP_AVERAGE_STATE, 0);
  dp_value *later = dp_build2(b, "Greater", f->t, like(f, f->t, 1));
  dp_value *weight = dp_build(b, "Where", 3, (dp_value *[]){later, like(f, f->t, decay), like(f, f->t, 0)}, 1, 0, NULL);
  dp_value *now = dp_build_cast(b, updated, f->dtype);
  dp_value *sum = add(f, mul(f, a.old, scalar(f, weight)), mul(f, now, scalar(f, minus(f, 1, weight))));
  (void)dp_optimizer_state_set(f, &a, sum);
  dp_optimizer_formula_assign(f);
}

// Reads `average` where the program reads the parameter.
static void replace(dp_graph *graph, int32_t parameter, int32_t average) {
  dp_value *from = dp_graph_variable(graph, parameter), *to = dp_graph_variable(graph, average);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k] == from) graph->nodes[i]->inputs[k] = to;
  for (int i = 0; i < graph->n_outputs; i++)
    if (graph->outputs[i].value == from) graph->outputs[i].value = to;
}

void dp_optimizer_read_averages(dp_model *model) {
  static const char *const programs[] = {"eval", "infer"};
  for (size_t p = 0; p < DP_COUNT(programs); p++) {
    dp_graph *graph = dp_model_find_graph(model, programs[p]);
    for (int32_t i = 0; i < model->n_variables && graph; i++)
      if (!strncmp(model->variables[i].name, DP_AVERAGE_STATE, strlen(DP_AVERAGE_STATE)))
        replace(graph, dp_pass_parameter_of(model, i), i);
  }
}
