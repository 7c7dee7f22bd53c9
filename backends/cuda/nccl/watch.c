// See watch.h.
#include "backends/cuda/nccl/watch.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/gpu/waiting.h"
#include "backends/cuda/nccl/exchange_state.h"

enum { DEFAULT_S = 600, DRAIN_S = 2, REPORT_BYTES = 4096, MESSAGE_BYTES = 4096 };

static const double look_s = 20e-3;  // between two looks

static struct {
  dp_nccl_exchange *all;
  uint64_t count;  // of exchanges issued
  bool given_up;
  int code;  // of the failure for which, and its message
  char message[MESSAGE_BYTES];
  double timeout_s;
  double looked_s;  // when it was looked last
  double moved_s;   // when something was found to have moved
  int64_t done;     // events that had occurred then
} watch = {.timeout_s = DEFAULT_S};

void dp_nccl_set_timeout(double seconds) { watch.timeout_s = seconds; }
double dp_nccl_timeout(void) { return watch.timeout_s; }

static bool has_occurred(CUevent event) { return dp_cu.cuEventQuery(event) == CUDA_SUCCESS; }

// ---- what is under way ----------------------------------------------------------------------------------------------

// An exchange of a run.
typedef struct {
  const dp_nccl_exchange *exchange;
  int slot;
} issued;

static bool has_done(issued i, int rank) { return has_occurred(i.exchange->over[i.slot][rank]); }

static bool is_over(issued i) {
  for (int rank = 0; rank < i.exchange->group->n; rank++)
    if (!has_done(i, rank)) return false;
  return true;
}

static uint64_t number_of(issued i) { return i.exchange ? i.exchange->issued[i.slot] : 0; }

// The exchange that was issued first of those that are not over; none: exchange NULL.
static issued find_stuck(void) {
  issued found = {0};
  for (const dp_nccl_exchange *x = watch.all; x; x = x->next)
    for (int slot = 0; slot < DP_NCCL_SLOTS; slot++) {
      const issued i = {x, slot};
      if (number_of(i) && (!found.exchange || number_of(i) < number_of(found)) && !is_over(i)) found = i;
    }
  return found;
}

// The exchange that a device has done last; none: exchange NULL.
static issued find_last(int device) {
  issued found = {0};
  for (const dp_nccl_exchange *x = watch.all; x; x = x->next)
    for (int slot = 0; slot < DP_NCCL_SLOTS; slot++) {
      const issued i = {x, slot};
      for (int rank = 0; rank < x->group->n; rank++)
        if (x->devices[rank] == device && number_of(i) > number_of(found) && has_done(i, rank)) found = i;
    }
  return found;
}

static int64_t count_done(void) {
  int64_t count = 0;
  for (const dp_nccl_exchange *x = watch.all; x; x = x->next)
    for (int slot = 0; slot < DP_NCCL_SLOTS; slot++)
      for (int rank = 0; x->issued[slot] && rank < x->group->n; rank++)
        count += has_occurred(x->come[slot][rank]) + has_occurred(x->over[slot][rank]);
  return count;
}

// Whether a rank waits in an exchange: it has come, and the exchange is not over for it. A rank that still computes
// keeps nobody waiting by itself.
static bool somebody_waits(void) {
  for (const dp_nccl_exchange *x = watch.all; x; x = x->next)
    for (int slot = 0; slot < DP_NCCL_SLOTS; slot++)
      for (int rank = 0; x->issued[slot] && rank < x->group->n; rank++)
        if (has_occurred(x->come[slot][rank]) && !has_occurred(x->over[slot][rank])) return true;
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

// Ranks that have, or have not, come to it.
static int say_ranks(char *text, issued i, bool come) {
  int count = 0;
  for (int rank = 0; rank < i.exchange->group->n; rank++) {
    if (has_occurred(i.exchange->come[i.slot][rank]) != come || has_done(i, rank)) continue;
    say(text, "%srank %d (GPU %d)", count++ ? ", " : "", rank, i.exchange->group->gpus[rank]->ordinal);
  }
  return count;
}

static dp_status tell(issued i) {
  char late[REPORT_BYTES] = "", waiting[REPORT_BYTES] = "", last[REPORT_BYTES] = "";
  const int n_late = say_ranks(late, i, false), n_waiting = say_ranks(waiting, i, true);
  for (int rank = 0; rank < i.exchange->group->n; rank++) {
    const issued done = find_last(i.exchange->devices[rank]);
    say(last, "%srank %d %s", rank ? "; " : "", rank, done.exchange ? done.exchange->what : "none");
  }
  return dp_fail(DP_EX_PEER_LOST, "%s stands still for %g s (--timeout): %s%s%s%s%s. Ranks ended last: %s",
                 i.exchange->what, watch.timeout_s, late,
                 n_late == 1 ? " has not come to it"
                 : n_late    ? " have not come to it"
                             : "",
                 n_late && n_waiting ? ", " : "", waiting, n_waiting ? n_waiting == 1 ? " is in it" : " are in it" : "",
                 last);
}

// ---- looking --------------------------------------------------------------------------------------------------------

static bool needed(void) { return watch.all && watch.count; }

// Of several failures the first one tells most, so it is what runs that are on or begin later fail with too.
static dp_status give_up(dp_status failure) {
  if (watch.given_up) return failure;
  watch.given_up = true;
  watch.code = dp_status_code(failure);
  snprintf(watch.message, sizeof watch.message, "%s", dp_status_message(failure));
  dp_nccl_groups_abort();
  return failure;
}

static dp_status look(double waited_s) {
  const double now = dp_cuda_now();
  if (now - watch.looked_s < look_s) return DP_OK;
  watch.looked_s = now;
  if (watch.given_up) return dp_nccl_watch_check();
  dp_status failure = dp_nccl_groups_check();
  if (failure) {
    const issued stuck = find_stuck();
    return give_up(stuck.exchange ? dp_status_context(failure, "%s", stuck.exchange->what) : failure);
  }
  const int64_t done = count_done();
  const issued stuck = find_stuck();
  if (done != watch.done || !stuck.exchange || !somebody_waits()) {
    watch.moved_s = now;
    watch.done = done;
  }
  // What moved before the host began to wait is not known.
  const double still_s = waited_s < now - watch.moved_s ? waited_s : now - watch.moved_s;
  return watch.timeout_s > 0 && still_s > watch.timeout_s ? give_up(tell(stuck)) : DP_OK;
}

void dp_nccl_watch_add(dp_nccl_exchange *x) {
  static const dp_cuda_watch by = {needed, look, DRAIN_S};
  dp_cuda_watch_by(&by);
  x->next = watch.all;
  watch.all = x;
}

void dp_nccl_watch_drop(dp_nccl_exchange *x) {
  for (dp_nccl_exchange **link = &watch.all; *link; link = &(*link)->next)
    if (*link == x) {
      *link = x->next;
      return;
    }
}

uint64_t dp_nccl_watch_count(void) { return ++watch.count; }

dp_status dp_nccl_watch_check(void) { return watch.given_up ? dp_fail(watch.code, "%s", watch.message) : DP_OK; }

dp_status dp_nccl_watch_fail(dp_status failure) { return give_up(failure); }
