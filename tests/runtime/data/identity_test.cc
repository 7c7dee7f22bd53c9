// What a checkpoint knows data by: the same data gives the same number, wherever it lies; other data another one. Of
// large data only some bytes are read.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <vector>

#include "runtime/data/format.h"
#include "tests/runtime/data/data_helper.h"

namespace {

const std::string kSamples = "tests/runtime/data/samples/";

std::string Temporary(const std::string &name) { return std::string(getenv("TEST_TMPDIR")) + "/" + name; }

uint64_t HashOf(const std::string &text, const dp_type &input, bool skip_broken = false) {
  dp_arena *arena = dp_arena_create(0);
  dp_data_request request = {};
  request.input = &input;
  request.batch_dim = BatchDim(input);
  request.skip_broken = skip_broken;
  dp_data *data = nullptr;
  uint64_t hash = 0;
  dp_status status = dp_data_open(arena, text.c_str(), &request, &data);
  if (!status) status = dp_data_hash(data, &hash);
  EXPECT_EQ(status, DP_OK) << dp_status_message(status);
  dp_status_free(status);
  dp_data_close(data);
  dp_arena_destroy(arena);
  return hash;
}

// Data of any size without a file: a sample's bytes are 0, but for one that differs. Notes which samples were read.
struct Made {
  int64_t differs = -1;
  std::vector<int64_t> firsts;
  int64_t bytes = 0, end = 0;
};

dp_status ReadMade(const dp_data *data, int64_t first, int64_t count, void *target) {
  Made *made = static_cast<Made *>(data->state);
  const size_t sample = dp_data_sample_bytes(data);
  memset(target, 0, static_cast<size_t>(count) * sample);
  if (made->differs >= first && made->differs < first + count)
    static_cast<char *>(target)[static_cast<size_t>(made->differs - first) * sample] = 1;
  made->firsts.push_back(first);
  made->bytes += count * static_cast<int64_t>(sample);
  made->end = first + count;
  return DP_OK;
}

uint64_t HashOfMade(int64_t samples, int64_t bytes, Made *made) {
  dp_data_format format = {};
  format.read = ReadMade;
  dp_data data = {};
  data.format = &format;
  data.name = "made";
  data.dtype = DP_UINT8;
  data.rank = 2;
  data.extents[0] = samples;
  data.extents[1] = bytes;
  data.state = made;
  uint64_t hash = 0;
  EXPECT_EQ(dp_data_hash(&data, &hash), DP_OK);
  return hash;
}

uint64_t HashWith(int64_t samples, int64_t bytes, int64_t differs) {
  Made made;
  made.differs = differs;
  return HashOfMade(samples, bytes, &made);
}

TEST(Identity, EveryByteCountsUpTo64MiB) {
  const int64_t samples = 65536, bytes = 1024;
  Made made;
  const uint64_t hash = HashOfMade(samples, bytes, &made);
  EXPECT_EQ(made.bytes, samples * bytes);
  for (int64_t differs : {int64_t(0), int64_t(1), samples / 2 + 7, samples - 1})
    EXPECT_NE(HashWith(samples, bytes, differs), hash) << differs;
  EXPECT_NE(HashWith(samples - 1, bytes, -1), hash);
}

// Ten terabytes, too.
TEST(Identity, OfLargerDataManyPlacesCount) {
  for (int64_t bytes : {int64_t(1), int64_t(1000), int64_t(1) << 17, int64_t(3) << 20}) {
    const int64_t samples = (int64_t(10) << 40) / bytes;
    Made made;
    const uint64_t hash = HashOfMade(samples, bytes, &made);
    EXPECT_LE(made.bytes, int64_t(64) << 20) << bytes;
    EXPECT_GE(made.firsts.size(), 20u) << bytes;
    EXPECT_EQ(made.firsts.front(), 0);
    EXPECT_EQ(made.end, samples);
    for (size_t i = 1; i < made.firsts.size(); i++) {
      const int64_t gap = made.firsts[i] - made.firsts[i - 1], even = samples / int64_t(made.firsts.size() - 1);
      ASSERT_NEAR(double(gap), double(even), 0.01 * double(even) + 1) << i;
    }
    for (int64_t differs : {int64_t(0), made.firsts[made.firsts.size() / 2], samples - 1})
      EXPECT_NE(HashWith(samples, bytes, differs), hash) << bytes << " " << differs;
    EXPECT_EQ(HashWith(samples, bytes, made.firsts[1] - 1), hash) << "as docs/running.md says";
    EXPECT_NE(HashWith(samples + 1, bytes, -1), hash);
  }
}

const dp_type kColour = InputOf(DP_UINT8, {-1, 3, 7, 9});

// Flips a bit in the middle of a picture, whose size stays.
void Change(const std::string &path, size_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char changed = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(changed);
}

TEST(Identity, ThePicturesOfAFolderCount) {
  const std::string folder = Temporary("pictures");
  ASSERT_EQ(system(("cp -rL " + kSamples + "pictures " + folder + " && chmod -R u+w " + folder).c_str()), 0);
  const uint64_t hash = HashOf(kSamples + "pictures", kColour);
  EXPECT_EQ(HashOf(folder, kColour), hash);
  for (const char *name : {"/cats/b.jpg", "/dogs/f.png", "/emus/i.jpg"}) {
    Change(folder + name, 60);
    EXPECT_NE(HashOf(folder, kColour, true), hash) << name;
    Change(folder + name, 60);
  }
  EXPECT_EQ(HashOf(folder, kColour), hash);
  ASSERT_EQ(rename((folder + "/cats/a.png").c_str(), (folder + "/cats/a2.png").c_str()), 0);
  EXPECT_NE(HashOf(folder, kColour), hash);
}

TEST(Identity, ThePicturesOfATarCount) {
  std::ifstream in(kSamples + "us.tar", std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(in)), {});
  const std::string path = Temporary("a.tar");
  const uint64_t hash = HashOf(kSamples + "us.tar", kColour);
  std::ofstream(path, std::ios::binary) << whole;
  EXPECT_EQ(HashOf(path, kColour), hash);
  whole[whole.find("JFIF") + 30] ^= 1;
  std::ofstream(path, std::ios::binary) << whole;
  EXPECT_NE(HashOf(path, kColour, true), hash);
}

