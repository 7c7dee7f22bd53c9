// Preloaded into a program: records the calls that change files below a folder, and lets one of them fail.
//
//   FAULTS_UNDER=DIR  the folder; its absolute path without symbolic links
//   FAULTS_LOG=FILE   receives a line for each call: what it does, and the paths, as seen from DIR
//   FAULTS_AT=N       the N-th of these calls fails, counted from 1; none: no call fails
//   FAULTS_WITH=HOW   ENOSPC, EIO, EROFS or EINTR: the error; short: half is written; kill: SIGKILL, before the call
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
  char text[PATH_MAX];  // seen from the folder; "." for the folder itself
  bool ours;
} place;

static atomic_int calls;

static place place_of(int folder, const char *path) {
  place p = {.ours = false};
  char whole[PATH_MAX], link[64];
  const char *under = getenv("FAULTS_UNDER");
  size_t length = under ? strlen(under) : 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t n = folder == AT_FDCWD ? (getcwd(whole, sizeof whole) ? (ssize_t)strlen(whole) : -1)
                                 : readlink(link, whole, sizeof whole - 1);
  if (n < 0 || !length) return p;
  whole[n] = 0;
  if (path && *path == '/')
    snprintf(whole, sizeof whole, "%s", path);
  else if (path && strcmp(path, "."))
    snprintf(whole + n, sizeof whole - (size_t)n, "/%s", path);
  if (strncmp(whole, under, length) || (whole[length] && whole[length] != '/')) return p;
  p.ours = true;
  snprintf(p.text, sizeof p.text, "%s", whole[length] && whole[length + 1] ? whole + length + 1 : ".");
  for (size_t last = strlen(p.text); last > 1 && p.text[last - 1] == '/'; last--) p.text[last - 1] = 0;
  return p;
}

static void record(const char *what, const place *a, const place *b) {
  char line[2 * PATH_MAX + 32];
  const char *log = getenv("FAULTS_LOG");
  if (!log) return;
  int length = snprintf(line, sizeof line, "%s %s%s%s\n", what, a->text, b ? " " : "", b ? b->text : "");
  int fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  syscall(SYS_write, fd, line, (size_t)length);
  syscall(SYS_close, fd);
}

// Counts the call. Whether it is the one that fails; then errno is set, to 0 for a short write.
static bool fails(const char *what, const place *a, const place *b) {
  static const struct {
    const char *name;
    int error;
  } kinds[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EROFS", EROFS}, {"EINTR", EINTR}, {"short", 0}};
  if (!a->ours) return false;
  record(what, a, b);
  const char *at = getenv("FAULTS_AT"), *how = getenv("FAULTS_WITH");
  if (atomic_fetch_add(&calls, 1) + 1 != (at ? atoi(at) : 0) || !how) return false;
  if (!strcmp(how, "kill")) raise(SIGKILL);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].name, how)) errno = kinds[i].error;
  return true;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t bytes) {
  int before = errno;
  place p = place_of(fd, NULL);
  if (fails("write", &p, NULL)) {
    if (errno) return -1;
    bytes = (bytes + 1) / 2;
  }
  errno = before;
  return REAL(write)(fd, data, bytes);
}

int fsync(int fd) {
  place p = place_of(fd, NULL);
  return fails("fsync", &p, NULL) ? -1 : REAL(fsync)(fd);
}

int mkostemp(char *template, int flags) {
  place p = place_of(AT_FDCWD, template);
  return fails("create", &p, NULL) ? -1 : REAL(mkostemp)(template, flags);
}

int mkdir(const char *path, mode_t mode) {
  place p = place_of(AT_FDCWD, path);
  return fails("mkdir", &p, NULL) ? -1 : REAL(mkdir)(path, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
  place p = place_of(folder, path);
  return fails("mkdir", &p, NULL) ? -1 : REAL(mkdirat)(folder, path, mode);
}

int rename(const char *from, const char *to) {
  place a = place_of(AT_FDCWD, from), b = place_of(AT_FDCWD, to);
  return fails("rename", &a, &b) ? -1 : REAL(rename)(from, to);
}

int renameat(int folder, const char *from, int other, const char *to) {
  place a = place_of(folder, from), b = place_of(other, to);
  return fails("rename", &a, &b) ? -1 : REAL(renameat)(folder, from, other, to);
}

int unlink(const char *path) {
  place p = place_of(AT_FDCWD, path);
  return fails("unlink", &p, NULL) ? -1 : REAL(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags) {
  place p = place_of(folder, path);
  return fails("unlink", &p, NULL) ? -1 : REAL(unlinkat)(folder, path, flags);
}
