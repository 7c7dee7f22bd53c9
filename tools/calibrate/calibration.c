// See calibration.h.
#include "tools/calibrate/calibration.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/base/limits.h"

enum { VERSION = 1, MOST_BYTES = 64 << 20 };

// ---- reading --------------------------------------------------------------------------------------------------------

// Text of an object's field, which must be there: ASCII that can be printed.
static dp_status read_text(dp_arena *arena, const json_t *object, const char *name, bool empty, const char **text) {
  const char *found = json_string_value(json_object_get(object, name));
  if (!found) return dp_fail(EX_DATAERR, "it has no text '%s'", name);
  size_t length = 0;
  while (found[length] >= ' ' && found[length] <= '~') length++;
  if (found[length] || length > DP_LIMIT_CALIBRATION_TEXT || (!length && !empty))
    return dp_fail(EX_DATAERR, "its '%s' is not %d to %d characters of ASCII", name, !empty, DP_LIMIT_CALIBRATION_TEXT);
  *text = dp_strdup(arena, found);
  return DP_OK;
}

static dp_status read_number(const json_t *object, const char *name, double *number) {
  const json_t *found = json_object_get(object, name);
  *number = json_number_value(found);
  if (json_is_number(found) && isfinite(*number) && *number > 0 && *number <= 1e15) return DP_OK;
  return dp_fail(EX_DATAERR, "its '%s' is not a number above 0 and up to 1e15", name);
}

static dp_status read_list(const json_t *object, const char *name, size_t most, const json_t **list) {
  *list = json_object_get(object, name);
  if (json_is_array(*list) && json_array_size(*list) <= most) return DP_OK;
  return dp_fail(EX_DATAERR, "its '%s' is not a list of at most %zu", name, most);
}

static dp_status read_costs(const json_t *root, dp_dpc_calibration *c) {
  const json_t *list;
  DP_TRY(read_list(root, "costs", DP_DPC_MOST_COSTS, &list));
  if (!json_array_size(list)) return dp_fail(EX_DATAERR, "its 'costs' are empty");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *of = json_array_get(list, i);
    dp_dpc_costs *costs = &c->costs[c->n_costs++];
    double threads;
    DP_TRY(read_number(of, "threads", &threads));
    DP_TRY(read_number(of, "start_ns", &costs->start_ns));
    DP_TRY(read_number(of, "flops_per_ns", &costs->flops_per_ns));
    DP_TRY(read_number(of, "bytes_per_ns", &costs->bytes_per_ns));
    if (threads != floor(threads) || threads > DP_LIMIT_THREADS || (i && threads <= costs[-1].threads))
      return dp_fail(EX_DATAERR, "its 'threads' are not whole, ascending and at most %d", DP_LIMIT_THREADS);
    costs->threads = (int)threads;
  }
  return DP_OK;
}

static dp_status read_libraries(dp_arena *arena, const json_t *root, dp_calibration *c) {
  const json_t *list;
  DP_TRY(read_list(root, "libraries", DP_LIMIT_LIBRARIES, &list));
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *name;
    DP_TRY(read_text(arena, json_array_get(list, i), "name", false, &name));
    DP_PUSH(arena, c->libraries, c->n_libraries, name);
  }
  return DP_OK;
}

static dp_status read_choices(dp_arena *arena, const json_t *root, dp_calibration *c) {
  const json_t *list;
  DP_TRY(read_list(root, "choices", DP_LIMIT_CHOICES, &list));
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *of = json_array_get(list, i);
    dp_calibrated_choice choice;
    DP_TRY(read_text(arena, of, "call", false, &choice.call));
    DP_TRY(read_text(arena, of, "choice", false, &choice.choice));
    DP_TRY(read_number(of, "ns", &choice.ns));
    DP_TRY(read_number(of, "first_ns", &choice.first_ns));
    if (i && strcmp(c->choices[i - 1].call, choice.call) >= 0)
      return dp_fail(EX_DATAERR, "its calls are not in order: '%s' does not come after '%s'", choice.call,
                     c->choices[i - 1].call);
    DP_PUSH(arena, c->choices, c->n_choices, choice);
  }
  return DP_OK;
}

static dp_status read_root(dp_arena *arena, const json_t *root, dp_dpc_calibration *c) {
  const char *name;
  if (json_integer_value(json_object_get(root, "dpc_calibration")) != VERSION)
    return dp_fail(EX_DATAERR, "it has no 'dpc_calibration' of %d", VERSION);
  DP_TRY(read_text(arena, root, "backend", false, &name));
  c->entry = dp_backend_find(name);
  if (!c->entry) return dp_fail(EX_DATAERR, "there is no backend '%s'", name);
  DP_TRY(read_text(arena, root, "isa", true, &c->isa));
  DP_TRY(read_text(arena, root, "device", true, &c->measured.device));
  DP_TRY(read_text(arena, root, "driver", true, &c->driver));
  DP_TRY(read_costs(root, c));
  DP_TRY(read_libraries(arena, root, &c->measured));
  DP_TRY(read_choices(arena, root, &c->measured));
  if (c->measured.n_choices && (!*c->measured.device || !c->measured.n_libraries))
    return dp_fail(EX_DATAERR, "it has choices, and no %s that they are of",
                   *c->measured.device ? "libraries" : "device");
  return DP_OK;
}

