// See channel.h. A sending instruction has an operand and no result; a receiving one has a result and no operand.
#include "runtime/bind/channel.h"

#include <stdlib.h>

bool dp_channel_is(const Dp__Instruction *in) { return in->communication && in->communication->channel; }

static int by_channel(const void *a, const void *b) {
  const dp_channel_end *x = a, *y = b;
  if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
  return (int)x->receives - (int)y->receives;
}

static dp_status add_end(dp_arena *arena, const dp_instruction_at *at, int role, int flat, dp_channels *channels) {
  const Dp__Instruction *in = at->instruction;
  bool reads = in->n_inputs == 1 && in->inputs[0], writes = in->n_outputs == 1 && in->outputs[0];
  if (reads == writes || in->communication->n_peer != 1)
    return dp_fail(EX_DATAERR, "stream %s: %s of channel %u must have one peer and either an operand or a result",
                   at->stream, in->op, in->communication->channel);
  dp_channel_end end = {in->communication->channel, writes, role, flat, *at};
  DP_PUSH(arena, channels->ends, channels->count, end);
  return DP_OK;
}

static dp_status add_ends_of(dp_arena *arena, const Dp__Program *program, int role, dp_channels *channels) {
  int flat = 0;
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++, flat++) {
      dp_instruction_at at = {program->streams[s]->instructions[i], program->streams[s]->name, (int)s};
      if (dp_channel_is(at.instruction)) DP_TRY(add_end(arena, &at, role, flat, channels));
    }
  return DP_OK;
}

dp_status dp_channels_make(dp_arena *arena, int n_roles, const dp_role_program *programs, dp_channels *channels) {
  *channels = (dp_channels){0};
  for (int r = 0; r < n_roles; r++)
    if (programs[r].program) DP_TRY(add_ends_of(arena, programs[r].program, r, channels));
  if (channels->count) qsort(channels->ends, channels->count, sizeof *channels->ends, by_channel);
  for (size_t i = 0; i < channels->count; i += 2) {
    const dp_channel_end *e = &channels->ends[i];
    bool pair = i + 1 < channels->count && e[0].channel == e[1].channel && !e[0].receives && e[1].receives;
    bool third = pair && i + 2 < channels->count && e[2].channel == e[0].channel;
    if (!pair || third)
      return dp_fail(EX_DATAERR, "channel %u must have exactly one sender and one receiver", e->channel);
  }
  return DP_OK;
}

const dp_channel_end *dp_channels_find(const dp_channels *channels, const Dp__Instruction *in) {
  const dp_channel_end key = {.channel = in->communication->channel};
  return bsearch(&key, channels->ends, channels->count, sizeof key, by_channel);
}

// The device that the instruction at this end of the channel names as the peer of `device`.
static int64_t peer_of(const dp_mesh *mesh, const dp_channel_end *end, int device) {
  const Dp__PeerExpression *peer = end->at.instruction->communication->peer[0];
  int64_t at[DP_MAX_MESH], size = mesh->axes[peer->axis].size;
  dp_mesh_coordinate(mesh, device, at);
  int64_t moved = (int64_t)(((__int128)at[peer->axis] * peer->scale + peer->offset) % size);
  at[peer->axis] = moved < 0 ? moved + size : moved;
  return dp_mesh_device(mesh, at);
}

dp_status dp_channel_meet(const dp_binding *b, const dp_channel_end *ends, bool receives, int device, int *other) {
  const dp_channel_end *here = &ends[receives], *there = &ends[!receives];
  for (int e = 0; e < 2; e++)
    if (ends[e].at.instruction->communication->peer[0]->axis >= (uint32_t)b->mesh->n_axes)
      return dp_fail(EX_DATAERR, "channel %u: its peer is along an axis that the mesh does not have", here->channel);
  int64_t peer = peer_of(b->mesh, here, device);
  if (b->roles->of_device[peer] != there->role || peer == device || peer_of(b->mesh, there, (int)peer) != device)
    return dp_fail(EX_DATAERR, "channel %u: device %d names device %lld as its peer, which does not name it",
                   here->channel, device, (long long)peer);
  *other = (int)peer;
  return DP_OK;
}
