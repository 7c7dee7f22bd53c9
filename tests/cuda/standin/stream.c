// Streams: queues of operations that run when somebody waits, in an order drawn from the seed.
#include <signal.h>
#include <stdlib.h>

#include "tests/cuda/standin/state.h"

typedef struct operation operation;
struct operation {
  operation *next;
  int64_t number;  // in its stream, from 1
  const char *what;
  bool everywhere;  // it reaches all devices
  void (*work)(void *context);
  void *context;
  void (*release)(void *context);
  double duration_ns, issued_ns;
  standin_marker *after;  // must be done before
  standin_marker *marks;  // is done by this
};

struct CUstream_st {
  CUstream next;
  int device;
  operation *head, *tail;
  bool blocking;   // the default stream and this one wait for each other
  bool destroyed;  // by the program; goes when it is empty
  int64_t halts;   // before the operation of that number; 0: never
  CUstream shown;  // as which slices tell it
  int64_t number;  // of the last operation
  double clock_ns;
  uint64_t rank;
  int64_t needed;      // operations up to this number are waited for...
  operation *scanned;  // ... and their dependencies have been looked at up to here
};

// The default streams of the devices, which are in the list once their devices are used.
static struct CUstream_st legacy[STANDIN_MOST_DEVICES];
static CUstream streams;
double standin_host_ns;
static double slowness = 1;
static dp_standin_slice *slices;
static int64_t n_slices, room_for_slices;
static bool recording;
static const char *next_what;
static bool next_everywhere;

static bool is_legacy(const struct CUstream_st *stream) {
  return stream >= legacy && stream < legacy + STANDIN_MOST_DEVICES;
}

// The default stream is the current device's.
static CUstream resolve(CUstream stream) {
  if (stream || standin_current < 0) return stream;
  CUstream s = &legacy[standin_current];
  if (!s->shown) {
    *s = (struct CUstream_st){.device = standin_current, .blocking = true, .shown = s, .next = streams};
    streams = s;
  }
  return s;
}

int standin_device_of(CUstream stream) {
  const struct CUstream_st *s = resolve(stream);
  return s ? s->device : -1;
}

bool standin_is_stream(CUstream stream) {
  const struct CUstream_st *wanted = resolve(stream);
  for (CUstream s = streams; s; s = s->next)
    if (s == wanted) return !s->destroyed;
  return false;
}

bool standin_is_blocking(CUstream stream) { return resolve(stream)->blocking; }

void standin_rank_streams(void) {
  for (CUstream s = streams; s; s = s->next) s->rank = standin_draw(UINT64_MAX);
}

// ---- enqueueing -----------------------------------------------------------------------------------------------------

static standin_marker *ref(standin_marker *marker) {
  if (marker) marker->references++;
  return marker;
}

void standin_unref(standin_marker *marker) {
  if (marker && !--marker->references) free(marker);
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (!memory) abort();
  return memory;
}

static operation *append(CUstream stream, standin_marker *after) {
  operation *op = allocate(sizeof *op);
  op->number = ++stream->number;
  op->issued_ns = standin_host_ns;
  op->after = ref(after);
  if (stream->head)
    stream->tail->next = op;
  else
    stream->head = op;
  stream->tail = op;
  standin_counts.pending++;
  return op;
}

static standin_marker *mark(CUstream stream) {
  standin_marker *marker = allocate(sizeof *marker);
  operation *op = append(stream, NULL);
  *marker = (standin_marker){.references = 1, .stream = stream, .number = op->number};
  op->marks = ref(marker);
  return marker;
}

static void join(CUstream waiting, CUstream other) {
  if (other == waiting || !other->blocking || !other->head || other->device != waiting->device) return;
  standin_marker *marker = mark(other);
  append(waiting, marker);
  standin_unref(marker);
}

// The rule of the default stream: what it gets waits for all blocking streams, and they for it.
static void join_default(CUstream stream) {
  if (!stream->blocking) return;
  if (!is_legacy(stream)) {
    join(stream, &legacy[stream->device]);
    return;
  }
  for (CUstream other = streams; other; other = other->next) join(stream, other);
}

// ---- running --------------------------------------------------------------------------------------------------------

// Whether a marker is done. A gate's is when the gate is open.
static bool is_done(standin_marker *marker) {
  if (!marker->done && marker->gate) marker->done = standin_gate_is_open(marker->gate, &marker->time_ns);
  return marker->done;
}

static bool runnable(CUstream stream) {
  return stream->head && (!stream->halts || stream->head->number < stream->halts) &&
         (!stream->head->after || is_done(stream->head->after));
}

void standin_stream_halt(CUstream stream) {
  stream = resolve(stream);
  stream->halts = stream->head ? stream->number : stream->number + 1;
}

static double later(double a, double b) { return a > b ? a : b; }

static void finish(CUstream stream, operation *op) {
  if (op->marks) {
    op->marks->done = true;
    op->marks->time_ns = stream->clock_ns;
  }
  if (op->release) op->release(op->context);
  standin_unref(op->after);
  standin_unref(op->marks);
  free(op);
  standin_counts.pending--;
}

