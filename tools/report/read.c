// Finds and reads what a page is made from. See section.h.
//
// A run's record may come from anywhere, so the files that it names are only read in the run's own folder. The plan may
// be elsewhere: it is recognised by its hash.
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/plan/plan.h"
#include "runtime/checkpoint/folder.h"
#include "tools/report/section.h"

static const char *inside(const dp_report *r, const char *name) {
  const size_t length = strlen(r->folder);
  return dp_printf(r->arena, "%s%s%s", r->folder, length && r->folder[length - 1] == '/' ? "" : "/", name);
}

static bool is_file(const char *path) {
  struct stat st;
  return !stat(path, &st) && S_ISREG(st.st_mode);
}

// The file of that path's name in the run's folder; NULL: there is none, which is noted.
static const char *find_named(dp_report *r, const char *path, const char *option) {
  const char *slash = strrchr(path, '/'), *own = inside(r, slash ? slash + 1 : path);
  if (is_file(own)) return own;
  dp_report_note(&r->notes, "%s went to %s, outside of this folder: add --%s=FILE", option, path, option);
  return NULL;
}

static bool has_ending(const char *name, const char *ending) {
  const size_t length = strlen(name), more = strlen(ending);
  return length > more && !strcmp(name + length - more, ending);
}

// The only file of JSON lines in the folder.
static const char *find_metrics(dp_report *r) {
  const char *found = NULL;
  int count = 0;
  DIR *folder = opendir(r->folder);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    if (!has_ending(entry->d_name, ".jsonl") || !strcmp(entry->d_name, DP_RUNS_FILE)) continue;
    found = inside(r, entry->d_name);
    count++;
  }
  if (folder) closedir(folder);
  if (count < 2) return found;
  dp_report_note(&r->notes, "%s has %d files .jsonl: --metrics=FILE says which one is of this run", r->folder, count);
  return NULL;
}

// A failure to read what nobody named is a note.
static dp_status judge(dp_report *r, dp_status status, const char *named) {
  if (named || !status || dp_status_code(status) == DP_EX_MEMORY) return status;
  dp_report_note(&r->notes, "%s", dp_status_message(status));
  dp_status_free(status);
  return DP_OK;
}

static const dp_report_run *last_run(const dp_report *r) { return r->n_runs ? &r->runs[r->n_runs - 1] : NULL; }

static dp_status read_metrics(dp_report *r, const char *named) {
  const char *path = named;
  const dp_report_run *run = last_run(r);
  dp_report_metrics metrics;
  if (!path) path = run && run->metrics ? find_named(r, run->metrics, "metrics") : find_metrics(r);
  if (!path) return DP_OK;
  dp_status status = dp_report_metrics_read(r->arena, path, &r->notes, &metrics);
  if (!status) r->metrics = metrics;
  return judge(r, status, named);
}

static dp_status read_trace(dp_report *r, const char *named) {
  const char *path = named, *usual = inside(r, "trace.json");
  const dp_report_run *run = last_run(r);
  dp_report_trace trace;
  if (!path) path = run && run->trace ? find_named(r, run->trace, "trace") : is_file(usual) ? usual : NULL;
  if (!path) return DP_OK;
  dp_status status = dp_report_trace_read(r->arena, path, &r->notes, &trace);
  if (!status) r->trace = trace;
  return judge(r, status, named);
}

// The plan that the last run names, if it still is that one.
static const char *find_plan(dp_report *r) {
  const dp_report_run *run = last_run(r);
  uint64_t hash = 0;
  if (!run || !run->plan || *run->plan != '/') return NULL;  // a plan that was piped is nowhere
  dp_status status = dp_plan_hash(run->plan, &hash);
  if (status)
    dp_report_note(&r->notes, "the plan is not there any more: add --plan=FILE (%s)", dp_status_message(status));
  else if (hash != run->plan_hash)
    dp_report_note(&r->notes, "%s is no longer the plan of this run: add --plan=FILE", run->plan);
  const bool found = !status && hash == run->plan_hash;
  dp_status_free(status);
  return found ? run->plan : NULL;
}

