// See reflect.h.
#include "tests/ir/verify/reflect.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace dp_test {

// ---- looking --------------------------------------------------------------------------------------------------------

std::string Field::Name() const { return std::string(message->descriptor->short_name) + "." + is->name; }

size_t Field::Count() const {
  size_t count;
  std::memcpy(&count, reinterpret_cast<char *>(message) + is->quantifier_offset, sizeof count);
  return count;
}

void Field::SetCount(size_t count) const {
  std::memcpy(reinterpret_cast<char *>(message) + is->quantifier_offset, &count, sizeof count);
}

size_t Field::Bytes() const {
  switch (is->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
      return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
      return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

char *Field::Item(size_t i) const {
  char *at = reinterpret_cast<char *>(message) + is->offset;
  if (Repeated()) std::memcpy(&at, at, sizeof at);
  return at + i * Bytes();
}

bool Field::Empty() const {
  if (Repeated()) return !Count();
  const std::string item(Item(0), Bytes());
  return item == std::string(item.size(), 0);
}

namespace {

template <typename T>
T Get(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void Set(char *at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void Collect(ProtobufCMessage *message, Fields *fields) {
  for (unsigned f = 0; f < message->descriptor->n_fields; f++) {
    const Field field = {message, &message->descriptor->fields[f]};
    (*fields)[field.Name()].push_back(field);
    if (field.is->type != PROTOBUF_C_TYPE_MESSAGE) continue;
    const size_t count = field.Repeated() ? field.Count() : 1;
    for (size_t i = 0; i < count; i++)
      if (auto *inner = Get<ProtobufCMessage *>(field.Item(i))) Collect(inner, fields);
  }
}

void Describe(const ProtobufCMessageDescriptor *is, std::set<const ProtobufCMessageDescriptor *> *seen,
              std::set<std::string> *names) {
  if (!seen->insert(is).second) return;
  for (unsigned f = 0; f < is->n_fields; f++) {
    names->insert(std::string(is->short_name) + "." + is->fields[f].name);
    if (is->fields[f].type == PROTOBUF_C_TYPE_MESSAGE)
      Describe(static_cast<const ProtobufCMessageDescriptor *>(is->fields[f].descriptor), seen, names);
  }
}

}  // namespace

Fields FieldsOf(ProtobufCMessage *root) {
  Fields fields;
  Collect(root, &fields);
  return fields;
}

std::set<std::string> SchemaOf(const ProtobufCMessageDescriptor *root) {
  std::set<const ProtobufCMessageDescriptor *> seen;
  std::set<std::string> names;
  Describe(root, &seen, &names);
  return names;
}

// ---- one item -------------------------------------------------------------------------------------------------------

namespace {

enum Kind { kZero, kMore, kLess, kNegative, kLargest, kSmallest, kOther = kOfAnother, kOdd };

template <typename T>
void DamageInteger(char *at, size_t kind) {
  const T was = Get<T>(at);
  using U = typename std::make_unsigned<T>::type;  // wraps
  const T to[] = {0,
                  static_cast<T>(static_cast<U>(was) + 1),
                  static_cast<T>(static_cast<U>(was) - 1),
                  static_cast<T>(U(0) - static_cast<U>(was)),
                  std::numeric_limits<T>::max(),
                  std::numeric_limits<T>::min(),
                  was,
                  static_cast<T>(static_cast<U>(was) + 64)};
  Set(at, to[kind]);
}

void DamageDouble(char *at, size_t kind) {
  const double was = Get<double>(at);
  const double to[] = {0,
                       was + 1,
                       was * 0.5,
                       -was,
                       std::numeric_limits<double>::max(),
                       std::numeric_limits<double>::denorm_min(),
                       was,
                       std::numeric_limits<double>::infinity()};
  Set(at, to[kind]);
}

void DamageString(dp_arena *arena, char *at, size_t kind) {
  const char *text = Get<const char *>(at);
  const std::string was = text ? text : "";
  const std::string to[] = {
      "",  was + "x",     was.substr(0, was.empty() ? 0 : was.size() - 1), "-" + was, std::string(4096, 'x'), "dp.step",
      was, "__metadata__"};
  Set(at, dp_strdup(arena, to[kind].c_str()));
}

void DamageBytes(dp_arena *arena, char *at, size_t kind) {
  const auto was = Get<ProtobufCBinaryData>(at);
  std::string data(reinterpret_cast<const char *>(was.data), was.len);
  if (kind == kZero) data.clear();
  if (kind == kMore) data += 'x';
  if (kind == kLess && !data.empty()) data.pop_back();
  if (kind == kNegative && !data.empty()) data[0] = static_cast<char>(~data[0]);
  if (kind == kLargest) data.assign(data.size(), static_cast<char>(0xff));
  if (kind == kSmallest) data.assign(data.size(), 0);
  if (kind == kOdd && !data.empty()) data[data.size() / 2] = static_cast<char>(data[data.size() / 2] ^ 1);
  Set(at, ProtobufCBinaryData{data.size(), static_cast<uint8_t *>(dp_memdup(arena, data.data(), data.size()))});
}

// A message without content, or no message.
void DamageMessage(dp_arena *arena, const Field &field, char *at, size_t kind) {
  const auto *is = static_cast<const ProtobufCMessageDescriptor *>(field.is->descriptor);
  ProtobufCMessage *empty = nullptr;
  if (kind != kZero || field.Repeated()) {  // repeated fields exist
    empty = static_cast<ProtobufCMessage *>(dp_alloc(arena, is->sizeof_message));
    is->message_init(empty);
  }
  Set(at, empty);
}

void DamageItem(dp_arena *arena, const Field &field, char *at, size_t kind) {
  switch (field.is->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
      return DamageInteger<int32_t>(at, kind);
    case PROTOBUF_C_TYPE_UINT32:
      return DamageInteger<uint32_t>(at, kind);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
      return DamageInteger<int64_t>(at, kind);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
      return DamageInteger<uint64_t>(at, kind);
    case PROTOBUF_C_TYPE_BOOL:
      return Set<protobuf_c_boolean>(at, !Get<protobuf_c_boolean>(at));
    case PROTOBUF_C_TYPE_DOUBLE:
      return DamageDouble(at, kind);
    case PROTOBUF_C_TYPE_STRING:
      return DamageString(arena, at, kind);
    case PROTOBUF_C_TYPE_BYTES:
      return DamageBytes(arena, at, kind);
    case PROTOBUF_C_TYPE_MESSAGE:
      return DamageMessage(arena, field, at, kind);
    default:
      throw std::logic_error("a type of field that is not known here: " + field.Name());
  }
}

// ---- several items --------------------------------------------------------------------------------------------------

size_t UpTo(std::mt19937 *random, size_t n) { return (*random)() % n; }

std::vector<std::string> Items(const Field &field) {
  std::vector<std::string> items;
  for (size_t i = 0; i < field.Count(); i++) items.emplace_back(field.Item(i), field.Bytes());
  return items;
}

void Replace(dp_arena *arena, const Field &field, const std::vector<std::string> &items) {
  std::string all;
  for (const std::string &item : items) all += item;
  Set(reinterpret_cast<char *>(field.message) + field.is->offset, dp_memdup(arena, all.data(), all.size()));
  field.SetCount(items.size());
}

// An item of a field of that name, or false if there is none.
bool TakeOther(const std::vector<Field> &alike, std::mt19937 *random, std::string *item) {
  const Field &from = alike[UpTo(random, alike.size())];
  const size_t count = from.Repeated() ? from.Count() : 1;
  if (!count) return false;
  item->assign(from.Item(UpTo(random, count)), from.Bytes());
  return true;
}

bool DamageSeveral(dp_arena *arena, const Field &field, const std::vector<Field> &alike, size_t kind,
                   std::mt19937 *random) {
  enum Several { kNone = 0, kDamaged = 4, kEmptyOne = 7 };  // the others are in reflect.h
  std::vector<std::string> items = Items(field);
  const std::vector<std::string> was = items;
  if (kind == kItemOfAnother) {
    std::string other;
    if (!TakeOther(alike, random, &other)) return false;
    if (items.empty())
      items.push_back(other);
    else
      items[UpTo(random, items.size())] = other;
  } else if (kind == kEmptyOne) {
    std::string none(field.Bytes(), 0);
    DamageItem(arena, field, &none[0], kZero);
    items.push_back(none);
  } else if (items.empty()) {
    return false;
  } else if (kind == kNone) {
    items.clear();
  } else if (kind == kItemLastDropped) {
    items.pop_back();
  } else if (kind == kItemFirstDropped) {
    items.erase(items.begin());
  } else if (kind == kItemTwice) {
    items.push_back(items[UpTo(random, items.size())]);
  } else if (kind == kItemsSwapped) {
    std::swap(items[UpTo(random, items.size())], items[UpTo(random, items.size())]);
  } else if (kind == kDamaged) {
    DamageItem(arena, field, &items[UpTo(random, items.size())][0], UpTo(random, kDamageKinds));
  }
  Replace(arena, field, items);
  return items != was;
}

}  // namespace

bool DamageField(dp_arena *arena, const Field &field, const std::vector<Field> &alike, size_t kind,
                 std::mt19937 *random) {
  if (field.Repeated()) return DamageSeveral(arena, field, alike, kind, random);
  const std::string was(field.Item(0), field.Bytes());
  if (kind == kOther) {
    std::string other;
    if (!TakeOther(alike, random, &other)) return false;
    std::memcpy(field.Item(0), other.data(), other.size());
  } else {
    DamageItem(arena, field, field.Item(0), kind);
  }
  return was != std::string(field.Item(0), field.Bytes());
}

}  // namespace dp_test
