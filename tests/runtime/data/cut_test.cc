// Files that were cut anywhere are refused, but where the format cannot tell. Those places are listed here, and in
// docs/running.md.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <set>

#include "tests/runtime/data/data_helper.h"

namespace {

const std::string kSamples = "tests/runtime/data/samples/";

std::string Content(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

std::string Temporary(const std::string &name) { return std::string(getenv("TEST_TMPDIR")) + "/" + name; }

std::string Write(const std::string &name, const std::string &content) {
  std::ofstream(Temporary(name), std::ios::binary) << content;
  return Temporary(name);
}

void Shell(const std::string &command) {
  ASSERT_EQ(system(("cd " + Temporary("") + " && " + command).c_str()), 0) << command;
}

const dp_type kRows = InputOf(DP_FLOAT32, {-1, 3}), kLabels = InputOf(DP_INT64, {-1});
const dp_type kWindows = InputOf(DP_INT64, {-1, 8}), kColour = InputOf(DP_UINT8, {-1, 3, 7, 9});
const dp_type kCifar = InputOf(DP_UINT8, {-1, 3, 32, 32});

bool Nowhere(size_t) { return false; }

// Each beginning of the content, but the empty one, is refused where `unseen` does not say that it cannot be.
void CutsAreRefused(const std::string &name, const std::string &part, const std::string &whole, const dp_type &input,
                    const std::function<bool(size_t)> &unseen = Nowhere, size_t step = 1) {
  const Read all = ReadData(Write(name, whole) + part, input);
  ASSERT_EQ(all.code, 0) << all.message;
  size_t seen = 0;
  for (size_t cut = 1; cut < whole.size(); cut += step) {
    const Read read = ReadData(Write(name, whole.substr(0, cut)) + part, input);
    // What is no longer recognised may lack the part that was asked for, too.
    EXPECT_TRUE(unseen(cut) ? !read.code : read.code == EX_DATAERR || read.code == EX_USAGE)
        << name << part << " cut at " << cut << ": " << read.code << " " << read.message;
    EXPECT_TRUE(!read.code || read.message.find(name) != std::string::npos) << read.message;
    seen += !unseen(cut);
  }
  EXPECT_GT(seen, 0u);
}

void CutsAreRefused(const std::string &sample, const std::string &part, const dp_type &input,
                    const std::function<bool(size_t)> &unseen = Nowhere, size_t step = 1) {
  CutsAreRefused(sample, part, Content(kSamples + sample), input, unseen, step);
}

TEST(Cut, WhatHasALengthOrAnEnd) {
  CutsAreRefused("two.npz", ":x", kRows);
  CutsAreRefused("packed.npz", ":y", kLabels);
  CutsAreRefused("one.npz", "", kRows);
  CutsAreRefused("x.npy.gz", "", kRows);
  CutsAreRefused("x.npy.zst", "", kRows);
  CutsAreRefused("named.csv.zst", ":label", kLabels);
  CutsAreRefused("us.tar.gz", ":cls", kLabels, Nowhere, 7);
  CutsAreRefused("expected_x.npy", "", InputOf(DP_FLOAT64, {-1, 3}));
  const std::string idx = std::string("\0\0\x08\x02\0\0\0\x05\0\0\0\x03", 12) + "abcdefghijklmno";
  CutsAreRefused("idx", "", idx, InputOf(DP_UINT8, {-1, 3}));
  for (const std::string &longer : {idx + "x", Content(kSamples + "expected_x.npy") + '\0'})
    EXPECT_EQ(ReadData(Write("longer", longer), InputOf(DP_FLOAT64, {-1, 3})).code, EX_DATAERR);
}

TEST(Cut, Pictures) {
  mkdir(Temporary("pictures").c_str(), 0700);
  mkdir(Temporary("pictures/c").c_str(), 0700);
  for (const char *name : {"cats/a.png", "cats/b.jpg", "cats/c.JPEG", "dogs/d.png", "dogs/f.png", "dogs/g.jpg"}) {
    const std::string whole = Content(kSamples + "pictures/" + name), file = "pictures/c/" + std::string(name + 5);
    for (size_t cut = 1; cut < whole.size(); cut++) {
      Write(file, whole.substr(0, cut));
      const Read read = ReadData(Temporary("pictures"), kColour);
      EXPECT_EQ(read.code, EX_DATAERR) << name << " cut at " << cut;
    }
    ASSERT_EQ(remove(Temporary(file).c_str()), 0);
  }
}

// Where the members' last block ends in a file of the test's tar program; what follows is zeros.
size_t EndOf(const std::string &tar) { return (tar.find_last_not_of('\0') / 512 + 1) * 512; }

TEST(Cut, TarShards) {
  for (const std::string name : {"gnu.tar", "pax.tar", "us.tar"}) {
    const std::string whole = Content(kSamples + name);
    const size_t end = EndOf(whole);
    // Of the zeros at the end, one block must be there.
    const auto unseen = [&](size_t cut) { return cut >= end + 512; };
    CutsAreRefused(name, ":cls", whole, kLabels, unseen, 211);
    for (size_t block = 512; block < whole.size(); block += 512)
      for (size_t cut : {block - 1, block, block + 1}) {
        const Read read = ReadData(Write(name, whole.substr(0, cut)) + ":cls", kLabels);
        EXPECT_EQ(read.code, unseen(cut) ? 0 : EX_DATAERR) << name << " " << cut << " " << read.message;
      }
    const Read told = ReadData(Write(name, whole.substr(0, end)) + ":cls", kLabels);
    EXPECT_NE(told.message.find("some of it may be missing"), std::string::npos) << told.message;
  }
}

TEST(Cut, TarShardsThatWereAddedTo) {
  for (int i = 0; i < 6; i++) Write(std::to_string(i) + ".cls", std::to_string(i));
  Shell("tar -cf a.tar 0.cls 1.cls 2.cls && tar -cf b.tar 3.cls 4.cls 5.cls");
  Shell("cp a.tar added.tar && tar --append -f added.tar 3.cls 4.cls 5.cls");
  Shell("cp a.tar joined.tar && tar --concatenate -f joined.tar b.tar");
  Shell("cat a.tar b.tar >behind.tar && tar -b1 -cf short.tar 0.cls 1.cls 2.cls 3.cls 4.cls 5.cls");
  // As small as it can be: two blocks of zeros.
  EXPECT_EQ(Content(Temporary("short.tar")).size(), 6u * 1024 + 1024);
  for (const char *name : {"added.tar", "joined.tar", "behind.tar", "short.tar"}) {
    const Read read = ReadData(Temporary(name) + ":cls", kLabels);
    EXPECT_EQ(read.numbers, (std::vector<double>{0, 1, 2, 3, 4, 5})) << name << ": " << read.message;
  }
  // Of archives that follow each other, the first is one by itself.
  const std::string a = Content(Temporary("a.tar")), behind = Content(Temporary("behind.tar"));
  const size_t end_a = EndOf(a), end = EndOf(behind);
  CutsAreRefused(
      "behind.tar", ":cls", behind, kLabels,
      [&](size_t cut) { return (cut >= end_a + 512 && cut <= a.size()) || cut >= end + 512; }, 64);
  const Read other = ReadData(Write("other.tar", a + "something else") + ":cls", kLabels);
  EXPECT_EQ(other.code, EX_DATAERR);
  EXPECT_EQ(ReadData(Write("other.tar", a + std::string(512, 'x')) + ":cls", kLabels).code, EX_DATAERR);
}

// Parts that follow each other without a word of how many there are.
TEST(Cut, WhereAFormatCannotTell) {
  const std::string gz = Content(kSamples + "x.npy.gz"), zst = Content(kSamples + "x.npy.zst");
  const dp_type rows = InputOf(DP_FLOAT32, {-1, 3});
  // Whole records, members or frames. What they unpack to has a length of its own here, so it is seen all the same.
  for (const std::string &whole : {gz + gz, zst + zst})
    EXPECT_EQ(ReadData(Write("twice", whole.substr(0, whole.size() / 2)), rows).code, 0);
  CutsAreRefused(
      "cifar10.bin", ":cifar10", kCifar, [](size_t cut) { return cut % 3073 == 0; }, 439);
  CutsAreRefused(
      "cifar100.bin", ":cifar100", kCifar, [](size_t cut) { return cut % 3074 == 0; }, 53);
  CutsAreRefused("tokens16.bin", ":uint16", kWindows, [](size_t cut) { return cut % 2 == 0 && cut / 2 >= 9; });
  CutsAreRefused("tokens32.bin", ":uint32", kWindows, [](size_t cut) { return cut % 4 == 0 && cut / 4 >= 9; });
  // Lines of CSV: within the last number, too.
  CutsAreRefused("numbers.csv", "", "12,34,56\n78,90,11\n", kRows,
                 [](size_t cut) { return cut >= 7 && (cut < 10 || cut >= 16); });
}

}  // namespace
