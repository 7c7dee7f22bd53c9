// See choices.h.
#define _GNU_SOURCE
#include "runtime/exec/choices.h"

#include <stdlib.h>
#include <string.h>

static dp_status prepare_again(const dp_backend *backend, const dp_unit *unit) {
  const dp_queue_calls *queues = backend->queues;
  void *state = NULL;
  if (backend->use) backend->use(unit->devices[0]);
  if (unit->kernel && unit->kernel->prepare) {
    DP_TRY(unit->kernel->prepare(unit->spec, &state));
    if (unit->kernel->release) unit->kernel->release(state);
  } else if (unit->transfer) {
    DP_TRY(queues->transfer_prepare(unit->devices, unit->n_devices, unit->transfer, &state));
    queues->transfer_release(state);
  }
  return DP_OK;
}

static bool has(const dp_unit *unit, const Dp__Instruction *instruction) {
  return unit->at[0].instruction == instruction || (unit->between_two && unit->at[1].instruction == instruction);
}

dp_status dp_bound_print_choices(const dp_bound *bound, const Dp__Instruction *instruction, FILE *out) {
  const dp_queue_calls *queues = bound->binding->memory->backend->queues;
  if (!queues || !queues->chosen) return DP_OK;
  char *last = NULL;
  dp_status status = DP_OK;
  queues->chosen();  // what was chosen for others
  for (int u = 0; u < bound->task_graph.n_units && !status; u++) {
    const dp_unit *unit = &bound->units[u];
    if (!has(unit, instruction)) continue;
    status = prepare_again(bound->binding->memory->backend, unit);
    const char *chosen = queues->chosen();
    if (status || !*chosen || (last && !strcmp(last, chosen))) continue;
    fprintf(out, "           uses %s", chosen);
    if (last) fprintf(out, ", from device %d on", unit->devices[0]);
    fputc('\n', out);
    free(last);
    last = strdup(chosen);
    if (!last) status = dp_fail(DP_EX_MEMORY, "no memory to explain a step");
  }
  free(last);
  return status;
}
