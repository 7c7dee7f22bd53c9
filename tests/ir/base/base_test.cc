// ir/base: statuses carry their message, arenas unwind when full, files are read with a bound and replaced whole.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "ir/base/base.h"
#include "ir/base/file.h"
#include "ir/base/names.h"
#include "ir/base/suggest.h"

namespace {

std::string Temporary(const char *name) { return std::string(getenv("TEST_TMPDIR")) + "/" + name; }

int CodeOf(dp_status status) {
  int code = dp_status_code(status);
  dp_status_free(status);
  return code;
}

TEST(Status, ContextStandsBefore) {
  dp_status s = dp_status_context(dp_fail(EX_DATAERR, "extent %d", 3), "node '%s'", "conv");
  EXPECT_EQ(dp_status_code(s), EX_DATAERR);
  EXPECT_STREQ(dp_status_message(s), "node 'conv': extent 3");
  dp_status_free(s);
  EXPECT_EQ(dp_status_context(DP_OK, "x"), DP_OK);
}

TEST(Status, LongMessagesAreCut) {
  std::string longer(10000, 'x');
  dp_status s = dp_status_context(dp_fail(EX_DATAERR, "%s", longer.c_str()), "%s", longer.c_str());
  EXPECT_LT(strlen(dp_status_message(s)), 5000u);
  dp_status_free(s);
}

dp_status TakeTooMuch(void *arg) {
  auto *arena = static_cast<dp_arena *>(arg);
  for (int i = 0; i < 1000; i++) dp_alloc(arena, 10000);
  return DP_OK;
}

dp_status TakeAWrongProduct(void *arg) {
  dp_alloc_n(static_cast<dp_arena *>(arg), SIZE_MAX / 2, 8);
  return DP_OK;
}

TEST(Arena, CapUnwindsToRun) {
  dp_arena *arena = dp_arena_create(1 << 20);
  EXPECT_EQ(CodeOf(dp_arena_run(arena, TakeTooMuch, arena)), DP_EX_MEMORY);
  EXPECT_LE(dp_arena_bytes(arena), size_t{1} << 20);
  dp_arena_destroy(arena);
}

TEST(Arena, OverflowCountsAsOutOfMemory) {
  dp_arena *arena = dp_arena_create(0);
  EXPECT_EQ(CodeOf(dp_arena_run(arena, TakeAWrongProduct, arena)), DP_EX_MEMORY);
  dp_arena_destroy(arena);
}

TEST(Arena, GrownArraysKeepTheirElements) {
  dp_arena *arena = dp_arena_create(0);
  int *numbers = nullptr, count = 0;
  for (int i = 0; i < 1000; i++) {
    numbers = static_cast<int *>(dp_grow(arena, numbers, count, sizeof(int)));
    numbers[count++] = i;
  }
  for (int i = 0; i < 1000; i++) ASSERT_EQ(numbers[i], i);
  char *zero = static_cast<char *>(dp_alloc(arena, 100));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(zero) % 16, 0u);
  for (int i = 0; i < 100; i++) ASSERT_EQ(zero[i], 0);
  dp_arena_destroy(arena);
}

// An array that has become large gives back what it outgrew: 8 MiB were taken on the way.
TEST(Arena, GrownArraysGiveBackWhatTheyOutgrew) {
  dp_arena *arena = dp_arena_create(0);
  int *numbers = nullptr, count = 0;
  for (int i = 0; i < 1 << 20; i++) {
    if (dp_is_full(count)) numbers = static_cast<int *>(dp_grow(arena, numbers, count, sizeof(int)));
    numbers[count++] = i;
  }
  for (int i = 0; i < 1 << 20; i++) ASSERT_EQ(numbers[i], i);
  EXPECT_LT(dp_arena_bytes(arena), size_t{6} << 20);
  dp_arena_destroy(arena);
}

