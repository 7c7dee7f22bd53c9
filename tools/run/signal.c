// Turns SIGINT, SIGTERM, SIGHUP and SIGUSR1 into a flag that the loops check between steps.
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tools/run/dprun.h"

static atomic_bool came;  // any thread may take the signal

// The second signal is one too many for whoever waits: it does what it does to a program that does not catch it.
static void remember(int number) {
  if (!atomic_exchange(&came, true)) return;
  signal(number, SIG_DFL);
  raise(number);
}

void dp_dprun_signal_catch(void) {
  // Cluster schedulers send SIGUSR1 ahead of their time limit.
  static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  // Without SA_RESTART, so that waiting for a pipe ends too.
  struct sigaction action = {.sa_handler = remember}, before;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < DP_COUNT(caught); i++)
    // Keep ignoring what nohup, or a shell for its background jobs, ignores.
    if (sigaction(caught[i], NULL, &before) || before.sa_handler != SIG_IGN) sigaction(caught[i], &action, NULL);
  // If the reader of --metrics=- goes away, that is a write error, reported at the end; the weights are saved.
  signal(SIGPIPE, SIG_IGN);
}

bool dp_dprun_signal_came(void) { return atomic_load(&came); }
