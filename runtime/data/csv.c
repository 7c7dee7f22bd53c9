// Comma-separated values (RFC 4180): a line of names, then a line of numbers for each sample. FILE:A,B are the columns
// A and B, in this order; FILE alone all of them. Where the first line has only numbers there are no names, and columns
// are called 0, 1, 2. A sample has the input's shape if it has as many columns. Numbers are held as float64; an integer
// that this cannot hold is refused.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ir/base/suggest.h"
#include "runtime/data/format.h"

enum { MAX_LINE = 1 << 20 };

// ---- lines ----------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_data_file *file;
  uint64_t at;        // what has been read of the file
  int64_t line;       // the number of the last line, from 1
  size_t begin, end;  // what is left in the buffer
  char buffer[MAX_LINE + 1];
} lines;

// The next line without its end, which may be changed in place; NULL at the end of the file.
static dp_status next_line(lines *l, char **line) {
  for (;;) {
    char *newline = memchr(l->buffer + l->begin, '\n', l->end - l->begin);
    const bool last = l->at == l->file->bytes.size;
    if (newline || (last && l->begin < l->end)) {
      const size_t end = newline ? (size_t)(newline - l->buffer) : l->end;
      *line = l->buffer + l->begin;
      l->buffer[end] = 0;
      if (end > l->begin && l->buffer[end - 1] == '\r') l->buffer[end - 1] = 0;
      if (memchr(*line, 0, end - l->begin) && strlen(*line) + 1 < end - l->begin)
        return dp_fail(EX_DATAERR, "%s: line %lld has a zero byte: it is not text", l->file->path,
                       (long long)l->line + 1);
      l->begin = newline ? end + 1 : end;
      l->line++;
      return DP_OK;
    }
    *line = NULL;
    if (last) return DP_OK;
    memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
    l->end -= l->begin;
    l->begin = 0;
    if (l->end == MAX_LINE)
      return dp_fail(EX_DATAERR, "%s: line %lld is longer than %d bytes", l->file->path, (long long)l->line + 1,
                     MAX_LINE);
    const uint64_t left = l->file->bytes.size - l->at, room = MAX_LINE - l->end;
    const size_t count = left < room ? left : room;
    DP_TRY(dp_bytes_read(&l->file->bytes, l->at, l->buffer + l->end, count));
    l->at += count;
    l->end += count;
  }
}

// ---- fields ---------------------------------------------------------------------------------------------------------

// Ends the field that begins at `at`, takes its quotes and the spaces around it off, and returns where the next one
// begins; NULL: it was the last.
static char *next_field(char *at, char **field) {
  while (*at == ' ' || *at == '\t') at++;
  *field = at;
  char *to = at;
  bool quoted = *at == '"';
  if (quoted) at++;
  for (; *at && (quoted || *at != ','); at++) {
    if (quoted && *at == '"') {
      if (at[1] != '"') {
        quoted = false;
        continue;
      }
      at++;
    }
    *to++ = *at;
  }
  const bool more = *at == ',';
  while (to > *field && (to[-1] == ' ' || to[-1] == '\t')) to--;
  *to = 0;
  return more ? at + 1 : NULL;
}

static bool is_decimal(const char *text) { return *text && strspn(text, "0123456789+-.eE") == strlen(text); }

static bool is_word(const char *text) {
  static const char *const words[] = {"nan", "inf", "-inf", "+inf"};
  bool word = false;
  for (size_t i = 0; i < DP_COUNT(words); i++) word |= !strcasecmp(text, words[i]);
  return word;
}

static bool is_number(const char *text) { return is_decimal(text) || is_word(text); }

// A decimal number, nan or inf. False: it is none, or an integer beyond those that float64 holds.
static bool parse_number(const char *text, double *number) {
  const bool decimal = is_decimal(text), word = is_word(text);
  if (!decimal && !word) return false;
  char *end;
  *number = strtod(text, &end);
  const bool whole = decimal && !strpbrk(text, ".eE");
  return !*end && (word || isfinite(*number)) && (!whole || fabs(*number) < 0x1p53);
}

// ---- columns --------------------------------------------------------------------------------------------------------

typedef struct {
  dp_arena *arena;
  int count, chosen;
  char **names;  // (count)
  int *places;   // (count) where a column's number goes in a sample; -1: nowhere
  bool header;   // the first line has names
} columns;