TEST(Arena, DiscardsWholePagesOfLargeBlocks) {
  dp_arena *arena = dp_arena_create(0);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), bytes = 256 * page;
  char *small = static_cast<char *>(dp_alloc(arena, 100)), *large = static_cast<char *>(dp_alloc(arena, bytes));
  memset(small, 1, 100);
  memset(large, 1, bytes);
  const size_t before = dp_arena_bytes(arena);
  dp_arena_discard(arena, small, 100);
  dp_arena_discard(arena, large + bytes / 2, bytes);  // beyond the block
  EXPECT_EQ(std::count(large, large + bytes, 1), static_cast<ptrdiff_t>(bytes));
  dp_arena_discard(arena, large + page / 2, 100 * page);
  const ptrdiff_t left = std::count(large, large + bytes, 1);
  EXPECT_GE(left, static_cast<ptrdiff_t>(156 * page));
  EXPECT_LE(left, static_cast<ptrdiff_t>(158 * page));
  EXPECT_EQ(std::count(large, large + page / 2, 1), static_cast<ptrdiff_t>(page / 2));
  EXPECT_EQ(std::count(large + page / 2 + 100 * page, large + bytes, 1),
            static_cast<ptrdiff_t>(bytes - page / 2 - 100 * page));
  EXPECT_EQ(std::count(small, small + 100, 1), 100);
  EXPECT_EQ(dp_arena_bytes(arena), before);
  dp_arena_destroy(arena);
}

TEST(Arena, OneWithinGoesBackAlone) {
  dp_arena *outer = dp_arena_create(0);
  dp_alloc(outer, 100);
  const size_t before = dp_arena_bytes(outer);
  dp_arena *first = dp_arena_create_within(outer), *second = dp_arena_create_within(outer),
           *innermost = dp_arena_create_within(second);
  dp_alloc(first, 50000);
  char *kept = dp_strdup(second, "kept");
  dp_alloc(innermost, 3 << 20);
  EXPECT_GE(dp_arena_bytes(outer), before + 50000 + (3 << 20));
  dp_arena_destroy(first);
  dp_arena_destroy(innermost);
  EXPECT_EQ(dp_arena_bytes(outer), before + dp_arena_bytes(second));
  EXPECT_STREQ(kept, "kept");
  dp_arena_destroy(outer);  // and the second with it
}

TEST(Arena, OneWithinIsHeldToTheCap) {
  dp_arena *outer = dp_arena_create(1 << 20);
  EXPECT_EQ(CodeOf(dp_arena_run(outer, TakeTooMuch, dp_arena_create_within(outer))), DP_EX_MEMORY);
  EXPECT_LE(dp_arena_bytes(outer), size_t{1} << 20);
  dp_arena_destroy(outer);
}

TEST(Names, ThatShareTheirStringsHaveEachOnce) {
  dp_arena *arena = dp_arena_create(0);
  dp_names *strings = dp_names_create(arena), *a = dp_names_create_sharing(dp_arena_create_within(arena), strings),
           *b = dp_names_create_sharing(arena, strings);
  const char *first = dp_names_enter(a, std::string("x").c_str(), 1), *again = dp_names_enter(a, "x", 2);
  EXPECT_STREQ(again, "x.1");
  EXPECT_EQ(dp_names_enter(b, "x", 5), first);
  EXPECT_EQ(dp_names_enter(b, "x", 6), again);
  const char *own = "y";
  EXPECT_EQ(dp_names_enter_kept(b, own, 7), own);
  EXPECT_EQ(dp_names_enter_kept(b, first, 8), dp_names_enter(a, "x.2", 3));
  EXPECT_EQ(dp_names_find(a, "x.1"), 2);
  EXPECT_EQ(dp_names_find(b, "x.2"), 8);
  dp_arena_destroy(arena);
}

TEST(Names, StayUniqueAndAreFound) {
  dp_arena *arena = dp_arena_create(0);
  dp_names *names = dp_names_create(arena);
  for (int i = 0; i < 500; i++) dp_names_add(names, dp_names_unique(names, "x"), i);
  EXPECT_EQ(dp_names_find(names, "x"), 0);
  EXPECT_EQ(dp_names_find(names, "x.499"), 499);
  EXPECT_EQ(dp_names_find(names, "x.500"), -1);
  EXPECT_EQ(dp_names_find(names, "y"), -1);
  dp_arena_destroy(arena);
}

