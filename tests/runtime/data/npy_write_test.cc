// Written .npy files: equal to NumPy's byte for byte (npy/, made by make_npy.py), and readable.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "runtime/data/npy.h"
#include "tests/runtime/data/data_helper.h"

namespace {

std::string Content(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

class NpyWrite : public testing::Test {
 protected:
  std::string path_ = std::string(getenv("TEST_TMPDIR")) + "/out.npy";

  static std::string Message(dp_status status) {
    std::string message = status ? std::to_string(dp_status_code(status)) + ": " + dp_status_message(status) : "";
    dp_status_free(status);
    return message;
  }

  // Writes in pieces of `piece` elements.
  std::string Written(dp_dtype dtype, const std::vector<int64_t> &shape, const void *data, int64_t count,
                      int64_t piece = 1 << 20) {
    dp_npy_writer writer;
    EXPECT_EQ(Message(dp_npy_writer_open(path_.c_str(), dtype, (int)shape.size(), shape.data(), &writer)), "");
    for (int64_t at = 0; at < count; at += piece) {
      const char *from = static_cast<const char *>(data) + (size_t)at * dp_type_bytes(dtype);
      EXPECT_EQ(Message(dp_npy_writer_write(&writer, from, std::min(piece, count - at))), "");
    }
    EXPECT_EQ(Message(dp_npy_writer_commit(&writer)), "");
    return Content(path_);
  }

  template <typename T>
  std::string Six(dp_dtype dtype) {
    T numbers[6] = {T(0), T(1), T(2), T(3), T(4), T(5)};
    return Written(dtype, {2, 3}, numbers, 6, 4);
  }

  static std::string Numpy(const std::string &name) {
    std::string content = Content("tests/runtime/data/npy/" + name + ".npy");
    EXPECT_FALSE(content.empty()) << name;
    return content;
  }
};

TEST_F(NpyWrite, EveryType) {
  EXPECT_EQ(Six<float>(DP_FLOAT32), Numpy("float32"));
  EXPECT_EQ(Six<double>(DP_FLOAT64), Numpy("float64"));
  EXPECT_EQ(Six<uint8_t>(DP_UINT8), Numpy("uint8"));
  EXPECT_EQ(Six<int8_t>(DP_INT8), Numpy("int8"));
  EXPECT_EQ(Six<uint16_t>(DP_UINT16), Numpy("uint16"));
  EXPECT_EQ(Six<int16_t>(DP_INT16), Numpy("int16"));
  EXPECT_EQ(Six<uint32_t>(DP_UINT32), Numpy("uint32"));
  EXPECT_EQ(Six<int32_t>(DP_INT32), Numpy("int32"));
  EXPECT_EQ(Six<uint64_t>(DP_UINT64), Numpy("uint64"));
  EXPECT_EQ(Six<int64_t>(DP_INT64), Numpy("int64"));
  EXPECT_EQ(Six<bool>(DP_BOOL), Numpy("bool"));
  const uint16_t halves[6] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500};
  EXPECT_EQ(Written(DP_FLOAT16, {2, 3}, halves, 6), Numpy("float16"));
  const uint16_t brains[4] = {0x3f80, 0xc049, 0x7f80, 0x0001};
  EXPECT_EQ(Written(DP_BFLOAT16, {4}, brains, 4, 3), Numpy("bfloat16"));
}

TEST_F(NpyWrite, EveryShape) {
  const double number = -2.5;
  EXPECT_EQ(Written(DP_FLOAT64, {}, &number, 1), Numpy("number"));
  const float row[4] = {1.5, -0.0f, INFINITY, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(Written(DP_FLOAT32, {4}, row, 4), Numpy("row"));
  EXPECT_EQ(Written(DP_INT64, {0, 4}, nullptr, 0), Numpy("empty"));
  std::vector<uint8_t> deep;
  for (int i = 0; i < 1024; i++) deep.push_back(static_cast<uint8_t>(i));
  EXPECT_EQ(Written(DP_UINT8, {1, 2, 1, 4, 1, 128, 1, 1}, deep.data(), 1024, 100), Numpy("deep"));
  int64_t extent = 1;
  for (const char *name : {"long1", "long2", "long3", "long4"}) {
    extent *= 10;
    std::vector<int64_t> shape(8, extent);
    shape[0] = 0;
    EXPECT_EQ(Written(DP_FLOAT64, shape, nullptr, 0), Numpy(name));
  }
}

TEST_F(NpyWrite, ReadsBack) {
  std::vector<float> numbers;
  for (int i = 0; i < 5000; i++) numbers.push_back(std::sin(static_cast<float>(i)));
  Written(DP_FLOAT32, {50, 4, 25}, numbers.data(), 5000, 37);
  dp_arena *arena = dp_arena_create(0);
  dp_tensor tensor;
  ASSERT_EQ(Message(ReadTensor(arena, path_, &tensor)), "");
  EXPECT_EQ(tensor.dtype, DP_FLOAT32);
  ASSERT_EQ(tensor.rank, 3);
  EXPECT_EQ(tensor.extents[2], 25);
  ASSERT_EQ(tensor.bytes, 20000u);
  EXPECT_EQ(memcmp(tensor.data, numbers.data(), 20000), 0);
  dp_arena_destroy(arena);
}

// The largest possible header.
TEST_F(NpyWrite, LongExtents) {
  std::vector<int64_t> shape(8, INT64_MAX);
  shape[0] = 0;
  std::string content = Written(DP_FLOAT64, shape, nullptr, 0);
  EXPECT_EQ(content.size() % 64, 0u);
  EXPECT_EQ(content.back(), '\n');
  EXPECT_NE(content.find("9223372036854775807), }"), std::string::npos);
}

TEST_F(NpyWrite, NothingIsThereUntilAllIs) {
  unlink(path_.c_str());
  const int64_t shape[2] = {2, 2};
  const double numbers[5] = {1, 2, 3, 4, 5};
  dp_npy_writer writer;
  ASSERT_EQ(Message(dp_npy_writer_open(path_.c_str(), DP_FLOAT64, 2, shape, &writer)), "");
  EXPECT_EQ(Message(dp_npy_writer_write(&writer, numbers, 3)), "");
  EXPECT_EQ(Message(dp_npy_writer_commit(&writer)).substr(0, 3), "70:");  // one too few
  EXPECT_EQ(Content(path_), "");
  ASSERT_EQ(Message(dp_npy_writer_open(path_.c_str(), DP_FLOAT64, 2, shape, &writer)), "");
  EXPECT_EQ(Message(dp_npy_writer_write(&writer, numbers, 5)).substr(0, 3), "70:");  // one too many
  dp_npy_writer_abandon(&writer);
  EXPECT_EQ(Content(path_), "");
}

TEST_F(NpyWrite, Refusals) {
  const int64_t shape[2] = {INT64_MAX, 2}, negative[1] = {-1}, one[1] = {1};
  dp_npy_writer writer;
  EXPECT_EQ(Message(dp_npy_writer_open(path_.c_str(), DP_FLOAT64, 2, shape, &writer)).substr(0, 3), "65:");
  EXPECT_EQ(Message(dp_npy_writer_open(path_.c_str(), DP_FLOAT64, 1, negative, &writer)).substr(0, 3), "65:");
  EXPECT_EQ(Message(dp_npy_writer_open(path_.c_str(), DP_NO_TYPE, 1, one, &writer)).substr(0, 3), "69:");
  EXPECT_EQ(Message(dp_npy_writer_open("/no/such/folder/x.npy", DP_FLOAT64, 1, one, &writer)).substr(0, 3), "73:");
}

}  // namespace
