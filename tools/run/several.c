// See several.h.
#include "tools/run/several.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/run/relay.h"
#include "tools/run/share.h"
#include "tools/run/signal.h"
#include "tools/run/words.h"

typedef struct {
  dp_dprun_place place;
  dp_words words;
  bool has_stdout;  // standard output is a file of this run, so it goes there as it is
  bool json;        // its result, a line of JSON, says itself of which run it is
  pid_t pid;        // 0: not started, or ended
} side;

typedef struct {
  dp_arena *arena;
  int argc, count;
  char **argv;
  side *sides;       // (count)
  dp_relay *relays;  // (2 * count) standard output and error of each
  dp_dprun_one *one;
  int code;
} several;

// ---- signals --------------------------------------------------------------------------------------------------------

// For the handler. The sides are complete before signals are let through, and they are waited for after all of them
// have ended, so each of these processes is ours.
static const several *running;
static atomic_int signals;

static void pass_on(int number, siginfo_t *info, void *context) {
  const int error = errno, count = atomic_fetch_add(&signals, 1) + 1;
  (void)info;
  (void)context;
  for (int i = 0; i < running->count; i++)
    if (running->sides[i].pid) dp_dprun_signal_pass_on(running->sides[i].pid, number, count);
  errno = error;
}

// ---- the command line -----------------------------------------------------------------------------------------------

static const char option[] = "--run";

bool dp_dprun_several_asked(const char *argument) {
  const size_t length = sizeof option - 1;
  return !strncmp(argument, option, length) && (!argument[length] || argument[length] == '=');
}

static dp_status find_texts(several *s) {
  for (int i = 1; i < s->argc; i++) {
    if (!dp_dprun_several_asked(s->argv[i]))
      return dp_fail(EX_USAGE,
                     "'%s' stands beside --run, but belongs into the text of one: %s 'PLAN ...' %s 'PLAN ...'",
                     s->argv[i], option, option);
    const char *text = strchr(s->argv[i], '=');
    text = text ? text + 1 : ++i < s->argc ? s->argv[i] : NULL;
    if (!text) return dp_fail(EX_USAGE, "--run: expected a command line, for example --run 'a.bin --infer ...'");
    side one = {.place.number = s->count + 1};
    DP_TRY(dp_status_context(dp_words_split(s->arena, "dprun", text, &one.words), "run %d", one.place.number));
    DP_PUSH(s->arena, s->sides, s->count, one);
  }
  return DP_OK;
}

// Options are parsed here to see whether the runs go together, and once more by the run itself.
static dp_status check(several *s) {
  dp_dprun_share *shares = dp_alloc_n(s->arena, (size_t)s->count, sizeof *shares);
  for (int i = 0; i < s->count; i++) {
    const dp_words *w = &s->sides[i].words;
    char **argv = dp_memdup(s->arena, w->words, ((size_t)w->count + 1) * sizeof *argv);  // argp puts options first
    DP_TRY(dp_status_context(dp_dprun_options_parse(s->arena, w->count, argv, &shares[i].options), "run %d", i + 1));
  }
  DP_TRY(dp_dprun_share_out(s->arena, shares, s->count));
  for (int i = 0; i < s->count; i++) {
    s->sides[i].place.threads = shares[i].threads;
    s->sides[i].has_stdout = shares[i].writes_stdout;
    s->sides[i].json = shares[i].options.watch.json;
  }
  return DP_OK;
}

// ---- processes ------------------------------------------------------------------------------------------------------

// Standard output and error of a run become pipes, which are read here.
typedef struct {
  int out[2], err[2];
} pipes;

static dp_status open_pipes(pipes *p) {
  if (pipe(p->out)) return dp_fail(EX_OSERR, "cannot make a pipe: %s", strerror(errno));
  if (!pipe(p->err)) return DP_OK;
  const int error = errno;
  close(p->out[0]);
  close(p->out[1]);
  return dp_fail(EX_OSERR, "cannot make a pipe: %s", strerror(error));
}

// A run ends as by a signal if this process ends before it, which would leave it without readers.
static int run_side(several *s, const side *one, const pipes *p, pid_t parent) {
  for (int i = 0; i < 2 * s->count; i++)
    if (s->relays[i].fd >= 0) close(s->relays[i].fd);
  if (!one->has_stdout) dup2(p->out[1], STDOUT_FILENO);
  dup2(p->err[1], STDERR_FILENO);
  const int all[] = {p->out[0], p->out[1], p->err[0], p->err[1]};
  for (size_t i = 0; i < DP_COUNT(all); i++) close(all[i]);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) raise(SIGTERM);
  return s->one(one->words.count, one->words.words, &one->place);
}

static dp_status start(several *s, int at) {
  side *one = &s->sides[at];
  const char *prefix = dp_printf(s->arena, "run %d: ", one->place.number);
  const pid_t parent = getpid();
  pipes p;
  DP_TRY(open_pipes(&p));
  fflush(NULL);
  one->pid = fork();
  if (!one->pid) exit(run_side(s, one, &p, parent));
  close(p.out[1]);
  close(p.err[1]);
  s->relays[2 * at] = (dp_relay){.fd = p.out[0], .out = stdout, .prefix = one->json ? "" : prefix};
  s->relays[2 * at + 1] = (dp_relay){.fd = p.err[0], .out = stderr, .prefix = prefix};
  if (one->pid > 0) return DP_OK;
  one->pid = 0;
  return dp_fail(EX_OSERR, "run %d cannot be started: %s", one->place.number, strerror(errno));
}

static dp_status start_all(several *s) {
  dp_status status = DP_OK;
  s->relays = dp_alloc_n(s->arena, 2 * (size_t)s->count, sizeof *s->relays);
  for (int i = 0; i < 2 * s->count; i++) s->relays[i].fd = -1;
  dp_dprun_signal_hold(true);
  running = s;
  dp_dprun_signal_handle(pass_on, SA_RESTART);
  signal(SIGPIPE, SIG_IGN);  // what cannot be printed is said at the end
  for (int i = 0; i < s->count && !status; i++) status = start(s, i);
  for (int i = 0; i < s->count && status; i++)
    if (s->sides[i].pid) kill(s->sides[i].pid, SIGTERM);
  dp_dprun_signal_hold(false);
  return status;
}

// A run that can go on says so by 75; that must not hide that another failed.
static int worse(int code, int other) { return !code || (code == EX_TEMPFAIL && other) ? other : code; }

static void wait_all(several *s) {
  int state, code = 0;
  dp_relay_run(s->arena, s->relays, 2 * s->count);
  for (int i = 0; i < s->count; i++) {
    if (!s->sides[i].pid) continue;
    while (waitpid(s->sides[i].pid, &state, 0) < 0 && errno == EINTR) {
    }
    const int ended = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (!WIFEXITED(state)) fprintf(stderr, "run %d: ended by signal %d\n", i + 1, WTERMSIG(state));
    code = worse(code, ended);
  }
  s->code = code;
}

static dp_status execute(void *context) {
  several *s = context;
  DP_TRY(find_texts(s));
  DP_TRY(check(s));
  dp_status status = start_all(s);
  wait_all(s);
  return status;
}

int dp_dprun_several_main(int argc, char **argv, dp_dprun_one *one) {
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return dp_cli_finish("dprun", dp_fail(DP_EX_MEMORY, "out of memory"));
  several s = {.arena = arena, .argc = argc, .argv = argv, .one = one};
  const int code = dp_cli_finish("dprun", dp_arena_run(arena, execute, &s));
  dp_arena_destroy(arena);
  return code ? code : s.code;
}
