// See resume.h. A checkpoint is read twice: once to see that it is whole, once into the session. So memory is needed
// for one tensor at a time, and nothing is loaded from one that is damaged.
#include "tools/run/resume.h"

#include <inttypes.h>
#include <string.h>

#include "tools/weights/match.h"
#include "tools/weights/newest.h"

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

// What differs and is not allowed. *text: in words; *names: for --allow-change; both "" if nothing does.
static void compare(dp_arena *arena, const dp_checkpoint_record *then, const dp_checkpoint_record *now,
                    unsigned allowed, const char **text, const char **names) {
  *text = *names = "";
  for (size_t i = 0; i < DP_COUNT(changes); i++) {
    if (changes[i].change & allowed) continue;
    const char *what = describe(arena, changes[i].change, then, now);
    if (!what) continue;
    *text = dp_printf(arena, "%s%s%s", *text, **text ? "; " : "", what);
    *names = dp_printf(arena, "%s%s%s", *names, **names ? "," : "", changes[i].name);
  }
}

// ---- the tensors ----------------------------------------------------------------------------------------------------

typedef struct {
  const dp_weights_source **found;  // (variables)
  const char *unlike;               // the lists of tensors that are not the model's; NULL: all are
} tensors;

// weights: only parameters and buffers.
static dp_status match(dp_arena *arena, const dp_weights_checkpoint *c, const dp_model *model, bool weights,
                       tensors *t) {
  const dp_weights_matching matching = {.wanted = weights ? dp_weights_is_weight : dp_weights_is_kept, .partial = true};
  dp_weights_source *sources = NULL;
  size_t count = 0;
  for (size_t i = 0; i < c->file.count; i++) {
    const dp_weights_source source = {c->file.tensors[i].name, &c->file, &c->file.tensors[i]};
    if (!weights || strncmp(source.name, "dp.", 3) != 0) DP_PUSH(arena, sources, count, source);
  }
  return dp_weights_match(arena, model, sources, count, &matching, &t->found, &t->unlike);
}

static bool has_any(const tensors *t, int32_t n_variables) {
  for (int32_t i = 0; i < n_variables; i++)
    if (t->found[i]) return true;
  return false;
}

// How to train on from what fits, where going on is impossible.
static dp_status advise(dp_arena *arena, const dp_weights_checkpoint *c, const dp_model *model, const char **advice) {
  tensors t;
  DP_TRY(match(arena, c, model, true, &t));
  *advice = !has_any(&t, model->n_variables)
                ? ""
                : dp_printf(arena,
                            "\nTo begin a new training with its weights, give --init=%s%s and another folder to "
                            "--save, without --resume",
                            c->path, t.unlike ? " --init-partial" : "");
  return DP_OK;
}

static dp_status check(dp_arena *arena, const dp_weights_checkpoint *c, const dp_model *model,
                       const dp_checkpoint_record *now, unsigned allowed, tensors *t) {
  const char *text, *names, *advice;
  compare(arena, &c->record, now, allowed, &text, &names);
  DP_TRY(match(arena, c, model, false, t));
  if (t->unlike) DP_TRY(advise(arena, c, model, &advice));
  if (*text && t->unlike)
    return dp_fail(EX_CONFIG, "not the same training: %s. Its tensors are not those of this model and optimizer%s%s",
                   text, t->unlike, advice);
  if (*text)
    return dp_fail(EX_CONFIG, "not the same training: %s. To go on all the same, add --allow-change=%s", text, names);
  if (t->unlike) return dp_fail(EX_DATAERR, "the tensors are not those of the model%s%s", t->unlike, advice);
  return DP_OK;
}

static dp_status load(dp_arena *arena, const dp_weights_checkpoint *c, const tensors *t, dp_session *session) {
  size_t largest = 0;
  for (size_t i = 0; i < c->file.count; i++)
    if (c->file.tensors[i].tensor.bytes > largest) largest = c->file.tensors[i].tensor.bytes;
  char *data = dp_alloc(arena, largest);
  for (int32_t i = 0; i < dp_session_model(session)->n_variables; i++) {
    if (!t->found[i]) continue;
    DP_TRY(dp_safetensors_read(&c->file, t->found[i]->entry, data));
    DP_TRY(dp_session_variable_write(session, i, data));
  }
  return DP_OK;
}

dp_status dp_dprun_resume(dp_arena *arena, const char *folder, const dp_checkpoint_record *now, unsigned allowed,
                          dp_session *session, dp_checkpoint_record *record) {
  dp_weights_checkpoint c;
  tensors t;
  int count;
  DP_TRY(dp_weights_checkpoint_newest(arena, folder, &count, &c));
  if (!count) {
    record->step = -1;
    return DP_OK;
  }
  if (!c.path)
    return dp_fail(EX_DATAERR, "--resume: none of the %d checkpoints in %s is whole: to start afresh, remove them",
                   count, folder);
  dp_status status = check(arena, &c, dp_session_model(session), now, allowed, &t);
  if (!status) status = load(arena, &c, &t, session);
  dp_safetensors_close(&c.file);
  if (status) return dp_status_context(status, "--resume: %s", c.path);
  *record = c.record;
  return DP_OK;
}
