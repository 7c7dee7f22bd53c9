// What every call begins and ends with: the lock, the count, the failure asked for, the sticky error.
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/standin/state.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUresult sticky;
dp_standin_counts standin_counts;
bool standin_initialized;
_Thread_local int standin_current = -1;

enum { CALL_NS = 1000 };  // what a call takes the host

void standin_lock(void) { pthread_mutex_lock(&lock); }
void standin_unlock(void) { pthread_mutex_unlock(&lock); }

void standin_say(const char *format, ...) {
  char line[512] = "CUDA stand-in: ";
  size_t at = strlen(line);
  va_list args;
  va_start(args, format);
  vsnprintf(line + at, sizeof line - at - 1, format, args);
  va_end(args);
  strcat(line, "\n");
  // Not by stdio: this is also called where a signal has interrupted it.
  if (write(STDERR_FILENO, line, strlen(line)) < 0) return;
}

// Errors after which the driver's documentation says that the process must be started anew.
static bool is_sticky(CUresult error) {
  static const CUresult errors[] = {700, 702, 710, 714, 715, 716, 717, 718, 719};
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i] == error) return true;
  return false;
}

void standin_stick(CUresult error) {
  if (sticky) return;
  sticky = error;
  standin_give_up();
}

CUresult standin_stuck(void) { return sticky; }

static void trace(const char *name) {
  static FILE *file;
  if (!standin_set.trace) return;
  if (!file) file = fopen(standin_set.trace, "w");
  if (!file) return;
  fprintf(file, "%lld %s\n", (long long)standin_counts.calls, name);
  fflush(file);
}

// Counts a call. What it is to fail with.
static CUresult count(const char *name) {
  standin_counts.calls++;
  standin_host_ns += CALL_NS;
  trace(name);
  if (sticky) return sticky;
  if ((uint64_t)standin_counts.calls != standin_set.fail_call) return CUDA_SUCCESS;
  CUresult error = (CUresult)standin_set.fail_error;
  if (is_sticky(error)) standin_stick(error);
  return error;
}

CUresult standin_enter(const char *name, standin_needs needs) {
  standin_lock();
  CUresult refused = count(name);
  if (refused) return refused;
  if (needs >= STANDIN_INITIALIZED && !standin_initialized) return STANDIN_NOT_INITIALIZED;
  if (needs >= STANDIN_CONTEXT && standin_current < 0) return STANDIN_INVALID_CONTEXT;
  return needs >= STANDIN_UNCAPTURED ? standin_capture_unsafe() : CUDA_SUCCESS;
}

CUresult standin_leave(CUresult result) {
  standin_close();
  if (!result) result = sticky;
  standin_unlock();
  return result;
}

CUresult dp_standin_call(const char *name) {
  standin_lock();
  CUresult refused = count(name);
  standin_unlock();
  return refused;
}

void dp_standin_handles(int change) {
  standin_lock();
  standin_counts.handles += change;
  standin_unlock();
}

void dp_standin_reset(void) {
  standin_lock();
  standin_give_up();
  standin_capture_reset();
  sticky = CUDA_SUCCESS;
  standin_set.fail_call = 0;
  standin_counts.calls = 0;
  standin_unlock();
}
