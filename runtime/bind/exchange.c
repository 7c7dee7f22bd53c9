// See exchange.h.
#include "runtime/bind/exchange.h"

#include <stdatomic.h>

typedef struct {
  bool sends;
  dp_message message;
} exchange_message;

struct dp_exchange {
  const dp_peers *peers;
  int n_messages;
  exchange_message *messages;
  // Of the current run:
  atomic_int left;
  _Atomic(dp_status) failure;
  dp_exchange_complete *complete;
  void *context;
  int unit;
};

// One message has been done, or the post itself.
static void end_one(void *context, dp_status status) {
  dp_exchange *x = context;
  dp_status none = NULL;
  if (status && !atomic_compare_exchange_strong(&x->failure, &none, status)) dp_status_free(status);
  if (atomic_fetch_sub(&x->left, 1) == 1) x->complete(x->context, x->unit, atomic_exchange(&x->failure, NULL));
}

dp_exchange *dp_exchange_create(dp_arena *arena, const dp_peers *peers) {
  dp_exchange *x = dp_alloc(arena, sizeof *x);
  x->peers = peers;
  return x;
}

static void add(dp_arena *arena, dp_exchange *x, bool sends, int process, dp_message_key key, void *bytes,
                uint64_t count) {
  const exchange_message added = {sends, {key, process, bytes, count, end_one, x}};
  DP_PUSH(arena, x->messages, x->n_messages, added);
}

void dp_exchange_send(dp_arena *arena, dp_exchange *x, dp_message_key key, void *bytes, uint64_t count, int n_devices,
                      const int *devices) {
  const int *process_of = x->peers->process_of;
  for (int i = 0; i < n_devices && count; i++) {
    bool before = process_of[devices[i]] == x->peers->process;
    for (int j = 0; j < i && !before; j++) before = process_of[devices[j]] == process_of[devices[i]];
    if (!before) add(arena, x, true, process_of[devices[i]], key, bytes, count);
  }
}

void *dp_exchange_receive(dp_arena *arena, dp_exchange *x, dp_message_key key, uint64_t count) {
  void *bytes = dp_alloc(arena, count + !count);
  if (count) add(arena, x, false, x->peers->process_of[key.device], key, bytes, count);
  return bytes;
}

void dp_exchange_then(dp_exchange *x, dp_exchange_complete *complete, void *context, int unit) {
  x->complete = complete;
  x->context = context;
  x->unit = unit;
}

void dp_exchange_post(dp_exchange *x, uint64_t run) {
  atomic_store(&x->left, x->n_messages + 1);
  for (int i = 0; i < x->n_messages; i++) {
    dp_message *message = &x->messages[i].message;
    message->key.run = run;
    (x->messages[i].sends ? x->peers->send : x->peers->receive)(x->peers->self, message);
  }
  end_one(x, NULL);
}
