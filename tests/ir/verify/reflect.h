// The fields of a message and of everything it contains, found through protobuf-c's descriptors rather than by meaning,
// so that a new field is damaged as soon as the schema has it.
#ifndef DP_TESTS_IR_VERIFY_REFLECT_H
#define DP_TESTS_IR_VERIFY_REFLECT_H

#include <protobuf-c/protobuf-c.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/ir/text/text_helper.h"

namespace dp_test {

// One field of one message; a repeated field counts as one.
struct Field {
  ProtobufCMessage *message;
  const ProtobufCFieldDescriptor *is;
  std::string Name() const;  // "Plan.batch"
  bool Repeated() const { return is->label == PROTOBUF_C_LABEL_REPEATED; }
  size_t Count() const;  // of a repeated one
  void SetCount(size_t count) const;
  size_t Bytes() const;  // of one item
  bool Empty() const;    // no items, no message, or zero
  // The location of item i; of a singular field, i is 0.
  char *Item(size_t i) const;
};
using Fields = std::map<std::string, std::vector<Field>>;  // by name

// The fields of the message and what it contains, in schema order.
Fields FieldsOf(ProtobufCMessage *root);
// "Plan.batch", for every message type that this one can contain.
std::set<std::string> SchemaOf(const ProtobufCMessageDescriptor *root);

// Ways to damage a field. Apply returns false if the field cannot be damaged in this way, or would not change.
//   a number, string or message: zero or absent, one more, one less, negative, largest, smallest, the value of another
//   field of the same name, infinite or reserved;
//   several items: none, without the last, one twice, two swapped, one damaged, one of another, without the first, an
//   empty one.
enum { kDamageKinds = 8 };
enum {
  kOfAnother = 6,        // of one item
  kItemLastDropped = 1,  // of several
  kItemTwice = 2,
  kItemsSwapped = 3,
  kItemOfAnother = 5,
  kItemFirstDropped = 6,
};
bool DamageField(dp_arena *arena, const Field &field, const std::vector<Field> &alike, size_t kind,
                 std::mt19937 *random);

}  // namespace dp_test

#endif
