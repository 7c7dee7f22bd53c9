// Each format holds what NumPy and Pillow put into it (make_samples.py), and what is broken is refused in words that
// name file and record.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <fstream>

#include "tests/runtime/data/data_helper.h"
#include "tests/tools/array.h"

namespace {

using Dims = std::vector<int64_t>;

std::string Sample(const std::string &name) { return "tests/runtime/data/samples/" + name; }

std::string Content(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

std::string Write(const std::string &name, const std::string &content) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

void Holds(const std::string &text, const dp_type &input, dp_dtype dtype, const std::string &expected) {
  const Read read = ReadData(text, input);
  ASSERT_EQ(read.code, 0) << read.message;
  const Array array = ReadNpy(Sample("expected_" + expected + ".npy"));
  EXPECT_EQ(read.dtype, dtype) << text;
  EXPECT_EQ(read.extents, array.shape) << text;
  EXPECT_EQ(read.numbers, array.numbers) << text;
}

void Refused(const std::string &text, const dp_type &input, int code, const std::vector<std::string> &words) {
  const Read read = ReadData(text, input);
  EXPECT_EQ(read.code, code) << text << ": " << read.message << " (" << words.back() << ")";
  for (const std::string &word : words) EXPECT_NE(read.message.find(word), std::string::npos) << read.message;
}

const dp_type kRows = InputOf(DP_FLOAT32, {-1, 3}), kLabels = InputOf(DP_INT64, {-1});
const dp_type kWindows = InputOf(DP_INT64, {-1, 8}), kColour = InputOf(DP_UINT8, {-1, 3, 7, 9});

TEST(Npz, AMemberByName) {
  for (const std::string file : {"two.npz", "packed.npz"}) {
    Holds(Sample(file) + ":x", kRows, DP_FLOAT32, "x");
    Holds(Sample(file) + ":y", kLabels, DP_INT64, "y");
    Refused(Sample(file), kRows, EX_USAGE, {file, "2 arrays", "x, y"});
    Refused(Sample(file) + ":z", kRows, EX_USAGE, {"no array of this name", "x, y"});
  }
  Holds(Sample("one.npz"), kRows, DP_FLOAT32, "x");
  Holds(Sample("one.npz") + ":arr_0", kRows, DP_FLOAT32, "x");
}

TEST(Npz, DamageIsNoticed) {
  for (const std::string file : {"two.npz", "packed.npz"}) {
    const std::string whole = Content(Sample(file));
    // The last byte of each array's data: before the next local header, and before the directory.
    for (const char *next : {"PK\3\4", "PK\1\2"}) {
      std::string bad = whole;
      bad[bad.find(std::string(next, 4), 4) - 9] ^= 1;
      const std::string path = Write("bad.npz", bad);
      const Read x = ReadData(path + ":x", kRows), y = ReadData(path + ":y", kLabels);
      EXPECT_EQ(std::max(x.code, y.code), EX_DATAERR) << file;
    }
  }
}

TEST(Packed, GzipAndZstd) {
  Holds(Sample("x.npy.gz"), kRows, DP_FLOAT32, "x");
  Holds(Sample("x.npy.zst"), kRows, DP_FLOAT32, "x");
  for (const std::string file : {"x.npy.gz", "x.npy.zst"}) {
    const std::string whole = Content(Sample(file));
    for (size_t cut = 1; cut < whole.size(); cut++)
      EXPECT_EQ(ReadData(Write("cut.npy.gz", whole.substr(0, cut)), kRows).code, EX_DATAERR) << file << cut;
    // Two members or frames follow each other.
    const Read twice = ReadData(Write("twice", whole + whole), kRows);
    EXPECT_EQ(twice.code, EX_DATAERR);
    EXPECT_NE(twice.message.find("more data"), std::string::npos) << twice.message;
  }
}

TEST(Csv, ColumnsByName) {
  const Array x = ReadNpy(Sample("expected_x.npy"));
  const Read columns = ReadData(Sample("named.csv") + ":c,a", InputOf(DP_FLOAT32, {-1, 2}));
  ASSERT_EQ(columns.code, 0) << columns.message;
  EXPECT_EQ(columns.extents, (Dims{6, 2}));
  for (size_t i = 0; i < 6; i++) {
    EXPECT_EQ(static_cast<float>(columns.numbers[2 * i]), static_cast<float>(x.numbers[3 * i + 2]));
    EXPECT_EQ(static_cast<float>(columns.numbers[2 * i + 1]), static_cast<float>(x.numbers[3 * i]));
  }
  const Read quoted = ReadData(Sample("named.csv") + ":the \"b\"", InputOf(DP_FLOAT32, {-1}));
  // In a list of names, a name with a quote is quoted as in the file.
  EXPECT_EQ(quoted.code, 0) << quoted.message;
  for (const std::string file : {"named.csv:label", "named.csv.zst:label", "bare.csv:3"})
    Holds(Sample(file), kLabels, DP_FLOAT64, "y");
  EXPECT_EQ(ReadData(Sample("bare.csv"), InputOf(DP_FLOAT32, {-1, 4})).extents, (Dims{6, 4}));
  // As many columns as a sample has numbers take its shape.
  EXPECT_EQ(ReadData(Sample("bare.csv"), InputOf(DP_FLOAT32, {-1, 2, 2})).extents, (Dims{6, 2, 2}));
}

TEST(Csv, WhatIsBrokenIsNamed) {
  const dp_type two = InputOf(DP_FLOAT32, {-1, 2});
  auto refused = [&](const std::string &content, const std::string &word, const std::string &part = "") {
    Refused(Write("t.csv", content) + part, two, part.empty() ? EX_DATAERR : EX_USAGE, {"t.csv", word});
  };
  refused("a,b\n1,2\n3\n", "record 1 (line 3) has 1 fields");
  refused("a,b\n1,2\n\n3,4,5\n", "record 1 (line 4) has 3 fields");
  refused("a,b\n1,2\n3,x\n", "record 1 (line 3), column 'b': 'x'");
  refused("a,b\n1,\n", "column 'b': ''");
  refused("a,b\n0x10,1\n", "'0x10'");
  refused("a,b\n9007199254740993,1\n", "'9007199254740993'");
  refused("a,b\n1e999,1\n", "'1e999'");
  refused(std::string("a,b\n1,2\0,3\n", 11), "zero byte");
  refused("", "empty");
  refused("a,b\n1,2\n", "no column 'c'", ":a,c");
  refused("NA,2\n3,4\n", "the number 2 and 'NA', which is none");
  EXPECT_EQ(ReadData(Write("n.csv", "id,2019\n3,4\n") + ":2019,id", two).numbers, (std::vector<double>{4, 3}));
  refused("a,b\n1,2\n", "chosen twice", ":a,a");
  refused("a,b\n" + std::string(2 << 20, '1'), "line 2 is longer");
  const Read skipped = ReadData(Write("s.csv", "a,b\n1,2\n3\nx,1\n5,6"), two, true);
  EXPECT_EQ(skipped.code, 0) << skipped.message;
  EXPECT_EQ(skipped.broken, (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(skipped.numbers, (std::vector<double>{1, 2, 5, 6}));
}

TEST(Tokens, WindowsAndTheirNextTokens) {
  Holds(Sample("tokens16.bin:uint16"), kWindows, DP_UINT16, "tokens");
  Holds(Sample("tokens16.bin:uint16+1"), kWindows, DP_UINT16, "next");
  const Read wide = ReadData(Sample("tokens32.bin:uint32+1"), kWindows);
  const Array next = ReadNpy(Sample("expected_next.npy"));
  ASSERT_EQ(wide.numbers.size(), next.numbers.size()) << wide.message;
  for (size_t i = 0; i < wide.numbers.size(); i++) EXPECT_EQ(wide.numbers[i], next.numbers[i] + 100000);
  // 34 tokens: 4 windows of 8, or 3 of 11, as 33 have a next one.
  EXPECT_EQ(ReadData(Sample("tokens16.bin:uint16"), InputOf(DP_INT64, {-1, 11})).extents[0], 3);
  EXPECT_EQ(ReadData(Sample("tokens16.bin:uint16"), InputOf(DP_INT64, {-1, 17})).extents[0], 1);
  Refused(Sample("tokens16.bin:uint16"), InputOf(DP_INT64, {-1, 34}), EX_DATAERR, {"34 tokens", "35"});
  // Bytes: 7 of them, two windows of 3.
  const std::string text = Write("text.txt",
                                 "ab\xff"
                                 "defg");
  EXPECT_EQ(ReadData(text + ":uint8", InputOf(DP_INT64, {-1, 3})).numbers,
            (std::vector<double>{97, 98, 255, 100, 101, 102}));
  EXPECT_EQ(ReadData(text + ":uint8+1", InputOf(DP_UINT8, {-1, 3})).numbers,
            (std::vector<double>{98, 255, 100, 101, 102, 103}));
  Refused(text + ":uint8", InputOf(DP_UINT8, {-1, 7}), EX_DATAERR, {"7 tokens", "8"});
  Refused(Write("odd.bin", "abc") + ":uint16", kWindows, EX_DATAERR, {"odd.bin", "whole number"});
  Refused(Sample("tokens16.bin:uint16"), InputOf(DP_INT64, {8}), EX_DATAERR, {"sequences"});
}

TEST(Cifar, PicturesAndLabels) {
  const dp_type picture = InputOf(DP_UINT8, {-1, 3, 32, 32});
  Holds(Sample("cifar10.bin:cifar10"), picture, DP_UINT8, "cifar");
  Holds(Sample("cifar10.bin:cifar10.label"), kLabels, DP_UINT8, "labels");
  Holds(Sample("cifar100.bin:cifar100"), picture, DP_UINT8, "cifar");
  Holds(Sample("cifar100.bin:cifar100.fine"), kLabels, DP_UINT8, "labels");
  Holds(Sample("cifar100.bin:cifar100.coarse"), kLabels, DP_UINT8, "coarse");
  Refused(Sample("cifar10.bin:cifar100"), picture, EX_DATAERR, {"whole number of records of 3074"});
  Refused(Sample("cifar10.bin:cifar10.fine"), picture, EX_USAGE, {"cifar10.label"});
}

TEST(Several, FilesOfAPatternFollowEachOther) {
  const Array one = ReadNpy(Sample("expected_labels.npy"));
  for (const char *name : {"batch_1.bin", "batch_0.bin", "batch_2.bin"}) Write(name, Content(Sample("cifar10.bin")));
  Write("batch_1.bin", Content(Sample("cifar10.bin")).substr(0, 3073));
  const std::string pattern = std::string(getenv("TEST_TMPDIR")) + "/batch_*.bin:cifar10.label";
  const Read read = ReadData(pattern, kLabels);
  ASSERT_EQ(read.code, 0) << read.message;
  EXPECT_EQ(read.numbers, (std::vector<double>{7, 0, 9, 7, 7, 0, 9}));
  Refused(std::string(getenv("TEST_TMPDIR")) + "/absent_*.bin:cifar10", kLabels, EX_NOINPUT, {"no file matches"});
}

TEST(Pictures, FoldersOfClasses) {
  Holds(Sample("pictures"), kColour, DP_UINT8, "pictures");
  Holds(Sample("pictures:class"), kLabels, DP_INT64, "classes");
  const Read last = ReadData(Sample("pictures"), InputOf(DP_UINT8, {-1, 7, 9, 3}));
  ASSERT_EQ(last.code, 0) << last.message;
  const Array first = ReadNpy(Sample("expected_pictures.npy"));
  for (size_t s = 0; s < 9; s++)
    for (size_t i = 0; i < 63; i++)
      for (size_t c = 0; c < 3; c++) EXPECT_EQ(last.numbers[s * 189 + i * 3 + c], first.numbers[s * 189 + c * 63 + i]);
  Refused(Sample("pictures"), InputOf(DP_UINT8, {-1, 3, 8, 9}), EX_DATAERR, {"cats/a.png", "9 x 7", "9 x 8"});
  Refused(Sample("pictures"), InputOf(DP_UINT8, {-1, 1, 7, 9}), EX_DATAERR, {"cats/a.png", "in colour"});
  Refused(Sample("pictures"), InputOf(DP_UINT8, {-1, 12}), EX_DATAERR, {"uint8[N,12]", "[N,C,H,W]"});
  Refused(Sample("pictures:label"), kLabels, EX_USAGE, {"'class'"});
  Refused("tests/runtime", kColour, EX_DATAERR, {"no pictures"});
}

TEST(Pictures, TarShards) {
  for (const std::string file : {"gnu.tar", "pax.tar", "us.tar", "us.tar.gz"}) {
    Holds(Sample(file), kColour, DP_UINT8, "pictures");
    Holds(Sample(file) + ":cls", kLabels, DP_INT64, "classes");
    // The whole name, however the archive divides it.
    std::string name;
    for (int i = 0; i < (file[0] == 'u' ? 20 : 40); i++) name += "folder/";
    Refused(Sample(file) + ":txt", kLabels, EX_DATAERR, {file, "record 0", name + "00000", "has no .txt"});
    Refused(Sample(file) + ":jpg", kColour, EX_DATAERR, {file, "record 0", "has no .jpg"});
  }
  const Read some = ReadData(Sample("gnu.tar:jpg"), kColour, true);
  EXPECT_EQ(some.broken, (std::vector<bool>{true, false, false, true, true, true, false, true, false}));
}

TEST(Pictures, GreyIntoOneChannel) {
  const std::string folder = std::string(getenv("TEST_TMPDIR")) + "/grey";
  mkdir(folder.c_str(), 0700);
  mkdir((folder + "/g").c_str(), 0700);
  Write("grey/g/a.png", Content(Sample("pictures/dogs/e.png")));
  Write("grey/g/b.jpg", Content(Sample("pictures/dogs/g.jpg")));
  const Array all = ReadNpy(Sample("expected_pictures.npy"));
  std::vector<double> wanted;
  for (size_t s : {4, 6}) wanted.insert(wanted.end(), &all.numbers[s * 189], &all.numbers[s * 189 + 63]);
  EXPECT_EQ(ReadData(folder, InputOf(DP_UINT8, {-1, 1, 7, 9})).numbers, wanted);
  EXPECT_EQ(ReadData(folder, InputOf(DP_UINT8, {-1, 7, 9})).numbers, wanted);
}

std::string FolderOf(const std::string &picture, const std::string &name) {
  const std::string folder = std::string(getenv("TEST_TMPDIR")) + "/one" + name;
  mkdir(folder.c_str(), 0700);
  mkdir((folder + "/c").c_str(), 0700);
  Write("one" + name + "/c/" + name, picture);
  return folder;
}

TEST(Pictures, WhatIsBrokenIsNamed) {
  Refused(FolderOf(Content(Sample("giant.png")), "giant.png"), kColour, EX_DATAERR,
          {"giant.png", "1000000000 x 1000000000"});
  Refused(FolderOf(Content(Sample("cmyk.jpg")), "cmyk.jpg"), kColour, EX_DATAERR, {"cmyk.jpg", "4 components"});
  Refused(FolderOf(Content(Sample("deep.png")), "deep.png"), kColour, EX_DATAERR, {"deep.png", "16 bits"});
  Refused(FolderOf("neither", "x.png"), kColour, EX_DATAERR, {"record 0", "x.png", "neither JPEG nor PNG"});
  for (const char *name : {"cats/a.png", "cats/b.jpg", "cats/c.JPEG"}) {
    const std::string whole = Content(Sample(std::string("pictures/") + name));
    for (size_t cut = 0; cut + 2 < whole.size(); cut += 7) {
      const Read read = ReadData(FolderOf(whole.substr(0, cut), "cut.jpg"), kColour);
      EXPECT_EQ(read.code, EX_DATAERR) << name << " " << cut;
    }
  }
}

// ---- what strangers send --------------------------------------------------------------------------------------------

// Changes one byte: a bit of it, or all of them.
std::string Damage(std::string content, size_t at) {
  static const int masks[] = {0x01, 0x80, 0xff};
  content[at] = static_cast<char>(content[at] ^ masks[at % 3]);
  return content;
}

// Each byte of each sample is damaged. Whatever comes of it, it is read or refused with an exit code of
// its own, without touching memory that is not its own (this test runs under AddressSanitizer too).
TEST(Hostile, EveryByteDamaged) {
  const struct {
    std::string file, part;
    dp_type input;
    size_t step;
  } cases[] = {
      {"two.npz", ":x", kRows, 1},
      {"packed.npz", ":y", kLabels, 1},
      {"x.npy.gz", "", kRows, 1},
      {"x.npy.zst", "", kRows, 1},
      {"named.csv", "", InputOf(DP_FLOAT32, {-1, 4}), 1},
      {"tokens16.bin", ":uint16", kWindows, 1},
      {"cifar10.bin", ":cifar10", InputOf(DP_UINT8, {-1, 3, 32, 32}), 977},
      {"gnu.tar", "", kColour, 97},
      {"pax.tar", ":cls", kLabels, 23},
      {"us.tar.gz", ":cls", kLabels, 3},
  };
  int refused = 0, read = 0;
  for (const auto &c : cases) {
    const std::string whole = Content(Sample(c.file));
    ASSERT_FALSE(whole.empty()) << c.file;
    for (size_t at = 0; at < whole.size(); at += c.step) {
      const Read result = ReadData(Write("damaged_" + c.file, Damage(whole, at)) + c.part, c.input);
      EXPECT_TRUE(!result.code || result.code == EX_DATAERR || result.code == EX_USAGE)
          << c.file << " " << at << ": " << result.code << " " << result.message;
      (result.code ? refused : read)++;
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(read, 100);
}

TEST(Hostile, EveryByteOfPicturesDamaged) {
  int refused = 0;
  for (const char *name : {"cats/a.png", "cats/b.jpg", "cats/c.JPEG", "dogs/d.png", "dogs/f.png"}) {
    const std::string whole = Content(Sample(std::string("pictures/") + name));
    for (size_t at = 0; at < whole.size(); at++) {
      const Read result = ReadData(FolderOf(Damage(whole, at), "damaged.png"), kColour);
      EXPECT_TRUE(!result.code || result.code == EX_DATAERR) << name << at << ": " << result.message;
      refused += result.code != 0;
    }
  }
  EXPECT_GT(refused, 100);
}

int64_t PeakKilobytes() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// A file that is larger than what may be held is read where its bytes are needed.
TEST(Large, FilesAreReadWhereTheyAreNeeded) {
  const int64_t rows = 1 << 20, columns = 1024;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1048576, 1024), }";
  header += std::string(117 - header.size(), ' ') + "\n";
  std::string content = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
  const std::string path = Write("large.npy", content);
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(content.size()) + rows * columns * 4), 0);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const float number = 2.5;
  file.seekp(static_cast<std::streamoff>(content.size()) + ((rows - 1) * columns + 7) * 4);
  file.write(reinterpret_cast<const char *>(&number), 4);
  file.close();
  const int64_t before = PeakKilobytes();
  dp_arena *arena = dp_arena_create(0);
  const dp_type input = InputOf(DP_FLOAT32, {-1, columns});
  const dp_data_request request = {&input, 0, false, 0};
  dp_data *data;
  ASSERT_EQ(dp_data_open(arena, path.c_str(), &request, &data), DP_OK);
  std::vector<float> row(columns);
  ASSERT_EQ(dp_data_read(data, rows - 1, 1, row.data()), DP_OK);
  EXPECT_EQ(row[7], 2.5);
  ASSERT_EQ(dp_data_read(data, rows / 2, 1, row.data()), DP_OK);
  EXPECT_EQ(row[7], 0);
  EXPECT_LT(PeakKilobytes() - before, 20 * 1024);
  // Truncated while it is read.
  ASSERT_EQ(truncate(path.c_str(), 1 << 20), 0);
  dp_status status = dp_data_read(data, rows - 1, 1, row.data());
  EXPECT_EQ(dp_status_code(status), EX_IOERR);
  EXPECT_NE(std::string(dp_status_message(status)).find("truncated"), std::string::npos);
  dp_status_free(status);
  dp_data_close(data);
  dp_arena_destroy(arena);
}

TEST(Hostile, MemoryInProportion) {
  const int64_t before = PeakKilobytes();
  // 80 MB of zeros in gzip.
  const std::string path = Write("bomb.npy.gz", "");
  gzFile gzip = gzopen(path.c_str(), "wb9");
  const std::string zeros(1 << 20, 0);
  for (int i = 0; i < 80; i++) gzwrite(gzip, zeros.data(), 1 << 20);
  gzclose(gzip);
  Refused(path, kRows, EX_DATAERR, {"bomb.npy.gz", "out of proportion"});
  // A gigabyte in zstd: a header for a window of 1 MiB, then blocks of 128 KiB that repeat one byte.
  std::string zstd("\x28\xb5\x2f\xfd\x00\x50", 6);
  for (int i = 0; i < 8192; i++) zstd += std::string("\x02\x00\x10\x00", 4);
  Refused(Write("bomb.npy.zst", zstd), kRows, EX_DATAERR, {"bomb.npy.zst", "out of proportion"});
  const std::string giant = FolderOf(Content(Sample("giant.png")), "giant.png");
  Refused(giant, kColour, EX_DATAERR, {"giant.png"});
  EXPECT_LT(PeakKilobytes() - before, 600 * 1024);
}

// Data from deflate without a trailer may be whole when all input has been taken and the room for output is full. These
// sizes lie behind a doubling of that room.
TEST(Npz, WhateverItsSizeUnpacked) {
  for (int64_t n = 131072 - 128; n < 131072 + 264; n += 3) {
    const std::string npy = [&] {
      std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(n - 128) + ",), }";
      header.resize(117, ' ');
      return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
             std::string(static_cast<size_t>(n - 128), 0);
    }();
    ASSERT_EQ(npy.size(), static_cast<size_t>(n));
    std::string packed(npy.size(), 0);
    z_stream z = {};
    ASSERT_EQ(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(npy.data()));
    z.avail_in = static_cast<unsigned>(npy.size());
    z.next_out = reinterpret_cast<Bytef *>(&packed[0]);
    z.avail_out = static_cast<unsigned>(packed.size());
    ASSERT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    packed.resize(z.total_out);
    deflateEnd(&z);
    const auto number = [](uint64_t x, int bytes) {
      std::string text;
      for (int i = 0; i < bytes; i++) text += static_cast<char>(x >> (8 * i));
      return text;
    };
    const uint64_t crc = crc32(0, reinterpret_cast<const Bytef *>(npy.data()), static_cast<unsigned>(npy.size()));
    const std::string sizes = number(crc, 4) + number(packed.size(), 4) + number(npy.size(), 4) + number(7, 2);
    const std::string local = "PK\x03\x04" + number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) + sizes +
                              number(0, 2) + "arr.npy" + packed;
    const std::string central = "PK\x01\x02" + number(20, 2) + number(20, 2) + number(0, 2) + number(8, 2) +
                                number(0, 4) + sizes + number(0, 2) + number(0, 2) + number(0, 2) + number(0, 2) +
                                number(0, 4) + number(0, 4) + "arr.npy";
    const std::string end = "PK\x05\x06" + number(0, 4) + number(1, 2) + number(1, 2) + number(central.size(), 4) +
                            number(local.size(), 4) + number(0, 2);
    const Read read = ReadData(Write("size.npz", local + central + end), InputOf(DP_UINT8, {-1}));
    ASSERT_EQ(read.code, 0) << n << ": " << read.message;
    ASSERT_EQ(read.numbers.size(), static_cast<size_t>(n - 128));
  }
}

TEST(Csv, AFirstLineThatIsNoNamesIsARecord) {
  const dp_type pairs = InputOf(DP_FLOAT64, {-1, 2});
  const Read read = ReadData(Write("bare.csv", "1,2\n3,4\n"), pairs);
  EXPECT_EQ(read.numbers, (std::vector<double>{1, 2, 3, 4}));
  Refused(Write("large.csv", "9007199254740993,2\n3,4\n"), pairs, EX_DATAERR, {"record 0", "9007199254740993"});
  Refused(Write("missing.csv", ",2\n3,4\n"), pairs, EX_DATAERR, {"record 0"});
}

// As many columns are refused before any record takes memory.
TEST(Csv, ColumnsAreCountedFirst) {
  Refused(Write("wide.csv", "a,b,c\n1,2,3\n"), InputOf(DP_FLOAT64, {-1, 2}), EX_DATAERR, {"3 columns", "2 numbers"});
}

// glob finds a link that leads nowhere.
TEST(Several, ALinkThatLeadsNowhereIsAFileThatIsNotThere) {
  const std::string folder = Write("links", "") + ".d", link = folder + "/*.npy";
  mkdir(folder.c_str(), 0700);
  ASSERT_EQ(symlink("nowhere", link.c_str()), 0);
  EXPECT_EQ(ReadData(folder + "/?.npy", kRows).code, EX_NOINPUT);
  EXPECT_EQ(ReadData(folder + "/*.npy", kRows).code, EX_NOINPUT);
}

TEST(Tokens, MayBeginAsGzipDoes) {
  const std::string tokens = std::string("\x1f\x8b\x01\x00", 4) + std::string(28, 1);
  const Read read = ReadData(Write("tokens.bin", tokens) + ":uint16", kWindows);
  EXPECT_EQ(read.code, 0) << read.message;
}

// Text in a PNG is neither unpacked nor kept.
TEST(Png, TextTakesNoMemory) {
  const std::string png = Content(Sample("pictures/cats/a.png")), text(4 << 20, 'x');
  ASSERT_GT(png.size(), 33u);
  std::string packed(compressBound(text.size()), 0);
  uLongf bytes = packed.size();
  compress2(reinterpret_cast<Bytef *>(&packed[0]), &bytes, reinterpret_cast<const Bytef *>(text.data()), text.size(),
            9);
  packed.resize(bytes);
  const auto big = [](uint32_t x) {
    return std::string{static_cast<char>(x >> 24), static_cast<char>(x >> 16), static_cast<char>(x >> 8),
                       static_cast<char>(x)};
  };
  const std::string body = std::string("zTXtkey\0\0", 9) + packed;
  const std::string chunk = big(static_cast<uint32_t>(body.size() - 4)) + body +
                            big(static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef *>(body.data()),
                                                            static_cast<unsigned>(body.size()))));
  std::string with = png.substr(0, 33);
  for (int i = 0; i < 200; i++) with += chunk;
  with += png.substr(33);
  const std::string folder = Write("text", "") + ".d";
  mkdir(folder.c_str(), 0700);
  mkdir((folder + "/one").c_str(), 0700);
  std::ofstream(folder + "/one/a.png", std::ios::binary) << with;
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  const Read read = ReadData(folder, kColour);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(read.code, 0) << read.message;
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 << 10);
}

