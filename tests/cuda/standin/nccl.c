// A stand-in for NCCL, on the driver's stand-in: all ranks of a communicator are in this process, and call in one
// group.
//
// A group call becomes a job for each communicator. On each rank's stream it takes what the rank gives, waits for the
// other ranks, and puts what the rank gets. Calls that do not fit together are named, and refused with
// ncclInvalidUsage, where NCCL would hang. Where communicators do not block, a call may be in progress for a while: its
// work is not on the streams before somebody has asked often enough. Streams of several ranks are not captured.
// Settings are described in standin.h.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/nccl.h"

#define EXPORT DP_STANDIN_EXPORT

#define DP_DECLARE(name, parameters) EXPORT ncclResult_t name parameters;
DP_CUDA_NCCL_CALLS(DP_DECLARE)
#undef DP_DECLARE

enum { MOST_RANKS = 64, MOST_MADE = 256 };

// Ranks that were made with one id.
typedef struct set {
  struct set *next;
  char id[128];
  int n, made;
  int asked;  // how often somebody must still ask before the work is on the streams
  bool blocking;
  nccl_job *waiting;  // until then; NULL: none
  nccl_job *jobs;     // under way
  struct ncclComm *comms[MOST_RANKS];
} set;

struct ncclComm {
  set *set;
  int rank, device;
  ncclResult_t error;
};

static set *sets;
static int depth;   // of groups
static int n_made;  // communicators that the group makes
static ncclComm_t made[MOST_MADE];
static struct {
  set *of;
  nccl_job *job;
} open_jobs[MOST_RANKS];
static int n_open;
static ncclResult_t failed;  // of the calls of the group
static uint64_t drawn;

// ---- settings -------------------------------------------------------------------------------------------------------

static struct {
  const char *name;
  int device;
  int64_t number;
} faults[] = {{"DP_STANDIN_NCCL_FAIL", -1, 0}, {"DP_STANDIN_NCCL_LATE", -1, 0}, {"DP_STANDIN_NCCL_STALL", -1, 0}};
enum { FAIL, LATE, STALL };
static int64_t calls_of_device[MOST_RANKS];  // group calls, over all communicators

__attribute__((constructor)) static void read_settings(void) {
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    const char *text = getenv(faults[i].name);
    if (text && sscanf(text, "%d:%ld", &faults[i].device, &faults[i].number) != 2)
      fprintf(stderr, "NCCL stand-in: %s=%s is not understood\n", faults[i].name, text);
  }
  const char *seed = getenv("DP_STANDIN_SEED");
  drawn = seed ? strtoull(seed, NULL, 10) : 0;
}

// Whether the group call that the device takes part in next has that fault.
static bool is_told(int fault, int device) {
  return faults[fault].device == device && faults[fault].number == calls_of_device[device] + 1;
}

// Knuth's MMIX generator.
static int draw(int n) {
  drawn = drawn * 6364136223846793005u + 1442695040888963407u;
  return (int)((drawn >> 33) % (uint64_t)n);
}

// Whether a call is told to fail. Which call of all fails is counted without those that only ask.
bool nccl_refused(const char *name) {
  static int64_t count;
  const char *text = getenv("DP_STANDIN_NCCL_CALL");
  const bool told = strcmp(name, "ncclCommGetAsyncError") && ++count == (text ? atoll(text) : 0);
  return dp_standin_call(name) || told;
}

#define CALL() \
  if (nccl_refused(__func__)) return ncclUnhandledCudaError

// A call that fails in a group makes all of the group fail.
ncclResult_t nccl_note(ncclResult_t result) {
  if (result && result != ncclInProgress && depth) failed = result;
  return result;
}

#define CALL_IN_GROUP() \
  if (nccl_refused(__func__)) return nccl_note(ncclUnhandledCudaError)

// ---- jobs -----------------------------------------------------------------------------------------------------------

static void unref(nccl_job *job) {
  if (--job->references) return;
  for (int i = 0; i < job->n_calls; i++) free(job->calls[i].taken);
  dp_standin_gate_free(job->gate);
  free(job->calls);
  free(job);
}

// What one rank does of a job.
typedef struct {
  nccl_job *job;
  int rank;
} part;

static void take(void *context) {
  const part *p = context;
  for (int i = 0; i < p->job->n_calls; i++) {
    const nccl_call *c = &p->job->calls[i];
    if (c->rank == p->rank && c->taken) memcpy(c->taken, c->from, nccl_given(c, p->job->n) * nccl_type_bytes(c->type));
  }
}

static void put(void *context) {
  const part *p = context;
  for (int i = 0; i < p->job->n_calls && !p->job->given_up; i++)
    if (p->job->calls[i].rank == p->rank && nccl_got(&p->job->calls[i], p->job->n))
      nccl_job_compute(p->job, &p->job->calls[i], p->job->calls[i].to);
}

