// See watch.h.
#include "backends/cuda/gpu/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/waiting.h"

enum { DEFAULT_S = 600, DRAIN_S = 2, REPORT_BYTES = 4096, MESSAGE_BYTES = 4096 };

static const double look_s = 20e-3;  // between two looks

static struct {
  dp_cuda_meeting *all;
  const dp_cuda_watch_library *library;
  uint64_t count;  // of meetings issued
  bool given_up;
  int code;  // of the failure for which, and its message
  char message[MESSAGE_BYTES];
  CUresult trouble;  // what asking has found that is neither "done" nor "not yet"
  double timeout_s;
  double looked_s;  // when it was looked last
  double moved_s;   // when something was found to have moved
  int64_t done;     // events that had occurred then
} watch = {.timeout_s = DEFAULT_S};

void dp_cuda_set_timeout(double seconds) { watch.timeout_s = seconds; }
double dp_cuda_timeout(void) { return watch.timeout_s; }
void dp_cuda_watch_library_add(const dp_cuda_watch_library *library) { watch.library = library; }

// An error of earlier work is found by whatever asks next, of any GPU.
static bool has_occurred(CUevent event) {
  const CUresult result = dp_cu.cuEventQuery(event);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY && !watch.trouble) watch.trouble = result;
  return result == CUDA_SUCCESS;
}

// ---- what is under way ----------------------------------------------------------------------------------------------

// A meeting of a run.
typedef struct {
  const dp_cuda_meeting *meeting;
  int slot;
} issued;

static bool has_come(issued i, int party) { return has_occurred(i.meeting->parties[party].come[i.slot]); }

static bool has_done(issued i, int party) { return has_occurred(i.meeting->parties[party].over[i.slot]); }

static bool is_over(issued i) {
  for (int party = 0; party < i.meeting->n; party++)
    if (!has_done(i, party)) return false;
  return true;
}

static uint64_t number_of(issued i) { return i.meeting ? i.meeting->issued[i.slot] : 0; }

// The meeting that was issued first of those that are not over; none: meeting NULL.
static issued find_stuck(void) {
  issued found = {0};
  for (const dp_cuda_meeting *m = watch.all; m; m = m->next)
    for (int slot = 0; slot < DP_CUDA_MEETING_SLOTS; slot++) {
      const issued i = {m, slot};
      if (number_of(i) && (!found.meeting || number_of(i) < number_of(found)) && !is_over(i)) found = i;
    }
  return found;
}

// The meeting that a device has done last; none: meeting NULL.
static issued find_last(int device) {
  issued found = {0};
  for (const dp_cuda_meeting *m = watch.all; m; m = m->next)
    for (int slot = 0; slot < DP_CUDA_MEETING_SLOTS; slot++) {
      const issued i = {m, slot};
      for (int party = 0; party < m->n; party++)
        if (m->parties[party].device == device && number_of(i) > number_of(found) && has_done(i, party)) found = i;
    }
  return found;
}

static int64_t count_done(void) {
  int64_t count = 0;
  for (const dp_cuda_meeting *m = watch.all; m; m = m->next)
    for (int slot = 0; slot < DP_CUDA_MEETING_SLOTS; slot++)
      for (int party = 0; m->issued[slot] && party < m->n; party++)
        count += has_come((issued){m, slot}, party) + has_done((issued){m, slot}, party);
  return count;
}

// Whether a party waits in it: it has come, and may not go on. One that still computes keeps nobody waiting by itself.
static bool is_waited_in(issued i) {
  bool come = false;
  for (int party = 0; party < i.meeting->n; party++) {
    if (!has_come(i, party)) continue;
    come = true;
    if (!has_done(i, party)) return true;
  }
  return i.meeting->gathers && come && !is_over(i);
}

static bool somebody_waits(void) {
  for (const dp_cuda_meeting *m = watch.all; m; m = m->next)
    for (int slot = 0; slot < DP_CUDA_MEETING_SLOTS; slot++)
      if (m->issued[slot] && is_waited_in((issued){m, slot})) return true;
  return false;
}

// ---- telling --------------------------------------------------------------------------------------------------------

static void say(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(char *text, const char *format, ...) {
  const size_t at = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + at, REPORT_BYTES - at, format, args);
  va_end(args);
}

