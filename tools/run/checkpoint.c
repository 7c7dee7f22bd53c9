// See checkpoint.h.
#define _GNU_SOURCE
#include "tools/run/checkpoint.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tools/weights/match.h"

static bool is_same_folder(const char *a, const char *b) {
  struct stat x, y;
  return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

dp_status dp_dprun_checkpoints_open(dp_arena *arena, const char *path, const char *resume,
                                    dp_dprun_checkpoints *checkpoints) {
  int64_t *steps;
  int count;
  DP_TRY(dp_checkpoints_open(path, &checkpoints->folder));
  checkpoints->resumed = resume && is_same_folder(path, resume);
  DP_TRY(dp_checkpoints_list(arena, path, &steps, &count));
  if (!count || checkpoints->resumed) return DP_OK;
  return dp_fail(
      EX_CONFIG,
      "--save=%s: the folder has checkpoints, the newest of step %lld: add --resume to go on from it, or name "
      "another folder",
      path, (long long)steps[0]);
}

// Of memory in large pages, the system has less to keep track of.
static void use_large_pages(char *data, size_t bytes) {
  const uintptr_t page = 2 << 20, from = ((uintptr_t)data + page - 1) & ~(page - 1), to = (uintptr_t)data + bytes;
  if (to > from + page) madvise(data + (from - (uintptr_t)data), to - from, MADV_HUGEPAGE);
}

dp_status dp_dprun_checkpoints_prepare(dp_arena *arena, dp_session *session, const dp_checkpoint_record *record,
                                       dp_dprun_checkpoints *c) {
  const dp_model *model = dp_session_model(session);
  size_t n_variables = 0, largest = 0;
  c->session = session;
  c->record = *record;
  for (int32_t i = 0; i < model->n_variables; i++) {
    if (!dp_weights_is_kept(&model->variables[i])) continue;
    const dp_safetensor item = {.name = model->variables[i].name, .tensor = dp_weights_tensor_of(&model->variables[i])};
    DP_PUSH(arena, c->variables, n_variables, i);
    DP_PUSH(arena, c->tensors, c->count, item);
    c->bytes += item.tensor.bytes;
    if (item.tensor.bytes > largest) largest = item.tensor.bytes;
  }
  char *at = dp_alloc(arena, c->sync ? largest : c->bytes);
  use_large_pages(at, c->sync ? largest : c->bytes);
  for (size_t i = 0; i < c->count; i++) {
    c->tensors[i].tensor.data = at;
    if (!c->sync) at += c->tensors[i].tensor.bytes;
  }
  return DP_OK;
}

static dp_status set_best(const dp_dprun_checkpoints *c) {
  const dp_checkpoint_record *r = &c->record;
  return r->best.metric && r->best.step == r->step ? dp_checkpoints_set_best(&c->folder, r->step) : DP_OK;
}

dp_status dp_dprun_checkpoints_go_on(dp_dprun_checkpoints *c, const dp_checkpoint_record *then) {
  c->last = c->whole = c->record.step = then->step;
  c->record.tensors = then->tensors;
  c->record.best = then->best;
  // Whoever wrote it may have been killed before the link pointed to it, or its name was on the disk.
  DP_TRY(set_best(c));
  if (!c->keep) return DP_OK;
  DP_TRY(dp_file_sync_folder(c->folder.path));
  return dp_checkpoints_prune(&c->folder, then->step, c->keep);
}

static dp_status copy(const dp_dprun_checkpoints *c, size_t index) {
  // The data is ours: `tensors` only reads it.
  void *data = (void *)(uintptr_t)c->tensors[index].tensor.data;
  return dp_session_variable_read(c->session, c->variables[index], data);
}

// The tensors in turn.
static dp_status next_tensor(void *context, size_t index, const void **data) {
  const dp_dprun_checkpoints *c = context;
  if (c->sync) DP_TRY(copy(c, index));
  *data = c->tensors[index].tensor.data;
  return DP_OK;
}

static dp_status write_checkpoint(dp_dprun_checkpoints *c) {
  dp_checkpoint_record *r = &c->record;
  DP_TRY(dp_checkpoints_save(&c->folder, r, c->tensors, c->count, next_tensor, c));
  c->whole = r->step;
  DP_TRY(set_best(c));
  return c->keep ? dp_checkpoints_prune(&c->folder, c->record.step, c->keep) : DP_OK;
}

static void *write_aside(void *arg) {
  dp_dprun_checkpoints *c = arg;
  c->status = write_checkpoint(c);
  if (c->status) atomic_store(&c->failed, true);
  return NULL;
}

bool dp_dprun_checkpoints_failed(const dp_dprun_checkpoints *c) { return atomic_load(&c->failed); }

// The thread takes no signals: they are for the loop, which waits for input and output.
static dp_status start(dp_dprun_checkpoints *c) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&c->thread, NULL, write_aside, c);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) return dp_fail(DP_EX_MEMORY, "cannot start the thread that writes checkpoints: %s", strerror(error));
  c->writing = true;
  return DP_OK;
}

dp_status dp_dprun_checkpoints_finish(dp_dprun_checkpoints *c) {
  if (c->writing) pthread_join(c->thread, NULL);
  dp_status status = c->status;
  c->writing = false;
  c->status = NULL;
  return status;
}

// Whether the last evaluation is the same one, by the same metric.
static bool judges_alike(const dp_checkpoint_best *a, const dp_checkpoint_best *b) {
  if (!a->metric || !b->metric) return !a->metric && !b->metric;
  return a->judged == b->judged && !strcmp(a->metric, b->metric);
}

dp_status dp_dprun_checkpoints_save(dp_dprun_checkpoints *c, int64_t step, int64_t epoch, int64_t position,
                                    const dp_checkpoint_best *best) {
  DP_TRY(dp_dprun_checkpoints_finish(c));
  // A run without --best leaves what an earlier one found.
  const bool there = step == c->last, judged = !best->metric || judges_alike(&c->record.best, best);
  c->record.step = step;
  c->record.epoch = epoch;
  c->record.position = position;
  if (best->metric) c->record.best = *best;
  if (there) {
    if (!judged) DP_TRY(dp_checkpoints_amend(&c->folder, &c->record));
    DP_TRY(set_best(c));
    return c->keep ? dp_checkpoints_prune(&c->folder, step, c->keep) : DP_OK;
  }
  if (c->sync) {
    DP_TRY(write_checkpoint(c));
  } else {
    for (size_t i = 0; i < c->count; i++) DP_TRY(copy(c, i));
    DP_TRY(start(c));
  }
  c->last = step;
  return DP_OK;
}

void dp_dprun_checkpoints_close(dp_dprun_checkpoints *c) {
  dp_status_free(dp_dprun_checkpoints_finish(c));
  dp_checkpoints_close(&c->folder);
}
