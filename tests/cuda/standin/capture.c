// Capturing streams. Each captured stream has a set of nodes, after which its next one comes; waiting for an event adds
// the nodes that were last where the event was recorded. Where the driver's documentation leaves open what is refused,
// it is refused here.
#include "tests/cuda/standin/capture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct capture capture;
struct capture {
  capture *next;
  int64_t number;  // never used again
  CUstream origin;
  pthread_t thread;
  CUstreamCaptureMode mode;
  bool invalid;
  standin_nodes *nodes;
};

// A stream that is captured.
typedef struct member member;
struct member {
  member *next;
  CUstream stream;
  capture *capture;
  standin_points last;
};

static capture *captures;
static member *members;
static int64_t n_captures;

static void *checked(void *memory) {
  if (!memory) abort();
  return memory;
}

static member *member_of(CUstream stream) {
  for (member *m = members; m; m = m->next)
    if (m->stream == stream) return m;
  return NULL;
}

bool standin_captured(CUstream stream) { return member_of(stream) != NULL; }

// ---- nodes ----------------------------------------------------------------------------------------------------------

static void add_to(standin_points *set, int node) {
  for (int i = 0; i < set->n; i++)
    if (set->nodes[i] == node) return;
  set->nodes = checked(realloc(set->nodes, ((size_t)set->n + 1) * sizeof *set->nodes));
  set->nodes[set->n++] = node;
}

static void add_all(standin_points *to, const standin_points *from) {
  for (int i = 0; i < from->n; i++) add_to(to, from->nodes[i]);
}

void standin_points_clear(standin_points *set) {
  free(set->nodes);
  *set = (standin_points){0, NULL};
}

// Adds a node after those of a set, which it replaces.
static void add_node(standin_nodes *nodes, standin_node node, standin_points *after) {
  nodes->nodes = checked(realloc(nodes->nodes, ((size_t)nodes->n_nodes + 1) * sizeof *nodes->nodes));
  node.n_before = after->n;
  node.before = after->nodes;
  node.last = true;
  for (int i = 0; i < after->n; i++) nodes->nodes[after->nodes[i]].last = false;
  nodes->nodes[nodes->n_nodes] = node;
  *after = (standin_points){0, NULL};
  add_to(after, nodes->n_nodes++);
}

void standin_nodes_unref(void *context) {
  standin_nodes *nodes = context;
  if (!nodes || --nodes->references) return;
  for (int i = 0; i < nodes->n_nodes; i++) {
    if (nodes->nodes[i].release) nodes->nodes[i].release(nodes->nodes[i].context);
    free(nodes->nodes[i].before);
  }
  free(nodes->nodes);
  free(nodes);
}

// Whether a stream that was forked off has something that the set does not come after.
static bool is_unjoined(const standin_nodes *nodes, const standin_points *set) {
  char *before = checked(calloc((size_t)nodes->n_nodes + 1, 1));
  for (int i = 0; i < set->n; i++) before[set->nodes[i]] = 1;
  int joined = 0;
  for (int i = nodes->n_nodes; i-- > 0;) {
    if (!before[i]) continue;
    joined++;
    for (int k = 0; k < nodes->nodes[i].n_before; k++) before[nodes->nodes[i].before[k]] = 1;
  }
  free(before);
  return joined < nodes->n_nodes;
}

// ---- captures -------------------------------------------------------------------------------------------------------

static void join(capture *c, CUstream stream) {
  member *m = checked(malloc(sizeof *m));
  *m = (member){.next = members, .stream = stream, .capture = c};
  members = m;
}

// Takes its streams out of the capture, which is no more. Its nodes are left to the caller.
static standin_nodes *leave(capture *c) {
  for (member **link = &members; *link;) {
    member *m = *link;
    if (m->capture != c) {
      link = &m->next;
      continue;
    }
    *link = m->next;
    standin_points_clear(&m->last);
    free(m);
  }
  capture **link = &captures;
  while (*link != c) link = &(*link)->next;
  *link = c->next;
  standin_nodes *nodes = c->nodes;
  free(c);
  return nodes;
}

CUresult standin_capture_refuse(CUstream stream, CUresult error) {
  const member *m = member_of(stream);
  if (m) m->capture->invalid = true;
  return error;
}