// Who makes a file knows XXH3, but not the seed.
TEST(Names, MadeUpToCollideAreFoundAsFastAsOthers) {
  enum { COUNT = 700, SLOTS = 1024 };
  dp_arena *arena = dp_arena_create(0);
  dp_names *names = dp_names_create(arena);
  for (int32_t i = 0, count = 0; count < COUNT; i++) {
    const std::string name = "n" + std::to_string(i);
    if (dp_hash_name(name.c_str()) % SLOTS == 0) dp_names_enter(names, name.c_str(), count++);
  }
  EXPECT_GE(dp_names_probes(names), size_t{COUNT});
  EXPECT_LT(dp_names_probes(names), size_t{20 * COUNT});  // by dp_hash_name alone 245,350
  dp_arena_destroy(arena);
}

TEST(Arena, ElementsAreAlignedAsTheirSizeAsks) {
  dp_arena *arena = dp_arena_create(0);
  for (size_t size : {1, 2, 4, 6, 8, 12, 16, 24, 32}) {
    dp_strdup(arena, "");
    const size_t alignment = std::min<size_t>(size & -size, 16);
    const auto at = reinterpret_cast<uintptr_t>(dp_alloc_n(arena, 3, size));
    EXPECT_EQ(at % alignment, 0u) << size;
    EXPECT_LE(at + 3 * size, reinterpret_cast<uintptr_t>(dp_strdup(arena, ""))) << size;
    dp_strdup(arena, "");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(dp_alloc(arena, size)) % 16, 0u) << size;
  }
  dp_arena_destroy(arena);
}

TEST(File, ReadsWhatWasWritten) {
  std::string path = Temporary("a");
  ASSERT_EQ(dp_file_write(path.c_str(), "hello", 5), DP_OK);
  dp_arena *arena = dp_arena_create(0);
  uint8_t *data;
  size_t bytes;
  ASSERT_EQ(dp_file_read(arena, path.c_str(), 0, &data, &bytes), DP_OK);
  EXPECT_EQ(std::string(reinterpret_cast<char *>(data), bytes), "hello");
  EXPECT_EQ(data[5], 0);
  EXPECT_EQ(CodeOf(dp_file_read(arena, path.c_str(), 4, &data, &bytes)), EX_DATAERR);
  dp_arena_destroy(arena);
}

TEST(File, RefusesWhatIsNoRegularFile) {
  dp_arena *arena = dp_arena_create(0);
  uint8_t *data;
  size_t bytes;
  std::string fifo = Temporary("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(dp_file_read(arena, fifo.c_str(), 0, &data, &bytes)), EX_DATAERR);
  EXPECT_EQ(CodeOf(dp_file_read(arena, "/dev/zero", 0, &data, &bytes)), EX_DATAERR);
  EXPECT_EQ(CodeOf(dp_file_read(arena, getenv("TEST_TMPDIR"), 0, &data, &bytes)), EX_DATAERR);
  EXPECT_EQ(CodeOf(dp_file_read(arena, Temporary("absent").c_str(), 0, &data, &bytes)), EX_NOINPUT);
  EXPECT_EQ(CodeOf(dp_file_write("/dev/full", "x", 1)), EX_CANTCREAT);
  EXPECT_EQ(CodeOf(dp_file_write(Temporary("absent/x").c_str(), "x", 1)), EX_CANTCREAT);
  dp_arena_destroy(arena);
}

// Once it is allowed, a FIFO is a file under all its names, and others still are none.
TEST(File, ReadsAPipeThatIsAllowed) {
  dp_arena *arena = dp_arena_create(0);
  uint8_t *data;
  size_t bytes;
  const std::string fifo = Temporary("allowed"), link = Temporary("link"), other = Temporary("other");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600) | mkfifo(other.c_str(), 0600) | symlink(fifo.c_str(), link.c_str()), 0);
  ASSERT_EQ(dp_file_allow_pipe(fifo.c_str()), DP_OK);
  ASSERT_EQ(dp_file_allow_pipe("/dev/zero"), DP_OK);
  ASSERT_EQ(dp_file_allow_pipe(Temporary("absent").c_str()), DP_OK);
  ASSERT_EQ(dp_file_allow_pipe(nullptr), DP_OK);
  EXPECT_TRUE(dp_file_is_stream(fifo.c_str()) && dp_file_is_stream(link.c_str()) && dp_file_is_stream("-"));
  EXPECT_FALSE(dp_file_is_stream(other.c_str()) || dp_file_is_stream("/dev/zero"));
  std::thread writer([&] { std::ofstream(fifo) << std::string(200000, 'x'); });  // more than a pipe holds
  for (const std::string &name : {fifo, link, fifo}) {
    ASSERT_EQ(dp_file_read(arena, name.c_str(), 0, &data, &bytes), DP_OK);
    EXPECT_EQ(std::string(reinterpret_cast<char *>(data), bytes), std::string(200000, 'x'));
  }
  writer.join();
  EXPECT_EQ(CodeOf(dp_file_read(arena, other.c_str(), 0, &data, &bytes)), EX_DATAERR);
  EXPECT_EQ(CodeOf(dp_file_read(arena, "/dev/zero", 0, &data, &bytes)), EX_DATAERR);
  dp_arena_destroy(arena);
}