static void release_part(void *context) {
  part *p = context;
  unref(p->job);
  free(p);
}

static part *make_part(nccl_job *job, int rank) {
  part *p = malloc(sizeof *p);
  if (!p) abort();
  *p = (part){job, rank};
  job->references++;
  return p;
}

// The stream of a rank; NULL: it takes no part.
static CUstream stream_of(const nccl_job *job, int rank) {
  for (int i = 0; i < job->n_calls; i++)
    if (job->calls[i].rank == rank) return job->calls[i].stream;
  return NULL;
}

// What a rank does first.
static const char *what_of(const nccl_job *job, int rank) {
  int i = 0;
  while (job->calls[i].rank != rank) i++;
  return nccl_kind_name(job->calls[i].kind);
}

static size_t bytes_of(const nccl_job *job, int rank) {
  size_t bytes = 0;
  for (int i = 0; i < job->n_calls; i++)
    if (job->calls[i].rank == rank)
      bytes +=
          (nccl_given(&job->calls[i], job->n) + nccl_got(&job->calls[i], job->n)) * nccl_type_bytes(job->calls[i].type);
  return bytes;
}

static ncclResult_t enqueue(const char *what, CUstream stream, void (*work)(void *), part *p, double ns) {
  if (!dp_standin_enqueue_as(what, stream, work, p, release_part, ns)) return ncclSuccess;
  release_part(p);
  return ncclUnhandledCudaError;
}

// Puts a job on the streams of its ranks: all arrive, then all wait. A single rank waits for nobody, so its stream may
// be captured.
static ncclResult_t launch(set *s, nccl_job *job) {
  ncclResult_t result = ncclSuccess;
  for (int rank = 0; rank < job->n && !result; rank++) {
    CUstream stream = stream_of(job, rank);
    if (!stream) continue;
    const int device = dp_standin_device_of(stream);  // the rank's communicator may have been aborted
    if (is_told(STALL, device)) dp_standin_halt(stream);
    if (is_told(LATE, device)) {
      dp_standin_gate_shut(job->gate);
      for (int other = 0; other < s->n; other++)
        if (s->comms[other]) s->comms[other]->error = ncclRemoteError;
      if (s->comms[rank]) s->comms[rank]->error = ncclSystemError;
    }
    calls_of_device[device]++;
    result = enqueue("nccl", stream, take, make_part(job, rank), 1e3 * draw(20));
    if (!result && job->n > 1 && dp_standin_gate_arrive(job->gate, stream)) result = ncclUnhandledCudaError;
  }
  for (int rank = 0; rank < job->n && !result; rank++) {
    CUstream stream = stream_of(job, rank);
    if (!stream) continue;
    if (job->n > 1 && dp_standin_gate_wait(job->gate, stream)) result = ncclUnhandledCudaError;
    // 300 GB/s, and 5 us.
    if (!result)
      result = enqueue(what_of(job, rank), stream, put, make_part(job, rank), 5e3 + (double)bytes_of(job, rank) / 300);
  }
  job->next = s->jobs;
  s->jobs = job;
  return result;
}

// Drops what nobody holds but the set.
static void sweep(set *s) {
  for (nccl_job **link = &s->jobs; *link;) {
    nccl_job *job = *link;
    if (job->references > 1) {
      link = &job->next;
      continue;
    }
    *link = job->next;
    unref(job);
  }
}

// NCCL's documentation has it undefined what becomes of calls of which some use registered memory and others do not. In
// a broadcast NCCL 2.28 looks at both addresses of every rank, though only the root's first one is read.
static bool mixes(const set *s, const nccl_job *job) {
  bool in = false, out = false;
  for (int i = 0; i < job->n_calls; i++) {
    const nccl_call *c = &job->calls[i];
    const void *const used[] = {nccl_given(c, job->n) || c->kind == NCCL_BROADCAST ? c->from : NULL,
                                nccl_got(c, job->n) ? c->to : NULL};
    for (size_t k = 0; k < 2; k++)
      if (used[k]) *(nccl_windows_hold(s->comms[c->rank], used[k]) ? &in : &out) = true;
  }
  if (in && out) fprintf(stderr, "NCCL stand-in: some memory of a call is registered, and some is not\n");
  return in && out;
}

static ncclResult_t submit(set *s, nccl_job *job) {
  if (!nccl_job_check(job) || mixes(s, job)) {
    unref(job);
    return ncclInvalidUsage;
  }
  for (int rank = 0; rank < job->n; rank++)
    if (stream_of(job, rank) && is_told(FAIL, dp_standin_device_of(stream_of(job, rank)))) {
      s->comms[rank]->error = ncclSystemError;
      unref(job);
      return ncclSystemError;
    }
  sweep(s);
  s->asked = s->blocking ? 0 : draw(3);
  if (!s->asked) return launch(s, job);
  s->waiting = job;
  return ncclInProgress;
}