int64_t ResidentKilobytes() {
  std::ifstream in("/proc/self/statm");
  int64_t all, resident;
  in >> all >> resident;
  return resident * getpagesize() / 1024;
}

// The files of a pattern share what one file may hold in memory.
TEST(Large, ThePartsOfAPatternShareWhatIsHeld) {
  const int64_t bytes = int64_t(300) << 20;
  for (const char *name : {"shard-1.bin", "shard-2.bin", "shard-3.bin"})
    ASSERT_EQ(truncate(Write(name, "").c_str(), bytes), 0);
  dp_arena *arena = dp_arena_create(0);
  const dp_type input = InputOf(DP_INT64, {-1, 1 << 20});
  dp_data_request request = {};
  request.input = &input;
  const int64_t before = ResidentKilobytes();
  dp_data *data;
  const std::string pattern = std::string(getenv("TEST_TMPDIR")) + "/shard-*.bin:uint16";
  ASSERT_EQ(dp_data_open(arena, pattern.c_str(), &request, &data), DP_OK);
  EXPECT_LT(ResidentKilobytes() - before, 520 << 10);
  EXPECT_EQ(dp_data_samples(data), 3 * ((bytes / 2 - 1) / (1 << 20)));
  std::vector<uint16_t> window(1 << 20, 1);
  ASSERT_EQ(dp_data_read(data, dp_data_samples(data) - 1, 1, window.data()), DP_OK);
  EXPECT_EQ(window.back(), 0);
  dp_data_close(data);
  dp_arena_destroy(arena);
}

