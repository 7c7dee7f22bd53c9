// What memory a run took: the arenas, which are the plan's figures to the byte, and apart from them everything else that
// the process held at its peak.
#include <stdio.h>
#include <string.h>

#include "tools/dprun.h"

// The most that was resident since this program began (a new program begins anew, which getrusage does not say); 0: the
// system does not say.
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

static uint64_t device_bytes(const Dp__Role *role) {
  return arena_of(role, DP__SPACE__PERSISTENT) + arena_of(role, DP__SPACE__TRANSIENT);
}

// Of a pipeline's stages the one whose devices have most.
static const Dp__Role *largest_role(const Dp__Plan *plan) {
  const Dp__Role *largest = plan->roles[0];
  for (size_t r = 1; r < plan->n_roles; r++)
    if (device_bytes(plan->roles[r]) > device_bytes(largest)) largest = plan->roles[r];
  return largest;
}

static double mib(uint64_t bytes) { return (double)bytes / (1 << 20); }

void dp_dprun_memory_report(dp_dprun *run) {
  const Dp__Role *role = largest_role(run->plan);
  uint64_t host =
      dp_session_bytes(run->session, DP__SPACE__HOST_INPUT) + dp_session_bytes(run->session, DP__SPACE__HOST_OUTPUT);
  dp_metrics_bytes b = {
      .devices = (uint64_t)dp_mesh_devices(&dp_session_model(run->session)->mesh),
      .persistent = arena_of(role, DP__SPACE__PERSISTENT),
      .transient = arena_of(role, DP__SPACE__TRANSIENT),
      .host_input = arena_of(role, DP__SPACE__HOST_INPUT),
      .host_output = arena_of(role, DP__SPACE__HOST_OUTPUT),
      .arenas_resident = dp_session_resident(run->session),
      .peak_resident = peak_resident(),
  };
  for (int space = DP__SPACE__PERSISTENT; space <= DP__SPACE__HOST_OUTPUT; space++)
    b.arenas += dp_session_bytes(run->session, (Dp__Space)space);
  if (b.peak_resident > b.arenas_resident) b.other = b.peak_resident - b.arenas_resident;
  dp_metrics_memory(&run->metrics, &b);
  if (run->options->quiet) return;
  fprintf(
      stderr,
      "memory: %.1f MiB of arenas (%llu device%s with %s%.1f, host %.1f), %.1f touched; peak resident %.1f, of it %.1f "
      "libraries, data and tables\n",
      mib(b.arenas), (unsigned long long)b.devices, b.devices == 1 ? "" : "s", run->plan->n_roles > 1 ? "up to " : "",
      mib(b.persistent + b.transient), mib(host), mib(b.arenas_resident), mib(b.peak_resident), mib(b.other));
}
