// Between stages: a Send and the Recv of its channel carry one value, with its placements and micro-batches, from each
// device of a stage to the one with the same coordinates in another.
//
// What a Send reads is checked there, like any operand (meaning.c). A Recv's result is assumed to be what it claims.
// Both hold when the two claims agree and the waits have no cycle (deadlock.c): take all instructions of all roles in
// an order that every wait allows; then each finds what those before it produced.
#include <stdlib.h>
#include <string.h>

#include "ir/verify/checker.h"

// ---- an instruction -------------------------------------------------------------------------------------------------

#define FAIL(...) dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_TRANSFER, __VA_ARGS__)

static const Dp__Attribute *attribute_of(const Dp__Instruction *in, const char *name, int32_t kind) {
  for (size_t i = 0; i < in->n_attributes; i++)
    if (!strcmp(in->attributes[i]->name, name) && in->attributes[i]->kind == kind) return in->attributes[i];
  return NULL;
}

// Attributes and communication agree on the channel and on the stage of the other side.
static dp_status check_peer(dp_checker *c, uint32_t instruction, dp_checker_transfer *transfer) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  const Dp__Communication *m = in->communication;
  const Dp__Attribute *axis = attribute_of(in, "axis", DP_ATTR_STRING), *peer = attribute_of(in, "peer", DP_ATTR_INT),
                      *channel = attribute_of(in, "channel", DP_ATTR_INT);
  if (in->n_attributes != 3 || !axis || !peer || !channel)
    return FAIL("three attributes are expected: axis, channel and peer");
  if (c->pipe < 0 || strcmp(axis->s, DP_MESH_PIPE)) return FAIL("it is over axis '%s', which has no stages", axis->s);
  if (!m || m->n_axes != 1 || m->axes[0] != (uint32_t)c->pipe || m->reduction || m->n_peer != 1)
    return FAIL("its communication is not with one peer over axis '%s'", axis->s);
  const int64_t stages = c->model->mesh.axes[c->pipe].size, self = (int64_t)c->role_index;
  if (peer->i < 0 || peer->i >= stages || peer->i == self)
    return FAIL("its peer is stage %lld of %lld; it is itself on stage %lld", (long long)peer->i, (long long)stages,
                (long long)self);
  const Dp__PeerExpression *p = m->peer[0];
  const int64_t offset = (peer->i - self + stages) % stages;
  if (p->axis != (uint32_t)c->pipe || p->scale != 1 || p->offset != offset)
    return FAIL("its peer is coordinate * %lld + %lld on axis %u; stage %lld is coordinate * 1 + %lld on axis %d",
                (long long)p->scale, (long long)p->offset, p->axis, (long long)peer->i, (long long)offset, c->pipe);
  if (channel->i < 1 || channel->i != (int64_t)m->channel)
    return FAIL("it names channel %lld and channel %u", (long long)channel->i, m->channel);
  transfer->peer = (uint32_t)peer->i;
  transfer->channel = m->channel;
  return DP_OK;
}

dp_status dp_checker_send_or_recv(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  const bool sends = !strcmp(in->op, "Send");
  if (in->n_nodes || in->n_inputs != 1 || in->n_outputs != 1 || !in->inputs[0] == sends || !in->outputs[0] != sends)
    return FAIL("Send has an operand and Recv a result, and neither has a logical node");
  const dp_checker_tensor *t = sends ? dp_checker_input(c, in, 0) : dp_checker_output(c, in, 0);
  if (!dp_checker_is_on_device(t))
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_TENSOR_SPACE,
                           "'%s' is in %s memory; a device's is expected", t->value->name,
                           dp_plan_form_space(t->claim->space));
  if (dp_checker_is_concatenated(c, t)) return FAIL("'%s' is parts of several micro-batches", t->value->name);
  if (in->compute_dtype && in->compute_dtype != t->claim->dtype)
    return FAIL("it computes in %s; the value is %s", dp_type_name((dp_dtype)in->compute_dtype),
                dp_type_name((dp_dtype)t->claim->dtype));
  dp_checker_transfer transfer = {.location = dp_checker_at_instruction(c, instruction),
                                  .sends = sends,
                                  .claim = t->claim,
                                  .first = t->first,
                                  .count = t->count};
  memcpy(transfer.at, t->at, sizeof transfer.at);
  DP_TRY(check_peer(c, instruction, &transfer));
  DP_PUSH(c->shared.arena, c->shared.transfers, c->shared.n_transfers, transfer);
  return DP_OK;
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

static int by_channel(const void *a, const void *b) {
  const dp_checker_transfer *x = a, *y = b;
  if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
  return y->sends - x->sends;
}

static dp_status check_pair(dp_checker *c, const dp_checker_transfer *send, const dp_checker_transfer *recv) {
  const Dp__DeviceTensor *x = send->claim, *y = recv->claim;
  const char *name = c->graph->values[x->value]->name;
  char a[256], b[256];
#define FAIL_AT_RECV(...) dp_checker_fail(c, recv->location, DP_RULE_MEANING_TRANSFER, __VA_ARGS__)
  if (send->peer != recv->location.role || recv->peer != send->location.role)
    return FAIL_AT_RECV("on channel %u it is on stage %u and receives from %u; the Send is on stage %u, to %u",
                        send->channel, recv->location.role, recv->peer, send->location.role, send->peer);
  if (x->value != y->value)
    return FAIL_AT_RECV("it is said to receive '%s'; '%s' is sent on channel %u", c->graph->values[y->value]->name,
                        name, send->channel);
  if (x->version != y->version || x->dtype != y->dtype || x->bytes != y->bytes)
    return FAIL_AT_RECV("it receives '%s' as version %u, %s, %llu bytes; sent are version %u, %s, %llu bytes", name,
                        y->version, dp_type_name((dp_dtype)y->dtype), (unsigned long long)y->bytes, x->version,
                        dp_type_name((dp_dtype)x->dtype), (unsigned long long)x->bytes);
  if (x->layout != y->layout) return FAIL_AT_RECV("it receives '%s' in another layout than it is sent in", name);
  if (!dp_checker_placed_alike(c, send->at, recv->at))
    return FAIL_AT_RECV("it receives '%s' placed %s; sent it is %s", name,
                        dp_checker_placements_print(c, recv->at, a, sizeof a),
                        dp_checker_placements_print(c, send->at, b, sizeof b));
  if (send->first != recv->first || send->count != recv->count)
    return FAIL_AT_RECV("it receives '%s' of micro-batches [%u,%u); those sent are [%u,%u)", name, recv->first,
                        recv->first + recv->count, send->first, send->first + send->count);
#undef FAIL_AT_RECV
  return DP_OK;
}

dp_status dp_checker_transfers(dp_checker *c) {
  dp_checker_transfer *t = c->shared.transfers;
  const uint32_t count = c->shared.n_transfers;
  if (count) qsort(t, count, sizeof *t, by_channel);
  for (uint32_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && t[end].channel == t[i].channel;) end++;
    if (end != i + 2 || !t[i].sends || t[i + 1].sends)
      return dp_checker_fail(
          c, t[end - 1].location, DP_RULE_MEANING_TRANSFER,
          "channel %u has %u instructions, of which the first is a %s; one Send and one Recv are expected",
          t[i].channel, end - i, t[i].sends ? "Send" : "Recv");
    DP_TRY(check_pair(c, &t[i], &t[i + 1]));
    t[i].partner = i + 1;
    t[i + 1].partner = i;
    c->report->transfers++;
  }
  return DP_OK;
}
