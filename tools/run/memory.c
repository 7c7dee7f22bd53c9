// Reports the memory of a run: the arenas, which equal the plan's figures, and everything else that the process held at
// its peak.
#include <stdio.h>
#include <string.h>

#include "tools/run/dprun.h"
#include "tools/run/line.h"

// The peak resident memory since this program started; 0: unknown. getrusage would include what the process held before
// exec.
static uint64_t peak_resident(void) {
  char line[256];
  unsigned long long kib = 0;
  FILE *status = fopen("/proc/self/status", "re");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "VmHWM: %llu kB", &kib) == 1) break;
  if (status) fclose(status);
  return kib << 10;
}

static uint64_t arena_of(const Dp__Role *role, Dp__Space space) {
  for (size_t i = 0; i < role->n_arenas; i++)
    if (role->arenas[i]->space == space) return role->arenas[i]->bytes;
  return 0;
}

static double mib(uint64_t bytes) { return (double)bytes / (1 << 20); }

// Measures a device of each stage; *b gets the figures of the stage that needs most.
static void measure_stages(dp_dprun *run, dp_metrics_bytes *b) {
  size_t count = run->plan->n_roles;
  dp_metrics_stage *stages = dp_alloc_n(run->arena, count, sizeof *stages);
  for (size_t r = 0; r < count; r++) {
    const Dp__Role *role = run->plan->roles[r];
    const uint64_t input = arena_of(role, DP__SPACE__DEVICE_INPUT);
    const uint64_t offload = arena_of(role, DP__SPACE__OFFLOAD);
    if (input > b->device_input) b->device_input = input;
    if (offload > b->offload) b->offload = offload;
    stages[r] = (dp_metrics_stage){arena_of(role, DP__SPACE__PERSISTENT), arena_of(role, DP__SPACE__TRANSIENT)};
    if (stages[r].persistent + stages[r].transient < b->persistent + b->transient) continue;
    b->persistent = stages[r].persistent;
    b->transient = stages[r].transient;
  }
  if (count < 2) return;
  b->n_stages = count;
  b->stages = stages;
}

static void print_memory(dp_arena *arena, const dp_metrics_bytes *b, uint64_t host) {
  const char *held =
      b->n_stages ? "" : dp_printf(arena, "%.1f", mib(b->persistent + b->transient + 2 * b->device_input));
  for (size_t r = 0; r < b->n_stages; r++)
    held = dp_printf(arena, "%s%s%.1f", held, r ? " | " : "", mib(b->stages[r].persistent + b->stages[r].transient));
  dp_line_print(stderr,
                "memory: %.1f MiB of arenas (%llu device%s with %s%s, host %.1f), %.1f touched; peak resident %.1f, "
                "including %.1f "
                "of libraries, data and tables",
                mib(b->arenas), (unsigned long long)b->devices, b->devices == 1 ? "" : "s", held,
                b->n_stages ? " by stage" : "", mib(host), mib(b->arenas_resident), mib(b->peak_resident),
                mib(b->other));
}

void dp_dprun_memory_report(dp_dprun *run) {
  const Dp__Role *any = run->plan->roles[0];  // the host's arenas are the same in all roles
  uint64_t host = dp_session_bytes(run->session, DP__SPACE__HOST_INPUT) +
                  dp_session_bytes(run->session, DP__SPACE__HOST_OUTPUT) +
                  dp_session_bytes(run->session, DP__SPACE__OFFLOAD);
  dp_metrics_bytes b = {
      .devices = (uint64_t)dp_mesh_devices(&dp_session_model(run->session)->mesh),
      .host_input = arena_of(any, DP__SPACE__HOST_INPUT),
      .host_output = arena_of(any, DP__SPACE__HOST_OUTPUT),
      .arenas_resident = dp_session_resident(run->session),
      .peak_resident = peak_resident(),
  };
  measure_stages(run, &b);
  for (int space = DP__SPACE__PERSISTENT; space <= DP__SPACE__DEVICE_INPUT; space++)
    b.arenas += dp_session_bytes(run->session, (Dp__Space)space);
  if (b.peak_resident > b.arenas_resident) b.other = b.peak_resident - b.arenas_resident;
  dp_metrics_memory(&run->metrics, &b);
  if (!run->options->quiet) print_memory(run->arena, &b, host);
}
