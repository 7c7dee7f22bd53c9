// See feed.h.
#include "tools/run/feed.h"

#include <stdio.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "runtime/data/data.h"

static const dp_value *find_input(const dp_graph *graph, const char *name) {
  const dp_value *value = dp_graph_find_value(graph, name);
  return value && value->kind == DP_VALUE_INPUT ? value : NULL;
}

static const char *list_inputs(dp_arena *arena, const dp_graph *graph) {
  const char *names = "";
  for (int32_t v = 0; v < graph->n_values; v++)
    if (graph->values[v]->kind == DP_VALUE_INPUT)
      names = dp_printf(arena, "%s%s'%s'", names, *names ? ", " : "", graph->values[v]->name);
  return names;
}

static dp_status check_names(dp_arena *arena, const dp_graph *graph, const char *option, const dp_cli_pair *pairs,
                             int n_pairs) {
  for (int i = 0; i < n_pairs; i++) {
    if (find_input(graph, pairs[i].name)) continue;
    dp_suggest suggest = dp_suggest_begin(pairs[i].name);
    for (int32_t v = 0; v < graph->n_values; v++)
      if (graph->values[v]->kind == DP_VALUE_INPUT) dp_suggest_offer(&suggest, graph->values[v]->name);
    char hint[128];
    return dp_fail(EX_USAGE, "--%s %s=...: program %s of the model has no such input, only %s%s", option, pairs[i].name,
                   graph->name, list_inputs(arena, graph), dp_suggest_print(&suggest, hint, sizeof hint));
  }
  const char *missing = "", *names = "";
  for (int32_t v = 0; v < graph->n_values; v++) {
    const dp_value *value = graph->values[v];
    bool given = value->kind != DP_VALUE_INPUT;
    for (int i = 0; i < n_pairs; i++) given |= !strcmp(value->name, pairs[i].name);
    if (given) continue;
    names = dp_printf(arena, "%s%s'%s'", names, *names ? ", " : "", value->name);
    missing = dp_printf(arena, "%s --%s %s=FILE", missing, option, value->name);
  }
  return *missing ? dp_fail(EX_USAGE, "no data given for the model's input %s: add%s", names, missing) : DP_OK;
}

// The dim of samples; -1: none.
static dp_status find_batch_dim(const char *name, const dp_type *type, int *batch_dim) {
  *batch_dim = -1;
  for (int d = 0; d < type->shape.rank; d++) {
    dp_dim dim = type->shape.dims[d];
    if (!dp_dim_is_symbolic(dim)) continue;
    char text[256];
    if (*batch_dim >= 0 || !dp_dim_equal(dim, dp_dim_batch()))
      return dp_fail(EX_UNAVAILABLE, "input '%s' is %s: dprun needs one sample axis of exactly N samples", name,
                     dp_type_print(type, text, sizeof text));
    *batch_dim = d;
  }
  return DP_OK;
}

// *rounded: the message about rounding, or NULL.
static dp_status open_input(dp_arena *arena, const dp_cli_pair *pair, const dp_type *type, bool skip_broken,
                            dp_data **file, dp_loader_input *input, const char **rounded) {
  dp_data_request request = {.input = type, .skip_broken = skip_broken};
  bool rounds;
  DP_TRY(find_batch_dim(pair->name, type, &request.batch_dim));
  DP_TRY(dp_data_open(arena, pair->file, &request, file));
  *input = (dp_loader_input){.name = pair->name, .batch_dim = request.batch_dim};
  DP_TRY(dp_data_fit(arena, dp_printf(arena, "%s for input '%s'", pair->file, pair->name), &request, *file,
                     &input->data, &rounds));
  if (rounds && !*rounded)
    *rounded = dp_printf(arena, "%s: its %s numbers are rounded to %s for input '%s'", pair->file,
                         dp_type_name((*file)->dtype), dp_type_name(type->dtype), pair->name);
  return DP_OK;
}

