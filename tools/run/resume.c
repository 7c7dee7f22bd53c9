// See resume.h. A checkpoint is read twice: once to see that it is whole, once into the session. So memory is needed
// for one tensor at a time, and nothing is loaded from one that is damaged.
#include "tools/run/resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/folder.h"
#include "tools/run/match.h"

// ---- what has changed -----------------------------------------------------------------------------------------------

static const struct {
  const char *name;
  dp_dprun_change change;
} changes[] = {
    {"batch", DP_CHANGE_BATCH}, {"data", DP_CHANGE_DATA},           {"lr", DP_CHANGE_LR},
    {"model", DP_CHANGE_MODEL}, {"optimizer", DP_CHANGE_OPTIMIZER}, {"order", DP_CHANGE_ORDER},
    {"seed", DP_CHANGE_SEED},   {"metric", DP_CHANGE_METRIC},       {"schedule", DP_CHANGE_SCHEDULE},
};

unsigned dp_dprun_change_find(const char *name, const char **names) {
  *names = "batch, data, lr, metric, model, optimizer, order, schedule, seed";
  for (size_t i = 0; i < DP_COUNT(changes); i++)
    if (!strcmp(changes[i].name, name)) return changes[i].change;
  return 0;
}

static const char *on_off(bool on) { return on ? "on" : "off"; }

// What differs, in words; NULL: nothing does.
static const char *describe(dp_arena *arena, dp_dprun_change change, const dp_checkpoint_record *then,
                            const dp_checkpoint_record *now) {
  switch (change) {
    case DP_CHANGE_BATCH:
      if (then->batch == now->batch) return NULL;
      return dp_printf(arena, "the batch was %" PRId64 " and is %" PRId64 " now", then->batch, now->batch);
    case DP_CHANGE_DATA:
      if (then->samples != now->samples)
        return dp_printf(arena, "the data had %" PRId64 " samples and has %" PRId64 " now", then->samples,
                         now->samples);
      return then->data == now->data ? NULL : "the data was other data of as many samples";
    case DP_CHANGE_MODEL:
      return then->model == now->model ? NULL : "the model was another one";
    case DP_CHANGE_OPTIMIZER:
      if (!strcmp(then->optimizer, now->optimizer)) return NULL;
      return dp_printf(arena, "the optimizer was %s and is %s now", then->optimizer, now->optimizer);
    case DP_CHANGE_ORDER:
      if (then->shuffle != now->shuffle)
        return dp_printf(arena, "--shuffle was %s and is %s now", on_off(then->shuffle), on_off(now->shuffle));
      if (then->drop_last == now->drop_last) return NULL;
      return dp_printf(arena, "--drop-last was %s and is %s now", on_off(then->drop_last), on_off(now->drop_last));
    case DP_CHANGE_SEED:
      if (then->seed == now->seed) return NULL;
      return dp_printf(arena, "--seed was %" PRIu64 " and is %" PRIu64 " now", then->seed, now->seed);
    case DP_CHANGE_LR:
      // Another optimizer has its own rate. A checkpoint of an earlier version does not say.
      if (then->lr < 0 || then->lr == now->lr || strcmp(then->optimizer, now->optimizer) != 0) return NULL;
      return dp_printf(arena, "the learning rate was %g, by --lr, and is %g now", then->lr, now->lr);
    case DP_CHANGE_SCHEDULE:
      // One that is asked for is no mistake, and another optimizer has its own.
      if (!then->schedule || now->schedule || strcmp(then->optimizer, now->optimizer) != 0) return NULL;
      return dp_printf(arena, "the schedule was %s, by --schedule, and is the plan's now", then->schedule);
    case DP_CHANGE_METRIC:
      if (!then->best.metric || !now->best.metric || !strcmp(then->best.metric, now->best.metric)) return NULL;
      return dp_printf(arena, "the best was by %s and is by %s now", then->best.metric, now->best.metric);
  }
  return NULL;
}

static dp_status compare(dp_arena *arena, const dp_checkpoint_record *then, const dp_checkpoint_record *now,
                         unsigned allowed) {
  const char *text = "", *names = "";
  for (size_t i = 0; i < DP_COUNT(changes); i++) {
    if (changes[i].change & allowed) continue;
    const char *what = describe(arena, changes[i].change, then, now);
    if (!what) continue;
    text = dp_printf(arena, "%s%s%s", text, *text ? "; " : "", what);
    names = dp_printf(arena, "%s%s%s", names, *names ? "," : "", changes[i].name);
  }
  if (!*text) return DP_OK;
  return dp_fail(EX_CONFIG, "not the same training: %s. To go on all the same, add --allow-change=%s", text, names);
}

// ---- one checkpoint -------------------------------------------------------------------------------------------------

