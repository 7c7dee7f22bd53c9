// Tar archives in WebDataset's form: members that follow each other and have the same name up to its first dot are one
// sample. FILE.tar is the picture of each sample, FILE.tar:ENDING the member with that ending: a picture (jpg, jpeg,
// png), or a whole number as text, such as key.cls.
// https://github.com/webdataset/webdataset (section "The WebDataset Format")
#include "runtime/data/tar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/data/pictures.h"

enum { MAX_DIGITS = 32 };

typedef struct {
  dp_pictures pictures;  // first, as pictures.h wants it
  dp_bytes bytes;
  const dp_tar_member **members;  // (samples) NULL: the sample lacks it
  int64_t *numbers;               // (samples) NULL: these are pictures
} tar;

// ---- samples --------------------------------------------------------------------------------------------------------

// Where the ending begins, after the first dot of the last part of the path.
static const char *ending_of(const char *name) {
  const char *slash = strrchr(name, '/'), *dot = strchr(slash ? slash + 1 : name, '.');
  return dot ? dot + 1 : name + strlen(name);
}

static bool same_key(const dp_tar_member *a, const dp_tar_member *b) {
  const size_t length = (size_t)(ending_of(a->name) - a->name);
  return length == (size_t)(ending_of(b->name) - b->name) && !memcmp(a->name, b->name, length);
}

static bool is_picture_ending(const char *ending) {
  return !strcasecmp(ending, "jpg") || !strcasecmp(ending, "jpeg") || !strcasecmp(ending, "png");
}

static bool is_wanted(const dp_tar_member *member, const char *part) {
  const char *ending = ending_of(member->name);
  return part ? !strcasecmp(ending, part) : is_picture_ending(ending);
}

static bool is_hidden(const dp_tar_member *member) {
  const char *slash = strrchr(member->name, '/');
  return (slash ? slash + 1 : member->name)[0] == '.';
}

// For each key the member that is wanted.
static dp_status choose(const dp_data_file *file, const dp_tar_member *members, int64_t n_members, tar *t,
                        int64_t *count, dp_data *data) {
  const dp_tar_member *before = NULL;
  *count = 0;
  t->members = dp_alloc_n(file->arena, (size_t)n_members + 1, sizeof *t->members);
  for (int64_t i = 0; i < n_members; i++) {
    if (is_hidden(&members[i])) continue;
    if (!before || !same_key(before, &members[i])) ++*count;
    before = &members[i];
    if (is_wanted(before, file->part) && !t->members[*count - 1]) t->members[*count - 1] = before;
  }
  before = NULL;
  for (int64_t i = 0, s = -1; i < n_members; i++) {
    if (is_hidden(&members[i])) continue;
    if (before && same_key(before, &members[i])) continue;
    before = &members[i];
    if (t->members[++s]) continue;
    dp_status status =
        dp_fail(EX_DATAERR, "%s: record %lld ('%.*s') has no .%.40s", file->path, (long long)s,
                (int)(ending_of(before->name) - before->name), before->name, file->part ? file->part : "jpg or .png");
    if (!file->request->skip_broken) return status;
    dp_data_mark_broken(file->arena, data, n_members, s, status);
  }
  return *count ? DP_OK : dp_fail(EX_DATAERR, "%s: the tar archive has no files", file->path);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

static dp_status read_number(const dp_data_file *file, const tar *t, int64_t sample, int64_t *number) {
  const dp_tar_member *m = t->members[sample];
  char text[MAX_DIGITS + 1] = "", *end = text;
  if (m->bytes <= MAX_DIGITS) DP_TRY(dp_bytes_read(&t->bytes, m->at, text, m->bytes));
  errno = 0;
  *number = strtoll(text, &end, 10);
  end += strspn(end, " \t\r\n");
  if (end != text && !*end && !errno && strspn(text, " \t\r\n") < m->bytes) return DP_OK;
  return dp_fail(EX_DATAERR, "%s: record %lld ('%.200s') is no whole number", file->path, (long long)sample, m->name);
}

static dp_status read_numbers(const dp_data_file *file, tar *t, int64_t count, dp_data *data) {
  t->numbers = dp_alloc_n(file->arena, (size_t)count, sizeof *t->numbers);
  for (int64_t i = 0; i < count; i++) {
    if (data->broken && data->broken[i]) continue;
    dp_status status = read_number(file, t, i, &t->numbers[i]);
    if (status && !file->request->skip_broken) return status;
    if (status) dp_data_mark_broken(file->arena, data, count, i, status);
  }
  data->dtype = DP_INT64;
  data->rank = 1;
  data->extents[0] = count;
  return DP_OK;
}

// ---- pictures -------------------------------------------------------------------------------------------------------

static dp_status load(const dp_data *data, int64_t sample, char *name, uint8_t **encoded, size_t *bytes) {
  const tar *t = data->state;
  const dp_tar_member *m = t->members[sample];
  if (!m) return dp_fail(EX_DATAERR, "%s: record %lld has no picture", t->bytes.path, (long long)sample);
  snprintf(name, DP_PICTURE_NAME, "%s: %.200s", t->bytes.path, m->name);
  const dp_bytes content = dp_bytes_part(&t->bytes, m->at, m->bytes);
  *bytes = m->bytes;
  return dp_pictures_take(name, sample, &content, encoded);
}

static dp_status hash_names(const dp_data *data, int64_t contents, uint64_t *hash) {
  const tar *t = data->state;
  uint64_t chain[4] = {0};
  for (int64_t i = 0; i < data->extents[0]; i++) {
    const dp_tar_member *m = t->members[i];
    chain[0] = dp_hash64(chain, sizeof chain);
    chain[1] = m ? dp_hash64(m->name, strlen(m->name)) : 0;
    chain[2] = m ? m->bytes : 0;
    chain[3] = t->numbers ? (uint64_t)t->numbers[i] : 0;
  }
  *hash = dp_hash64(chain, sizeof chain);
  return !t->numbers ? dp_pictures_hash(data, contents, hash) : DP_OK;
}

// ---- the format -----------------------------------------------------------------------------------------------------

static dp_status read_samples(const dp_data *data, int64_t first, int64_t count, void *target) {
  const tar *t = data->state;
  if (!t->numbers) return dp_pictures_read(data, first, count, target);
  memcpy(target, t->numbers + first, (size_t)count * sizeof *t->numbers);
  return DP_OK;
}

static void close_tar(dp_data *data) {
  tar *t = data->state;
  if (t) dp_bytes_close(&t->bytes);
  data->state = NULL;
}

static bool recognise(const dp_data_file *file) { return !file->folder && dp_tar_is(file->head, file->n_head); }

static dp_status open_file(dp_data_file *file, dp_data *data) {
  dp_tar_member *members;
  int64_t n_members, count;
  tar *t = dp_alloc(file->arena, sizeof *t);
  DP_TRY(dp_tar_list(file->arena, &file->bytes, &members, &n_members));
  t->bytes = dp_data_take(file);
  data->state = t;
  DP_TRY(choose(file, members, n_members, t, &count, data));
  if (file->part && !is_picture_ending(file->part)) {
    DP_TRY(read_numbers(file, t, count, data));
    dp_bytes_close(&t->bytes);  // the numbers are held
    return DP_OK;
  }
  t->pictures.load = load;
  DP_TRY(dp_pictures_open(file, count, &t->pictures, data));
  return dp_pictures_check(file, data);
}

const dp_data_format dp_data_format_tar = {
    .what = "a tar archive",
    .has_parts = true,
    .recognise = recognise,
    .open = open_file,
    .read = read_samples,
    .close = close_tar,
    .hash = hash_names,
};