// Pieces of odd sizes, smaller and larger than what is written at a time, and an end that fills no block.
TEST(File, PastTheCacheTheBytesAreTheSame) {
  const std::string path = Temporary("direct");
  std::string wanted;
  for (size_t i = 0; wanted.size() < (5u << 20) + 123; i++) wanted += static_cast<char>(i * i % 251);
  for (size_t piece : {size_t(1) << 12, size_t(4097), size_t(100003), size_t(3) << 20, wanted.size()}) {
    dp_file_writer writer;
    ASSERT_EQ(dp_file_writer_open(path.c_str(), &writer), DP_OK);
    dp_file_writer_bypass_cache(&writer);
    for (size_t at = 0; at < wanted.size(); at += piece)
      ASSERT_EQ(dp_file_writer_write(&writer, wanted.data() + at, std::min(piece, wanted.size() - at)), DP_OK);
    ASSERT_EQ(dp_file_writer_commit(&writer), DP_OK);
    std::ifstream file(path, std::ios::binary);
    const std::string found((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_TRUE(found == wanted) << "in pieces of " << piece;
  }
}

TEST(File, AbandonedWritingLeavesTheOldContent) {
  std::string path = Temporary("b");
  ASSERT_EQ(dp_file_write(path.c_str(), "old", 3), DP_OK);
  dp_file_writer writer;
  ASSERT_EQ(dp_file_writer_open(path.c_str(), &writer), DP_OK);
  ASSERT_EQ(dp_file_writer_write(&writer, "new", 3), DP_OK);
  std::string aside = writer.temporary;
  dp_file_writer_abandon(&writer);
  EXPECT_NE(access(aside.c_str(), F_OK), 0);
  dp_file_reader reader;
  ASSERT_EQ(dp_file_reader_open(path.c_str(), &reader), DP_OK);
  std::string content(reader.bytes, 0);
  ASSERT_EQ(dp_file_reader_read(&reader, 0, &content[0], content.size()), DP_OK);
  EXPECT_EQ(content, "old");
  dp_file_reader_close(&reader);
}

std::string Nearest(const char *word, const std::vector<const char *> &known) {
  dp_suggest suggest = dp_suggest_begin(word);
  for (const char *candidate : known) dp_suggest_offer(&suggest, candidate);
  return suggest.best ? suggest.best : "";
}

// A short word with another beginning or another number is no slip of the finger: it means something else.
TEST(Suggest, OnlyWhatMayHaveBeenMeant) {
  for (const char *slip : {"cpx", "cp", "pcu", "cppu", "CPU"}) EXPECT_EQ(Nearest(slip, {"cpu", "cuda"}), "cpu") << slip;
  for (const char *slip : {"cuba", "cudda", "uda"}) EXPECT_EQ(Nearest(slip, {"cpu", "cuda"}), "cuda") << slip;
  for (const char *other : {"gpu", "npu", "tpu", "mps"}) EXPECT_EQ(Nearest(other, {"cpu", "cuda"}), "") << other;
  EXPECT_EQ(Nearest("l2", {"l1", "mse"}), "");
  EXPECT_EQ(Nearest("ll", {"l1", "mse"}), "");
  EXPECT_EQ(Nearest("mes", {"l1", "mse"}), "mse");
  EXPECT_EQ(Nearest("sgb", {"sgd", "adam"}), "sgd");
  EXPECT_EQ(Nearest("fp61", {"fp32", "fp64"}), "fp64");
}

}  // namespace
