// Turns signals into a flag that the loops check between steps. See signal.h.
#include "tools/run/signal.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "ir/base/base.h"

// Cluster schedulers send SIGUSR1 ahead of their time limit, and the system SIGXCPU at that of the processor.
static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};

// How many came; any thread may take a signal. A terminal and many schedulers send a signal to all processes at once,
// so that a child gets it twice: directly, and passed on. Hence the number that is passed on with it.
static atomic_int direct, passed_on;
static bool is_child;

// The second signal is one too many for whoever waits: it does what it does to a program that does not catch it.
static void remember(int number, siginfo_t *info, void *context) {
  (void)context;
  int count;
  if (is_child && info->si_code == SI_QUEUE)
    atomic_store(&passed_on, count = info->si_value.sival_int);
  else
    count = atomic_fetch_add(&direct, 1) + 1;
  if (count < 2) return;
  signal(number, SIG_DFL);
  raise(number);
}

void dp_dprun_signal_handle(void (*handler)(int, siginfo_t *, void *), int flags) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags}, before;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < DP_COUNT(caught); i++)
    if (sigaction(caught[i], NULL, &before) || before.sa_handler != SIG_IGN) sigaction(caught[i], &action, NULL);
}

void dp_dprun_signal_hold(bool hold) {
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < DP_COUNT(caught); i++) sigaddset(&set, caught[i]);
  sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void dp_dprun_signal_catch(bool are_passed_on) {
  is_child = are_passed_on;
  // Without SA_RESTART, so that waiting for a pipe ends too.
  dp_dprun_signal_handle(remember, 0);
  dp_dprun_signal_hold(false);
  // If the reader of --metrics=- goes away, that is a write error, reported at the end; the weights are saved.
  signal(SIGPIPE, SIG_IGN);
}

bool dp_dprun_signal_came(void) { return atomic_load(&direct) || atomic_load(&passed_on); }

void dp_dprun_signal_pass_on(pid_t pid, int number, int count) {
  sigqueue(pid, number, (union sigval){.sival_int = count});
}
