// SIGINT, SIGTERM, SIGHUP and SIGUSR1.
#ifndef DP_TOOLS_RUN_SIGNAL_H
#define DP_TOOLS_RUN_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

// Has these signals call `handler`, but those that are ignored: what nohup, or a shell for its background jobs, ignores
// stays so.
void dp_dprun_signal_handle(void (*handler)(int number, siginfo_t *info, void *context), int flags);
// Keeps these signals waiting, until they are let through again.
void dp_dprun_signal_hold(bool hold);

// Catches these signals, and lets them through. After one of them the current step ends and --save is carried out; a
// second one ends the process at once. are_passed_on: the process is one of several that dprun --run started, which
// passes its signals on to it (dp_dprun_signal_pass_on).
void dp_dprun_signal_catch(bool are_passed_on);
bool dp_dprun_signal_came(void);
// Passes a signal on to another process: it is the `count`-th that came here. May be called in a handler.
void dp_dprun_signal_pass_on(pid_t pid, int number, int count);

#endif
