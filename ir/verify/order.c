// Races: whatever touches the same bytes of a device, one of them writing, is ordered; collectives come in one order; a
// step's results lie on nothing of its own but what they may replace.
//
// A device's bytes are touched by its own steps, and by its peers' within a collective or transfer of which it is a member,
// so that order on the device is all that there is to it. The host's bytes any device touches: host.c.
//
// Steps are visited in an order that happens-before allows. Of each span of bytes it is known who wrote it last and
// which step of each stream read it last since then: to come after those is to come after all before them.
#include <string.h>

#include "ir/verify/checker.h"

int dp_checker_accesses(const dp_checker *c, uint32_t step, dp_checker_access accesses[DP_CHECKER_ACCESSES]) {
  const Dp__Instruction *in = c->steps[step].claim;
  int count = 0;
  for (size_t k = 0; k < in->n_inputs; k++) {
    const dp_checker_tensor *t = dp_checker_input(c, in, k);
    if (!t || !t->claim->bytes) continue;
    accesses[count++] =
        (dp_checker_access){t->claim->space, t->claim->offset, t->claim->offset + t->claim->bytes, (int32_t)k, -1};
  }
  if (in->scratch && in->scratch->bytes)
    accesses[count++] = (dp_checker_access){DP__SPACE__TRANSIENT, in->scratch->offset,
                                            in->scratch->offset + in->scratch->bytes, -1, -1};
  for (size_t k = 0; k < in->n_outputs; k++) {
    const dp_checker_tensor *t = dp_checker_output(c, in, k);
    if (!t || !t->claim->bytes) continue;
    accesses[count++] =
        (dp_checker_access){t->claim->space, t->claim->offset, t->claim->offset + t->claim->bytes, -1, (int32_t)k};
  }
  return count;
}

// ---- within a step --------------------------------------------------------------------------------------------------

// Makes 1 of extents with N in them that stand in both: what is left has N once at most, where [N,N] meets [1,N,N].
static void cancel(dp_shape *a, dp_shape *b) {
  for (int i = 0; i < a->rank; i++)
    for (int k = 0; k < b->rank && dp_dim_is_symbolic(a->dims[i]); k++)
      if (dp_dim_equal(a->dims[i], b->dims[k])) a->dims[i] = b->dims[k] = dp_dim_of(1);
}

static bool same_count(const dp_shape *a, const dp_shape *b) {
  dp_dim x, y;
  if (dp_shape_equal(a, b)) return true;
  dp_shape p = *a, q = *b;
  cancel(&p, &q);
  return dp_shape_product(&p, 0, p.rank, &x) && dp_shape_product(&q, 0, q.rank, &y) && dp_dim_equal(x, y);
}

// Whether result r may lie exactly where operand o lies.
static bool may_replace(const dp_checker *c, uint32_t step, int32_t r, int32_t o) {
  const dp_checker_step *s = &c->steps[step];
  if (dp_op_is(s->op, DP_OP_UPDATE)) return r == o;
  // What several micro-batches have made so far lies as the whole tensor does; one micro-batch's part alone does not.
  if (!strcmp(s->op->domain, "dp") && !strcmp(s->op->name, "Accumulate"))
    return !o && dp_checker_input(c, s->claim, 0)->needed == dp_checker_output(c, s->claim, 0)->needed;
  if (dp_op_is(s->op, DP_OP_COMMUNICATION)) return r == o && !strcmp(s->op->name, "AllReduce");
  if (!dp_op_is(s->op, DP_OP_ELEMENTWISE) || r || o) return false;
  const dp_type *result = &dp_checker_output(c, s->claim, 0)->value->type;
  const dp_type *operand = &dp_checker_input(c, s->claim, 0)->value->type;
  // Kernels promise no more: those that turn one type into another read and write through pointers of both.
  return result->dtype == operand->dtype && same_count(&result->shape, &operand->shape);
}

static const char *access_name(const dp_checker_access *a) {
  return a->operand >= 0 ? "operand" : a->result >= 0 ? "result" : "scratch";
}

static dp_status check_alias(dp_checker *c, uint32_t step, const dp_checker_access *accesses, int count) {
  for (int i = 0; i < count; i++) {
    const dp_checker_access *w = &accesses[i];
    if (w->operand >= 0) continue;
    for (int k = 0; k < i; k++) {
      const dp_checker_access *x = &accesses[k];
      if (x->space != w->space || x->begin >= w->end || w->begin >= x->end) continue;
      bool same = x->begin == w->begin && x->end == w->end;
      if (same && w->result >= 0 && x->operand >= 0 && may_replace(c, step, w->result, x->operand)) continue;
      return dp_checker_fail(c, step, DP_RULE_ORDER_ALIAS, "its %s at %llu and its %s at %llu of %s memory overlap",
                             access_name(w), (unsigned long long)w->begin, access_name(x), (unsigned long long)x->begin,
                             dp_checker_space(w->space));
    }
  }
  return DP_OK;
}

// ---- between steps --------------------------------------------------------------------------------------------------

typedef struct {
  dp_checker *c;
  dp_spans *spans[DP_CHECKER_SPACES];
} races;

