// What a unit tells devices in other processes, and hears from them, before it moves anything: operands that are here
// are sent to all other processes with members of the unit; those that are elsewhere are received into memory of the
// session. Private to the runtime.
#ifndef DP_RUNTIME_BIND_EXCHANGE_H
#define DP_RUNTIME_BIND_EXCHANGE_H

#include "ir/base/base.h"
#include "runtime/base/peers.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_exchange dp_exchange;

dp_exchange *dp_exchange_create(dp_arena *arena, const dp_peers *peers);
// The operand `key` of a device that is here goes to each other process that has one of the devices.
void dp_exchange_send(dp_arena *arena, dp_exchange *exchange, dp_message_key key, void *bytes, uint64_t count,
                      int n_devices, const int *devices);
// The operand `key` of a device that is elsewhere; returns where it will be.
void *dp_exchange_receive(dp_arena *arena, dp_exchange *exchange, dp_message_key key, uint64_t count);
// Called when all messages of a run are done, with the first failure, by the thread that ended the last one. Owns the
// failure.
typedef void dp_exchange_complete(void *context, int unit, dp_status failure);
void dp_exchange_then(dp_exchange *exchange, dp_exchange_complete *complete, void *context, int unit);
// Posts all messages and returns. One run at a time.
void dp_exchange_post(dp_exchange *exchange, uint64_t run);

#ifdef __cplusplus
}
#endif
#endif
