// See calls.h. What a transfer is shows in its data: what is flat and goes from all members to all is an all-reduce,
// what is flat between two is sent and received, and a list of regions is a reduce-scatter if they are reduced, an
// all-gather if every member gets the same, and an all-to-all otherwise.
#include "backends/cuda/nccl/calls.h"

#include <stdlib.h>

#include "backends/cuda/gpu/alignment.h"

enum { MOST_CALLS = 4096 };

// A contiguous run that a source and a target share, in elements.
typedef struct {
  int64_t target, source, length;
} piece;

typedef struct {
  int n;
  piece *pieces;
  bool failed;  // no memory
} piece_list;

static bool add_call(dp_nccl_call_list *list, dp_nccl_call call) {
  if (!(list->n & (list->n - 1))) {
    dp_nccl_call *calls = realloc(list->calls, (size_t)(list->n ? 2 * list->n : 1) * sizeof *calls);
    if (!calls) return false;
    list->calls = calls;
  }
  list->calls[list->n++] = call;
  return true;
}

static dp_status no_memory(void) { return dp_fail(DP_EX_MEMORY, "no memory for the calls of a collective"); }

// ---- types ----------------------------------------------------------------------------------------------------------

static const struct {
  dp_dtype dtype;
  int type;
} types[] = {
    {DP_FLOAT16, ncclFloat16}, {DP_BFLOAT16, ncclBfloat16}, {DP_FLOAT32, ncclFloat32}, {DP_FLOAT64, ncclFloat64},
    {DP_INT8, ncclInt8},       {DP_UINT8, ncclUint8},       {DP_INT32, ncclInt32},     {DP_UINT32, ncclUint32},
    {DP_INT64, ncclInt64},     {DP_UINT64, ncclUint64},
};

// Copies go by bytes, whatever the type.
static bool set_type(dp_region_action action, dp_dtype dtype, dp_nccl_call_list *list, size_t *scale) {
  *scale = action ? 1 : dp_type_bytes(dtype);
  list->op = action == DP_REGION_MAX ? ncclMax : ncclSum;
  list->type = ncclUint8;
  if (!action) return true;
  for (size_t i = 0; i < DP_COUNT(types); i++)
    if (types[i].dtype == dtype) {
      list->type = types[i].type;
      return true;
    }
  return false;
}

// ---- all-reduce -----------------------------------------------------------------------------------------------------

// Bytes from one tensor to the next if that is the same everywhere, and nothing but alignment lies between; else 0.
static int64_t distance_to_next(const dp_transfer *t, int64_t k, int64_t bytes) {
  const int64_t distance = t->from[(k + 1) * t->n_sources] - t->from[k * t->n_sources];
  if (distance != bytes && distance != (int64_t)dp_align_up((uint64_t)bytes, DP_CUDA_ALIGNMENT)) return 0;
  for (int m = 0; m < t->n_sources; m++)
    if (t->from[(k + 1) * t->n_sources + m] - t->from[k * t->n_sources + m] != distance ||
        t->to[(k + 1) * t->n_targets + m] - t->to[k * t->n_targets + m] != distance)
      return 0;
  return distance;
}

// Every tensor in place, or none: then a span of several is as disjoint as they are.
static bool alike(const dp_transfer *t, int64_t k) {
  for (int m = 0; m < t->n_sources; m++)
    if (t->from[k * t->n_sources + m] != t->to[k * t->n_targets + m]) return false;
  return true;
}

// A call takes as many tensors of the bucket as lie one behind the other. What lies between them to align them is
// nobody's, and is reduced too.
static dp_status find_all_reduce(const dp_transfer *t, dp_nccl_call_list *list) {
  const int64_t size = (int64_t)dp_type_bytes(t->dtype);
  int64_t tensors = 0;
  while (t->begin[tensors] < t->count) tensors++;
  for (int64_t first = 0, next; first < tensors; first = next) {
    int64_t bytes = (t->begin[first + 1] - t->begin[first]) * size;
    int64_t at = 0;  // of the last tensor taken
    for (next = first + 1; next < tensors && alike(t, next - 1) && alike(t, next); next++) {
      const int64_t distance = distance_to_next(t, next - 1, bytes - at);
      if (!distance) break;
      at += distance;
      bytes = at + (t->begin[next + 1] - t->begin[next]) * size;
    }
    if (!bytes) continue;
    for (int m = 0; m < t->n_sources; m++)
      if (!add_call(list, (dp_nccl_call){DP_NCCL_ALL_REDUCE, m, 0, t->from[first * t->n_sources + m],
                                         t->to[first * t->n_targets + m], (size_t)(bytes / size)}))
        return no_memory();
  }
  list->how = "all-reduce";
  return DP_OK;
}

