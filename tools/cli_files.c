// Checks the files that a command reads and writes, and that they do not conflict. See cli.h.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/base/file.h"
#include "tools/cli.h"

// ---- one file under two names ---------------------------------------------------------------------------------------

// The absolute path of a file or folder that need not exist, nor its folder: the real path of the longest beginning
// that does, and the rest.
static bool resolve(const char *path, char resolved[PATH_MAX]) {
  char beginning[PATH_MAX];
  size_t at = strlen(path);
  if (realpath(path, resolved)) return true;
  if (at >= sizeof beginning) return false;
  memcpy(beginning, path, at + 1);
  do {
    while (at && path[at - 1] == '/') at--;
    while (at && path[at - 1] != '/') at--;
    beginning[at] = 0;
  } while (at && !realpath(beginning, resolved));
  if (!at && !realpath(".", resolved)) return false;
  size_t length = strcmp(resolved, "/") ? strlen(resolved) : 0;
  for (const char *name = path + at; *(name += strspn(name, "/"));) {
    const size_t n = strcspn(name, "/");
    if (length + n + 2 > PATH_MAX) return false;
    resolved[length++] = '/';
    memcpy(resolved + length, name, n);
    length += n;
    name += n;
  }
  resolved[length] = 0;
  return true;
}

// Whether the path is a folder, and the file would be somewhere in it.
static bool is_within(const char *file, const char *folder) {
  struct stat st;
  char inner[PATH_MAX], outer[PATH_MAX];
  if (dp_file_is_standard(file) || stat(folder, &st) || !S_ISDIR(st.st_mode)) return false;
  if (!resolve(file, inner) || !resolve(folder, outer)) return false;
  const size_t length = strlen(outer);
  return !strncmp(inner, outer, length) && (inner[length] == '/' || !strcmp(outer, "/"));
}

static bool is_same(const char *a, const char *b) {
  struct stat x, y;
  char real_a[PATH_MAX], real_b[PATH_MAX];
  if (!strcmp(a, b)) return true;
  bool there = !stat(a, &x), other = !stat(b, &y);
  if (there && other) return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  return there == other && resolve(a, real_a) && resolve(b, real_b) && !strcmp(real_a, real_b);
}

// What is read as a folder may not get files while it is read, nor other files the next time.
static dp_status check_folder(const dp_cli_file *read, const dp_cli_file *written) {
  if (!is_within(written->path, read->path)) return DP_OK;
  return dp_fail(EX_CONFIG, "%s would write %s into a folder that %s reads: name a place outside of %s",
                 written->option, written->path, read->option, read->path);
}

static bool is_pipe(const char *path, struct stat *st) {
  return !(dp_file_is_standard(path) ? fstat(STDIN_FILENO, st) : stat(path, st)) && S_ISFIFO(st->st_mode);
}

static bool is_same_pipe(const char *a, const char *b) {
  struct stat x, y;
  return is_pipe(a, &x) && is_pipe(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static dp_status check_pair(const dp_cli_file *a, const dp_cli_file *b) {
  bool standard = dp_file_is_standard(a->path);
  if (!a->written && !b->written && standard && dp_file_is_standard(b->path))
    return dp_fail(EX_CONFIG, "%s and %s cannot both read standard input: put one of them in a file", a->option,
                   b->option);
  if (!a->written && !b->written && is_same_pipe(a->path, b->path))
    return dp_fail(EX_CONFIG, "%s and %s cannot both read %s, which is a pipe: put it in a file", a->option, b->option,
                   standard ? b->path : a->path);
  if ((!a->written && !b->written) || standard != dp_file_is_standard(b->path)) return DP_OK;
  if (standard && a->written != b->written) return DP_OK;
  const dp_cli_file *read = a->written ? b : a, *written = a->written ? a : b;
  if (!is_same(a->path, b->path)) return read->written ? DP_OK : check_folder(read, written);
  if (read->written)
    return dp_fail(EX_CONFIG, "%s and %s would both write to %s: give each its own file", a->option, b->option,
                   standard ? "standard output" : b->path);
  return dp_fail(EX_CONFIG, "%s would overwrite %s, which is also an input: %s; name another file", written->option,
                 read->option, written->path);
}

dp_status dp_cli_files_check(const dp_cli_file *files, int n_files) {
  for (int i = 0; i < n_files; i++)
    for (int k = 0; k < i; k++)
      if (files[i].path && files[k].path) DP_TRY(check_pair(&files[k], &files[i]));
  return DP_OK;
}

dp_status dp_cli_files_check_between(const dp_cli_file *some, int n_some, const dp_cli_file *others, int n_others) {
  for (int i = 0; i < n_some; i++)
    for (int k = 0; k < n_others; k++)
      if (some[i].path && others[k].path) DP_TRY(check_pair(&some[i], &others[k]));
  return DP_OK;
}

// ---- writing --------------------------------------------------------------------------------------------------------

dp_status dp_cli_check_writable(const char *option, const char *path, bool text) {
  struct stat st;
  if (dp_file_is_standard(path))
    return text || !isatty(STDOUT_FILENO)
               ? DP_OK
               : dp_fail(EX_USAGE,
                         "%s=-: the output is binary, and standard output is a terminal: redirect it or name a file",
                         option);
  if (!stat(path, &st) && !S_ISREG(st.st_mode))
    return dp_fail(EX_CANTCREAT, "%s: exists, but is not a regular file", path);
  const char *slash = strrchr(path, '/');
  char *folder = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
  if (!folder) return dp_fail(DP_EX_MEMORY, "no memory to start");
  int error = access(folder, W_OK | X_OK) ? errno : 0;
  free(folder);
  return error ? dp_fail(EX_CANTCREAT, "%s: cannot be written: %s", path, strerror(error)) : DP_OK;
}

dp_status dp_cli_check_folder(const char *option, const char *path) {
  return *path && !dp_file_is_standard(path) ? DP_OK : dp_fail(EX_USAGE, "%s=%s: name a folder", option, path);
}

// ---- endings --------------------------------------------------------------------------------------------------------

// Whether the ending is one of the list, which is separated by spaces.
static bool is_listed(const char *ending, size_t length, const char *list) {
  for (const char *at = list; (at = strstr(at, ending)); at++)
    if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return true;
  return false;
}

dp_status dp_cli_check_ending(const char *option, const char *path, const char *form, const char *endings, bool only) {
  // The endings of other formats.
  static const char others[] =
      ".npy .npz .csv .tsv .txt .json .jsonl .html .onnx .pb .dpt .bin .safetensors .pt .pth .pkl .h5 .hdf5 .parquet "
      ".gz .zip .png";
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
  if (!dot || dot == name || !dot[1] || is_listed(dot, strlen(dot), endings)) return DP_OK;
  if (!only && !is_listed(dot, strlen(dot), others)) return DP_OK;
  return dp_fail(EX_USAGE, "%s=%s: the output is %s: name a file that ends with %.*s", option, path, form,
                 (int)strcspn(endings, " "), endings);
}
