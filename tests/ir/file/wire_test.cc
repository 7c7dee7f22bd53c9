// dp_wire_unpack builds what protobuf-c would build from anything that it accepts, and refuses what could do harm.
#include "ir/file/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/plan/plan.pb-c.h"
#include "tests/ir/file/wire_test.pb-c.h"
#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Arena;
using dp_test::Message;

std::string Varint(uint64_t n) {
  std::string s;
  for (; n > 127; n >>= 7) s += (char)(n | 128);
  return s + (char)n;
}
std::string Tag(unsigned field, int wire) { return Varint((uint64_t)field << 3 | (unsigned)wire); }
std::string Bytes(unsigned field, const std::string &data) { return Tag(field, 2) + Varint(data.size()) + data; }
std::string Number(unsigned field, uint64_t n) { return Tag(field, 0) + Varint(n); }

const Wiretest__All *Unpack(dp_arena *arena, const std::string &wire, std::string *message) {
  // An exact copy, so that the sanitizers see a read past the end.
  std::vector<uint8_t> exact(wire.begin(), wire.end());
  ProtobufCMessage *result = nullptr;
  *message = Message(dp_wire_unpack(arena, &wiretest__all__descriptor, exact.data(), exact.size(), "w", &result));
  return (const Wiretest__All *)result;
}

std::string Refused(const std::string &wire) {
  Arena arena;
  std::string message;
  const Wiretest__All *all = Unpack(arena, wire, &message);
  EXPECT_EQ(all == nullptr, !message.empty());
  return message;
}

std::string Packed(const ProtobufCMessage *message) {
  std::string s(protobuf_c_message_get_packed_size(message), '\0');
  protobuf_c_message_pack(message, (uint8_t *)&s[0]);
  return s;
}

// ---- what is well-formed --------------------------------------------------------------------------------------------

struct Random {
  uint64_t state;
  uint64_t Next() { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 11; }
  uint64_t Below(uint64_t n) { return Next() % n; }
  uint64_t Any() { return Next() << 40 ^ Next() >> Below(50); }
};

std::string RandomMessage(Random &r, int depth) {
  std::string s;
  for (unsigned field = 1; field <= 15; field++) {
    if (r.Below(2)) continue;
    switch (field) {
      case 1:
        s += Number(1, (uint64_t)(int64_t)(int32_t)r.Any());
        break;
      case 3:
        s += Number(3, (uint32_t)r.Any());
        break;
      case 5:
        s += Number(5, (uint32_t)r.Any());
        break;
      case 7:
        s += Tag(7, 5) + std::string("abcd");
        break;
      case 9:
        s += Tag(9, 5) + std::string("\1\2\3\4");
        break;
      case 8:
      case 10:
        s += Tag(field, 1) + std::string("01234567");
        break;
      case 11:
        s += Number(11, r.Below(2));
        break;
      case 12:
        s += Number(12, r.Below(2) ? (uint64_t)-7 : r.Below(2));
        break;
      case 13:
        s += Bytes(13, "h\xC3\xA9");
        break;
      case 14:
        s += Bytes(14, std::string(r.Below(40), '\xFF'));
        break;
      case 15:
        if (depth) s += Bytes(15, RandomMessage(r, depth - 1));
        break;
      default:
        s += Number(field, r.Any());
        break;
    }
  }
  for (uint64_t i = r.Below(12); i; i--) {
    std::string list;
    switch (r.Below(10)) {
      case 0:
        s += Number(16, (uint64_t)(int64_t)(int32_t)r.Any());
        break;
      case 1:
        for (uint64_t k = r.Below(9); k; k--) list += Varint(r.Any());
        s += Bytes(17, list);
        break;
      case 2:
        for (uint64_t k = r.Below(9); k; k--) list += Varint((uint32_t)r.Any());
        s += Bytes(18, list);
        break;
      case 3:
        s += Bytes(19, Varint(r.Any())) + Number(19, r.Any());
        break;
      case 4:
        s += Bytes(20, std::string(4 * r.Below(5), 'x')) + Tag(20, 5) + "wxyz";
        break;
      case 5:
        s += Bytes(21, std::string(8 * r.Below(5), 'x')) + Bytes(22, std::string("\0\1\1", 3));
        break;
      case 6:
        s += Bytes(23, Varint(1) + Varint((uint64_t)-7));
        break;
      case 7:
        s += Bytes(24, "text") + Bytes(24, "") + Bytes(25, std::string(r.Below(5), '\0'));
        break;
      case 8:
        if (depth) s += Bytes(26, RandomMessage(r, depth - 1));
        break;
      default:
        s += Number(28, r.Any()) + Number(28, 5);
        break;
    }
  }
  return s;
}

