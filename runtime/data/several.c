// See several.h.
#include "runtime/data/several.h"

#include <glob.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/data/format.h"

typedef struct {
  int count;
  dp_data **files;
  int64_t *ends;  // (count) the samples of a file and of all before it
} several;

bool dp_several_is_pattern(const char *path) { return strpbrk(path, "*?[") != NULL; }

static int find_file(const several *s, int64_t sample) {
  int low = 0, high = s->count - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (s->ends[middle] > sample)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static dp_status read_samples(const dp_data *data, int64_t first, int64_t count, void *target) {
  const several *s = data->state;
  const size_t bytes = dp_data_sample_bytes(data);
  for (char *at = target; count;) {
    const int f = find_file(s, first);
    const int64_t begin = f ? s->ends[f - 1] : 0, n = dp_min_i64(count, s->ends[f] - first);
    DP_TRY(s->files[f]->format->read(s->files[f], first - begin, n, at));
    first += n;
    count -= n;
    at += (size_t)n * bytes;
  }
  return DP_OK;
}

// Files of numbers alone are hashed as one.
static dp_status hash_files(const dp_data *data, int64_t contents, uint64_t *hash) {
  const several *s = data->state;
  uint64_t chain[2] = {0};
  bool numbers = true;
  for (int i = 0; i < s->count; i++) numbers &= !s->files[i]->format->hash;
  if (numbers) return dp_data_hash_samples(data, hash);
  for (int i = 0; i < s->count; i++) {
    const dp_data *file = s->files[i];
    chain[0] = dp_hash64(chain, sizeof chain);
    DP_TRY(file->format->hash ? file->format->hash(file, dp_max_i64(1, contents / s->count), &chain[1])
                              : dp_data_hash_samples(file, &chain[1]));
  }
  *hash = dp_hash64(chain, sizeof chain);
  return DP_OK;
}

static void close_files(dp_data *data) {
  several *s = data->state;
  for (int i = 0; s && i < s->count; i++) dp_data_close(s->files[i]);
  data->state = NULL;
}

static const dp_data_format format = {
    .what = "several files", .read = read_samples, .close = close_files, .hash = hash_files};

static dp_status check_alike(const dp_data *a, const dp_data *b) {
  if (a->dtype == b->dtype && a->rank == b->rank && a->rank &&
      !memcmp(a->extents + 1, b->extents + 1, (size_t)(a->rank - 1) * sizeof *a->extents))
    return DP_OK;
  return dp_fail(EX_DATAERR, "%s: its samples have another type or shape than those of %s", b->name, a->name);
}

static dp_status add_file(dp_arena *arena, const char *path, const char *part, const dp_data_request *request,
                          several *s) {
  dp_data *file = dp_alloc(arena, sizeof *file);
  file->name = part ? dp_printf(arena, "%s:%s", path, part) : path;
  DP_TRY(dp_data_open_file(arena, path, part, request, file));
  s->files[s->count] = file;
  const int64_t before = s->count ? s->ends[s->count - 1] : 0;
  s->ends[s->count++] = before + dp_data_samples(file);
  return check_alike(s->files[0], file);
}

static dp_status mark_broken(dp_arena *arena, dp_data *data, const several *s) {
  for (int f = 0; f < s->count; f++) {
    const dp_data *file = s->files[f];
    if (!file->broken) continue;
    if (!data->broken) data->broken = dp_alloc_n(arena, (size_t)data->extents[0] + 1, sizeof *data->broken);
    const int64_t first = f ? s->ends[f - 1] : 0;
    memcpy(data->broken + first, file->broken, (size_t)dp_data_samples(file));
    for (int i = 0; i < file->n_faults; i++)
      dp_data_add_fault(arena, data, first + file->faults[i].record, file->faults[i].why);
  }
  return DP_OK;
}

int dp_several_list(dp_arena *arena, const char *pattern, const char ***paths) {
  glob_t found = {0};
  int n = 0;
  *paths = NULL;
  if (!glob(pattern, 0, NULL, &found))
    for (size_t i = 0; i < found.gl_pathc; i++) DP_PUSH(arena, *paths, n, dp_strdup(arena, found.gl_pathv[i]));
  globfree(&found);
  return n;
}

// Files that are not held stay open, and systems give a process few by default. What it may not have, opening reports.
static void allow_files(int count) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return;
  if (limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max - limit.rlim_cur < (rlim_t)count ? limit.rlim_max : limit.rlim_cur + (rlim_t)count;
  setrlimit(RLIMIT_NOFILE, &limit);
}

dp_status dp_several_open(dp_arena *arena, const char *pattern, const char *part, const dp_data_request *request,
                          dp_data *data) {
  several *s = dp_alloc(arena, sizeof *s);
  const char **paths;
  const int n = dp_several_list(arena, pattern, &paths);
  data->format = &format;
  data->state = s;
  if (!n) return dp_fail(EX_NOINPUT, "%s: no file matches", pattern);
  s->files = dp_alloc_n(arena, (size_t)n, sizeof *s->files);
  s->ends = dp_alloc_n(arena, (size_t)n, sizeof *s->ends);
  dp_data_request each = *request;
  each.files = n;
  allow_files(n);
  dp_status status = DP_OK;
  for (int i = 0; i < n && !status; i++) status = add_file(arena, paths[i], part, &each, s);
  if (status) {
    close_files(data);
    return status;
  }
  data->dtype = s->files[0]->dtype;
  data->rank = s->files[0]->rank;
  memcpy(data->extents, s->files[0]->extents, sizeof data->extents);
  data->extents[0] = s->ends[s->count - 1];
  return mark_broken(arena, data, s);
}