CUresult standin_capture_refuse_all(CUresult error) {
  for (capture *c = captures; c; c = c->next) c->invalid = true;
  return captures ? error : CUDA_SUCCESS;
}

CUresult standin_capture_unsafe(void) {
  CUresult result = CUDA_SUCCESS;
  for (capture *c = captures; c; c = c->next) {
    const bool own = c->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && pthread_equal(c->thread, pthread_self());
    if (!own && c->mode != CU_STREAM_CAPTURE_MODE_GLOBAL) continue;
    c->invalid = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult standin_capture_implicit(CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  for (const member *m = members; m && !stream; m = m->next) {
    if (!standin_is_blocking(m->stream)) continue;
    m->capture->invalid = true;
    result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return result;
}

void standin_capture_forget(CUstream stream) {
  for (const member *m = members; m; m = m->next) {
    if (m->stream != stream) continue;
    m->capture->invalid = true;
    if (m->capture->origin == stream) standin_nodes_unref(leave(m->capture));
    return;
  }
}

void standin_capture_reset(void) {
  while (captures) standin_nodes_unref(leave(captures));
}

// ---- what streams get -----------------------------------------------------------------------------------------------

CUresult standin_capture_add(CUstream stream, void (*work)(void *context), void *context,
                             void (*release)(void *context), double duration_ns) {
  member *m = member_of(stream);
  if (m->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  add_node(m->capture->nodes,
           (standin_node){.stream = stream,
                          .what = work ? standin_called() : NULL,
                          .everywhere = work && standin_called_everywhere(),
                          .work = work,
                          .context = context,
                          .release = release,
                          .duration_ns = duration_ns},
           &m->last);
  return CUDA_SUCCESS;
}

CUresult standin_capture_record(CUstream stream, standin_captured_at *at) {
  const member *m = member_of(stream);
  if (m->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  standin_points_clear(&at->after);
  at->capture = m->capture->number;
  add_all(&at->after, &m->last);
  return CUDA_SUCCESS;
}

static capture *find(int64_t number) {
  capture *c = captures;
  while (c && c->number != number) c = c->next;
  return c;
}

CUresult standin_capture_touch(const standin_captured_at *at) {
  capture *c = find(at->capture);
  if (c) c->invalid = true;
  return at->capture ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CUresult standin_capture_wait(CUstream stream, const standin_captured_at *at) {
  capture *c = find(at->capture);
  if (!c) return standin_capture_refuse(stream, CUDA_ERROR_CAPTURED_EVENT);
  if (c->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  member *m = member_of(stream);
  if (m && m->capture != c) {
    c->invalid = true;
    return standin_capture_refuse(stream, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (m) {
    add_all(&m->last, &at->after);
    return CUDA_SUCCESS;
  }
  if (!stream) {
    c->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  // The stream joins the capture, with a node of its own that somebody has to wait for.
  join(c, stream);
  add_all(&members->last, &at->after);
  return standin_capture_add(stream, NULL, NULL, NULL, 0);
}

// ---- calls ----------------------------------------------------------------------------------------------------------

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!standin_is_stream(stream)) return standin_leave(STANDIN_INVALID_HANDLE);
  if ((int)mode < 0 || (int)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  if (!stream) return standin_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (standin_captured(stream)) return standin_leave(standin_capture_refuse(stream, STANDIN_ILLEGAL_STATE));
  capture *c = checked(malloc(sizeof *c));
  *c = (capture){captures, ++n_captures, stream, pthread_self(), mode, false, checked(calloc(1, sizeof *c->nodes))};
  c->nodes->references = 1;
  captures = c;
  join(c, stream);
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  CUresult result = standin_enter(__func__, STANDIN_CONTEXT);
  member *m = member_of(stream);
  if (!m) return standin_leave(result ? result : STANDIN_ILLEGAL_STATE);
  capture *c = m->capture;
  if (!result && c->origin != stream) result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (!result && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
    result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED || result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
    c->invalid = true;
    return standin_leave(result);
  }
  if (!result && c->invalid) result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!result && is_unjoined(c->nodes, &m->last)) result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  standin_nodes *nodes = leave(c);
  if (result) standin_nodes_unref(nodes);
  *graph = result ? NULL : standin_graph(nodes);
  return standin_leave(result);
}
