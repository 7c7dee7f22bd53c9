// SIGINT and SIGTERM as a flag that the loop looks at between steps.
#include <signal.h>
#include <stdlib.h>

#include "tools/run/dprun.h"

static volatile sig_atomic_t came;

static void remember(int signal) {
  (void)signal;
  came = 1;
}

void dp_dprun_signal_catch(void) {
  struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool dp_dprun_signal_came(void) { return came != 0; }
