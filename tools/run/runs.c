// What a folder of checkpoints says of the runs that wrote to it (tools/report/runs.h).
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/plan/plan.h"
#include "tools/report/runs.h"
#include "tools/run/dprun.h"

// An absolute path of a file that exists; NULL: none was given, or it is standard input or a pipe.
static const char *absolute(dp_arena *arena, const char *path) {
  char resolved[PATH_MAX];
  if (!path || dp_file_is_stream(path)) return NULL;
  return dp_strdup(arena, realpath(path, resolved) ? resolved : path);
}

// The same of a file that is still to be written: its folder exists.
static const char *absolute_to_be(dp_arena *arena, const char *path) {
  char resolved[PATH_MAX];
  if (!path || dp_file_is_standard(path)) return NULL;
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *folder = !slash ? "." : slash == path ? "/" : dp_strndup(arena, path, (size_t)(slash - path));
  return realpath(folder, resolved) ? dp_printf(arena, "%s/%s", resolved, name) : dp_strdup(arena, path);
}

// What the backend says of the plan's devices, one thing behind the other; NULL: nothing.
static const char *describe_devices(const dp_dprun *run) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  dp_session_describe(run->session, out);
  const bool whole = !fclose(out);
  const char *said = NULL;
  char *rest = NULL;
  for (char *line = whole ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
    said = dp_printf(run->arena, "%s%s%s", said ? said : "", said ? "; " : "", line);
  free(text);
  return said;
}

dp_status dp_dprun_runs_add(const dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  if (!o->checkpoints) return DP_OK;
  dp_report_run r = {.plan = absolute(run->arena, o->plan),
                     .first_step = run->steps + 1,
                     .metrics = absolute_to_be(run->arena, o->metrics),
                     .trace = absolute_to_be(run->arena, o->trace),
                     .devices = describe_devices(run),
                     .n_words = (size_t)run->argc,
                     .words = (const char *const *)run->argv};
  dp_report_run_here(run->arena, &r);
  DP_TRY(dp_plan_hash(o->plan, &r.plan_hash));
  return dp_report_runs_add(run->arena, o->save, &r);
}
