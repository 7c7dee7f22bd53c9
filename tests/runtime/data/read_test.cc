// Data files: what is read equals what was written, and every broken file is refused with a message that says why.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "tests/runtime/data/data_helper.h"

namespace {

class Data : public testing::Test {
 protected:
  dp_arena *arena_ = dp_arena_create(0);
  ~Data() override { dp_arena_destroy(arena_); }

  std::string Write(const std::string &content, bool gzip = false) {
    std::string path = std::string(getenv("TEST_TMPDIR")) + "/file" + std::to_string(count_++);
    if (gzip) {
      gzFile f = gzopen(path.c_str(), "wb");
      gzwrite(f, content.data(), static_cast<unsigned>(content.size()));
      gzclose(f);
    } else {
      std::ofstream(path, std::ios::binary) << content;
    }
    return path;
  }

  int Read(const std::string &content, dp_tensor *tensor, bool gzip = false) {
    std::string path = Write(content, gzip);
    dp_status status = ReadTensor(arena_, path, tensor);
    int code = dp_status_code(status);
    message_ = dp_status_message(status);
    EXPECT_TRUE(!status || message_.find(path) != std::string::npos) << message_;
    dp_status_free(status);
    return code;
  }

  int Fit(dp_type input, int batch_dim, const dp_tensor &file, dp_tensor *fitted) {
    const dp_data_request request = {&input, batch_dim, false, 0};
    dp_fitted f;
    dp_data *data = dp_data_of_tensor(arena_, "file", &file);
    dp_status status = dp_data_fit(arena_, "x (file)", &request, data, &f, &rounded_);
    if (!status) {
      const int64_t n = dp_data_samples(data);
      *fitted = {f.dtype, f.rank, {}, static_cast<size_t>(n) * dp_fitted_sample_bytes(&f), {}};
      std::copy(f.extents, f.extents + f.rank, fitted->extents);
      void *numbers = dp_alloc(arena_, fitted->bytes), *scratch = dp_alloc(arena_, file.bytes);
      status = dp_fitted_read(&f, 0, n, scratch, numbers);
      fitted->data = numbers;
    }
    int code = dp_status_code(status);
    message_ = dp_status_message(status);
    dp_status_free(status);
    return code;
  }

  std::string message_;
  bool rounded_ = false;
  int count_ = 0;
};

template <typename T>
std::string Bytes(const std::vector<T> &numbers) {
  return std::string(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T));
}

std::string Npy(const std::string &descr, const std::string &shape, const std::string &data, bool fortran = false) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
  std::string text = "\x93NUMPY";
  text += '\1';
  text += '\0';
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  return text + header + data;
}

std::string Idx(char type, const std::vector<uint32_t> &extents, const std::string &data) {
  std::string text{'\0', '\0', type, static_cast<char>(extents.size())};
  for (uint32_t e : extents)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(e >> shift & 255);
  return text + data;
}

TEST_F(Data, DigitsAreWhatTheirSourceSays) {
  dp_tensor images, labels;
  ASSERT_EQ(ReadTensor(arena_, "examples/data/digits/train-images-idx3-ubyte", &images), DP_OK);
  ASSERT_EQ(ReadTensor(arena_, "examples/data/digits/train-labels-idx1-ubyte", &labels), DP_OK);
  EXPECT_EQ(images.rank, 3);
  EXPECT_EQ(images.extents[0], 1437);
  EXPECT_EQ(images.extents[1], 8);
  EXPECT_EQ(images.extents[2], 8);
  EXPECT_EQ(labels.rank, 1);
  EXPECT_EQ(labels.extents[0], 1437);
  for (int i = 0; i < 10; i++) EXPECT_EQ(dp_tensor_get(&labels, i), i);  // the original order starts with 0 to 9
}

