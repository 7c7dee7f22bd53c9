// See runs.h. Hashes are texts of 16 hexadecimal digits, as in a checkpoint's record.
#include "tools/report/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/base/file.h"
#include "ir/base/whole.h"
#include "tools/report/lines.h"

static const char *path_of(dp_arena *arena, const char *folder) {
  const size_t length = strlen(folder);
  return dp_printf(arena, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", DP_RUNS_FILE);
}

// ---- writing --------------------------------------------------------------------------------------------------------

// The words of a command may be any bytes; JSON holds Unicode alone.
static json_t *pack_text(const char *text) {
  if (!text) return json_null();
  json_t *plain = json_string(text);
  if (plain) return plain;
  char *copy = strdup(text);
  for (char *at = copy; at && *at; at++)
    if ((unsigned char)*at >= 0x80) *at = '?';
  plain = copy ? json_string(copy) : NULL;
  free(copy);
  return plain;
}

static char *print_run(const dp_report_run *r) {
  char hash[17];
  snprintf(hash, sizeof hash, "%016" PRIx64, r->plan_hash);
  json_t *words = json_array();
  for (size_t i = 0; i < r->n_words; i++) json_array_append_new(words, pack_text(r->words[i]));
  json_t *machine = json_pack("{s:o, s:o, s:o, s:I, s:I, s:o}", "host", pack_text(r->host), "system",
                              pack_text(r->system), "processor", pack_text(r->processor), "cores", (json_int_t)r->cores,
                              "memory_bytes", (json_int_t)r->memory_bytes, "devices", pack_text(r->devices));
  json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:s, s:I, s:o, s:o, s:o, s:o}", "event", "run", "date",
                             pack_text(r->date), "folder", pack_text(r->folder), "plan", pack_text(r->plan),
                             "plan_hash", hash, "first_step", (json_int_t)r->first_step, "metrics",
                             pack_text(r->metrics), "trace", pack_text(r->trace), "machine", machine, "command", words);
  char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
  json_decref(object);
  return text;
}

static dp_status write_synced(int fd, const char *text, size_t bytes) {
  if (!dp_write_whole(fd, text, bytes)) return dp_fail(EX_IOERR, "%s", strerror(errno));
  int synced;
  do synced = fsync(fd);
  while (synced && errno == EINTR);
  return synced ? dp_fail(EX_IOERR, "%s", strerror(errno)) : DP_OK;
}

// Appends a line whole or not at all. Nothing is renamed, so a process that is killed leaves no other file behind; a
// line that it left without an end does not swallow this one.
static dp_status append(int fd, const char *line) {
  struct stat st;
  char last = '\n';
  if (fstat(fd, &st) || !S_ISREG(st.st_mode)) return dp_fail(EX_CANTCREAT, "exists, but is not a regular file");
  if (st.st_size && pread(fd, &last, 1, st.st_size - 1) != 1) return dp_fail(EX_IOERR, "cannot be read");
  dp_status status = write_synced(fd, last == '\n' ? line + 1 : line, strlen(line) - (last == '\n'));
  if (status && ftruncate(fd, st.st_size)) return status;  // the next run starts a line of its own
  return status;
}

dp_status dp_report_runs_add(dp_arena *arena, const char *folder, const dp_report_run *run) {
  const char *path = path_of(arena, folder);
  char *text = print_run(run);
  if (!text) return dp_fail(DP_EX_MEMORY, "%s: no memory to write it", path);
  const char *line = dp_printf(arena, "\n%s\n", (char *)dp_arena_adopt(arena, text));
  const int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return dp_fail(EX_CANTCREAT, "%s: cannot be written: %s", path, strerror(errno));
  dp_status status = append(fd, line);
  close(fd);
  if (!status) status = dp_file_sync_folder(folder);
  return dp_status_context(status, "%s", path);
}

// ---- reading --------------------------------------------------------------------------------------------------------

static const char *take_text(dp_arena *arena, const json_t *object, const char *name) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? dp_strdup(arena, text) : NULL;
}

static int64_t take_count(const json_t *object, const char *name) {
  const int64_t count = json_integer_value(json_object_get(object, name));
  return count > 0 ? count : 0;
}

static bool take_words(dp_arena *arena, const json_t *array, dp_report_run *run) {
  const char **words = NULL;
  size_t n = json_array_size(array), count = 0;
  for (size_t i = 0; i < n; i++) {
    const char *word = json_string_value(json_array_get(array, i));
    if (!word) return false;
    DP_PUSH(arena, words, count, dp_strdup(arena, word));
  }
  run->words = words;
  run->n_words = count;
  return count > 0;
}

static bool take_run(dp_arena *arena, const json_t *line, dp_report_run *run) {
  const json_t *machine = json_object_get(line, "machine");
  const char *event = json_string_value(json_object_get(line, "event"));
  const char *hash = json_string_value(json_object_get(line, "plan_hash"));
  if (!event || strcmp(event, "run")) return false;
  *run = (dp_report_run){
      .date = take_text(arena, line, "date"),
      .folder = take_text(arena, line, "folder"),
      .plan = take_text(arena, line, "plan"),
      .plan_hash = hash ? strtoull(hash, NULL, 16) : 0,
      .first_step = take_count(line, "first_step"),
      .metrics = take_text(arena, line, "metrics"),
      .trace = take_text(arena, line, "trace"),
      .host = take_text(arena, machine, "host"),
      .system = take_text(arena, machine, "system"),
      .processor = take_text(arena, machine, "processor"),
      .cores = take_count(machine, "cores"),
      .memory_bytes = take_count(machine, "memory_bytes"),
      .devices = take_text(arena, machine, "devices"),
  };
  return take_words(arena, json_object_get(line, "command"), run);
}

dp_status dp_report_runs_read(dp_arena *arena, const char *folder, dp_report_notes *notes, dp_report_run **runs,
                              size_t *count) {
  const char *path = path_of(arena, folder);
  dp_report_lines lines;
  dp_report_damage damage = {0};
  dp_report_run *all = NULL;
  size_t n = 0;
  *runs = NULL;
  *count = 0;
  if (access(path, F_OK)) return DP_OK;
  DP_TRY(dp_report_lines_open(path, &lines));
  while (dp_report_lines_next(&lines)) {
    json_t *line = json_loadb(lines.line, lines.length, 0, NULL);
    dp_report_run run;
    if (line && take_run(arena, line, &run))
      DP_PUSH(arena, all, n, run);
    else if (lines.length)
      dp_report_damage_add(&damage, lines.number);
    json_decref(line);
  }
  DP_TRY(dp_report_lines_close(&lines));
  dp_report_damage_note(&damage, notes, path, "run");
  *runs = all;
  *count = n;
  return DP_OK;
}