static void read_names(columns *c, const char *line) {
  char *copy = dp_strdup(c->arena, line), *field;
  if (!strncmp(copy, "\xef\xbb\xbf", 3)) copy += 3;
  for (char *at = copy; at;) {
    at = next_field(at, &field);
    c->header |= *field && !is_number(field);  // a number that is missing is no name
    DP_PUSH(c->arena, c->names, c->count, field);
  }
  for (int i = 0; !c->header && i < c->count; i++) c->names[i] = dp_printf(c->arena, "%d", i);
}

static dp_status choose_column(const dp_data_file *file, columns *c, const char *name) {
  dp_suggest suggest = dp_suggest_begin(name);
  for (int i = 0; i < c->count; i++) {
    dp_suggest_offer(&suggest, c->names[i]);
    if (strcmp(c->names[i], name)) continue;
    if (c->places[i] >= 0) return dp_fail(EX_USAGE, "%s: column '%s' is chosen twice", file->path, name);
    c->places[i] = c->chosen++;
    return DP_OK;
  }
  char hint[128];
  return dp_fail(EX_USAGE, "%s: it has no column '%.80s'%s", file->path, name,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

static dp_status choose_columns(const dp_data_file *file, columns *c) {
  c->places = dp_alloc_n(c->arena, (size_t)c->count, sizeof *c->places);
  for (int i = 0; i < c->count; i++) c->places[i] = file->part ? -1 : c->chosen++;
  char *names = file->part ? dp_strdup(c->arena, file->part) : NULL, *field;
  while (names) {
    names = next_field(names, &field);
    DP_TRY(choose_column(file, c, field));
  }
  return DP_OK;
}

// A line of names has no numbers in it, unless columns are asked for by name: else it may be a record that is broken.
static dp_status check_names(const dp_data_file *file, const columns *c) {
  const char *number = NULL, *name = NULL;
  for (int i = 0; i < c->count && c->header && !file->part; i++)
    *(is_number(c->names[i]) ? &number : &name) = c->names[i];
  if (!number || !name) return DP_OK;
  return dp_fail(
      EX_DATAERR,
      "%s: its first line has the number %.40s and '%.80s', which is none: mend it, or, if these are names, say "
      "which columns are wanted (FILE:A,B)",
      file->path, number, name);
}

// Before memory is taken for records of as many numbers.
static dp_status check_columns(const dp_data_file *file, const columns *c) {
  int64_t extents[DP_MAX_RANK], count;
  int rank;
  if (!dp_data_wanted(file->request, extents, &rank, &count) || count == c->chosen) return DP_OK;
  return dp_fail(EX_DATAERR, "%s: it has %d columns%s, but a sample of the input has %lld numbers", file->path,
                 c->chosen, file->part ? " of those names" : "", (long long)count);
}

// ---- samples --------------------------------------------------------------------------------------------------------

typedef struct {
  columns columns;
  double *numbers;  // (capacity, chosen)
  bool *broken;     // (capacity)
  dp_data *data;    // where it is said why
  int64_t count, capacity;
} table;

static dp_status grow(const dp_data_file *file, table *t) {
  if (t->count < t->capacity) return DP_OK;
  const int64_t larger = t->capacity ? 2 * t->capacity : 64;
  double *numbers = realloc(t->numbers, (size_t)larger * (size_t)t->columns.chosen * sizeof *numbers);
  if (numbers) t->numbers = numbers;
  bool *broken = realloc(t->broken, (size_t)larger * sizeof *broken);
  if (broken) t->broken = broken;
  if (!numbers || !broken) return dp_fail(DP_EX_MEMORY, "%s: no memory for its numbers", file->path);
  t->capacity = larger;
  return DP_OK;
}

static dp_status read_record(const lines *l, const table *t, char *line, double *numbers) {
  const columns *c = &t->columns;
  int i = 0;
  for (char *at = line, *field; at; i++) {
    at = next_field(at, &field);
    if (i >= c->count || c->places[i] < 0) continue;
    if (!parse_number(field, &numbers[c->places[i]]))
      return dp_fail(EX_DATAERR, "%s: record %lld (line %lld), column '%.80s': '%.80s' is no number that float64 holds",
                     l->file->path, (long long)t->count, (long long)l->line, c->names[i], field);
  }
  if (i == c->count) return DP_OK;
  return dp_fail(EX_DATAERR, "%s: record %lld (line %lld) has %d fields, but the first line has %d", l->file->path,
                 (long long)t->count, (long long)l->line, i, c->count);
}

static dp_status add_record(const lines *l, table *t, char *line, bool skip_broken) {
  DP_TRY(grow(l->file, t));
  double *numbers = t->numbers + t->count * t->columns.chosen;
  memset(numbers, 0, (size_t)t->columns.chosen * sizeof *numbers);
  dp_status status = read_record(l, t, line, numbers);
  t->broken[t->count] = status != DP_OK;
  if (status && !skip_broken) return status;
  if (status) dp_data_add_fault(l->file->arena, t->data, t->count, dp_status_message(status));
  dp_status_free(status);
  t->count++;
  return DP_OK;
}

static dp_status read_table(lines *l, table *t) {
  char *line;
  do DP_TRY(next_line(l, &line));
  while (line && !*line);
  if (!line) return dp_fail(EX_DATAERR, "%s: the file is empty", l->file->path);
  read_names(&t->columns, line);
  DP_TRY(check_names(l->file, &t->columns));
  DP_TRY(choose_columns(l->file, &t->columns));
  DP_TRY(check_columns(l->file, &t->columns));
  const bool skip = l->file->request->skip_broken;
  if (!t->columns.header) DP_TRY(add_record(l, t, line, skip));
  for (;;) {
    DP_TRY(next_line(l, &line));
    if (!line) return DP_OK;
    if (*line) DP_TRY(add_record(l, t, line, skip));
  }
}

// A sample has the input's shape if it has as many numbers.
static void set_shape(const dp_data_file *file, const table *t, dp_data *data) {
  int64_t extents[DP_MAX_RANK] = {t->columns.chosen}, wanted[DP_MAX_RANK], count;
  int rank = 1, wanted_rank;
  if (dp_data_wanted(file->request, wanted, &wanted_rank, &count) && count == t->columns.chosen) {
    memcpy(extents, wanted, sizeof extents);
    rank = wanted_rank;
  }
  data->dtype = DP_FLOAT64;
  data->rank = rank + 1;
  data->extents[0] = t->count;
  memcpy(data->extents + 1, extents, (size_t)rank * sizeof *extents);
}

static dp_status make_data(const dp_data_file *file, const table *t, dp_data *data) {
  const uint64_t stride = (uint64_t)t->columns.chosen * sizeof *t->numbers;
  dp_bytes bytes = {.path = file->path, .fd = -1, .memory = (uint8_t *)t->numbers};
  bytes.size = (uint64_t)t->count * stride;
  set_shape(file, t, data);
  const dp_dense dense = {0, stride, false};
  if (file->request->skip_broken) data->broken = dp_memdup(file->arena, t->broken, (size_t)t->count);
  return dp_dense_of(file, &bytes, &dense, data);
}

// ---- the format -----------------------------------------------------------------------------------------------------

static bool ends_with(const char *text, const char *ending) {
  const size_t length = strlen(text), more = strlen(ending);
  return length >= more && !strcmp(text + length - more, ending);
}

static bool recognise(const dp_data_file *file) {
  static const char *const endings[] = {".csv", ".csv.gz", ".csv.zst"};
  for (size_t i = 0; i < DP_COUNT(endings); i++)
    if (ends_with(file->path, endings[i])) return true;
  return false;
}

static dp_status open_file(dp_data_file *file, dp_data *data) {
  lines *l = malloc(sizeof *l);
  if (!l) return dp_fail(DP_EX_MEMORY, "%s: no memory to read it", file->path);
  l->file = file;
  l->at = 0;
  l->line = 0;
  l->begin = l->end = 0;
  table t = {.columns.arena = file->arena, .data = data};
  dp_status status = read_table(l, &t);
  free(l);
  if (!status) status = make_data(file, &t, data);
  free(t.broken);
  if (status) free(t.numbers);
  return status;
}

const dp_data_format dp_data_format_csv = {
    .what = "a CSV file",
    .has_parts = true,
    .recognise = recognise,
    .open = open_file,
    .read = dp_dense_read,
    .close = dp_dense_close,
};