// ---- calls of ranks -------------------------------------------------------------------------------------------------

static nccl_job *job_of(set *s) {
  for (int i = 0; i < n_open; i++)
    if (open_jobs[i].of == s) return open_jobs[i].job;
  if (n_open == MOST_RANKS) return NULL;
  nccl_job *job = calloc(1, sizeof *job);
  if (!job) abort();
  *job = (nccl_job){.references = 1, .n = s->n, .gate = dp_standin_gate_make()};
  open_jobs[n_open].of = s;
  open_jobs[n_open++].job = job;
  return job;
}

static ncclResult_t add(ncclComm_t comm, nccl_call call) {
  if (!comm || !comm->set || comm->set->made < comm->set->n || !nccl_type_bytes(call.type) ||
      dp_standin_device_of(call.stream) != comm->device)
    return ncclInvalidArgument;
  if (comm->error || comm->set->waiting) return ncclInvalidUsage;  // it is in the middle of another call
  if (!depth) {
    fprintf(stderr, "NCCL stand-in: ranks of one process call in a group\n");
    return ncclInvalidUsage;
  }
  const int n = comm->set->n;
  if (call.other >= n || (call.op >= 0 && call.op != ncclSum && call.op != ncclMax)) return ncclInvalidArgument;
  nccl_job *job = job_of(comm->set);
  if (!job) return ncclInvalidUsage;
  call.rank = comm->rank;
  const size_t given = nccl_given(&call, n), got = nccl_got(&call, n);
  if ((given && !call.from) || (got && !call.to)) return ncclInvalidArgument;
  if (stream_of(job, call.rank) && stream_of(job, call.rank) != call.stream) return ncclInvalidUsage;
  if (given) call.taken = malloc(given * nccl_type_bytes(call.type));
  nccl_call *calls = realloc(job->calls, ((size_t)job->n_calls + 1) * sizeof *calls);
  if (!calls || (given && !call.taken)) abort();
  job->calls = calls;
  calls[job->n_calls++] = call;
  return comm->set->blocking ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  CALL_IN_GROUP();
  return nccl_note(
      add(comm, (nccl_call){NCCL_ALL_REDUCE, 0, -1, send, receive, count, (int)type, (int)op, stream, NULL, 0, 0}));
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  CALL_IN_GROUP();
  return nccl_note(
      add(comm, (nccl_call){NCCL_REDUCE_SCATTER, 0, -1, send, receive, count, (int)type, (int)op, stream, NULL, 0, 0}));
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  CALL_IN_GROUP();
  return nccl_note(
      add(comm, (nccl_call){NCCL_ALL_GATHER, 0, -1, send, receive, count, (int)type, -1, stream, NULL, 0, 0}));
}

ncclResult_t ncclReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  CALL_IN_GROUP();
  return nccl_note(
      add(comm, (nccl_call){NCCL_REDUCE, 0, root, send, receive, count, (int)type, (int)op, stream, NULL, 0, 0}));
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  CALL_IN_GROUP();
  return nccl_note(
      add(comm, (nccl_call){NCCL_BROADCAST, 0, root, send, receive, count, (int)type, -1, stream, NULL, 0, 0}));
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  CALL_IN_GROUP();
  return nccl_note(add(comm, (nccl_call){NCCL_SEND, 0, peer, send, NULL, count, (int)type, -1, stream, NULL, 0, 0}));
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  CALL_IN_GROUP();
  return nccl_note(
      add(comm, (nccl_call){NCCL_RECEIVE, 0, peer, NULL, receive, count, (int)type, -1, stream, NULL, 0, 0}));
}

// ---- groups ---------------------------------------------------------------------------------------------------------

ncclResult_t ncclGroupStart(void) {
  CALL();
  depth++;
  return ncclSuccess;
}

// Every rank must have been made.
static ncclResult_t end_making(void) {
  ncclResult_t result = ncclSuccess;
  for (int i = 0; i < n_made; i++) {
    set *s = made[i]->set;
    if (s->made == s->n) {
      s->asked = s->blocking ? 0 : draw(3);
      if (s->asked) result = ncclInProgress;
      continue;
    }
    fprintf(stderr, "NCCL stand-in: %d of %d ranks of a communicator are made\n", s->made, s->n);
    return ncclInvalidUsage;
  }
  return result;
}

// Ranks that do not block get their windows when somebody has asked often enough.
static ncclResult_t end_registering(void) {
  ncclResult_t result = ncclSuccess;
  for (set *s = sets; s; s = s->next) {
    if (!nccl_windows_wait(s)) continue;
    s->asked = s->blocking ? 0 : draw(3);
    if (s->asked)
      result = ncclInProgress;
    else
      nccl_windows_give(s);
  }
  return result;
}

