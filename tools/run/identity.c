// See identity.h. Strategies differ in the order of variables, so the hashes of the parts are summed.
#include "tools/run/identity.h"

#include <stdlib.h>
#include <string.h>

#include "ir/graph/graph.h"

static uint64_t hash_text(const char *text) { return dp_hash64(text, strlen(text)); }

// Order counts.
static uint64_t join(uint64_t a, uint64_t b) {
  const uint64_t both[] = {a, b};
  return dp_hash64(both, sizeof both);
}

static dp_status hash_message(const ProtobufCMessage *message, uint64_t *hash) {
  const size_t bytes = protobuf_c_message_get_packed_size(message);
  uint8_t *packed = malloc(bytes ? bytes : 1);
  if (!packed) return dp_fail(DP_EX_MEMORY, "no memory for the hash of the model");
  protobuf_c_message_pack(message, packed);
  *hash = dp_hash64(packed, bytes);
  free(packed);
  return DP_OK;
}

static dp_status hash_variables(const Dp__Plan *plan, uint64_t *sum) {
  for (size_t i = 0; i < plan->n_variables; i++) {
    const Dp__Variable *v = plan->variables[i];
    if (v->kind != DP_PARAMETER && v->kind != DP_BUFFER) continue;
    uint64_t type = 0;
    DP_TRY(hash_message(&v->type->base, &type));
    const uint64_t kind = (uint64_t)v->kind << 1 | (v->frozen != 0);
    *sum += join(hash_text(v->name), join(type, kind));
  }
  return DP_OK;
}

dp_status dp_dprun_hash_model(const Dp__Plan *plan, uint64_t *hash) {
  uint64_t sum = hash_text(plan->loss) + plan->network;
  DP_TRY(hash_variables(plan, &sum));
  // What is fed is the same file, whatever the graph makes of it.
  for (size_t i = 0; plan->options && i < plan->options->n_normalize; i++)
    sum += hash_text(plan->options->normalize[i]);
  *hash = sum;
  return DP_OK;
}
