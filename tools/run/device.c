// See device.h.
#include "tools/run/device.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/base/whole.h"
#include "ir/plan/plan.h"
#include "runtime/target.h"

enum { MOST_TEXT = 8192 };

// The device that was asked for, else the plan's. If that is missing here, the plan's target is refused later.
static const dp_backend_entry *choose_backend(const dp_dprun_options *o, const Dp__Plan *plan) {
  const dp_backend_entry *entry = o->device;
  if (!entry && plan->target) entry = dp_backend_find(plan->target->backend);
  return entry ? entry : dp_backend_default();
}

dp_status dp_dprun_device_open(const dp_dprun_options *o, const Dp__Plan *plan, bool beside,
                               const dp_backend **backend) {
  const dp_backend_entry *entry = choose_backend(o, plan);
  if (beside && entry->map && !o->devices)
    return dp_fail(EX_CONFIG, "beside other runs, say which devices are this one's own: --device=%s:0, for example",
                   entry->name);
  DP_TRY(entry->open(o->devices, backend));
  if (o->timeout >= 0 && entry->set_timeout) entry->set_timeout(o->timeout);
  if (o->map && !entry->map) return dp_fail(EX_USAGE, "--map: backend %s has nothing to choose from", entry->name);
  return o->map ? entry->map(o->map) : DP_OK;
}

// ---- in a process of its own ----------------------------------------------------------------------------------------

typedef struct {
  int code;              // exit code; 0: `text` has the names
  char text[MOST_TEXT];  // ends with 0
} finding;

static void look(const dp_dprun_options *o, const Dp__Plan *plan, finding *found) {
  const dp_backend *backend;
  dp_status status = dp_dprun_device_open(o, plan, true, &backend);
  if (!status) status = dp_target_hold(plan, backend);
  const dp_backend_entry *entry = choose_backend(o, plan);
  if (!status && entry->identify) entry->identify(found->text, sizeof found->text);
  found->code = dp_status_code(status);
  if (status) snprintf(found->text, sizeof found->text, "%s", dp_status_message(status));
}

static dp_status look_aside(const dp_dprun_options *o, const Dp__Plan *plan, finding *found) {
  int ends[2], state;
  *found = (finding){0};
  if (pipe(ends)) return dp_fail(EX_OSERR, "cannot make a pipe: %s", strerror(errno));
  const pid_t pid = fork();
  if (!pid) {
    look(o, plan, found);
    dp_write_whole(ends[1], found, sizeof *found);  // whoever reads sees whether it is whole
    _exit(0);
  }
  const int error = errno;
  close(ends[1]);
  const bool whole = pid > 0 && dp_read_whole(ends[0], found, sizeof *found);
  close(ends[0]);
  if (pid < 0) return dp_fail(EX_OSERR, "its devices cannot be looked at: %s", strerror(error));
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
  }
  if (!whole) return dp_fail(EX_UNAVAILABLE, "its devices cannot be opened: the driver ended the process");
  return found->code ? dp_fail(found->code, "%s", found->text) : DP_OK;
}

// ---- before several runs --------------------------------------------------------------------------------------------

typedef struct {
  dp_arena *arena;
  const dp_dprun_options *options;
  finding found;
} probe;

static dp_status execute(void *context) {
  probe *p = context;
  const dp_dprun_options *o = p->options;
  Dp__Plan *plan;
  DP_TRY(dp_plan_read(p->arena, o->plan, &plan));
  return o->make_code || (o->explain && !o->device) ? DP_OK : look_aside(o, plan, &p->found);
}

dp_status dp_dprun_device_probe(dp_arena *arena, const dp_dprun_options *options, const char **names) {
  probe *p = dp_alloc(arena, sizeof *p);
  *p = (probe){dp_arena_create(0), options, {0}};
  if (!p->arena) return dp_fail(DP_EX_MEMORY, "no memory to read its plan");
  dp_status status = dp_arena_run(p->arena, execute, p);
  dp_arena_destroy(p->arena);
  *names = p->found.text;
  return status;
}
