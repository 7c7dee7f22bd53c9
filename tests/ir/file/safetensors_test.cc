// safetensors: files written by the format's own library can be read, files that we write can be read again, and every
// broken header is refused.
#include "ir/file/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

std::string U64(uint64_t x) { return std::string(reinterpret_cast<const char *>(&x), sizeof x); }

std::string Framed(const std::string &header, const std::string &data) { return U64(header.size()) + header + data; }

class Safetensors : public testing::Test {
 protected:
  dp_arena *arena_ = dp_arena_create(0);
  ~Safetensors() override { dp_arena_destroy(arena_); }

  static std::string Path(const std::string &name) { return std::string(getenv("TEST_TMPDIR")) + "/" + name; }

  static std::string Content(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  // The exit code of opening a file with this content; message_ and count_ hold the details.
  int Open(const std::string &content) {
    std::string path = Path("file.safetensors");
    std::ofstream(path, std::ios::binary) << content;
    return OpenPath(path);
  }

  int OpenPath(const std::string &path) {
    dp_safetensors file;
    dp_status status = dp_safetensors_open(arena_, path.c_str(), &file);
    int code = dp_status_code(status);
    message_ = dp_status_message(status);
    dp_status_free(status);
    if (!code) {
      count_ = file.count;
      dp_safetensors_close(&file);
    } else {
      EXPECT_NE(message_.find(path), std::string::npos) << message_;
    }
    return code;
  }

  // Reads the data too; NULL if absent.
  const dp_tensor *Tensor(const dp_safetensors &file, const char *name) {
    const dp_safetensor *found = dp_safetensors_find(&file, name);
    if (!found) return nullptr;
    void *data = dp_alloc(arena_, found->tensor.bytes);
    EXPECT_EQ(dp_safetensors_read(&file, found, data), DP_OK) << name;
    auto *tensor = static_cast<dp_tensor *>(dp_memdup(arena_, &found->tensor, sizeof found->tensor));
    tensor->data = data;
    return tensor;
  }

  std::string message_;
  size_t count_ = 0;
};

// Written by safetensors 0.8 from NumPy arrays.
const char official_header[] =
    R"({"__metadata__":{"k":"v"},"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
    R"("scalar":{"dtype":"F64","shape":[],"data_offsets":[16,24]},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[24,40]},)"
    R"("none":{"dtype":"U8","shape":[0,3],"data_offsets":[40,40]},"flag":{"dtype":"BOOL","shape":[3],"data_offsets":[40,43]}}      )";
const unsigned char official_data[] = {7,    0,    0, 0, 0,    0,    0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                       0xff, 0,    0, 0, 0,    0,    0, 4, 0x40, 0,    0,    0xc0, 0x3f, 0,    0,
                                       0,    0xc0, 0, 0, 0x80, 0x3e, 0, 0, 0x40, 0x40, 1,    0,    1};

std::string Official() {
  return Framed(official_header, std::string(reinterpret_cast<const char *>(official_data), sizeof official_data));
}

TEST_F(Safetensors, ReadsAFileOfTheFormatsLibrary) {
  ASSERT_EQ(Official().substr(0, 2), "@\x01");
  std::string path = Path("official.safetensors");
  std::ofstream(path, std::ios::binary) << Official();
  dp_safetensors file;
  ASSERT_EQ(dp_safetensors_open(arena_, path.c_str(), &file), DP_OK);
  EXPECT_EQ(file.count, 5u);
  const dp_tensor *b = Tensor(file, "b"), *a = Tensor(file, "a"), *none = Tensor(file, "none"),
                  *scalar = Tensor(file, "scalar");
  ASSERT_TRUE(a && b && none && scalar);
  EXPECT_EQ(dp_safetensors_find(&file, "c"), nullptr);
  EXPECT_EQ(b->dtype, DP_FLOAT32);
  EXPECT_EQ(b->rank, 2);
  EXPECT_EQ(b->extents[0] * 10 + b->extents[1], 22);
  const float expected[] = {1.5f, -2, 0.25f, 3};
  EXPECT_EQ(b->bytes, sizeof expected);
  EXPECT_EQ(memcmp(b->data, expected, sizeof expected), 0);
  const int64_t numbers[] = {7, -1};
  EXPECT_EQ(a->bytes, sizeof numbers);
  EXPECT_EQ(memcmp(a->data, numbers, sizeof numbers), 0);
  EXPECT_EQ(none->bytes, 0u);
  EXPECT_EQ(scalar->rank, 0);
  double two_and_a_half;
  memcpy(&two_and_a_half, scalar->data, sizeof two_and_a_half);
  EXPECT_EQ(two_and_a_half, 2.5);
  dp_safetensors_close(&file);
}

// Truncated after it was opened, as when someone copies a new file over it. This must give an error, not a signal.
TEST_F(Safetensors, AFileThatShrinksWhileItIsRead) {
  const std::string path = Path("shrinks.safetensors"), data(1 << 16, 'x');
  std::ofstream(path, std::ios::binary) << Framed(R"({"a":{"dtype":"U8","shape":[65536],"data_offsets":[0,65536]}})",
                                                  data);
  dp_safetensors file;
  ASSERT_EQ(dp_safetensors_open(arena_, path.c_str(), &file), DP_OK);
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  std::vector<char> read(data.size());
  dp_status status = dp_safetensors_read(&file, dp_safetensors_find(&file, "a"), read.data());
  EXPECT_EQ(dp_status_code(status), EX_IOERR);
  EXPECT_NE(std::string(dp_status_message(status)).find("it was truncated while it was read"), std::string::npos);
  dp_status_free(status);
  dp_safetensors_close(&file);
}

// The header is an object with names as keys: duplicate names would hide one tensor, and one name is reserved.
TEST_F(Safetensors, NamesThatTheFormatCannotHoldAreNotWritten) {
  const float x = 1;
  const dp_safetensor same[] = {{"a", {DP_FLOAT32, 0, {0}, 4, &x}, 0}, {"a", {DP_FLOAT32, 0, {0}, 4, &x}, 0}},
                      reserved = {"__metadata__", {DP_FLOAT32, 0, {0}, 4, &x}, 0},
                      latin = {"\xe9", {DP_FLOAT32, 0, {0}, 4, &x}, 0};
  const std::vector<std::pair<const dp_safetensor *, size_t>> files = {{same, 2}, {&reserved, 1}, {&latin, 1}};
  for (const auto &file : files) {
    const std::string path = Path("never.safetensors");
    dp_status status = dp_safetensors_write(path.c_str(), file.first, file.second);
    EXPECT_EQ(dp_status_code(status), EX_DATAERR) << file.first->name;
    dp_status_free(status);
    EXPECT_NE(access(path.c_str(), F_OK), 0);
  }
}

TEST_F(Safetensors, WhatIsWrittenReadsBack) {
  const float weights[] = {1, 2, 3, 4, 5, 6};
  const double number = -0.5;
  const uint8_t bytes[] = {1, 0, 255};
  std::vector<dp_safetensor> tensors = {
      {"layer.weight", {DP_FLOAT32, 2, {3, 2}, sizeof weights, weights}, 0},
      {"\xc3\xa9\"quoted\\", {DP_FLOAT64, 0, {0}, sizeof number, &number}, 0},
      {"bytes", {DP_UINT8, 3, {1, 3, 1}, sizeof bytes, bytes}, 0},
      {"empty", {DP_INT32, 1, {0}, 0, nullptr}, 0},
  };
  std::string path = Path("written.safetensors");
  ASSERT_EQ(dp_safetensors_write(path.c_str(), tensors.data(), tensors.size()), DP_OK);
  std::string content = Content(path);
  uint64_t header_bytes;
  memcpy(&header_bytes, content.data(), sizeof header_bytes);
  EXPECT_EQ(header_bytes % 8, 0u);
  EXPECT_EQ(content.size(), 8 + header_bytes + sizeof weights + sizeof number + sizeof bytes);
  EXPECT_EQ(content[8], '{');

  dp_safetensors file;
  ASSERT_EQ(dp_safetensors_open(arena_, path.c_str(), &file), DP_OK);
  EXPECT_EQ(file.count, tensors.size());
  for (const dp_safetensor &wanted : tensors) {
    const dp_tensor *found = Tensor(file, wanted.name);
    ASSERT_NE(found, nullptr) << wanted.name;
    EXPECT_EQ(found->dtype, wanted.tensor.dtype);
    ASSERT_EQ(found->rank, wanted.tensor.rank);
    for (int d = 0; d < found->rank; d++) EXPECT_EQ(found->extents[d], wanted.tensor.extents[d]);
    ASSERT_EQ(found->bytes, wanted.tensor.bytes);
    EXPECT_TRUE(!found->bytes || !memcmp(found->data, wanted.tensor.data, found->bytes)) << wanted.name;
  }
  dp_safetensors_close(&file);
}

TEST_F(Safetensors, BrokenHeadersAreRefused) {
  const std::string data(8, 'x'), entry = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  ASSERT_EQ(Open(Framed("{\"a\":{" + entry + "}}", data)), 0) << message_;
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"", "file"},
      {"1234567", "too few for a safetensors file"},
      {U64(100) + "{}", "header of 100 bytes"},
      {U64(UINT64_MAX) + "{}", "header of"},
      {U64(UINT64_MAX - 7) + "{}", "header of"},
      {Framed("", ""), "header"},
      {Framed("[]", ""), "not an object"},
      {Framed("{", ""), "header"},
      {Framed("{}", data), "after the last"},
      {Framed("{\"a\":{" + entry + "},\"a\":{" + entry + "}}", data), "header"},
      {Framed("{\"a\":{" + entry + "},\"b\":{" + entry + "}}", data), "overlaps"},
      {Framed("{\"a\":3}", data), "lacks"},
      {Framed(R"({"a":{"dtype":"F32","shape":[2]}})", data), "lacks"},
      {Framed(R"({"a":{"dtype":"Q7","shape":[2],"data_offsets":[0,8]}})", data), "Q7"},
      {Framed(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", data), "shape"},
      {Framed(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", data), "shape"},
      {Framed(R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})", data), "shape"},
      // 4194305 * 4194305 * 211106198978564 wraps to 4.
      {Framed(R"({"a":{"dtype":"U8","shape":[4194305,4194305,211106198978564],"data_offsets":[0,8]}})", data), "shape"},
      {Framed(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})", data), "rank"},
      {Framed(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", data), "12 bytes|lies at"},
      {Framed(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", data), "lies at"},
      {Framed(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", data), "lies at"},
      {Framed(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", data), "lies at"},
      {Framed(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", data), "gap"},
      {Framed(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", data), "after the last"},
      {Framed(R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]}})", data), "header"},
      {Framed("{\"a\\u0000b\":{" + entry + "}}", data), "header"},
      {Framed("{\"\xff\":{" + entry + "}}", data), "header"},
      {Framed(std::string(100000, '['), ""), "header"},
  };
  for (const auto &[content, word] : broken) {
    EXPECT_EQ(Open(content), EX_DATAERR) << word << ": " << content.substr(0, 120);
    std::string first = word.substr(0, word.find('|'));
    EXPECT_TRUE(message_.find(first) != std::string::npos ||
                message_.find(word.substr(word.find('|') + 1)) != std::string::npos)
        << message_ << " should contain " << word;
  }
}

TEST_F(Safetensors, TruncationAtEveryByteIsRefused) {
  const std::string whole = Official();
  for (size_t length = 0; length < whole.size(); length++)
    EXPECT_EQ(Open(whole.substr(0, length)), EX_DATAERR) << length;
  EXPECT_EQ(Open(whole + "x"), EX_DATAERR);
}

TEST_F(Safetensors, FlippedBitsNeverReadOutside) {
  const std::string whole = Official();
  for (size_t i = 0; i < whole.size() - sizeof official_data; i++)
    for (int bit = 0; bit < 8; bit++) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      int code = Open(damaged);  // with a changed name, or a type of the same size, the file may still be valid
      EXPECT_TRUE(code == 0 || code == EX_DATAERR) << i << " bit " << bit << ": " << code;
    }
}

TEST_F(Safetensors, OnlyRegularFiles) {
  EXPECT_EQ(OpenPath(Path("absent")), EX_NOINPUT);
  EXPECT_EQ(OpenPath(getenv("TEST_TMPDIR")), EX_DATAERR);
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(OpenPath(Path("fifo")), EX_DATAERR);
  EXPECT_EQ(OpenPath("/dev/zero"), EX_DATAERR);
}

TEST_F(Safetensors, AFailedWriteLeavesTheOldFile) {
  std::string path = Path("kept.safetensors");
  const float x = 1;
  dp_safetensor tensor = {"x", {DP_FLOAT32, 0, {0}, sizeof x, &x}, 0};
  ASSERT_EQ(dp_safetensors_write(path.c_str(), &tensor, 1), DP_OK);
  std::string before = Content(path);
  dp_status status = dp_safetensors_write(Path("no/such/folder").c_str(), &tensor, 1);
  EXPECT_EQ(dp_status_code(status), EX_CANTCREAT);
  dp_status_free(status);
  status = dp_safetensors_write((path + "/x").c_str(), &tensor, 1);
  EXPECT_EQ(dp_status_code(status), EX_CANTCREAT);
  dp_status_free(status);
  EXPECT_EQ(Content(path), before);
  ASSERT_EQ(dp_safetensors_write(path.c_str(), &tensor, 1), DP_OK);
  EXPECT_EQ(Content(path), before);
}

}  // namespace