TEST(Wire, BuildsWhatProtobufCBuilds) {
  Random r{1};
  size_t bytes = 0;
  for (int round = 0; round < 1000; round++) {
    std::string wire = RandomMessage(r, 5), message;
    bytes += wire.size();
    Arena arena;
    const Wiretest__All *ours = Unpack(arena, wire, &message);
    ASSERT_NE(ours, nullptr) << message;
    Wiretest__All *theirs = wiretest__all__unpack(nullptr, wire.size(), (const uint8_t *)wire.data());
    ASSERT_NE(theirs, nullptr);
    EXPECT_EQ(Packed(&ours->base), Packed(&theirs->base));
    wiretest__all__free_unpacked(theirs, nullptr);
  }
  EXPECT_GT(bytes, 100000u);
}

TEST(Wire, ValuesArriveAsTheyAre) {
  Arena arena;
  std::string message;
  const Wiretest__All *all = Unpack(arena,
                                    Number(1, (uint64_t)-5) + Number(4, UINT64_MAX) + Number(6, 3) +
                                        Number(536870911, 9) + Bytes(16, "\1\2") + Number(16, 3),
                                    &message);
  ASSERT_NE(all, nullptr) << message;
  EXPECT_EQ(all->i32, -5);
  EXPECT_EQ(all->u64, UINT64_MAX);
  EXPECT_EQ(all->s64, -2);  // zigzag
  EXPECT_EQ(all->far, 9);
  ASSERT_EQ(all->n_i32s, 3u);
  EXPECT_EQ(all->i32s[2], 3);
  EXPECT_STREQ(all->s, "");
  EXPECT_EQ(Refused(""), "");
}

// ---- what is not ----------------------------------------------------------------------------------------------------

TEST(Wire, NumbersThatAreWrong) {
  EXPECT_EQ(Refused(std::string(1, '\x80')), "w: byte 0 of the All: a number is truncated");
  EXPECT_EQ(Refused(Tag(2, 0) + std::string(10, '\x80') + '\1'),
            "w: byte 0 of the All: a number is longer than 64 bits");
  EXPECT_EQ(Refused(Tag(2, 0) + std::string(9, '\xFF') + '\2'),
            "w: byte 0 of the All: a number is longer than 64 bits");
  EXPECT_EQ(Refused(Tag(2, 0) + std::string("\x81\x80\0", 3)),
            "w: byte 0 of the All: a number is longer than necessary");
  EXPECT_EQ(Refused(Tag(2, 0) + Varint(UINT64_MAX)), "");
  EXPECT_EQ(Refused(Number(1, UINT64_C(1) << 31)),
            "field 'i32': w: byte 0 of the All: a number is out of its field's range");
  EXPECT_EQ(Refused(Number(3, UINT64_C(1) << 32)),
            "field 'u32': w: byte 0 of the All: a number is out of its field's range");
  EXPECT_EQ(Refused(Number(11, 2)), "field 'b': w: byte 0 of the All: a number is out of its field's range");
  EXPECT_EQ(Refused(Number(12, 3)), "field 'colour': w: byte 0 of the All: a number is out of its field's range");
  EXPECT_EQ(Refused(Bytes(22, "\1\2")), "field 'bs': w: byte 0 of the All: a number is out of its field's range");
  EXPECT_EQ(Refused(Bytes(17, "\x80")), "field 'i64s': w: byte 0 of the All: a number is truncated");
  EXPECT_EQ(Refused(Bytes(21, "1234567")), "field 'ds': w: byte 0 of the All: a list of numbers ends inside a number");
}

TEST(Wire, FieldsThatAreWrong) {
  EXPECT_EQ(Refused(std::string("\0\0", 2)), "w: byte 0 of the All: a field number is out of range");
  EXPECT_EQ(Refused(Varint(UINT64_C(1) << 32)), "w: byte 0 of the All: a field number is out of range");
  EXPECT_NE(Refused(Number(100, 1)).find("unknown field 100"), std::string::npos);
  EXPECT_NE(Refused(Bytes(15, Number(100, 1))).find("byte 2 of the All: unknown field 100"), std::string::npos);
  for (int wire : {3, 4, 6, 7}) EXPECT_EQ(Refused(Tag(2, wire)), "w: byte 0 of the All: a wire type that is not used");
  for (int wire : {1, 2, 5})
    EXPECT_EQ(Refused(Tag(2, wire) + std::string(9, '\0')).substr(0, 12), "field 'i64':") << wire;
  EXPECT_EQ(Refused(Number(13, 1)), "field 's': w: byte 0 of the All: a field has the wrong wire type");
  EXPECT_EQ(Refused(Number(15, 1)), "field 'one': w: byte 0 of the All: a field has the wrong wire type");
  EXPECT_EQ(Refused(Number(24, 1)), "field 'ss': w: byte 0 of the All: a field has the wrong wire type");
  EXPECT_EQ(Refused(Number(2, 1) + Number(2, 1)), "field 'i64': w: byte 2 of the All: it occurs twice");
  EXPECT_EQ(Refused(Bytes(15, "") + Bytes(15, "")), "field 'one': w: byte 2 of the All: it occurs twice");
}