static operation *take(CUstream stream) {
  operation *op = stream->head;
  stream->head = op->next;
  if (stream->scanned == op) stream->scanned = NULL;
  return op;
}

static void record(CUstream stream, const operation *op, double begin_ns) {
  if (!recording || !op->work) return;
  if (n_slices == room_for_slices) {
    room_for_slices = 2 * room_for_slices + 1024;
    slices = realloc(slices, (size_t)room_for_slices * sizeof *slices);
    if (!slices) abort();
  }
  slices[n_slices++] =
      (dp_standin_slice){op->what ? op->what : "", stream->shown, stream->device, begin_ns, stream->clock_ns};
}

static void run_head(CUstream stream) {
  operation *op = take(stream);
  double begin_ns = later(stream->clock_ns, op->issued_ns);
  if (op->after) begin_ns = later(begin_ns, op->after->time_ns);
  stream->clock_ns = begin_ns + slowness * op->duration_ns;
  record(stream, op, begin_ns);
  if (op->work) {
    standin_counts.operations++;
    standin_execute(stream->device, op->everywhere, op->work, op->context);
  }
  finish(stream, op);
}

void standin_give_up(void) {
  for (CUstream stream = streams; stream; stream = stream->next)
    while (stream->head) finish(stream, take(stream));
}

// Notes that operations of the marker's stream are waited for, up to the marker, and what they wait for in turn.
static void need(standin_marker *marker) {
  CUstream stream = marker->stream;
  if (marker->gate && !is_done(marker)) {
    standin_marker *const *arrived;
    const int n = standin_gate_arrivals(marker->gate, &arrived);
    for (int i = 0; i < n; i++) need(arrived[i]);
  }
  if (!stream) return;
  if (marker->done || marker->number <= stream->needed) return;
  stream->needed = marker->number;
  operation *op = stream->scanned ? stream->scanned->next : stream->head;
  for (; op && op->number <= stream->needed; op = op->next) {
    stream->scanned = op;
    if (op->after && !is_done(op->after)) need(op->after);
  }
}

// The stream whose head runs next: one that is needed or, if `others`, any. NULL: none can run.
static CUstream pick(bool others) {
  CUstream best = NULL;
  uint64_t n = 0;
  for (CUstream stream = streams; stream; stream = stream->next) {
    if (!runnable(stream) || (!others && stream->head->number > stream->needed)) continue;
    n++;
    bool better = standin_habits.ranked ? !best || stream->rank > best->rank : standin_draw(n) == 0;
    if (better) best = stream;
  }
  return best;
}

// A destroyed stream goes when it has run dry. Markers of it are done by then.
static void sweep(void) {
  for (CUstream *link = &streams; *link;) {
    CUstream stream = *link;
    if (stream->destroyed && !stream->head && !is_legacy(stream)) {
      *link = stream->next;
      free(stream);
    } else {
      link = &stream->next;
    }
  }
}

static bool drawn(int in_8) { return in_8 && standin_draw(8) < (uint64_t)in_8; }

// Whether there was something to run. Waits refer to what was enqueued before, so there is, unless streams stand still.
static bool run_needed(standin_marker *marker) {
  need(marker);
  CUstream stream = pick(drawn(standin_habits.others));
  if (stream) run_head(stream);
  return stream != NULL;
}

static _Noreturn void hang(void) {
  standin_say("the host waits for ever");
  signal(SIGABRT, SIG_DFL);
  abort();
}

void standin_run_until(standin_marker *marker) {
  while (!marker->done)
    if (!run_needed(marker)) hang();
  standin_host_ns = later(standin_host_ns, marker->time_ns);
  sweep();
}

void standin_run_some(standin_marker *marker) {
  while (!marker->done && standin_draw(32) && run_needed(marker)) continue;
  sweep();
}

void standin_run_eagerly(void) {
  while (drawn(standin_habits.eager)) {
    CUstream stream = pick(true);
    if (!stream) return;
    run_head(stream);
  }
  sweep();
}

void standin_call(const char *what) {
  next_what = what;
  next_everywhere = false;
}
void standin_call_everywhere(const char *what) {
  next_what = what;
  next_everywhere = true;
}
const char *standin_called(void) { return next_what; }
bool standin_called_everywhere(void) { return next_everywhere; }

void standin_append(CUstream stream, void (*work)(void *context), void *context, void (*release)(void *context),
                    double duration_ns, standin_marker *after) {
  operation *op = append(resolve(stream), after);
  op->what = work ? next_what : NULL;
  op->everywhere = work && next_everywhere;
  op->work = work;
  op->context = context;
  op->release = release;
  op->duration_ns = duration_ns;
  if (standin_stalls(resolve(stream)->device, op->what)) resolve(stream)->halts = op->number;
}