// ---- lists of regions -----------------------------------------------------------------------------------------------

static void add_piece(piece_list *list, piece p) {
  piece *last = list->n ? &list->pieces[list->n - 1] : NULL;
  if (last && last->target + last->length == p.target && last->source + last->length == p.source) {
    last->length += p.length;
    return;
  }
  if (!(list->n & (list->n - 1))) {
    piece *pieces = realloc(list->pieces, (size_t)(list->n ? 2 * list->n : 1) * sizeof *pieces);
    list->failed = !pieces;
    if (!pieces) return;
    list->pieces = pieces;
  }
  list->pieces[list->n++] = p;
}

// The runs of a region, from dim d on; no more than make sense.
static void find_pieces(const dp_region *r, int d, int64_t target, int64_t source, piece_list *list) {
  if (!r->rank) add_piece(list, (piece){0, 0, 1});
  for (int i = 0; d < r->rank && i < r->n_segments[d] && !list->failed; i++) {
    const dp_segment *s = &r->segments[d][i];
    if (d == r->rank - 1) {
      add_piece(list, (piece){target + s->target, source + s->source, s->length});
      continue;
    }
    for (int64_t k = 0; k < s->length && list->n <= MOST_CALLS && !list->failed; k++)
      find_pieces(r, d + 1, target + (s->target + k) * r->target_stride[d],
                  source + (s->source + k) * r->source_stride[d], list);
  }
}

// The regions that all members exchange: n x n, by target and source.
typedef struct {
  const dp_transfer *transfer;
  int n;
  size_t scale;         // of counts
  size_t bytes;         // of an element
  piece_list *between;  // (n, n)
  int64_t pieces;       // in all, but for one of each pair
} exchange;

static const dp_copy *copy_of(const exchange *x, int target, int source) {
  return &x->transfer->copies[x->transfer->first[target] + source];
}
static const piece_list *between(const exchange *x, int target, int source) {
  return &x->between[target * x->n + source];
}

static bool same_pieces(const piece_list *a, const piece_list *b) {
  if (a->n != b->n) return false;
  for (int i = 0; i < a->n; i++)
    if (a->pieces[i].target != b->pieces[i].target || a->pieces[i].source != b->pieces[i].source ||
        a->pieces[i].length != b->pieces[i].length)
      return false;
  return true;
}

static bool add_of(const exchange *x, dp_nccl_call_list *list, dp_nccl_kind kind, int rank, int other, int target,
                   int source, const piece *p) {
  const dp_copy *copy = copy_of(x, target, source);
  return add_call(list, (dp_nccl_call){kind, rank, other, copy->source + (size_t)p->source * x->bytes,
                                       copy->target + (size_t)p->target * x->bytes, (size_t)p->length * x->scale});
}

// Whether the part of each member is one run, all of one length, and one behind the other in what is whole.
static bool is_even(const exchange *x, bool whole_is_source) {
  const piece_list *first = between(x, 0, 0);
  if (first->n != 1) return false;
  const int64_t length = first->pieces[0].length;
  for (int m = 0; m < x->n; m++) {
    const piece_list *part = whole_is_source ? between(x, m, 0) : between(x, 0, m);
    if (part->n != 1 || part->pieces[0].length != length) return false;
    const int64_t in_whole = whole_is_source ? part->pieces[0].source : part->pieces[0].target;
    const int64_t in_part = whole_is_source ? part->pieces[0].target : part->pieces[0].source;
    if (in_whole != m * length || in_part) return false;
  }
  return true;
}