dp_status dp_dpc_calibration_read(dp_arena *arena, const char *path, const dp_dpc_calibration **calibration) {
  uint8_t *bytes;
  size_t size;
  json_error_t error;
  DP_TRY(dp_file_read(arena, path, MOST_BYTES, &bytes, &size));
  json_t *root = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, &error);
  if (!root)
    return dp_fail(EX_DATAERR, "%s: not a file of 'dpc calibrate': line %d: %.100s", path, error.line, error.text);
  dp_dpc_calibration *made = dp_alloc(arena, sizeof *made);
  dp_status status = read_root(arena, root, made);
  json_decref(root);
  *calibration = made;
  return dp_status_context(status, "%s: not a file of 'dpc calibrate'", path);
}

// ---- writing --------------------------------------------------------------------------------------------------------

// More than four digits say more than was measured.
static double rounded(double number) {
  char text[32];
  double back = number;
  snprintf(text, sizeof text, "%.4g", number);
  sscanf(text, "%lf", &back);
  return back;
}

static json_t *make_root(const dp_dpc_calibration *c) {
  json_t *costs = json_array(), *libraries = json_array(), *choices = json_array();
  for (int i = 0; i < c->n_costs; i++)
    json_array_append_new(costs,
                          json_pack("{s:i, s:f, s:f, s:f}", "threads", c->costs[i].threads, "start_ns",
                                    rounded(c->costs[i].start_ns), "flops_per_ns", rounded(c->costs[i].flops_per_ns),
                                    "bytes_per_ns", rounded(c->costs[i].bytes_per_ns)));
  for (int i = 0; i < c->measured.n_libraries; i++)
    json_array_append_new(libraries, json_pack("{s:s}", "name", c->measured.libraries[i]));
  for (int i = 0; i < c->measured.n_choices; i++) {
    const dp_calibrated_choice *choice = &c->measured.choices[i];
    json_array_append_new(choices, json_pack("{s:s, s:s, s:f, s:f}", "call", choice->call, "choice", choice->choice,
                                             "ns", rounded(choice->ns), "first_ns", rounded(choice->first_ns)));
  }
  return json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "dpc_calibration", VERSION, "backend", c->entry->name,
                   "isa", c->isa, "device", c->measured.device, "driver", c->driver, "costs", costs, "libraries",
                   libraries, "choices", choices);
}

dp_status dp_dpc_calibration_write(const dp_dpc_calibration *c, const char *path) {
  json_t *root = make_root(c);
  char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
  json_decref(root);
  if (!text) return dp_fail(DP_EX_MEMORY, "no memory for %s", path);
  dp_status status = dp_file_write(path, text, strlen(text));
  free(text);
  return status;
}

// ---- applying -------------------------------------------------------------------------------------------------------

const char *dp_dpc_calibration_isa(const dp_target *target, const char *asked) {
  const char *isa = asked ? asked : target->isa ? target->isa() : NULL;
  return isa ? isa : "";
}

// What an instruction's threads will be, as far as the options say. The mesh may come from them as a number or by axes.
static int threads_of(const dp_options *o) {
  int64_t devices = o->devices > 0 ? o->devices : 1;
  for (int a = 0; a < o->mesh.n_axes; a++) devices = a ? devices * o->mesh.axes[a].size : o->mesh.axes[a].size;
  return o->threads ? o->threads : o->target->threads(devices);
}

dp_status dp_dpc_calibration_apply(dp_arena *arena, const dp_dpc_calibration *c, dp_options *options) {
  if (!c) return DP_OK;
  const dp_target *target = options->target;
  if (c->entry->target != target)
    return dp_fail(EX_CONFIG, "--calibration=%s was measured for %s, and the plan is for %s: give --target=%s",
                   options->calibration, c->entry->name, target->name, c->entry->name);
  const char *isa = dp_dpc_calibration_isa(target, options->isa);
  if (strcmp(isa, c->isa))
    return dp_fail(EX_CONFIG, "--calibration=%s was measured with %s, and the plan is for %s: measure with --isa=%s",
                   options->calibration, *c->isa ? c->isa : "no instruction set", *isa ? isa : "none",
                   *isa ? isa : c->isa);
  // The measurement with most threads, but no more than an instruction has.
  const dp_dpc_costs *costs = &c->costs[0];
  for (int i = 0; i < c->n_costs && c->costs[i].threads <= threads_of(options); i++) costs = &c->costs[i];
  dp_target *measured = dp_memdup(arena, target, sizeof *target);
  measured->costs.start_ns = costs->start_ns;
  measured->costs.flops_per_ns = costs->flops_per_ns;
  measured->costs.bytes_per_ns = costs->bytes_per_ns;
  options->target = measured;
  options->calibrated = c->measured.n_choices ? &c->measured : NULL;
  return DP_OK;
}
