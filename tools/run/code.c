// dprun --make-code: compiles the functions that a plan needs, where no device is.
#include <stdio.h>

#include "tools/run/dprun.h"

// What a step needs may depend on how many samples there are, and the data's last batch may have any number. Halves of
// a batch come through all sizes.
static dp_status add_program(dp_session *session, int program, int64_t batch, const dp_code_maker *maker) {
  for (int64_t n = batch; n > 0; n /= 2) DP_TRY(dp_session_add_code(session, program, n, maker));
  return dp_session_add_code(session, program, 0, maker);
}

dp_status dp_dprun_make_code(dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  const dp_backend_entry *entry = o->device;
  if (!entry && run->plan->target) entry = dp_backend_find(run->plan->target->backend);
  if (!entry || !entry->code_maker)
    return dp_fail(EX_CONFIG, "--make-code: plans for '%s' need no machine code: leave it out",
                   entry ? entry->name : "this target");
  if (o->devices && entry->check_kinds) {
    dp_status status = entry->check_kinds(o->devices);
    if (status) return dp_status_context(status, "--device");
  }
  const dp_session_options options = {.workers = 1};
  DP_TRY(dp_session_create(run->plan, entry->code_maker->backend, &options, &run->session));
  for (size_t r = 0; r < run->plan->n_roles; r++)
    for (size_t p = 0; p < run->plan->roles[r]->n_programs; p++) {
      const int program = dp_session_find(run->session, run->plan->roles[r]->programs[p]->name);
      DP_TRY(add_program(run->session, program, run->plan->batch, entry->code_maker));
    }
  int count;
  uint64_t bytes;
  DP_TRY(entry->code_maker->make(o->devices, o->make_code, &count, &bytes));
  if (!o->quiet)
    fprintf(stderr, "%s: machine code of %d functions, %.1f MiB\n", o->make_code, count, (double)bytes / 1048576);
  return DP_OK;
}