ncclResult_t ncclGroupEnd(void) {
  const bool fails = nccl_refused(__func__);
  if (!depth) return ncclInvalidUsage;
  if (--depth) return ncclSuccess;
  ncclResult_t result = fails ? ncclUnhandledCudaError : failed ? failed : end_making();
  if (!nccl_windows_end(result && result != ncclInProgress)) result = ncclInvalidUsage;
  if (!result) result = end_registering();
  failed = ncclSuccess;
  for (int i = 0; i < n_open; i++) {
    const ncclResult_t one = result && result != ncclInProgress ? result : submit(open_jobs[i].of, open_jobs[i].job);
    if (result && result != ncclInProgress)
      unref(open_jobs[i].job);
    else if (one)
      result = one;
  }
  n_open = n_made = 0;
  return result;
}

// ---- communicators --------------------------------------------------------------------------------------------------

ncclResult_t ncclGetVersion(int *version) {
  CALL();
  const char *text = getenv("DP_STANDIN_NCCL");
  *version = text ? atoi(text) : 22809;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static uint64_t count;
  CALL();
  memset(id, 0, sizeof *id);
  count++;
  memcpy(id->internal, &count, sizeof count);
  return ncclSuccess;
}

static set *set_of(const ncclUniqueId *id, int n) {
  for (set *s = sets; s; s = s->next)
    if (!memcmp(s->id, id->internal, sizeof s->id)) return s->n == n ? s : NULL;
  set *s = calloc(1, sizeof *s);
  if (!s) abort();
  memcpy(s->id, id->internal, sizeof s->id);
  s->n = n;
  s->next = sets;
  sets = s;
  return s;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
  CALL_IN_GROUP();
  if (!comm || ranks < 1 || ranks > MOST_RANKS || rank < 0 || rank >= ranks || !config) return ncclInvalidArgument;
  if (config->magic != DP_NCCL_MAGIC || config->size < DP_NCCL_CONFIG_BYTES || config->version > 22809 ||
      config->minCTAs > config->maxCTAs || config->maxCTAs > 32)
    return ncclInvalidArgument;
  set *s = set_of(&id, ranks);
  if (!s || s->comms[rank] || n_made == MOST_MADE || (!depth && ranks > 1)) return ncclInvalidUsage;
  const int device = dp_standin_device();
  if (device < 0) return ncclUnhandledCudaError;
  for (int other = 0; other < ranks; other++)
    if (s->comms[other] && s->comms[other]->device == device) return ncclInvalidUsage;
  ncclComm_t c = calloc(1, sizeof *c);
  if (!c) abort();
  *c = (struct ncclComm){.set = s, .rank = rank, .device = device};
  s->comms[rank] = *comm = c;
  s->made++;
  s->blocking = config->blocking != 0;
  if (depth) made[n_made++] = c;
  dp_standin_handles(1);
  return s->blocking ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  CALL();
  if (!comm || !error) return ncclInvalidArgument;
  set *s = comm->set;
  *error = s->asked ? ncclInProgress : comm->error;
  if (!s->asked || --s->asked) return ncclSuccess;
  nccl_windows_give(s);
  if (s->waiting) {
    nccl_job *job = s->waiting;
    s->waiting = NULL;
    const ncclResult_t result = launch(s, job);
    if (result) comm->error = result;
  }
  return ncclSuccess;
}

int nccl_rank_of(ncclComm_t comm, int *ranks, const void **of) {
  if (!comm || comm->error || comm->set->made < comm->set->n || comm->set->waiting) return -1;
  *ranks = comm->set->n;
  *of = comm->set;
  return comm->rank;
}

// The last rank that goes takes the set with it.
static void forget(ncclComm_t comm, bool aborted) {
  set *s = comm->set;
  nccl_windows_leave(comm, aborted);
  s->comms[comm->rank] = NULL;
  free(comm);
  dp_standin_handles(-1);
  if (--s->made) return;
  for (nccl_job *job = s->jobs, *next; job; job = next) {
    next = job->next;
    unref(job);
  }
  if (s->waiting) unref(s->waiting);
  set **link = &sets;
  while (*link != s) link = &(*link)->next;
  *link = s->next;
  free(s);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  CALL();
  return comm ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const bool fails = nccl_refused(__func__);
  if (!comm) return ncclInvalidArgument;
  forget(comm, false);
  return fails ? ncclUnhandledCudaError : ncclSuccess;
}

// What is under way ends, and nobody gets anything from it.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const bool fails = nccl_refused(__func__);
  if (!comm) return ncclInvalidArgument;
  for (nccl_job *job = comm->set->jobs; job; job = job->next) {
    job->given_up = true;
    dp_standin_gate_open(job->gate);
  }
  forget(comm, true);
  return fails ? ncclUnhandledCudaError : ncclSuccess;
}