// A plan that was named may be another one than the last run's.
static void note_other_plan(dp_report *r, const char *path) {
  const dp_report_run *run = last_run(r);
  uint64_t hash = 0;
  if (!run || dp_file_is_standard(path)) return;
  dp_status status = dp_plan_hash(path, &hash);
  if (!status && hash != run->plan_hash)
    dp_report_note(&r->notes, "%s is not the plan of the last run: memory and placements are those of another one",
                   path);
  dp_status_free(status);
}

static dp_status read_plan(dp_report *r, const char *named) {
  const char *path = named ? named : find_plan(r);
  Dp__Plan *plan;
  if (!path) return DP_OK;
  dp_status status = dp_plan_read(r->arena, path, &plan);
  if (!status && named) note_other_plan(r, named);
  if (!status) {
    r->plan = plan;
    r->plan_path = path;
  }
  return judge(r, status, named);
}

// ---- checkpoints ----------------------------------------------------------------------------------------------------

static double size_of(const char *path) {
  struct stat st;
  return stat(path, &st) ? 0 : (double)st.st_size;
}

static dp_status read_checkpoints(dp_report *r) {
  int64_t *steps;
  int count;
  char link[64];
  DP_TRY(dp_checkpoints_list(r->arena, r->folder, &steps, &count));
  const ssize_t length = readlink(inside(r, "best"), link, sizeof link - 1);
  link[length > 0 ? length : 0] = 0;
  dp_report_checkpoint *all = dp_alloc_n(r->arena, (size_t)count + 1, sizeof *all);
  for (int i = 0; i < count; i++) {
    const char *path = dp_checkpoints_path(r->arena, r->folder, steps[count - 1 - i]), *name = strrchr(path, '/') + 1;
    all[i] = (dp_report_checkpoint){
        .step = steps[count - 1 - i],
        .bytes = size_of(dp_printf(r->arena, "%s/%s", path, DP_CHECKPOINT_WEIGHTS)) +
                 size_of(dp_printf(r->arena, "%s/%s", path, DP_CHECKPOINT_RECORD)),
        .best = !strcmp(name, link),
    };
  }
  r->checkpoints = all;
  r->n_checkpoints = (size_t)count;
  return DP_OK;
}

dp_status dp_report_read(dp_arena *arena, const dp_report_sources *sources, dp_report *report) {
  struct stat st;
  dp_report r = {.arena = arena, .folder = sources->folder, .notes = {.arena = arena}};
  dp_report_run *runs = NULL;
  if (stat(sources->folder, &st)) return dp_fail(EX_NOINPUT, "%s: %s", sources->folder, strerror(errno));
  if (!S_ISDIR(st.st_mode))
    return dp_fail(EX_NOINPUT, "%s: not a folder: name the one that --save or --metrics wrote to", sources->folder);
  DP_TRY(judge(&r, dp_report_runs_read(arena, sources->folder, &r.notes, &runs, &r.n_runs), NULL));
  r.runs = runs;
  DP_TRY(read_metrics(&r, sources->metrics));
  DP_TRY(read_trace(&r, sources->trace));
  DP_TRY(read_plan(&r, sources->plan));
  DP_TRY(judge(&r, read_checkpoints(&r), NULL));
  const bool nothing = !r.metrics.path && !r.trace.path && !r.plan && !r.n_runs && !r.n_checkpoints;
  if (nothing && r.notes.count)
    return dp_fail(EX_DATAERR, "%s: nothing of it can be used: %s", sources->folder, r.notes.texts[0]);
  if (nothing)
    return dp_fail(EX_NOINPUT, "%s: nothing of a run is there: no metrics (*.jsonl), trace.json, %s or checkpoint",
                   sources->folder, DP_RUNS_FILE);
  *report = r;
  return DP_OK;
}
