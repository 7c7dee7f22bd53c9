// See fuzz.h. The folder is in memory if the system supports that.
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fuzz_die(const char *what) {
  fprintf(stderr, "fuzz: %s\n", what);
  abort();
}

char *fuzz_print(const dp_model *model, size_t *bytes) {
  char *text = NULL;
  FILE *out = open_memstream(&text, bytes);
  if (!out) fuzz_die("no memory");
  dp_text_print(model, out);
  fclose(out);
  return text;
}

static char folder[64];

static void remove_folder(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command)) fprintf(stderr, "fuzz: %s is left behind\n", folder);
}

static const char *folder_of_this_process(void) {
  struct stat shm;
  if (*folder) return folder;
  snprintf(folder, sizeof folder, "%s/fuzz.XXXXXX", stat("/dev/shm", &shm) ? "/tmp" : "/dev/shm");
  if (!mkdtemp(folder)) fuzz_die("no folder for its file");
  atexit(remove_folder);
  return folder;
}

// Makes the folders that the path goes through, below that of this process.
static void make_folders(char *path, size_t after) {
  for (char *slash = path + after; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = 0;
    mkdir(path, 0700);
  }
}

const char *fuzz_file(const char *name, const void *data, size_t bytes) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder_of_this_process(), name);
  make_folders(path, strlen(folder) + 1);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes) fuzz_die("its file cannot be written");
  close(fd);
  return path;
}

typedef struct {
  dp_status (*read)(dp_arena *arena, const char *path);
  dp_arena *arena;
  const char *path;
} call;

static dp_status run_call(void *arg) {
  call *c = arg;
  return c->read(c->arena, c->path);
}

void fuzz_run(dp_status (*read)(dp_arena *arena, const char *path), const char *path) {
  static const int expected[] = {EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE, DP_EX_MEMORY};
  call c = {read, dp_arena_create(0), path};
  if (!c.arena) fuzz_die("no memory");
  dp_status status = dp_arena_run(c.arena, run_call, &c);
  bool good = !status;
  for (size_t i = 0; i < DP_COUNT(expected) && status; i++) good |= dp_status_code(status) == expected[i];
  if (!good) {
    fprintf(stderr, "%d: %s\n", dp_status_code(status), dp_status_message(status));
    fuzz_die("a refusal with the wrong exit code");
  }
  if (status && !*dp_status_message(status)) fuzz_die("a refusal without a word");
  dp_status_free(status);
  dp_arena_destroy(c.arena);
}
