// See output.h.
#include "tools/run/output.h"

#include <string.h>

#include "ir/base/suggest.h"

// ---- names ----------------------------------------------------------------------------------------------------------

static const char *list_outputs(dp_arena *arena, const dp_graph *graph) {
  const char *list = "";
  for (int i = 0; i < graph->n_outputs; i++)
    list = dp_printf(arena, "%s%s'%s'", list, i ? ", " : "", graph->outputs[i].name);
  return list;
}

static dp_status find_output(dp_arena *arena, const dp_graph *graph, const char *name, const dp_value **value) {
  dp_suggest suggest = dp_suggest_begin(name);
  for (int i = 0; i < graph->n_outputs; i++) {
    *value = graph->outputs[i].value;
    if (!strcmp(graph->outputs[i].name, name)) return DP_OK;
    dp_suggest_offer(&suggest, graph->outputs[i].name);
  }
  char hint[128];
  return dp_fail(EX_USAGE, "--output %s=...: the model has no such output, only %s%s", name, list_outputs(arena, graph),
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

static dp_status find_axis(dp_dprun_output *o, const dp_dprun_feed *feed) {
  bool several = false;
  o->axis = -1;
  for (int d = 0; d < o->type.shape.rank; d++) {
    dp_dim dim = o->type.shape.dims[d];
    if (!dp_dim_is_symbolic(dim)) continue;
    several |= o->axis >= 0 || dim.offset || dim.scale < 0;
    o->axis = d;
  }
  if (!several) return DP_OK;
  o->axis = -1;
  char text[256];
  if (feed->steps <= 1) return DP_OK;
  return dp_fail(EX_CONFIG,
                 "output '%s' is %s, which cannot be assembled from %lld batches: compile with --batch=%lld, so "
                 "that one batch has all samples",
                 o->name, dp_type_print(&o->type, text, sizeof text), (long long)feed->steps, (long long)feed->samples);
}

// The file's extents, samples first. Returns their number.
static int file_extents(const dp_dprun_output *o, int64_t samples, int64_t *extents) {
  int64_t whole[DP_MAX_RANK];
  int at = 0;
  dp_shape_at(&o->type.shape, samples, whole);
  if (o->axis >= 0) extents[at++] = whole[o->axis];
  for (int d = 0; d < o->type.shape.rank; d++)
    if (d != o->axis) extents[at++] = whole[d];
  return at;
}

// ---- opening --------------------------------------------------------------------------------------------------------

static dp_status open_one(dp_arena *arena, dp_session *session, const dp_dprun_feed *feed, int64_t batch,
                          const dp_cli_pair *pair, dp_dprun_output *o) {
  const dp_value *value = NULL;
  dp_dprun_output output = {.name = pair->name, .path = pair->file};
  DP_TRY(find_output(arena, dp_session_graph(session, feed->program), pair->name, &value));
  output.type = *value->type;
  DP_TRY(find_axis(&output, feed));
  if (output.axis) {  // transposed, or kept until the end
    int64_t largest = dp_shape_count(&output.type.shape, dp_min_i64(batch, feed->samples));
    output.buffer = dp_alloc(arena, (size_t)largest * dp_type_bytes(output.type.dtype));
  }
  int64_t extents[DP_MAX_RANK];
  int rank = file_extents(&output, feed->samples, extents);
  DP_TRY(dp_npy_writer_open(output.path, output.type.dtype, rank, extents, &output.file));
  output.open = true;
  *o = output;
  return DP_OK;
}

dp_status dp_dprun_output_open(dp_arena *arena, dp_session *session, const dp_dprun_feed *feed, int64_t batch,
                               const dp_cli_pair *pairs, int n_pairs, dp_dprun_outputs *outputs) {
  if (!n_pairs)
    return dp_fail(EX_USAGE, "--infer needs --output NAME=FILE.npy; the model's outputs are %s",
                   list_outputs(arena, dp_session_graph(session, feed->program)));
  outputs->session = session;
  outputs->program = feed->program;
  outputs->outputs = dp_alloc_n(arena, (size_t)n_pairs, sizeof *outputs->outputs);
  for (; outputs->count < n_pairs; outputs->count++)
    DP_TRY(open_one(arena, session, feed, batch, &pairs[outputs->count], &outputs->outputs[outputs->count]));
  return DP_OK;
}

// ---- batches --------------------------------------------------------------------------------------------------------

// Transposes [outer, rows, inner] to [rows, outer, inner].
static void transpose(const dp_dprun_output *o, const char *from, int64_t n) {
  int64_t extents[DP_MAX_RANK];
  size_t outer = 1, inner = dp_type_bytes(o->type.dtype);
  dp_shape_at(&o->type.shape, n, extents);
  for (int d = 0; d < o->type.shape.rank; d++) {
    if (d < o->axis) outer *= (size_t)extents[d];
    if (d > o->axis) inner *= (size_t)extents[d];
  }
  size_t rows = (size_t)extents[o->axis];
  for (size_t i = 0; i < outer; i++)
    for (size_t r = 0; r < rows; r++) memcpy(o->buffer + (r * outer + i) * inner, from + (i * rows + r) * inner, inner);
}

static dp_status keep_whole(dp_dprun_output *o, const void *data, int64_t position, int64_t count) {
  size_t bytes = (size_t)count * dp_type_bytes(o->type.dtype);
  if (!position) {
    if (bytes) memcpy(o->buffer, data, bytes);
    o->elements = count;
    return DP_OK;
  }
  if (!bytes || !memcmp(o->buffer, data, bytes)) return DP_OK;
  return dp_fail(
      EX_CONFIG,
      "output '%s' has no sample axis, and batch %lld gives a different value than batch 1: compile with a --batch "
      "of all samples",
      o->name, (long long)position + 1);
}

dp_status dp_dprun_output_take(dp_dprun_outputs *outputs, int64_t position, int64_t n) {
  for (int i = 0; i < outputs->count; i++) {
    dp_dprun_output *o = &outputs->outputs[i];
    int64_t count = dp_shape_count(&o->type.shape, n);
    const void *data = dp_session_output(outputs->session, outputs->program, o->name, NULL);
    if (o->axis > 0) transpose(o, data, n);
    if (o->axis < 0)
      DP_TRY(keep_whole(o, data, position, count));
    else
      DP_TRY(dp_npy_writer_write(&o->file, o->axis ? o->buffer : data, count));
  }
  return DP_OK;
}

dp_status dp_dprun_output_commit(dp_dprun_outputs *outputs) {
  for (int i = 0; i < outputs->count; i++) {
    dp_dprun_output *o = &outputs->outputs[i];
    if (o->axis < 0) DP_TRY(dp_npy_writer_write(&o->file, o->buffer, o->elements));
    DP_TRY(dp_file_writer_settle(&o->file.file));
  }
  for (int i = 0; i < outputs->count; i++) {
    dp_dprun_output *o = &outputs->outputs[i];
    o->open = false;
    DP_TRY(dp_npy_writer_commit(&o->file));
  }
  return DP_OK;
}

void dp_dprun_output_close(dp_dprun_outputs *outputs) {
  for (int i = 0; i < outputs->count; i++)
    if (outputs->outputs[i].open) dp_npy_writer_abandon(&outputs->outputs[i].file);
  outputs->count = 0;
}
