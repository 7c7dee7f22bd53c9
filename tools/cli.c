// See cli.h.
#include "tools/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/base/suggest.h"

int dp_cli_finish(const char *program, dp_status status) {
  if (!status) return 0;
  int code = dp_status_code(status);
  fflush(stdout);
  fprintf(stderr, "%s: %s\n", program, dp_status_message(status));
  dp_status_free(status);
  return code;
}

// Whether `word` is an option of the parser or its children, or the beginning of one.
static bool has_option(const struct argp *argp, const char *word, size_t length) {
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
    if (o->name && !strncmp(o->name, word, length)) return true;
  for (const struct argp_child *c = argp->children; c && c->argp; c++)
    if (has_option(c->argp, word, length)) return true;
  return false;
}

static bool is_known(const struct argp *argp, const char *word, size_t length) {
  static const char *const built_in[] = {"help", "usage", "version"};
  for (size_t i = 0; i < DP_COUNT(built_in); i++)
    if (!strncmp(built_in[i], word, length)) return true;
  return has_option(argp, word, length);
}

static void offer(const struct argp *argp, dp_suggest *suggest) {
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
    if (o->name) dp_suggest_offer(suggest, o->name);
  for (const struct argp_child *c = argp->children; c && c->argp; c++) offer(c->argp, suggest);
}

static dp_status check_option(const struct argp *argp, const char *argument) {
  const char *word = argument + 2;
  size_t length = strcspn(word, "=");
  if (!length || is_known(argp, word, length)) return DP_OK;
  char typed[64], hint[128];
  snprintf(typed, sizeof typed, "%.*s", (int)length, word);
  dp_suggest suggest = dp_suggest_begin(typed);
  offer(argp, &suggest);
  return dp_fail(EX_USAGE, "there is no option --%s%s (see --help)", typed,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

dp_status dp_cli_parse(const struct argp *argp, int argc, char **argv, void *input) {
  for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
    if (!strncmp(argv[i], "--", 2)) DP_TRY(check_option(argp, argv[i]));
  error_t error = argp_parse(argp, argc, argv, 0, NULL, input);
  return error ? dp_fail(EX_USAGE, "%s", strerror(error)) : DP_OK;
}

dp_status dp_cli_pair_parse(dp_arena *arena, const char *option, const char *text, dp_cli_pair *pair) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1])
    return dp_fail(EX_USAGE, "--%s '%s': expected NAME=FILE, for example --%s image=train-images.npy", option, text,
                   option);
  *pair = (dp_cli_pair){dp_strndup(arena, text, (size_t)(equals - text)), dp_strdup(arena, equals + 1)};
  return DP_OK;
}

dp_status dp_cli_int(const char *option, const char *text, int64_t low, int64_t high, int64_t *number) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno || value < low || value > high)
    return dp_fail(EX_USAGE, "--%s=%s: expected a whole number from %lld to %lld", option, text, (long long)low,
                   (long long)high);
  *number = value;
  return DP_OK;
}

dp_status dp_cli_bytes(const char *option, const char *text, int64_t *bytes) {
  static const char powers[] = "KMGT";
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  const char *power = end != text && *end ? strchr(powers, *end) : NULL;
  bool wrong = end == text || errno || value < 1 || (*end && (!power || end[1]));
  if (wrong || __builtin_mul_overflow(value, power ? 1LL << 10 * (power - powers + 1) : 1LL, &value))
    return dp_fail(EX_USAGE,
                   "--%s=%s: expected a count of bytes, such as 800000, 512M or 2G (K, M, G, T: powers of 1024)",
                   option, text);
  *bytes = value;
  return DP_OK;
}

bool dp_cli_same_file(const char *a, const char *b) {
  struct stat x, y;
  return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

dp_status dp_cli_check_writable(const char *path) {
  struct stat st;
  if (!stat(path, &st) && !S_ISREG(st.st_mode)) return dp_fail(EX_CANTCREAT, "%s: is there, and is no file", path);
  const char *slash = strrchr(path, '/');
  char *folder = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
  if (!folder) return dp_fail(DP_EX_MEMORY, "no memory to start");
  int error = access(folder, W_OK | X_OK) ? errno : 0;
  free(folder);
  return error ? dp_fail(EX_CANTCREAT, "%s: cannot be written: %s", path, strerror(error)) : DP_OK;
}