// Every member has all of a partial tensor, and gets the sum of its part.
static dp_status find_reduce_scatter(const exchange *x, dp_nccl_call_list *list, const char **why) {
  for (int j = 0; j < x->n; j++)
    for (int i = 1; i < x->n; i++)
      if (!same_pieces(between(x, j, 0), between(x, j, i))) {
        *why = "its members hold it differently";
        return DP_OK;
      }
  const bool even = is_even(x, true);
  list->how = even ? "reduce-scatter" : "reductions, one for each part";
  for (int j = 0; j < x->n; j++)
    for (int k = 0; k < between(x, j, 0)->n; k++)
      for (int i = 0; i < x->n; i++) {
        const piece *p = &between(x, j, i)->pieces[k];
        const bool added =
            even ? i != j || add_call(list, (dp_nccl_call){DP_NCCL_REDUCE_SCATTER, j, 0, copy_of(x, j, j)->source,
                                                           copy_of(x, j, j)->target, (size_t)p->length})
                 : add_of(x, list, DP_NCCL_REDUCE, i, j, j, i, p);
        if (!added) return no_memory();
      }
  return DP_OK;
}

// A broadcast of a piece of member i to member j. Only the root gives, but all members pass memory of their own: NCCL
// 2.27 and 2.28 decide on each rank alone, by both addresses, whether its memory is registered, and a rank that uses
// registered memory waits for ever for a neighbour that does not.
static bool add_broadcast(const exchange *x, dp_nccl_call_list *list, int j, int i, const piece *p) {
  const dp_copy *copy = copy_of(x, j, i);
  char *to = copy->target + (size_t)p->target * x->bytes;
  const char *from = i == j ? copy->source + (size_t)p->source * x->bytes : to;
  return add_call(list, (dp_nccl_call){DP_NCCL_BROADCAST, j, i, from, to, (size_t)p->length * x->scale});
}

// Every member gets the part of each.
static dp_status find_all_gather(const exchange *x, dp_nccl_call_list *list) {
  const bool even = is_even(x, false);
  list->how = even ? "all-gather" : "broadcasts, one for each part";
  for (int i = 0; i < x->n; i++)
    for (int k = 0; k < between(x, 0, i)->n; k++)
      for (int j = 0; j < x->n; j++) {
        const piece *p = &between(x, j, i)->pieces[k];
        const bool added =
            even ? i != j || add_call(list, (dp_nccl_call){DP_NCCL_ALL_GATHER, i, 0, copy_of(x, i, i)->source,
                                                           copy_of(x, i, i)->target, (size_t)p->length * x->scale})
                 : add_broadcast(x, list, j, i, p);
        if (!added) return no_memory();
      }
  return DP_OK;
}

static dp_status find_all_to_all(const exchange *x, dp_nccl_call_list *list) {
  list->how = "send and receive, each with each";
  for (int j = 0; j < x->n; j++)
    for (int i = 0; i < x->n; i++)
      for (int k = 0; k < between(x, j, i)->n; k++) {
        const piece *p = &between(x, j, i)->pieces[k];
        if (!add_of(x, list, DP_NCCL_SEND, i, j, j, i, p) || !add_of(x, list, DP_NCCL_RECEIVE, j, i, j, i, p))
          return no_memory();
      }
  return DP_OK;
}

static bool gathers(const exchange *x) {
  for (int j = 1; j < x->n; j++)
    for (int i = 0; i < x->n; i++)
      if (!same_pieces(between(x, 0, i), between(x, j, i))) return false;
  return true;
}

static dp_status find_exchange(exchange *x, bool reduces, dp_nccl_call_list *list, const char **why) {
  for (int i = 0; i < x->n * x->n; i++) {
    const dp_copy *copy = copy_of(x, i / x->n, i % x->n);
    find_pieces(&copy->region, 0, 0, 0, &x->between[i]);
    if (x->between[i].failed) return no_memory();
    x->pieces += dp_max_i64(x->between[i].n - 1, 0);
    if (x->pieces > MOST_CALLS / 2) {
      *why = "it lies in too many pieces";
      return DP_OK;
    }
  }
  if (reduces) return find_reduce_scatter(x, list, why);
  return gathers(x) ? find_all_gather(x, list) : find_all_to_all(x, list);
}