TEST(Wire, LengthsThatAreWrong) {
  const std::string past = "w: byte 0 of the All: a length extends past the end of its message";
  for (uint64_t length : {UINT64_C(1), UINT64_C(0x7FFFFFFF), UINT64_C(0x80000000), UINT64_C(0xFFFFFFFF),
                          UINT64_C(0x100000000), UINT64_C(0x7FFFFFFFFFFFFFFF), UINT64_MAX - 5, UINT64_MAX})
    for (unsigned field : {13, 14, 15, 17, 21, 24, 25, 26}) EXPECT_EQ(Refused(Tag(field, 2) + Varint(length)), past);
  EXPECT_EQ(Refused(Tag(8, 1) + "1234567"), past);
  EXPECT_EQ(Refused(Tag(7, 5) + "123"), past);
  // An inner length that stays inside the file but exceeds the enclosing message.
  EXPECT_EQ(Refused(Bytes(15, Tag(13, 2) + Varint(3)) + "abc"),
            "w: byte 2 of the All: a length extends past the end of its message");
}

TEST(Wire, StringsThatAreWrong) {
  const std::string bad = "field 's': w: byte 0 of the All: a string is not UTF-8, or holds NUL";
  for (const std::string &text :
       {std::string("a\0b", 3), std::string("\x80"), std::string("\xC3"), std::string("\xC0\xAF"),
        std::string("\xE0\x80\x80"), std::string("\xED\xA0\x80"), std::string("\xF4\x90\x80\x80"),
        std::string("\xF0\x80\x80\x80"), std::string("\xFF"), std::string("\xE2\x82")})
    EXPECT_EQ(Refused(Bytes(13, text)), bad);
  for (const std::string &text :
       {std::string("\x7F"), std::string("\xC2\x80"), std::string("\xE2\x82\xAC"), std::string("\xED\x9F\xBF"),
        std::string("\xF0\x9F\x98\x80"), std::string("\xF4\x8F\xBF\xBF")})
    EXPECT_EQ(Refused(Bytes(13, text)), "");
}

// Unknown fields are skipped at every depth, and nothing else gets through that way.
TEST(Wire, UnknownFieldsWhereTheyAreTolerated) {
  Arena arena;
  auto take = [&arena](const std::string &wire, ProtobufCMessage **result) {
    return Message(dp_wire_unpack_known(arena, &wiretest__all__descriptor, (const uint8_t *)wire.data(), wire.size(),
                                        "w", result));
  };
  const std::string strange = Number(100, 7) + Tag(101, 1) + "12345678" + Bytes(102, "\xFF") + Tag(103, 5) + "1234";
  ProtobufCMessage *result = nullptr;
  ASSERT_EQ(
      take(strange + Number(2, 5) + strange + Bytes(15, strange + Bytes(13, "s") + strange) + Number(100, 8), &result),
      "");
  const Wiretest__All *all = (const Wiretest__All *)result;
  EXPECT_EQ(all->i64, 5);
  EXPECT_STREQ(all->one->s, "s");
  EXPECT_EQ(all->base.n_unknown_fields, 0u);
  EXPECT_EQ(Packed(result), Number(2, 5) + Bytes(15, Bytes(13, "s")));
  const std::string past = "w: byte 0 of the All: a length extends past the end of its message";
  EXPECT_EQ(take(Tag(102, 2) + Varint(9) + "12345678", &result), past);
  EXPECT_EQ(take(Tag(101, 1) + "1234567", &result), past);
  EXPECT_EQ(take(Tag(100, 0) + "\x80", &result), "w: byte 0 of the All: a number is truncated");
  for (int wire : {3, 4, 6, 7})
    EXPECT_EQ(take(Tag(100, wire), &result), "w: byte 0 of the All: a wire type that is not used");
  EXPECT_EQ(take(Number(2, 1) + Number(2, 1), &result), "field 'i64': w: byte 2 of the All: it occurs twice");
  EXPECT_EQ(take(Bytes(13, "\xFF"), &result), "field 's': w: byte 0 of the All: a string is not UTF-8, or holds NUL");
}

TEST(Wire, NestingBombs) {
  for (int depth : {1, 63, 64, 8700}) {
    std::string wire;
    for (int i = 0; i < depth; i++) wire = Bytes(15, wire);
    if (depth < 64)
      EXPECT_EQ(Refused(wire), "");
    else
      EXPECT_NE(Refused(wire).find("messages are nested more than 64 deep"), std::string::npos);
  }
}

