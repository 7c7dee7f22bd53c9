// Devices of a plan that are in other processes, and the messages to and from them. Whoever starts the processes brings
// a transport; the runtime says what is to be sent and received.
#ifndef DP_RUNTIME_BASE_PEERS_H
#define DP_RUNTIME_BASE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Names a message. All processes run the same programs of the same plan in the same order, so both ends make the same
// key, and no other message of the two processes has it.
typedef struct {
  uint64_t run;         // of the session, from 0
  int32_t role;         // of the instruction that moves it; for Send and Recv the sender's
  int32_t instruction;  // counted over all streams of the role
  int32_t operand;      // of the instruction
  int32_t device;       // whose operand it is
} dp_message_key;

typedef struct {
  dp_message_key key;
  int process;     // the other end
  void *bytes;     // read or written by the transport until the message is done
  uint64_t count;  // of bytes, not 0
  // Called once, by any thread, also before the call that posts the message returns. Owns the status.
  void (*done)(void *context, dp_status status);
  void *context;
} dp_message;

// `send` and `receive` post a message and return at once. Each message that was posted is done at some time: a session
// waits for all of them before it returns. It is done with a failure (DP_EX_PEER_LOST) if its other end is gone or has
// abandoned the run. Messages may be posted by several threads at once, in another order at the other end, and long
// before their other end is.
typedef struct {
  int process;            // this one
  const int *process_of;  // (devices of the plan)
  void *self;
  void (*send)(void *self, const dp_message *message);
  void (*receive)(void *self, const dp_message *message);
  // This process has failed in a run and will not post the rest of its messages. Those of the run that have not met
  // their other end are done with a failure at either end, also those that are posted later.
  void (*abandon)(void *self, uint64_t run);
} dp_peers;

// peers NULL: all devices are here.
static inline bool dp_peers_here(const dp_peers *peers, int device) {
  return !peers || peers->process_of[device] == peers->process;
}

#ifdef __cplusplus
}
#endif
#endif
