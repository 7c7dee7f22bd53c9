// Races. Two instructions that touch the same bytes of a device, one of them writing, are ordered. Collectives come in
// one order. An instruction's results overlap nothing of its own but what they may replace.
//
// A device's bytes are touched by its own instructions, and by its peers within a collective or transfer in which it
// takes part, so the order on the device is all that matters. The host's bytes are touched by any device: host.c.
//
// Instructions are visited in an order that happens-before allows. For each span of bytes the last writer is known, and
// the last reader of each stream since then: what comes after those comes after all that came before them.
#include <stdlib.h>
#include <string.h>

#include "ir/verify/checker.h"

int dp_checker_accesses(const dp_checker *c, uint32_t instruction, dp_checker_access *accesses) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
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

// ---- within an instruction ------------------------------------------------------------------------------------------

// Replaces by 1 the symbolic extents that both shapes have. Products of what is left have N once at most, as when [N,N]
// meets [1,N,N].
static void cancel_symbolic(dp_shape *a, dp_shape *b) {
  for (int i = 0; i < a->rank; i++)
    for (int k = 0; k < b->rank && dp_dim_is_symbolic(a->dims[i]); k++)
      if (dp_dim_equal(a->dims[i], b->dims[k])) a->dims[i] = b->dims[k] = dp_dim_of(1);
}

static bool is_same_count(const dp_shape *a, const dp_shape *b) {
  dp_dim x, y;
  if (dp_shape_equal(a, b)) return true;
  dp_shape p = *a, q = *b;
  cancel_symbolic(&p, &q);
  return dp_shape_product(&p, 0, p.rank, &x) && dp_shape_product(&q, 0, q.rank, &y) && dp_dim_equal(x, y);
}

// Whether result r may lie exactly where operand o lies.
static bool may_replace(const dp_checker *c, uint32_t instruction, int32_t r, int32_t o) {
  const dp_checker_instruction *s = &c->instructions[instruction];
  if (dp_checker_output(c, s->claim, (size_t)r)->claim->layout !=
      dp_checker_input(c, s->claim, (size_t)o)->claim->layout)
    return false;
  if (s->claim->n_members) return dp_checker_region_replaces(c, instruction, r, o);
  if (dp_op_is(s->op, DP_OP_UPDATE)) return r == o;
  // The parts of several micro-batches lie as the whole tensor does; the part of a single one does not.
  if (!strcmp(s->op->domain, "dp") && !strcmp(s->op->name, "Accumulate"))
    return !o && dp_checker_input(c, s->claim, 0)->needed == dp_checker_output(c, s->claim, 0)->needed;
  if (dp_op_is(s->op, DP_OP_COMMUNICATION)) return r == o && !strcmp(s->op->name, "AllReduce");
  if (!dp_op_is(s->op, DP_OP_ELEMENTWISE) || r || o) return false;
  const dp_type *result = dp_checker_output(c, s->claim, 0)->value->type;
  const dp_type *operand = dp_checker_input(c, s->claim, 0)->value->type;
  // Kernels promise no more than that: one that converts types reads and writes through pointers to different types.
  return result->dtype == operand->dtype && is_same_count(&result->shape, &operand->shape);
}

static const char *access_name(const dp_checker_access *a) {
  return a->operand >= 0 ? "operand" : a->result >= 0 ? "result" : "scratch";
}

// By place; of equal ones what is written comes first.
static int by_place(const void *x, const void *y) {
  const dp_checker_access *a = x, *b = y;
  if (a->space != b->space) return a->space < b->space ? -1 : 1;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return (a->operand >= 0) - (b->operand >= 0);
}

static bool overlap(const dp_checker_access *a, const dp_checker_access *b) {
  return a->space == b->space && a->begin < b->end && b->begin < a->end;
}

