// SIGINT, SIGTERM, SIGHUP and SIGUSR1 as a flag that the loops look at between steps.
#include <signal.h>
#include <stdlib.h>

#include "tools/run/dprun.h"

static volatile sig_atomic_t came;

static void remember(int signal) {
  (void)signal;
  came = 1;
}

void dp_dprun_signal_catch(void) {
  // The last one is what schedulers of clusters send ahead of their limit.
  static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  // Without SA_RESTART: waiting for a pipe ends too.
  struct sigaction action = {.sa_handler = remember}, before;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < DP_COUNT(caught); i++)
    // What nohup, or a shell for its background jobs, has ignored stays so.
    if (sigaction(caught[i], NULL, &before) || before.sa_handler != SIG_IGN) sigaction(caught[i], &action, NULL);
  // A reader of --metrics=- that goes away is an error of writing, said at the end; the weights are saved.
  signal(SIGPIPE, SIG_IGN);
}

bool dp_dprun_signal_came(void) { return came != 0; }