CUresult standin_enqueue(CUstream stream, void (*work)(void *context), void *context, void (*release)(void *context),
                         double duration_ns) {
  if (standin_captured(stream)) return standin_capture_add(stream, work, context, release, duration_ns);
  CUresult refused = standin_capture_implicit(stream);
  if (refused) return refused;
  join_default(resolve(stream));
  standin_append(stream, work, context, release, duration_ns, NULL);
  standin_run_eagerly();
  return CUDA_SUCCESS;
}

void standin_wait(CUstream stream, standin_marker *marker) {
  join_default(resolve(stream));
  standin_append(stream, NULL, NULL, NULL, 0, marker);
  standin_run_eagerly();
}

standin_marker *standin_mark(CUstream stream) {
  join_default(resolve(stream));
  return mark(resolve(stream));
}

// All of a stream, without sweeping.
static void drain(CUstream stream) {
  standin_marker *marker = mark(stream);
  while (!marker->done)
    if (!run_needed(marker)) hang();
  standin_host_ns = later(standin_host_ns, marker->time_ns);
  standin_unref(marker);
}

void standin_drain(CUstream stream) {
  drain(resolve(stream));
  sweep();
}

// ---- for tests ------------------------------------------------------------------------------------------------------

void dp_standin_slow(double factor) {
  standin_lock();
  slowness = factor;
  standin_unlock();
}

void dp_standin_record(void) {
  standin_lock();
  recording = true;
  n_slices = 0;
  standin_unlock();
}

int64_t dp_standin_slices(const dp_standin_slice **recorded) {
  standin_lock();
  recording = false;
  *recorded = slices;
  const int64_t count = n_slices;
  standin_unlock();
  return count;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

CUresult dp_standin_enqueue(CUstream stream, void (*work)(void *context), void *context, void (*release)(void *context),
                            double duration_ns) {
  return dp_standin_enqueue_as("library", stream, work, context, release, duration_ns);
}

CUresult dp_standin_enqueue_as(const char *what, CUstream stream, void (*work)(void *context), void *context,
                               void (*release)(void *context), double duration_ns) {
  standin_lock();
  CUresult result = standin_stuck();
  if (!result && !standin_is_stream(stream)) result = STANDIN_INVALID_HANDLE;
  standin_call(what);
  if (!result) result = standin_enqueue(stream, work, context, release, duration_ns);
  standin_close();
  standin_unlock();
  return result;
}

int dp_standin_device_of(CUstream stream) {
  standin_lock();
  const int device = standin_is_stream(stream) ? standin_device_of(stream) : -1;
  standin_unlock();
  return device;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  *least = 0;
  *greatest = -5;
  return standin_leave(CUDA_SUCCESS);
}

static CUstream make(int device, bool blocking) {
  CUstream made = allocate(sizeof *made);
  made->device = device;
  made->blocking = blocking;
  made->shown = made;
  made->rank = standin_draw(UINT64_MAX);
  made->next = streams;
  streams = made;
  return made;
}

CUstream standin_detached(CUstream shown) {
  CUstream made = make(shown->device, false);
  made->shown = shown;
  made->destroyed = true;
  return made;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  (void)priority;  // a hint
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  CUstream made = make(standin_current, !(flags & CU_STREAM_NON_BLOCKING));
  made->clock_ns = standin_host_ns;
  standin_counts.streams++;
  *stream = made;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  CUresult result = standin_enter(__func__, STANDIN_CONTEXT);
  if (!stream || !standin_is_stream(stream)) return standin_leave(result ? result : STANDIN_INVALID_HANDLE);
  if (!result && standin_captured(stream)) result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  standin_capture_forget(stream);
  stream->destroyed = true;
  standin_counts.streams--;
  sweep();
  return standin_leave(result);
}

CUresult cuStreamSynchronize(CUstream stream) {
  CUresult refused = standin_enter(__func__, STANDIN_UNCAPTURED);
  if (refused) return standin_leave(refused);
  if (!standin_is_stream(stream)) return standin_leave(STANDIN_INVALID_HANDLE);
  if (standin_captured(stream)) refused = standin_capture_refuse(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (!refused) refused = standin_capture_implicit(stream);
  if (refused) return standin_leave(refused);
  standin_drain(stream);
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuStreamQuery(CUstream stream) {
  CUresult refused = standin_enter(__func__, STANDIN_UNCAPTURED);
  if (refused) return standin_leave(refused);
  if (!standin_is_stream(stream)) return standin_leave(STANDIN_INVALID_HANDLE);
  if (standin_captured(stream)) refused = standin_capture_refuse(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (!refused) refused = standin_capture_implicit(stream);
  if (refused) return standin_leave(refused);
  CUstream asked = resolve(stream);
  if (!asked->head) return standin_leave(CUDA_SUCCESS);
  standin_marker last = {.stream = asked, .number = asked->number};
  standin_run_some(&last);
  return standin_leave(asked->head ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (!refused) refused = standin_capture_refuse_all(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (refused) return standin_leave(refused);
  // Streams of the stand-in's own are empty when those are that wait for them.
  for (CUstream stream = streams; stream; stream = stream->next)
    if (stream->device == standin_current && !stream->destroyed) drain(stream);
  sweep();
  return standin_leave(CUDA_SUCCESS);
}
