// See cli.h.
#define _GNU_SOURCE  // on_exit, program_invocation_short_name
#include "tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/base/pair.h"
#include "ir/base/suggest.h"
#include "ir/base/utf8.h"

// If a write failed long ago, ferror remembers it but errno does not. Another one fails for the same reason; it is left
// out where it would wait, as for a reader that has stopped.
static void fail_again(void) {
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  const bool waits = poll(&output, 1, 0) != 1;
  errno = 0;
  if (!waits && putchar('\n') != EOF) (void)fflush(stdout);
}

static dp_status check_output(void) {
  errno = 0;
  if (!(fflush(stdout) | ferror(stdout))) return DP_OK;
  if (!errno) fail_again();
  return dp_fail(EX_IOERR, "cannot write standard output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
}

// argp itself exits after its help.
static void finish_at_exit(int code, void *unused) {
  (void)unused;
  if (!code && (code = dp_cli_finish(program_invocation_short_name, DP_OK))) _exit(code);
}

void dp_cli_begin(void) {
  on_exit(finish_at_exit, NULL);
  // Open the missing ones so that reading or writing them fails, as on a closed descriptor.
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd ? O_RDONLY : O_WRONLY);
  signal(SIGXFSZ,
         SIG_IGN);  // writing beyond a limit of files' sizes fails, and is said and cleared up as other failures
}

// Names in messages come from files and may hold anything. Anything but printable UTF-8 is escaped, so that no terminal
// obeys it, and words longer than any name are shortened in the middle.
enum { MAX_WORD_BYTES = 400, WORD_HEAD_BYTES = 200, WORD_TAIL_BYTES = 100 };

static size_t print_character(const char *text, size_t bytes) {
  const unsigned char c = (unsigned char)*text;
  const size_t good = dp_utf8_check(text, bytes < 4 ? bytes : 4);
  size_t length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
  // U+0080 to U+009F are controls too.
  const bool control = c < 0x20 || c == 0x7F || (c == 0xC2 && bytes > 1 && (unsigned char)text[1] < 0xA0);
  if (length > good || control) {
    fprintf(stderr, "\\x%02X", c);
    return 1;
  }
  fwrite(text, 1, length, stderr);
  return length;
}

static void print_characters(const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes;) i += print_character(text + i, bytes - i);
}

void dp_cli_print_message(const char *text) {
  while (*text) {
    const size_t space = strspn(text, " \n\t"), word = strcspn(text + space, " \n\t");
    fwrite(text, 1, space, stderr);
    text += space;
    if (word > MAX_WORD_BYTES) {
      print_characters(text, WORD_HEAD_BYTES);
      fputs("...", stderr);
      print_characters(text + word - WORD_TAIL_BYTES, WORD_TAIL_BYTES);
    } else {
      print_characters(text, word);
    }
    text += word;
  }
}

int dp_cli_finish(const char *program, dp_status status) {
  dp_status written = check_output();
  if (!status)
    status = written;
  else
    dp_status_free(written);
  if (!status) return 0;
  int code = dp_status_code(status);
  fprintf(stderr, "%s: ", program);
  dp_cli_print_message(dp_status_message(status));
  fputc('\n', stderr);
  dp_status_free(status);
  return code;
}

// The options that argp adds itself.
static const char *const built_in[] = {"help", "usage", "version"};

// Whether `word` is an option of the parser or its children, or a prefix of one.
static bool has_option(const struct argp *argp, const char *word, size_t length) {
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
    if (o->name && !strncmp(o->name, word, length)) return true;
  for (const struct argp_child *c = argp->children; c && c->argp; c++)
    if (has_option(c->argp, word, length)) return true;
  return false;
}

static bool is_known(const struct argp *argp, const char *word, size_t length) {
  for (size_t i = 0; i < DP_COUNT(built_in); i++)
    if (!strncmp(built_in[i], word, length)) return true;
  return has_option(argp, word, length);
}

static void offer(const struct argp *argp, dp_suggest *suggest) {
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
    if (o->name && !(o->flags & OPTION_HIDDEN)) dp_suggest_offer(suggest, o->name);
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
  for (size_t i = 0; i < DP_COUNT(built_in); i++) dp_suggest_offer(&suggest, built_in[i]);
  return dp_fail(EX_USAGE, "unknown option --%s%s (see --help)", typed, dp_suggest_print(&suggest, hint, sizeof hint));
}

// -h means --help, which argp leaves to the program. The command's own parser handles the rest.
static error_t parse_outer(int key, char *text, struct argp_state *state) {
  (void)text;
  if (key == ARGP_KEY_INIT) state->child_inputs[0] = state->input;
  if (key != 'h') return ARGP_ERR_UNKNOWN;
  argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
  return 0;
}

static void print_and_exit(const struct argp *argp, char **argv) {
  const char *slash = strrchr(argv[0], '/');
  if (!strcmp(argv[1], "--print-manual"))
    dp_cli_manual_print(argp, slash ? slash + 1 : argv[0], stdout);
  else if (!strcmp(argv[1], "--print-words"))
    dp_cli_words_print(argp, stdout);
  else
    return;
  exit(dp_cli_finish(argv[0], DP_OK));
}

dp_status dp_cli_parse(const struct argp *argp, int argc, char **argv, void *input) {
  static const struct argp_option options[] = {{0, 'h', 0, 0, "The same as --help", -1}, {0}};
  const struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
  const struct argp outer = {.options = options, .parser = parse_outer, .children = children};
  if (argc == 2) print_and_exit(argp, argv);
  for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
    if (!strncmp(argv[i], "--", 2)) DP_TRY(check_option(argp, argv[i]));
  error_t error = argp_parse(&outer, argc, argv, 0, NULL, input);
  return error ? dp_fail(EX_USAGE, "%s", strerror(error)) : DP_OK;
}

dp_status dp_cli_pair_parse(dp_arena *arena, const char *option, const char *text, dp_cli_pair *pair) {
  dp_cli_pair split;
  if (!dp_pair_split(arena, text, &split.name, &split.file))
    return dp_fail(EX_USAGE, "--%s '%s': expected NAME=FILE, for example --%s image=train-images.npy", option, text,
                   option);
  *pair = (dp_cli_pair){split.name, dp_strdup(arena, split.file)};
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
                   "--%s=%s: expected a number of bytes, such as 800000, 512M or 2G (K, M, G, T: powers of 1024)",
                   option, text);
  *bytes = value;
  return DP_OK;
}
