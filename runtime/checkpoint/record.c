// See record.h. Numbers of 64 bits without a sign are texts, because JSON's readers take numbers for signed or floating
// ones: seeds are decimal, hashes have 16 hexadecimal digits.
#include "runtime/checkpoint/record.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/file.h"

enum { VERSION = 1, MAX_BYTES = 1 << 20 };

// Nobody trains so many steps; the sum of a few such numbers is still one.
#define MAX_COUNT (INT64_MAX / 8)

static const char check_name[] = "check";

uint64_t dp_checkpoint_hash(const char *name, const void *data, size_t bytes) {
  const uint64_t parts[] = {dp_hash64(name, strlen(name)), dp_hash64(data, bytes)};
  return dp_hash64(parts, sizeof parts);
}

// The hash of everything but the check itself, as text.
static bool print_check(const json_t *object, char text[17]) {
  char *dump = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
  if (!dump) return false;
  snprintf(text, 17, "%016" PRIx64, dp_hash64(dump, strlen(dump)));
  free(dump);
  return true;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void set_hash(json_t *object, const char *name, uint64_t hash) {
  char text[17];
  snprintf(text, sizeof text, "%016" PRIx64, hash);
  json_object_set_new(object, name, json_string(text));
}

// Text keeps every bit of the value, which may be infinite.
static json_t *pack_best(const dp_checkpoint_best *b) {
  char value[32];
  snprintf(value, sizeof value, "%.17g", b->value);
  return json_pack("{s:s, s:s, s:I, s:I, s:I}", "metric", b->metric, "value", value, "step", (json_int_t)b->step,
                   "judged", (json_int_t)b->judged, "waited", (json_int_t)b->waited);
}

// The record as text, which the caller frees; NULL: out of memory.
static char *print_record(const dp_checkpoint_record *r) {
  char seed[21], check[17];
  snprintf(seed, sizeof seed, "%" PRIu64, r->seed);
  json_t *object = json_pack("{s:i, s:I, s:I, s:I, s:s, s:I, s:I, s:b, s:b, s:s}", "version", VERSION, "step",
                             (json_int_t)r->step, "epoch", (json_int_t)r->epoch, "position", (json_int_t)r->position,
                             "seed", seed, "batch", (json_int_t)r->batch, "samples", (json_int_t)r->samples, "shuffle",
                             r->shuffle, "drop_last", r->drop_last, "optimizer", r->optimizer);
  if (!object) return NULL;
  json_object_set_new(object, "lr", json_real(r->lr));
  if (r->schedule) json_object_set_new(object, "schedule", json_string(r->schedule));
  set_hash(object, "data", r->data);
  set_hash(object, "model", r->model);
  set_hash(object, "plan", r->plan);
  set_hash(object, "tensors", r->tensors);
  char *text = NULL;
  const bool kept = !r->best.metric || !json_object_set_new(object, "best", pack_best(&r->best));
  if (kept && print_check(object, check) && !json_object_set_new(object, check_name, json_string(check)))
    text = json_dumps(object, JSON_INDENT(2));
  json_decref(object);
  return text;
}

dp_status dp_checkpoint_record_write(const dp_checkpoint_record *record, const char *path) {
  char *text = print_record(record);
  if (!text) return dp_fail(DP_EX_MEMORY, "%s: out of memory while it was written", path);
  const size_t length = strlen(text);
  text[length] = '\n';  // in place of the end, so that the file ends as a text does
  dp_status status = dp_file_write(path, text, length + 1);
  free(text);
  return status;
}

// ---- reading --------------------------------------------------------------------------------------------------------

// Fields are taken in turn; the first one that is missing or of another kind is remembered.
typedef struct {
  const json_t *object;
  const char *wrong;  // NULL: none
} reading;

static const json_t *take(reading *r, const char *name, json_type type) {
  const json_t *value = json_object_get(r->object, name);
  if (value && json_typeof(value) == type) return value;
  if (!r->wrong) r->wrong = name;
  return NULL;
}

static int64_t take_count(reading *r, const char *name, int64_t least) {
  const json_t *value = take(r, name, JSON_INTEGER);
  const int64_t count = json_integer_value(value);
  if (value && (count < least || count > MAX_COUNT) && !r->wrong) r->wrong = name;
  return count;
}

static uint64_t take_unsigned(reading *r, const char *name, int base) {
  const char *text = json_string_value(take(r, name, JSON_STRING));
  if (!text) return 0;
  char *end;
  errno = 0;
  uint64_t number = strtoull(text, &end, base);
  if ((end == text || *end || errno || *text == '-') && !r->wrong) r->wrong = name;
  return number;
}

static bool take_bool(reading *r, const char *name) {
  const json_t *value = json_object_get(r->object, name);
  if (!json_is_boolean(value) && !r->wrong) r->wrong = name;
  return json_is_true(value);
}

// 0 or more; -1: there is none.
static double take_rate(reading *r, const char *name) {
  const json_t *value = json_object_get(r->object, name);
  if (!value) return -1;
  if ((!json_is_number(value) || json_number_value(value) < 0) && !r->wrong) r->wrong = name;
  return json_number_value(value);
}

// NULL: there is none.
static const char *take_schedule(dp_arena *arena, reading *r) {
  if (!json_object_get(r->object, "schedule")) return NULL;
  const char *text = json_string_value(take(r, "schedule", JSON_STRING));
  return text ? dp_strdup(arena, text) : NULL;
}

// Checkpoints that nothing was watched in have none.
static dp_checkpoint_best take_best(dp_arena *arena, const json_t *object, const char **wrong) {
  reading r = {json_object_get(object, "best"), NULL};
  if (!r.object) return (dp_checkpoint_best){.step = -1, .judged = -1};
  const char *metric = json_string_value(take(&r, "metric", JSON_STRING));
  const char *value = json_string_value(take(&r, "value", JSON_STRING));
  const dp_checkpoint_best best = {
      .metric = metric ? dp_strdup(arena, metric) : NULL,
      .value = value ? strtod(value, NULL) : NAN,
      .step = take_count(&r, "step", -1),
      .judged = take_count(&r, "judged", -1),
      .waited = take_count(&r, "waited", 0),
  };
  if (r.wrong) *wrong = "best";
  return best;
}

static dp_status take_all(dp_arena *arena, const json_t *object, dp_checkpoint_record *record) {
  reading r = {object, NULL};
  const char *optimizer = json_string_value(take(&r, "optimizer", JSON_STRING));
  dp_checkpoint_record all = {
      .step = take_count(&r, "step", 0),
      .epoch = take_count(&r, "epoch", 1),
      .position = take_count(&r, "position", 0),
      .seed = take_unsigned(&r, "seed", 10),
      .batch = take_count(&r, "batch", 1),
      .samples = take_count(&r, "samples", 1),
      .shuffle = take_bool(&r, "shuffle"),
      .drop_last = take_bool(&r, "drop_last"),
      .optimizer = optimizer ? dp_strdup(arena, optimizer) : NULL,
      .lr = take_rate(&r, "lr"),
      .schedule = take_schedule(arena, &r),
      .data = take_unsigned(&r, "data", 16),
      .model = take_unsigned(&r, "model", 16),
      .plan = take_unsigned(&r, "plan", 16),
      .tensors = take_unsigned(&r, "tensors", 16),
  };
  all.best = take_best(arena, object, &r.wrong);
  if (r.wrong) return dp_fail(EX_DATAERR, "'%s' is missing or not what it should be", r.wrong);
  *record = all;
  return DP_OK;
}

// Removes the check from the object. It comes before the version, in which a bit may be flipped too.
static dp_status verify(json_t *object) {
  const char *said = json_string_value(json_object_get(object, check_name));
  char expected[17] = "", found[17];
  snprintf(expected, sizeof expected, "%s", said ? said : "");
  json_object_del(object, check_name);
  if (!print_check(object, found)) return dp_fail(DP_EX_MEMORY, "out of memory while it was read");
  if (strcmp(expected, found)) return dp_fail(EX_DATAERR, "its check does not match: the file was changed");
  const json_int_t version = json_integer_value(json_object_get(object, "version"));
  return version == VERSION ? DP_OK
                            : dp_fail(EX_UNAVAILABLE, "version %lld, but this dprun knows only %d", version, VERSION);
}

dp_status dp_checkpoint_record_read(dp_arena *arena, const char *path, dp_checkpoint_record *record) {
  uint8_t *text;
  size_t bytes;
  json_error_t error;
  DP_TRY(dp_file_read(arena, path, MAX_BYTES, &text, &bytes));
  json_t *object = json_loadb((const char *)text, bytes, JSON_REJECT_DUPLICATES, &error);
  dp_status status =
      json_is_object(object) ? verify(object) : dp_fail(EX_DATAERR, "not JSON: %s", object ? "no object" : error.text);
  if (!status) status = take_all(arena, object, record);
  json_decref(object);
  return dp_status_context(status, "%s", path);
}