static dp_status check_overlap(dp_checker *c, uint32_t instruction, const dp_checker_access *w,
                               const dp_checker_access *x) {
  const bool same = w->begin == x->begin && w->end == x->end;
  if (same && w->result >= 0 && x->operand >= 0 && may_replace(c, instruction, w->result, x->operand)) return DP_OK;
  return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_ORDER_ALIAS,
                         "its %s at %llu and its %s at %llu of %s memory overlap", access_name(w),
                         (unsigned long long)w->begin, access_name(x), (unsigned long long)x->begin,
                         dp_plan_form_space(w->space));
}

// What is written must overlap nothing that begins before it. What is read may overlap what is read: it is held against
// the last write before it, which ends last, since writes overlap one another nowhere.
static dp_status check_alias(dp_checker *c, uint32_t instruction, const dp_checker_access *sorted, int count) {
  const dp_checker_access *furthest = NULL, *write = NULL;
  for (int i = 0; i < count; i++) {
    const dp_checker_access *a = &sorted[i];
    const bool writes = a->operand < 0;
    const dp_checker_access *before = writes ? furthest : write;
    if (before && overlap(before, a))
      DP_TRY(writes ? check_overlap(c, instruction, a, before) : check_overlap(c, instruction, before, a));
    if (writes) write = a;
    if (!furthest || furthest->space != a->space || a->end > furthest->end) furthest = a;
  }
  return DP_OK;
}

// ---- between instructions -------------------------------------------------------------------------------------------

typedef struct {
  dp_checker *c;
  dp_spans *spans[DP_CHECKER_SPACES];
  dp_checker_access *accesses, *sorted;  // those of the instruction at hand
} races;

static dp_status check_ordered(races *r, uint32_t before, uint32_t instruction, const dp_checker_access *a,
                               const char *did) {
  char text[512];
  r->c->report->conflicts += before != instruction;
  if (dp_checker_before(r->c, before, instruction)) return DP_OK;
  return dp_checker_fail(r->c, dp_checker_at_instruction(r->c, instruction), DP_RULE_ORDER_CONFLICT,
                         "it %s bytes [%llu,%llu) of %s memory, which %s %s: nothing orders the two",
                         a->operand >= 0 ? "reads" : "writes", (unsigned long long)a->begin, (unsigned long long)a->end,
                         dp_plan_form_space(a->space), dp_checker_instruction_print(r->c, before, text, sizeof text),
                         did);
}

// A read of more spans than this is not recorded in full. meaning.c refuses to read anything but one whole span anyway.
enum { MAX_SPANS_READ = 64 };

// Bytes that nothing touched before are recorded too: what writes them later must come after the read.
static dp_status read_bytes(races *r, uint32_t instruction, const dp_checker_access *a) {
  dp_spans *spans = r->spans[a->space];
  const dp_checker_instruction *s = &r->c->instructions[instruction];
  dp_span pieces[MAX_SPANS_READ];
  int count = 0;
  dp_span_at at = dp_spans_find(spans, a->begin);
  for (uint64_t begin = a->begin; begin < a->end && count < MAX_SPANS_READ; count++) {
    dp_span *span = dp_spans_get(spans, at), *piece = &pieces[count];
    bool gap = !span || span->begin > begin;
    if (gap) {
      *piece = (dp_span){.begin = begin, .end = span && span->begin < a->end ? span->begin : a->end};
    } else {
      if (span->writer) DP_TRY(check_ordered(r, span->writer - 1, instruction, a, "writes"));
      if (span->begin == a->begin && span->end == a->end) {
        span->reads[s->stream] = s->position;
        return DP_OK;
      }
      *piece = *span;
      piece->begin = begin;
      if (piece->end > a->end) piece->end = a->end;
      at = dp_spans_next(spans, at);
    }
    piece->reads[s->stream] = s->position;
    begin = piece->end;
  }
  for (int i = 0; i < count; i++) dp_spans_put(spans, &pieces[i]);
  return DP_OK;
}