// Devices that have, or have not, come to it.
static int say_devices(char *text, issued i, bool come) {
  int count = 0;
  for (int party = 0; party < i.meeting->n; party++) {
    if (has_come(i, party) != come || has_done(i, party)) continue;
    const dp_cuda_party *p = &i.meeting->parties[party];
    say(text, "%sdevice %d (GPU %d)", count++ ? ", " : "", p->device, p->gpu->ordinal);
  }
  return count;
}

// What each device of the plan has done last, devices that ended alike together: "devices 0, 2: none; device 1: ...".
static void say_ended(char *text) {
  const int n = dp_cuda_gpus_devices();
  issued *ended = calloc((size_t)n, sizeof *ended);
  for (int device = 0; ended && device < n; device++) ended[device] = find_last(device);
  for (int device = 0; ended && device < n; device++) {
    int first = 0, alike = 0;
    while (number_of(ended[first]) != number_of(ended[device])) first++;
    if (first < device) continue;
    for (int other = device; other < n; other++) alike += number_of(ended[other]) == number_of(ended[device]);
    say(text, "%sdevice%s", device ? "; " : "", alike > 1 ? "s" : "");
    for (int other = device; other < n; other++)
      if (number_of(ended[other]) == number_of(ended[device])) say(text, "%s %d", other > device ? "," : "", other);
    say(text, ": %s", ended[device].meeting ? ended[device].meeting->what : "none");
  }
  free(ended);
}

static dp_status tell(issued i) {
  char late[REPORT_BYTES] = "", waiting[REPORT_BYTES] = "", ended[REPORT_BYTES] = "";
  const int n_late = say_devices(late, i, false), n_waiting = say_devices(waiting, i, true);
  say_ended(ended);
  return dp_fail(DP_EX_PEER_LOST, "%s stands still for %g s (--timeout): %s%s%s%s%s. Ended last by %s", i.meeting->what,
                 watch.timeout_s, late,
                 n_late == 1 ? " has not come to it"
                 : n_late    ? " have not come to it"
                             : "",
                 n_late && n_waiting ? ", " : "", waiting, n_waiting ? n_waiting == 1 ? " is in it" : " are in it" : "",
                 ended);
}

// ---- looking --------------------------------------------------------------------------------------------------------

static bool needed(void) { return watch.all && watch.count; }

// Of several failures the first one tells most, so it is what runs that are on or begin later fail with too.
static dp_status give_up(dp_status failure) {
  if (watch.given_up) return failure;
  watch.given_up = true;
  watch.code = dp_status_code(failure);
  snprintf(watch.message, sizeof watch.message, "%s", dp_status_message(failure));
  if (watch.library) watch.library->abort();
  return failure;
}

static dp_status look(double waited_s) {
  const double now = dp_cuda_now();
  if (now - watch.looked_s < look_s) return DP_OK;
  watch.looked_s = now;
  if (watch.given_up) return dp_cuda_watch_check();
  dp_status failure = watch.library ? watch.library->check() : DP_OK;
  if (failure) {
    const issued stuck = find_stuck();
    return give_up(stuck.meeting ? dp_status_context(failure, "%s", stuck.meeting->what) : failure);
  }
  const int64_t done = count_done();
  const issued stuck = find_stuck();
  if (watch.trouble) return give_up(dp_cuda_check(watch.trouble, "computing"));
  if (done != watch.done || !stuck.meeting || !somebody_waits()) {
    watch.moved_s = now;
    watch.done = done;
  }
  // What moved before the host began to wait is not known.
  const double still_s = waited_s < now - watch.moved_s ? waited_s : now - watch.moved_s;
  return watch.timeout_s > 0 && still_s > watch.timeout_s ? give_up(tell(stuck)) : DP_OK;
}

void dp_cuda_watch_add(dp_cuda_meeting *m) {
  static const dp_cuda_watch by = {needed, look, DRAIN_S};
  dp_cuda_watch_by(&by);
  m->next = watch.all;
  watch.all = m;
}

void dp_cuda_watch_drop(dp_cuda_meeting *m) {
  for (dp_cuda_meeting **link = &watch.all; *link; link = &(*link)->next)
    if (*link == m) {
      *link = m->next;
      return;
    }
}

uint64_t dp_cuda_watch_count(void) { return ++watch.count; }

dp_status dp_cuda_watch_check(void) { return watch.given_up ? dp_fail(watch.code, "%s", watch.message) : DP_OK; }

dp_status dp_cuda_watch_fail(dp_status failure) { return give_up(failure); }