typedef struct {
  dp_arena *arena;
  const char *path;
  dp_checkpoint_record record;
  dp_safetensors file;
} checkpoint;

// Checks that every byte of the tensors is as it was written.
static dp_status check_tensors(const checkpoint *c) {
  size_t largest = 0;
  for (size_t i = 0; i < c->file.count; i++)
    if (c->file.tensors[i].tensor.bytes > largest) largest = c->file.tensors[i].tensor.bytes;
  char *data = malloc(largest ? largest : 1);
  if (!data) return dp_fail(DP_EX_MEMORY, "%s: no memory for a tensor of %zu bytes", c->path, largest);
  uint64_t sum = 0;
  dp_status status = DP_OK;
  for (size_t i = 0; i < c->file.count && !status; i++) {
    const dp_safetensor *entry = &c->file.tensors[i];
    status = dp_safetensors_read(&c->file, entry, data);
    if (!status) sum += dp_checkpoint_hash(entry->name, data, entry->tensor.bytes);
  }
  free(data);
  if (!status && sum != c->record.tensors)
    status = dp_fail(EX_DATAERR, "%s/" DP_CHECKPOINT_WEIGHTS ": its content is not what was saved", c->path);
  return status;
}

// Opens a checkpoint and checks that it is whole.
static dp_status open_checkpoint(dp_arena *arena, const char *path, checkpoint *c) {
  *c = (checkpoint){.arena = arena, .path = path};
  DP_TRY(dp_checkpoint_record_read(arena, dp_printf(arena, "%s/" DP_CHECKPOINT_RECORD, path), &c->record));
  DP_TRY(dp_safetensors_open(arena, dp_printf(arena, "%s/" DP_CHECKPOINT_WEIGHTS, path), &c->file));
  dp_status status = check_tensors(c);
  if (status) dp_safetensors_close(&c->file);
  return status;
}

static dp_status load(const checkpoint *c, dp_session *session) {
  const dp_model *model = dp_session_model(session);
  const dp_dprun_matching matching = {.wanted = dp_dprun_is_kept};
  const dp_dprun_source **found;
  const char *left_out;
  dp_dprun_source *sources = dp_alloc_n(c->arena, c->file.count, sizeof *sources);
  size_t largest = 0;
  for (size_t i = 0; i < c->file.count; i++) {
    sources[i] = (dp_dprun_source){c->file.tensors[i].name, &c->file, &c->file.tensors[i]};
    if (sources[i].entry->tensor.bytes > largest) largest = sources[i].entry->tensor.bytes;
  }
  DP_TRY(dp_dprun_match(c->arena, model, sources, c->file.count, &matching, &found, &left_out));
  char *data = dp_alloc(c->arena, largest);
  for (int32_t i = 0; i < model->n_variables; i++) {
    if (!found[i]) continue;
    DP_TRY(dp_safetensors_read(&c->file, found[i]->entry, data));
    DP_TRY(dp_session_variable_write(session, i, data));
  }
  return DP_OK;
}

// ---- the newest that is whole ---------------------------------------------------------------------------------------

// Damage is a reason to take an older checkpoint. A disk that cannot be read now, or a lack of memory, is not.
static bool is_damage(dp_status status) {
  const int code = dp_status_code(status);
  return code == EX_DATAERR || code == EX_NOINPUT;
}

// *at: the newest whole one of the steps; `count` if none is.
static dp_status open_newest(dp_arena *arena, const char *folder, const int64_t *steps, int count, checkpoint *c,
                             int *at) {
  for (*at = 0; *at < count; ++*at) {
    dp_status status = open_checkpoint(arena, dp_checkpoints_path(arena, folder, steps[*at]), c);
    if (!status || !is_damage(status)) return status;
    fprintf(stderr, "dprun: passed over a damaged checkpoint: %s\n", dp_status_message(status));
    dp_status_free(status);
  }
  return DP_OK;
}

dp_status dp_dprun_resume(dp_arena *arena, const char *folder, const dp_checkpoint_record *now, unsigned allowed,
                          dp_session *session, dp_checkpoint_record *record) {
  int64_t *steps;
  int count, at;
  checkpoint c;
  DP_TRY(dp_checkpoints_list(arena, folder, &steps, &count));
  DP_TRY(open_newest(arena, folder, steps, count, &c, &at));
  if (!count) {
    record->step = -1;
    return DP_OK;
  }
  if (at == count)
    return dp_fail(EX_DATAERR, "--resume: none of the %d checkpoints in %s is whole: to start afresh, remove them",
                   count, folder);
  dp_status status = compare(arena, &c.record, now, allowed);
  if (!status) status = load(&c, session);
  dp_safetensors_close(&c.file);
  if (status) return dp_status_context(status, "--resume: %s", c.path);
  *record = c.record;
  return DP_OK;
}