static dp_status add_augments(dp_arena *arena, const dp_graph *graph, const dp_dprun_feeding *feeding,
                              dp_loader_input *inputs) {
  for (int a = 0; a < feeding->n_augments; a++) {
    const dp_cli_pair *pair = &feeding->augments[a];
    int i = 0;
    while (i < feeding->n_pairs && strcmp(inputs[i].name, pair->name)) i++;
    if (i == feeding->n_pairs)
      return dp_fail(EX_USAGE, "--augment %s=...: program %s of the model has no such input", pair->name, graph->name);
    dp_augment *augment = dp_alloc(arena, sizeof *augment);
    DP_TRY(dp_augment_parse(pair->file, augment));
    DP_TRY(dp_augment_fit(pair->name, find_input(graph, pair->name)->type, inputs[i].batch_dim, augment));
    inputs[i].augment = augment;
  }
  return DP_OK;
}

static dp_status prepare(dp_session *session, const dp_dprun_feed *feed, int64_t batch) {
  int64_t tail = feed->samples % batch;
  if (feed->samples >= batch) DP_TRY(dp_session_prepare(session, feed->program, batch));
  return feed->steps * batch > feed->samples ? dp_session_prepare(session, feed->program, tail) : DP_OK;
}

static void say_skipped(void *context, const char *message) {
  (void)context;
  fputs("dprun: skipped: ", stderr);
  dp_cli_print_message(message);
  fputc('\n', stderr);
}

dp_status dp_dprun_feed_open(dp_arena *arena, dp_session *session, const dp_dprun_feeding *feeding,
                             dp_dprun_feed *feed) {
  const int n = feeding->n_pairs;
  dp_dprun_feed f = {.program = dp_session_find(session, feeding->program), .n_inputs = n, .depth = feeding->depth};
  if (f.program < 0)
    return dp_fail(EX_DATAERR, "--%s is given, but the plan has no program '%s'", feeding->option, feeding->program);
  const dp_graph *graph = dp_session_graph(session, f.program);
  DP_TRY(check_names(arena, graph, feeding->option, feeding->pairs, n));
  dp_loader_input *inputs = dp_alloc_n(arena, (size_t)n, sizeof *inputs);
  f.targets = dp_alloc_n(arena, 2 * (size_t)n, sizeof *f.targets);
  f.files = feed->files = dp_alloc_n(arena, (size_t)n, sizeof *f.files);
  for (int i = 0; i < n; i++) {
    const dp_cli_pair *pair = &feeding->pairs[i];
    feed->n_inputs = i + 1;  // what is open is closed, whatever fails
    DP_TRY(open_input(arena, pair, find_input(graph, pair->name)->type, feeding->loader.skip_broken, &feed->files[i],
                      &inputs[i], &f.rounded));
    for (int slot = 0; slot < 2; slot++)
      f.targets[slot * n + i] = dp_session_input(session, f.program, pair->name, slot);
  }
  DP_TRY(add_augments(arena, graph, feeding, inputs));
  dp_loader_options options = feeding->loader;
  options.skipped = say_skipped;
  dp_status status = dp_loader_create(inputs, n, &options, &f.loader);
  if (status) return dp_status_context(status, "--%s", feeding->option);
  f.samples = dp_loader_samples(f.loader);
  f.steps = dp_loader_steps(f.loader);
  *feed = f;
  return prepare(session, feed, options.batch);
}

dp_status dp_dprun_feed_begin(dp_dprun_feed *feed, int64_t first, int64_t end) {
  return dp_prefetch_create(feed->loader, feed->targets, first, end, feed->depth, &feed->prefetch);
}

void dp_dprun_feed_end(dp_dprun_feed *feed) {
  dp_prefetch_destroy(feed->prefetch);
  feed->prefetch = NULL;
}

void dp_dprun_feed_close(dp_dprun_feed *feed) {
  dp_dprun_feed_end(feed);
  dp_loader_destroy(feed->loader);
  feed->loader = NULL;
  for (int i = 0; feed->files && i < feed->n_inputs; i++) dp_data_close(feed->files[i]);
  feed->files = NULL;
}