static dp_status follows(races *r, uint32_t before, uint32_t step, const dp_checker_access *a, const char *did) {
  char text[512];
  r->c->report->conflicts += before != step;
  if (dp_checker_before(r->c, before, step)) return DP_OK;
  return dp_checker_fail(r->c, step, DP_RULE_ORDER_CONFLICT,
                         "it %s bytes [%llu,%llu) of %s memory, which %s %s: nothing orders the two",
                         a->operand >= 0 ? "reads" : "writes", (unsigned long long)a->begin, (unsigned long long)a->end,
                         dp_checker_space(a->space), dp_checker_step_print(r->c, before, text, sizeof text), did);
}

// meaning.c refuses to read anything but one whole span, so of reads of more than so many no full account is kept.
enum { MAX_SPANS_READ = 64 };

// Bytes that nobody touched before count too: who writes them later must come after the read.
static dp_status read_bytes(races *r, uint32_t step, const dp_checker_access *a) {
  dp_spans *spans = r->spans[a->space];
  const dp_checker_step *s = &r->c->steps[step];
  dp_span pieces[MAX_SPANS_READ];
  int count = 0;
  dp_span_at at = dp_spans_find(spans, a->begin);
  for (uint64_t begin = a->begin; begin < a->end && count < MAX_SPANS_READ; count++) {
    dp_span *span = dp_spans_get(spans, at), *piece = &pieces[count];
    bool gap = !span || span->begin > begin;
    if (gap) {
      *piece = (dp_span){.begin = begin, .end = span && span->begin < a->end ? span->begin : a->end};
    } else {
      if (span->writer) DP_TRY(follows(r, span->writer - 1, step, a, "writes"));
      if (span->begin == a->begin && span->end == a->end) {
        span->reads[s->stream] = s->place;
        return DP_OK;
      }
      *piece = *span;
      piece->begin = begin;
      if (piece->end > a->end) piece->end = a->end;
      at = dp_spans_next(spans, at);
    }
    piece->reads[s->stream] = s->place;
    begin = piece->end;
  }
  for (int i = 0; i < count; i++) dp_spans_put(spans, &pieces[i]);
  return DP_OK;
}

static dp_status write_bytes(races *r, uint32_t step, const dp_checker_access *a) {
  dp_spans *spans = r->spans[a->space];
  dp_span_at at = dp_spans_find(spans, a->begin);
  for (const dp_span *span; (span = dp_spans_get(spans, at)) && span->begin < a->end; at = dp_spans_next(spans, at)) {
    if (span->writer) DP_TRY(follows(r, span->writer - 1, step, a, "writes"));
    for (uint32_t s = 0; s < r->c->n_streams; s++)
      if (span->reads[s]) DP_TRY(follows(r, r->c->first[s] + span->reads[s] - 1, step, a, "reads"));
  }
  dp_span mine = {.begin = a->begin, .end = a->end, .writer = step + 1};
  dp_spans_put(spans, &mine);
  return DP_OK;
}

static dp_status visit(races *r, uint32_t step) {
  dp_checker_access accesses[DP_CHECKER_ACCESSES];
  int count = dp_checker_accesses(r->c, step, accesses);
  DP_TRY(check_alias(r->c, step, accesses, count));
  for (int i = 0; i < count; i++) {
    if (dp_checker_is_on_host(accesses[i].space)) continue;
    DP_TRY(accesses[i].operand >= 0 ? read_bytes(r, step, &accesses[i]) : write_bytes(r, step, &accesses[i]));
  }
  r->c->report->accesses += (uint64_t)count;
  return DP_OK;
}

// ---- collectives ----------------------------------------------------------------------------------------------------

// Those in which devices wait for one another: between devices, and not each by itself.
static bool is_collective(const dp_op *op) {
  static const char *const names[] = {"AllReduce", "ReduceScatter", "AllGather", "AllToAll"};
  if (!dp_op_is(op, DP_OP_COMMUNICATION)) return false;
  for (size_t i = 0; i < DP_COUNT(names); i++)
    if (!strcmp(op->name, names[i])) return true;
  return false;
}

// Whatever group they are of: every device of the role is in one group of each axis, so any two collectives share devices.
// Those of two roles share none. A Send and its Recv meet nobody else, and wait on streams where nothing hinders what is
// ready; that they get there deadlock.c shows.
static dp_status check_collectives(dp_checker *c) {
  uint32_t last = UINT32_MAX;
  char text[512];
  for (uint32_t i = 0; i < c->n_steps; i++) {
    uint32_t step = c->order[i];
    if (!is_collective(c->steps[step].op)) continue;
    if (last != UINT32_MAX && !dp_checker_before(c, last, step))
      return dp_checker_fail(c, step, DP_RULE_ORDER_COLLECTIVE,
                             "nothing orders it and %s: devices may meet them in different order and wait for ever",
                             dp_checker_step_print(c, last, text, sizeof text));
    last = step;
    c->report->collectives++;
  }
  return DP_OK;
}

dp_status dp_checker_order(dp_checker *c) {
  races r = {.c = c};
  for (int s = 0; s < DP_CHECKER_SPACES; s++) r.spans[s] = dp_spans_create(c->arena);
  // What a program finds is there before it starts, to be read before it is overwritten.
  for (const int32_t *p = dp_checker_storages(c); p < dp_checker_storages_end(c); p++) {
    const dp_variable *storage = &c->model->variables[*p];
    dp_span span = {.begin = storage->offset, .end = storage->offset + storage->bytes};
    if (storage->bytes) dp_spans_put(r.spans[DP__SPACE__PERSISTENT], &span);
  }
  for (uint32_t i = 0; i < c->n_steps; i++) DP_TRY(visit(&r, c->order[i]));
  return check_collectives(c);
}