// More files than a process may have open by default.
TEST(Large, APatternMayHaveManyParts) {
  const std::string folder = std::string(getenv("TEST_TMPDIR")) + "/many";
  mkdir(folder.c_str(), 0700);
  const int count = 600;
  for (int i = 0; i < count; i++) ASSERT_EQ(truncate(Write("many/" + std::to_string(i), "").c_str(), (1 << 20) + 2), 0);
  rlimit limit, few;
  getrlimit(RLIMIT_NOFILE, &limit);
  few = limit;
  few.rlim_cur = 256;
  setrlimit(RLIMIT_NOFILE, &few);
  dp_arena *arena = dp_arena_create(0);
  const dp_type input = InputOf(DP_INT64, {-1, 1 << 19});
  const dp_data_request request = {&input, 0, false, 0};
  dp_data *data;
  dp_status status = dp_data_open(arena, dp_printf(arena, "%s/*:uint16", folder.c_str()), &request, &data);
  setrlimit(RLIMIT_NOFILE, &limit);
  ASSERT_EQ(status, DP_OK) << dp_status_message(status);
  EXPECT_EQ(dp_data_samples(data), count);
  dp_data_close(data);
  dp_arena_destroy(arena);
}

// A picture is not unpacked, and a file can be too large for one.
TEST(Pictures, AFileOfAFolderIsAPictureOrRefused) {
  const std::string folder = std::string(getenv("TEST_TMPDIR")) + "/packed";
  mkdir(folder.c_str(), 0700);
  mkdir((folder + "/one").c_str(), 0700);
  const std::string picture = Content(Sample("pictures/cats/a.png"));
  std::string packed(compressBound(64 << 20) + 64, 0);
  const std::string zeros(64 << 20, 0);
  z_stream z = {};
  ASSERT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(zeros.data()));
  z.avail_in = zeros.size();
  z.next_out = reinterpret_cast<Bytef *>(&packed[0]);
  z.avail_out = packed.size();
  ASSERT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  packed.resize(z.total_out);
  deflateEnd(&z);
  Write("packed/one/a.png", packed);
  Refused(folder, kColour, EX_DATAERR, {"record 0", "packed/one/a.png", "neither JPEG nor PNG"});
  const std::string large = Write("packed/one/a.png", picture);
  EXPECT_EQ(ReadData(folder, kColour).code, 0);
  ASSERT_EQ(truncate(large.c_str(), int64_t(300) << 20), 0);
  Refused(folder, kColour, EX_DATAERR, {"record 0", "packed/one/a.png", "314572800 bytes are too many for a picture"});
}

}  // namespace
