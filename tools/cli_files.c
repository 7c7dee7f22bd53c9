// Which files a command reads and writes, and that they do not get in each other's way. See cli.h.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/base/file.h"
#include "tools/cli.h"

// ---- one file under two names ---------------------------------------------------------------------------------------

// The path of a file that need not be there: its folder's real path, and its name.
static bool resolve(const char *path, char resolved[PATH_MAX]) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char folder[PATH_MAX];
  size_t length = slash ? (size_t)(slash - path) : 0;
  if (length >= sizeof folder) return false;
  memcpy(folder, path, length);
  folder[length] = 0;
  if (!realpath(slash ? (length ? folder : "/") : ".", resolved)) return false;
  length = strlen(resolved);
  if (length + strlen(name) + 2 > PATH_MAX) return false;
  resolved[length] = '/';
  strcpy(resolved + length + 1, name);
  return true;
}

static bool is_same(const char *a, const char *b) {
  struct stat x, y;
  char real_a[PATH_MAX], real_b[PATH_MAX];
  if (!strcmp(a, b)) return true;
  bool there = !stat(a, &x), other = !stat(b, &y);
  if (there && other) return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  return there == other && resolve(a, real_a) && resolve(b, real_b) && !strcmp(real_a, real_b);
}

static dp_status check_pair(const dp_cli_file *a, const dp_cli_file *b) {
  bool standard = dp_file_is_standard(a->path);
  if (!a->written && !b->written && standard && dp_file_is_standard(b->path))
    return dp_fail(EX_CONFIG, "%s and %s are both to come from standard input: put one in a file", a->option,
                   b->option);
  if ((!a->written && !b->written) || standard != dp_file_is_standard(b->path)) return DP_OK;
  if (standard && a->written != b->written) return DP_OK;
  if (!is_same(a->path, b->path)) return DP_OK;
  if (a->written && b->written)
    return dp_fail(EX_CONFIG, "%s and %s are both to be written to %s: each needs a file of its own", a->option,
                   b->option, standard ? "standard output" : b->path);
  const dp_cli_file *read = a->written ? b : a, *written = a->written ? a : b;
  return dp_fail(EX_CONFIG, "%s would overwrite %s, which is read: %s; name another file", written->option,
                 read->option, written->path);
}

dp_status dp_cli_files_check(const dp_cli_file *files, int n_files) {
  for (int i = 0; i < n_files; i++)
    for (int k = 0; k < i; k++)
      if (files[i].path && files[k].path) DP_TRY(check_pair(&files[k], &files[i]));
  return DP_OK;
}

// ---- writing --------------------------------------------------------------------------------------------------------

dp_status dp_cli_check_writable(const char *option, const char *path, bool text) {
  struct stat st;
  if (dp_file_is_standard(path))
    return text || !isatty(STDOUT_FILENO)
               ? DP_OK
               : dp_fail(EX_USAGE, "%s=-: what is written is no text, and standard output is a terminal", option);
  if (!stat(path, &st) && !S_ISREG(st.st_mode)) return dp_fail(EX_CANTCREAT, "%s: is there, and is no file", path);
  const char *slash = strrchr(path, '/');
  char *folder = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
  if (!folder) return dp_fail(DP_EX_MEMORY, "no memory to start");
  int error = access(folder, W_OK | X_OK) ? errno : 0;
  free(folder);
  return error ? dp_fail(EX_CANTCREAT, "%s: cannot be written: %s", path, strerror(error)) : DP_OK;
}

// ---- endings --------------------------------------------------------------------------------------------------------

// Whether the ending stands in the list, which has spaces between and around.
static bool stands_in(const char *ending, size_t length, const char *list) {
  for (const char *at = list; (at = strstr(at, ending)); at++)
    if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return true;
  return false;
}

dp_status dp_cli_check_ending(const char *option, const char *path, const char *form, const char *endings, bool only) {
  // What other forms are known by.
  static const char others[] =
      ".npy .npz .csv .tsv .txt .json .jsonl .html .onnx .pb .dpt .bin .safetensors .pt .pth .pkl .h5 .hdf5 .parquet "
      ".gz .zip .png";
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
  if (!dot || dot == name || !dot[1] || stands_in(dot, strlen(dot), endings)) return DP_OK;
  if (!only && !stands_in(dot, strlen(dot), others)) return DP_OK;
  return dp_fail(EX_USAGE, "%s=%s: what is written is %s; name a file that ends with %.*s", option, path, form,
                 (int)strcspn(endings, " "), endings);
}