TEST_F(Data, NpyOfEachType) {
  dp_tensor t;
  ASSERT_EQ(Read(Npy("<f4", "(2, 3)", Bytes<float>({1, 2, 3, 4, 5, 6.5f})), &t), 0);
  EXPECT_EQ(t.dtype, DP_FLOAT32);
  EXPECT_EQ(t.rank, 2);
  EXPECT_EQ(t.extents[1], 3);
  EXPECT_EQ(dp_tensor_get(&t, 5), 6.5);
  ASSERT_EQ(Read(Npy("<i8", "(3,)", Bytes<int64_t>({1, -2, 3})), &t, true), 0);
  EXPECT_EQ(t.dtype, DP_INT64);
  EXPECT_EQ(dp_tensor_get(&t, 1), -2);
  ASSERT_EQ(Read(Npy("<f8", "()", Bytes<double>({0.1})), &t), 0);
  EXPECT_EQ(t.rank, 0);
  EXPECT_EQ(dp_tensor_get(&t, 0), 0.1);
  ASSERT_EQ(Read(Npy("|b1", "(0, 4)", ""), &t), 0);
  EXPECT_EQ(dp_tensor_count(&t), 0);
}

TEST_F(Data, IdxIsBigEndian) {
  dp_tensor t;
  ASSERT_EQ(Read(Idx(0x0c, {2}, std::string("\0\0\1\2\xff\xff\xff\xfe", 8)), &t, true), 0);
  EXPECT_EQ(t.dtype, DP_INT32);
  EXPECT_EQ(dp_tensor_get(&t, 0), 258);
  EXPECT_EQ(dp_tensor_get(&t, 1), -2);
}

TEST_F(Data, BrokenFilesAreRefused) {
  dp_tensor t;
  std::string good = Npy("<f4", "(2, 2)", Bytes<float>({1, 2, 3, 4}));
  for (size_t cut = 0; cut < good.size(); cut++) EXPECT_EQ(Read(good.substr(0, cut), &t), EX_DATAERR) << cut;
  EXPECT_EQ(Read(good + "x", &t), EX_DATAERR);
  std::string idx = Idx(0x08, {2, 3}, "abcdef");
  for (size_t cut = 0; cut < idx.size(); cut++) EXPECT_EQ(Read(idx.substr(0, cut), &t), EX_DATAERR) << cut;
  EXPECT_EQ(Read(idx + "x", &t), EX_DATAERR);
  EXPECT_EQ(Read(Idx(0x08, {0xffffffff, 0xffffffff, 0xffffffff}, "a"), &t), EX_DATAERR);  // the product overflows
  EXPECT_EQ(Read(Idx(0x08, {0, 0xffffffff, 0xffffffff, 0xffffffff}, ""), &t), EX_DATAERR);
  EXPECT_EQ(Read(Idx(0x08, {0x7fffffff}, "a"), &t), EX_DATAERR);  // 2 GiB promised, one byte there
  EXPECT_EQ(Read(Idx(0x07, {1}, "a"), &t), EX_DATAERR);
  EXPECT_EQ(Read(Npy("|O", "(1,)", "x"), &t), EX_DATAERR);
  EXPECT_NE(message_.find("objects"), std::string::npos) << message_;
  EXPECT_EQ(Read(Npy(">f4", "(1,)", "xxxx"), &t), EX_DATAERR);
  EXPECT_NE(message_.find("big-endian"), std::string::npos) << message_;
  EXPECT_EQ(Read(Npy("<f4", "(2, 2)", Bytes<float>({1, 2, 3, 4}), true), &t), EX_DATAERR);
  EXPECT_NE(message_.find("Fortran"), std::string::npos) << message_;
  EXPECT_EQ(Read(Npy("<f4", "(-1,)", ""), &t), EX_DATAERR);
  EXPECT_EQ(Read(Npy("<f4", "(99999999999999999999,)", ""), &t), EX_DATAERR);
  EXPECT_EQ(Read(Npy("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", "xxxx"), &t), EX_DATAERR);
  EXPECT_EQ(Read("hello world", &t), EX_DATAERR);
  std::string fifo = std::string(getenv("TEST_TMPDIR")) + "/fifo";
  mkfifo(fifo.c_str(), 0600);
  dp_status status = ReadTensor(arena_, fifo, &t);
  EXPECT_EQ(dp_status_code(status), EX_DATAERR);
  dp_status_free(status);
}

TEST_F(Data, FlippedBitsInGzipAreNoticed) {
  std::string path = Write(Idx(0x08, {1000}, std::string(1000, 'a')), true);
  std::ifstream in(path, std::ios::binary);
  std::string packed((std::istreambuf_iterator<char>(in)), {});
  dp_tensor t;
  for (size_t i = 12; i + 4 < packed.size(); i++) {
    std::string bad = packed;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    if (Read(bad, &t) == 0) {
      const std::string content(static_cast<const char *>(t.data), 1000);
      EXPECT_EQ(content, std::string(1000, 'a')) << i;  // an unused bit
    }
  }
}