TEST(Wire, EmptyMessageBombs) {
  // Two bytes each on the wire, about 300 each in memory.
  std::string wire;
  for (int i = 0; i < 1 << 20; i++) wire += std::string("\xD2\x01\0", 3);
  EXPECT_NE(Refused(wire).find("it would need memory out of proportion to its size"), std::string::npos);
  // A plan's own messages: streams of empty instructions.
  std::string instructions, message;
  for (int i = 0; i < 1 << 20; i++) instructions += std::string("\x12\0", 2);
  std::string plan = Bytes(13, Bytes(4, Bytes(4, instructions)));
  Arena arena;
  ProtobufCMessage *result;
  message =
      Message(dp_wire_unpack(arena, &dp__plan__descriptor, (const uint8_t *)plan.data(), plan.size(), "p", &result));
  EXPECT_NE(message.find("it would need memory out of proportion to its size"), std::string::npos);
  EXPECT_LT(dp_arena_bytes(arena), 1u << 20);
}

// The same bytes as protobuf-c, -0.0 and absent numbers of proto2 among them.
TEST(Wire, PacksAsProtobufCDoes) {
  Random r{5};
  Arena arena;
  uint8_t *data;
  size_t bytes;
  std::string message;
  std::vector<std::string> wires = {"", Tag(9, 5) + std::string("\0\0\0\x80", 4),
                                    Tag(10, 1) + std::string("\0\0\0\0\0\0\0\x80", 8)};
  for (int round = 0; round < 200; round++) wires.push_back(RandomMessage(r, 4));
  wires.push_back(Bytes(14, std::string(300000, 'x')));
  for (const std::string &wire : wires) {
    const Wiretest__All *all = Unpack(arena, wire, &message);
    ASSERT_NE(all, nullptr) << message;
    ASSERT_EQ(Message(dp_wire_pack(arena, &all->base, "w", &data, &bytes)), "");
    ASSERT_EQ(std::string((char *)data, bytes), Packed(&all->base));
  }
}

// What is shared packs to the same bytes, and takes less memory.
TEST(Wire, EqualMessagesMayBeOne) {
  Random r{11};
  std::string short_ones, message;
  for (int i = 0; i < 200; i++) short_ones += Bytes(26, Number(1, i % 3));
  std::vector<std::string> wires = {"", short_ones};
  for (int round = 0; round < 20; round++) wires.push_back(RandomMessage(r, 3) + short_ones);
  for (const std::string &wire : wires) {
    Arena alone, arena;
    const Wiretest__All *own = Unpack(alone, wire, &message);
    ASSERT_NE(own, nullptr) << message;
    ProtobufCMessage *shared;
    ASSERT_EQ(Message(dp_wire_unpack_shared(arena, &wiretest__all__descriptor, (const uint8_t *)wire.data(),
                                            wire.size(), "w", &shared)),
              "");
    EXPECT_EQ(Packed(shared), Packed(&own->base));
  }
  Arena arena;
  ProtobufCMessage *shared;
  ASSERT_EQ(Message(dp_wire_unpack_shared(arena, &wiretest__all__descriptor, (const uint8_t *)short_ones.data(),
                                          short_ones.size(), "w", &shared)),
            "");
  const auto *all = (const Wiretest__All *)shared;
  ASSERT_EQ(all->n_all, 200u);
  EXPECT_EQ(all->all[0], all->all[3]);
  EXPECT_NE(all->all[0], all->all[1]);
}

TEST(Wire, TakesNoMoreMemoryThanItCounted) {
  Random r{7};
  for (int round = 0; round < 20; round++) {
    std::string wire, message;
    for (int i = 0; i < 300; i++) wire += Bytes(26, RandomMessage(r, 3));
    Arena arena;
    ASSERT_NE(Unpack(arena, wire, &message), nullptr) << message;
    // Chunks of the arena are at most 4 MiB and may be partly empty.
    EXPECT_LT(dp_arena_bytes(arena), dp_wire_memory(wire.size()) + (8u << 20));
  }
}

TEST(Wire, TruncatedAndDamaged) {
  Random r{3};
  for (int round = 0; round < 60; round++) {
    std::string wire = RandomMessage(r, 3), message;
    for (size_t bytes = 0; bytes < wire.size() && bytes < 400; bytes++) {
      Arena arena;
      Unpack(arena, wire.substr(0, bytes), &message);
    }
    for (int damage = 0; damage < 200 && !wire.empty(); damage++) {
      std::string damaged = wire;
      damaged[r.Below(damaged.size())] = (char)r.Next();
      Arena arena;
      const Wiretest__All *all = Unpack(arena, damaged, &message);
      if (all) Packed(&all->base);
    }
  }
}

}  // namespace