// A pattern is known by its samples, however they are divided.
TEST(Identity, OfAPatternTheSamplesCount) {
  const auto write = [](const std::string &name, int begin, int end) {
    std::ofstream file(Temporary(name));
    for (int i = begin; i < end; i++) file << i << "\n";
  };
  const dp_type numbers = InputOf(DP_FLOAT32, {-1, 1});
  write("one.csv", 0, 24);
  write("part-1.csv", 0, 8);
  write("part-2.csv", 8, 24);
  const uint64_t hash = HashOf(Temporary("one.csv"), numbers);
  EXPECT_EQ(HashOf(Temporary("part-*.csv"), numbers), hash);
  write("part-2.csv", 9, 25);
  EXPECT_NE(HashOf(Temporary("part-*.csv"), numbers), hash);
}

// Files of a pattern may be of different formats, in any order: of some the pictures count, of others the samples.
TEST(Identity, OfAPatternWithPicturesAllFilesCount) {
  for (const char *first : {"a.tar", "z.tar"}) {
    const std::string folder = Temporary(std::string("mixed_") + first);
    ASSERT_EQ(system(("mkdir " + folder + " && cp -L " + kSamples + "us.tar " + folder + "/" + first).c_str()), 0);
    const dp_type picture = kColour;
    const int64_t bytes =
        2 * picture.shape.dims[1].offset * picture.shape.dims[2].offset * picture.shape.dims[3].offset;
    const auto write = [&](char byte) {
      char shape[128];
      snprintf(shape, sizeof shape, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, %d, %d, %d), }",
               int(picture.shape.dims[1].offset), int(picture.shape.dims[2].offset), int(picture.shape.dims[3].offset));
      std::string header = shape;
      header.resize(117, ' ');
      std::ofstream(folder + "/m.npy", std::ios::binary) << std::string("\x93NUMPY\1\0\x76\0", 10) << header << "\n"
                                                         << std::string(size_t(bytes), byte);
    };
    write(1);
    const uint64_t hash = HashOf(folder + "/*", picture);
    EXPECT_EQ(HashOf(folder + "/*", picture), hash);
    write(2);
    EXPECT_NE(HashOf(folder + "/*", picture), hash);
  }
}

}  // namespace
