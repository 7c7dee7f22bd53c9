// The channels between roles: the two instructions at the ends of each channel, and the pairs of devices that they
// connect. Private to the runtime.
#ifndef DP_RUNTIME_BIND_CHANNEL_H
#define DP_RUNTIME_BIND_CHANNEL_H

#include "runtime/bind/unit.h"

#ifdef __cplusplus
extern "C" {
#endif

// One end of a channel.
typedef struct {
  uint32_t channel;
  bool receives;
  int role, flat;  // flat: the instruction's number within the role, counted over all streams
  dp_instruction_at at;
} dp_channel_end;

typedef struct {
  size_t count;
  dp_channel_end *ends;  // sorted by channel, the sender before the receiver
} dp_channels;

bool dp_channel_is(const Dp__Instruction *instruction);

// Collects the channels of all roles. EX_DATAERR: a channel does not have exactly one sender and one receiver.
dp_status dp_channels_make(dp_arena *arena, int n_roles, const dp_role_program *programs,
                           dp_channels *channels) DP_MUST_USE;
// The two ends of an instruction's channel; [0] is the sender.
const dp_channel_end *dp_channels_find(const dp_channels *channels, const Dp__Instruction *instruction);
// Finds the peer of `device`, which is at one end. EX_DATAERR: the two ends do not name each other.
dp_status dp_channel_meet(const dp_binding *binding, const dp_channel_end *ends, bool receives, int device,
                          int *other) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
