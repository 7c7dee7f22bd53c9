// Damages to arbitrary fields: a number of the program, of its role or of a variable. The schema finds it, not its
// meaning, so this tries what no other damage does.
#include <algorithm>
#include <cstring>
#include <map>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

// The location of a number.
struct Slot {
  void *at;
  size_t bytes;
};
using Slots = std::map<std::pair<const ProtobufCMessageDescriptor *, std::string>, std::vector<Slot>>;

size_t Bytes(const ProtobufCFieldDescriptor &field) {
  switch (field.type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_BOOL:
      return 4;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
      return 8;
    default:
      return 0;
  }
}

// Before a damage, no messages are shared, so each number occurs once.
void Collect(ProtobufCMessage *message, Slots *slots) {
  const ProtobufCMessageDescriptor *is = message->descriptor;
  for (unsigned f = 0; f < is->n_fields; f++) {
    const ProtobufCFieldDescriptor &field = is->fields[f];
    char *at = reinterpret_cast<char *>(message) + field.offset;
    const bool repeated = field.label == PROTOBUF_C_LABEL_REPEATED;
    size_t count = 1;
    if (repeated) std::memcpy(&count, reinterpret_cast<char *>(message) + field.quantifier_offset, sizeof count);
    if (repeated && count) std::memcpy(&at, at, sizeof at);
    for (size_t i = 0; i < count; i++) {
      if (field.type == PROTOBUF_C_TYPE_MESSAGE) {
        ProtobufCMessage *inner;
        std::memcpy(&inner, at + i * sizeof inner, sizeof inner);
        if (inner) Collect(inner, slots);
      } else if (size_t bytes = Bytes(field)) {
        (*slots)[{is, field.name}].push_back({at + i * bytes, bytes});
      }
    }
  }
}

Slots All(Edit &e) {
  Slots slots;
  Collect(&e.program->base, &slots);
  for (size_t i = 0; i < e.role->n_arenas; i++) Collect(&e.role->arenas[i]->base, &slots);
  for (size_t i = 0; i < e.role->n_devices; i++) Collect(&e.role->devices[i]->base, &slots);
  for (size_t i = 0; i < e.plan->n_variables; i++) {
    Dp__Variable *p = e.plan->variables[i];
    for (size_t a = 0; a < p->n_placements; a++) Collect(&p->placements[a]->base, &slots);
    slots[{p->base.descriptor, "offset"}].push_back({&p->offset, 8});
    slots[{p->base.descriptor, "bytes"}].push_back({&p->bytes, 8});
    for (size_t s = 0; s < p->n_stages; s++) slots[{p->base.descriptor, "stages"}].push_back({&p->stages[s], 4});
  }
  return slots;
}

int64_t Get(const Slot &slot) {
  int64_t number = 0;
  std::memcpy(&number, slot.at, slot.bytes);
  return number;
}

void Set(const Slot &slot, int64_t number) { std::memcpy(slot.at, &number, slot.bytes); }

// Selects a field that occurs, with its numbers; all fields are equally likely.
const std::vector<Slot> &ChooseField(Edit &e, const Slots &slots) {
  auto field = slots.begin();
  std::advance(field, static_cast<long>(e.UpTo(slots.size())));
  return field->second;
}

}  // namespace

bool FieldOther(Edit &e) {
  const Slots slots = All(e);
  const std::vector<Slot> &field = ChooseField(e, slots);
  const Slot slot = field[e.UpTo(field.size())];
  const int64_t was = Get(slot), steps[] = {1, -1, 8, 64, -64, 2, was, -was};
  Set(slot, was + steps[e.UpTo(8)]);
  return Get(slot) != was;
}

bool FieldSwapped(Edit &e) {
  const Slots slots = All(e);
  const std::vector<Slot> &field = ChooseField(e, slots);
  const Slot a = field[e.UpTo(field.size())], b = field[e.UpTo(field.size())];
  const int64_t x = Get(a), y = Get(b);
  Set(a, y);
  if (!e.OneIn(2)) Set(b, x);
  return x != y;
}

}  // namespace dp_test