static dp_status find_of_list(const dp_transfer *t, int n, bool reduces, size_t scale, dp_nccl_call_list *list,
                              const char **why) {
  exchange x = {.transfer = t, .n = n, .scale = scale, .bytes = dp_type_bytes(t->dtype)};
  if (t->n_parts != n || t->first[n] != n * n) {
    *why = "not all members give and take";
    return DP_OK;
  }
  x.between = calloc((size_t)n * (size_t)n, sizeof *x.between);
  dp_status status = x.between ? find_exchange(&x, reduces, list, why) : no_memory();
  for (int i = 0; x.between && i < n * n; i++) free(x.between[i].pieces);
  free(x.between);
  return status;
}

// ---- any transfer ---------------------------------------------------------------------------------------------------

static dp_status find_between_two(const dp_transfer *t, size_t scale, dp_nccl_call_list *list) {
  const size_t count = (size_t)t->count * scale;
  list->how = "send and receive";
  if (!count) return DP_OK;
  const bool added = add_call(list, (dp_nccl_call){DP_NCCL_SEND, 0, 1, *t->from, NULL, count}) &&
                     add_call(list, (dp_nccl_call){DP_NCCL_RECEIVE, 1, 0, NULL, *t->to, count});
  return added ? DP_OK : no_memory();
}

static dp_region_action action_of(const dp_transfer *t) {
  if (t->n_targets) return t->action;
  const int copies = t->first[t->n_parts];
  return copies ? t->copies[copies - 1].action : DP_REGION_COPY;
}

dp_status dp_nccl_find_calls(const dp_transfer *t, int n, dp_nccl_call_list *list, const char **why) {
  const dp_region_action action = action_of(t);
  size_t scale;
  *list = (dp_nccl_call_list){.how = ""};
  *why = "";
  dp_status status = DP_OK;
  if (action && t->in_rank_order && dp_type_is_float(t->dtype))
    *why = "sums are taken in rank order";
  else if (action == DP_REGION_MAX && dp_type_is_float(t->dtype))
    *why = "NCCL's maximum drops NaN";
  else if (!set_type(action, t->dtype, list, &scale))
    *why = "NCCL has no such elements";
  else if (!t->n_targets)
    status = find_of_list(t, n, action, scale, list, why);
  else if (t->n_sources == n && t->n_targets == n)
    status = find_all_reduce(t, list);
  else if (!action && t->n_sources == 1 && t->n_targets == 1 && n == 2)
    status = find_between_two(t, scale, list);
  else
    *why = "not all members give and take";
  if (status || !list->n) {
    free(list->calls);
    list->calls = NULL;
    list->n = 0;
  }
  return status;
}

ncclResult_t dp_nccl_make_call(const dp_nccl_call_list *l, const dp_nccl_call *c, ncclComm_t comm,
                               cudaStream_t stream) {
  switch (c->kind) {
    case DP_NCCL_ALL_REDUCE:
      return dp_nccl.ncclAllReduce(c->from, c->to, c->count, l->type, l->op, comm, stream);
    case DP_NCCL_REDUCE_SCATTER:
      return dp_nccl.ncclReduceScatter(c->from, c->to, c->count, l->type, l->op, comm, stream);
    case DP_NCCL_ALL_GATHER:
      return dp_nccl.ncclAllGather(c->from, c->to, c->count, l->type, comm, stream);
    case DP_NCCL_REDUCE:
      return dp_nccl.ncclReduce(c->from, c->to, c->count, l->type, l->op, c->other, comm, stream);
    case DP_NCCL_BROADCAST:
      return dp_nccl.ncclBroadcast(c->from, c->to, c->count, l->type, c->other, comm, stream);
    case DP_NCCL_SEND:
      return dp_nccl.ncclSend(c->from, c->count, l->type, c->other, comm, stream);
    case DP_NCCL_RECEIVE:
      return dp_nccl.ncclRecv(c->to, c->count, l->type, c->other, comm, stream);
  }
  return ncclInvalidUsage;
}