static dp_status write_bytes(races *r, uint32_t instruction, const dp_checker_access *a) {
  dp_spans *spans = r->spans[a->space];
  dp_span_at at = dp_spans_find(spans, a->begin);
  for (const dp_span *span; (span = dp_spans_get(spans, at)) && span->begin < a->end; at = dp_spans_next(spans, at)) {
    if (span->writer) DP_TRY(check_ordered(r, span->writer - 1, instruction, a, "writes"));
    for (uint32_t s = 0; s < r->c->n_streams; s++)
      if (span->reads[s]) DP_TRY(check_ordered(r, r->c->first[s] + span->reads[s] - 1, instruction, a, "reads"));
  }
  dp_span mine = {.begin = a->begin, .end = a->end, .writer = instruction + 1};
  dp_spans_put(spans, &mine);
  return DP_OK;
}

static dp_status check_accesses(races *r, uint32_t instruction) {
  dp_checker_access *accesses = r->accesses;
  int count = dp_checker_accesses(r->c, instruction, accesses);
  memcpy(r->sorted, accesses, (size_t)count * sizeof *accesses);
  qsort(r->sorted, (size_t)count, sizeof *r->sorted, by_place);
  DP_TRY(check_alias(r->c, instruction, r->sorted, count));
  for (int i = 0; i < count; i++) {
    if (dp_checker_is_on_host(accesses[i].space)) continue;
    DP_TRY(accesses[i].operand >= 0 ? read_bytes(r, instruction, &accesses[i])
                                    : write_bytes(r, instruction, &accesses[i]));
  }
  r->c->report->accesses += (uint64_t)count;
  return DP_OK;
}

// ---- collectives ----------------------------------------------------------------------------------------------------

// Those in which devices wait for one another.
static bool is_collective(const dp_op *op) {
  static const char *const names[] = {"AllReduce", "ReduceScatter", "AllGather", "AllToAll"};
  if (!dp_op_is(op, DP_OP_COMMUNICATION)) return false;
  for (size_t i = 0; i < DP_COUNT(names); i++)
    if (!strcmp(op->name, names[i])) return true;
  return false;
}

// This holds for any axes: every device of the role is in one group of each axis, so any two collectives share devices.
// Collectives of two roles share none. A Send and its Recv involve no other device; deadlock.c shows that both are
// reached.
static dp_status check_collectives(dp_checker *c) {
  uint32_t last = UINT32_MAX;
  char text[512];
  for (uint32_t i = 0; i < c->n_instructions; i++) {
    uint32_t instruction = c->order[i];
    if (!is_collective(c->instructions[instruction].op)) continue;
    if (last != UINT32_MAX && !dp_checker_before(c, last, instruction))
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_ORDER_COLLECTIVE,
                             "nothing orders it and %s: devices may come to them in different orders and wait for ever",
                             dp_checker_instruction_print(c, last, text, sizeof text));
    last = instruction;
    c->report->collectives++;
  }
  return DP_OK;
}

static size_t most_accesses(const dp_checker *c) {
  size_t most = 0;
  for (uint32_t i = 0; i < c->n_instructions; i++) {
    const size_t count = c->instructions[i].claim->n_inputs + c->instructions[i].claim->n_outputs + 1;
    if (count > most) most = count;
  }
  return most;
}

dp_status dp_checker_order(dp_checker *c) {
  const size_t most = most_accesses(c);
  races r = {.c = c,
             .accesses = dp_alloc_n(c->arena, most, sizeof *r.accesses),
             .sorted = dp_alloc_n(c->arena, most, sizeof *r.sorted)};
  for (int s = 0; s < DP_CHECKER_SPACES; s++) r.spans[s] = dp_spans_create(c->arena);
  // What a program finds in storage is there before it starts.
  for (const int32_t *p = dp_checker_storages(c); p < dp_checker_storages_end(c); p++) {
    const dp_variable *storage = &c->model->variables[*p];
    dp_span span = {.begin = storage->offset, .end = storage->offset + storage->bytes};
    if (storage->bytes) dp_spans_put(r.spans[dp_checker_storage_space(storage)], &span);
  }
  for (uint32_t i = 0; i < c->n_instructions; i++) DP_TRY(check_accesses(&r, c->order[i]));
  return check_collectives(c);
}
