// --verbose: what is run, on what, and on which data.
#include <stdio.h>

#include "ir/plan/options.h"
#include "tools/run/dprun.h"

static void print_feed(const char *what, const dp_dprun_feed *feed) {
  if (!feed->loader) return;
  fprintf(stderr, "%s: %lld samples in %lld batches\n", what, (long long)feed->samples, (long long)feed->steps);
}

static void print_variables(const dp_model *model) {
  long long count[2] = {0, 0}, numbers[2] = {0, 0};
  for (int32_t i = 0; i < model->n_variables; i++) {
    const dp_variable *v = &model->variables[i];
    long long n = 1;
    if (v->kind != DP_PARAMETER) continue;
    for (int d = 0; d < v->type->shape.rank; d++) n *= v->type->shape.dims[d].offset;
    count[v->frozen]++;
    numbers[v->frozen] += n;
  }
  fprintf(stderr, "parameters: %lld of %lld numbers", count[0], numbers[0]);
  if (count[1]) fprintf(stderr, ", and %lld of %lld numbers that are frozen", count[1], numbers[1]);
  fputc('\n', stderr);
}

void dp_dprun_verbose_print(const dp_dprun *run) {
  const Dp__Plan *plan = run->plan;
  const dp_model *model = dp_session_model(run->session);
  fprintf(stderr, "plan: %s of '%s' by %s\n", run->options->plan, plan->name, plan->producer);
  fprintf(stderr, "strategy: %s on %s, batch %lld, loss %s, optimizer %s\n", *plan->strategy ? plan->strategy : "none",
          model->mesh.n_axes ? dp_plan_options_mesh(run->arena, &model->mesh) : "one device", (long long)plan->batch,
          *plan->loss ? plan->loss : "none", *plan->optimizer ? plan->optimizer : "none");
  if (plan->target)
    fprintf(stderr, "target: %s%s%s, at most %d threads for an instruction\n", plan->target->backend,
            *plan->target->isa ? " with " : "", plan->target->isa, (int)plan->target->threads);
  print_variables(model);
  print_feed("data", run->options->infer ? &run->infer : &run->train);
  print_feed("evaluation", &run->eval);
}
