// Pixels come to their places, whatever the layout and the width, and however a PNG's rows are interleaved. What the
// decoders make of files is compared with Pillow in formats_test.cc.
#include <gtest/gtest.h>
#include <png.h>

#include <vector>

extern "C" {
#include "runtime/data/picture.h"
}

namespace {

using Bytes = std::vector<uint8_t>;

uint8_t Pixel(int64_t y, int64_t x, int64_t c) { return static_cast<uint8_t>(y * 31 + x * 7 + c * 83 + x * y); }

void Append(png_structp png, png_bytep data, size_t bytes) {
  auto *to = static_cast<Bytes *>(png_get_io_ptr(png));
  to->insert(to->end(), data, data + bytes);
}

Bytes Png(int64_t height, int64_t width, bool interlaced) {
  Bytes file, row(static_cast<size_t>(width) * 3);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &file, Append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8, PNG_COLOR_TYPE_RGB,
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  EXPECT_EQ(passes, interlaced ? 7 : 1);
  for (int pass = 0; pass < passes; pass++)
    for (int64_t y = 0; y < height; y++) {
      for (int64_t x = 0; x < width; x++)
        for (int64_t c = 0; c < 3; c++) row[static_cast<size_t>(3 * x + c)] = Pixel(y, x, c);
      png_write_row(png, row.data());
    }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

TEST(Picture, EveryPixelHasItsPlace) {
  const int64_t sizes[][2] = {{1, 1}, {1, 200}, {3, 31}, {2, 32}, {5, 33}, {9, 64}, {4, 95}, {70, 45}};
  for (const auto &size : sizes)
    for (bool interlaced : {false, true})
      for (bool first : {false, true}) {
        const int64_t h = size[0], w = size[1];
        SCOPED_TRACE(testing::Message() << h << "x" << w << (interlaced ? " interlaced" : "")
                                        << (first ? " planes" : ""));
        const Bytes file = Png(h, w, interlaced);
        const dp_picture_shape shape = {h, w, 3, first};
        Bytes got(static_cast<size_t>(h * w * 3) + 1, 0xEE);
        ASSERT_EQ(dp_picture_decode("p", file.data(), file.size(), &shape, got.data()), nullptr);
        for (int64_t y = 0; y < h; y++)
          for (int64_t x = 0; x < w; x++)
            for (int64_t c = 0; c < 3; c++)
              ASSERT_EQ(got[static_cast<size_t>(first ? (c * h + y) * w + x : (y * w + x) * 3 + c)], Pixel(y, x, c));
        EXPECT_EQ(got.back(), 0xEE);
        // Cut anywhere, it is refused and leaks nothing.
        for (size_t cut = 8; cut + 12 < file.size(); cut += 1 + file.size() / 9) {
          dp_status status = dp_picture_decode("p", file.data(), cut, &shape, got.data());
          EXPECT_EQ(dp_status_code(status), EX_DATAERR) << cut;
          dp_status_free(status);
        }
      }
}

TEST(Picture, ChannelsAreSeparated) {
  for (int64_t n = 0; n <= 130; n++) {
    Bytes pixels, planes(static_cast<size_t>(3 * n + 3), 0xEE);
    for (int64_t i = 0; i < n; i++)
      for (int64_t c = 0; c < 3; c++) pixels.push_back(Pixel(0, i, c));
    uint8_t *at = planes.data();
    dp_picture_split(pixels.data(), n, at, at + n + 1, at + 2 * (n + 1));
    for (int64_t c = 0; c < 3; c++) {
      for (int64_t i = 0; i < n; i++) ASSERT_EQ(at[c * (n + 1) + i], Pixel(0, i, c)) << n;
      EXPECT_EQ(at[c * (n + 1) + n], 0xEE) << n;
    }
  }
}

}  // namespace