TEST_F(Data, AxesOfOneMayBeMissing) {
  dp_tensor t, fitted;
  ASSERT_EQ(Read(Idx(0x08, {2, 2, 2}, "abcdefgh"), &t), 0);
  dp_type input = {DP_UINT8, {4, {{1, 0}, {0, 1}, {0, 2}, {0, 2}}}};
  ASSERT_EQ(Fit(input, 0, t, &fitted), 0);
  EXPECT_EQ(fitted.rank, 4);
  EXPECT_EQ(fitted.extents[1], 1);
  dp_type other = {DP_UINT8, {3, {{1, 0}, {0, 2}, {0, 3}}}};
  EXPECT_EQ(Fit(other, 0, t, &fitted), EX_DATAERR);
  EXPECT_NE(message_.find("uint8[2,2,2]"), std::string::npos) << message_;
  // One sample must remain a sample.
  ASSERT_EQ(Read(Idx(0x08, {1, 4}, "abcd"), &t), 0);
  dp_type row = {DP_UINT8, {2, {{1, 0}, {0, 4}}}};
  EXPECT_EQ(Fit(row, 0, t, &fitted), 0);
}

TEST_F(Data, IntegersAreConvertedWithoutLossFloatsAreRounded) {
  dp_tensor t, fitted;
  dp_type labels = {DP_INT64, {1, {{1, 0}}}};
  ASSERT_EQ(Read(Idx(0x08, {3}, std::string("\1\2\xff", 3)), &t), 0);
  ASSERT_EQ(Fit(labels, 0, t, &fitted), 0);
  EXPECT_EQ(static_cast<const int64_t *>(fitted.data)[2], 255);
  ASSERT_EQ(Read(Npy("<f8", "(2,)", Bytes<double>({3, 4.5})), &t), 0);
  EXPECT_EQ(Fit(labels, 0, t, &fitted), EX_DATAERR);
  EXPECT_NE(message_.find("element 1 is 4.5"), std::string::npos) << message_;
  dp_type floats = {DP_FLOAT32, {1, {{1, 0}}}};
  EXPECT_EQ(Fit(floats, 0, t, &fitted), 0);
  EXPECT_FALSE(rounded_);
  ASSERT_EQ(Read(Npy("<f8", "(3,)", Bytes<double>({0.1, 1e-300, -2})), &t), 0);
  EXPECT_EQ(Fit(floats, 0, t, &fitted), 0);
  EXPECT_TRUE(rounded_);
  const float *rounded = static_cast<const float *>(fitted.data);
  EXPECT_EQ(std::vector<float>(rounded, rounded + 3), std::vector<float>({0.1f, 0, -2}));
  EXPECT_EQ(Fit({DP_FLOAT16, {1, {{1, 0}}}}, 0, t, &fitted), 0);
  for (double beyond : {1e300, -1e39}) {
    ASSERT_EQ(Read(Npy("<f8", "(1,)", Bytes<double>({beyond})), &t), 0);
    EXPECT_EQ(Fit(floats, 0, t, &fitted), EX_DATAERR);
    EXPECT_NE(message_.find("which the input's type float32 cannot hold"), std::string::npos) << message_;
  }
  ASSERT_EQ(Read(Npy("<f8", "(1,)", Bytes<double>({INFINITY})), &t), 0);
  EXPECT_EQ(Fit(floats, 0, t, &fitted), 0);
  ASSERT_EQ(Read(Npy("<f8", "(1,)", Bytes<double>({NAN})), &t), 0);
  EXPECT_EQ(Fit(floats, 0, t, &fitted), 0);
  EXPECT_EQ(Fit(labels, 0, t, &fitted), EX_DATAERR);
  ASSERT_EQ(Read(Npy("<i8", "(1,)", Bytes<int64_t>({(int64_t{1} << 53) + 1})), &t), 0);
  EXPECT_EQ(Fit({DP_FLOAT64, {1, {{1, 0}}}}, 0, t, &fitted), EX_DATAERR);
  ASSERT_EQ(Read(Npy("<i8", "(1,)", Bytes<int64_t>({300})), &t), 0);
  EXPECT_EQ(Fit({DP_UINT8, {1, {{1, 0}}}}, 0, t, &fitted), EX_DATAERR);
}

}  // namespace
