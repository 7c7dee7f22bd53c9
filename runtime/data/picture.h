// Decodes JPEG and PNG from memory. Private.
//
// Sizes are compared with what is wanted before anything is decoded, so a picture takes memory only for what it should
// be. Many threads may decode at once.
#ifndef DP_RUNTIME_DATA_PICTURE_H
#define DP_RUNTIME_DATA_PICTURE_H

#include "ir/base/base.h"

typedef struct {
  int64_t height, width;
  int channels;         // 1 or 3; grey becomes three equal channels, colour does not become grey
  bool channels_first;  // [channels, height, width], else [height, width, channels]
} dp_picture_shape;

// `name` is for messages. EX_DATAERR: neither JPEG nor PNG, of another size, or damaged.
dp_status dp_picture_decode(const char *name, const uint8_t *data, size_t bytes, const dp_picture_shape *shape,
                            uint8_t *target) DP_MUST_USE;

// Where the rows of a picture go, each from its first pixel to its last.
typedef struct {
  const dp_picture_shape *shape;
  uint8_t *target;
  uint8_t *row;  // (width * 3) for a row whose channels are then separated; NULL: they stay together
} dp_picture_rows;

// Where row y is to be written: width * channels bytes.
static inline uint8_t *dp_picture_row(const dp_picture_rows *rows, int64_t y) {
  return rows->row ? rows->row : rows->target + y * rows->shape->width * rows->shape->channels;
}
// Row y is written, and its channels are put where they belong.
void dp_picture_row_end(const dp_picture_rows *rows, int64_t y);

// One format of pictures, which writes all rows in turn.
typedef struct {
  const char *magic;
  dp_status (*decode)(const char *name, const uint8_t *data, size_t bytes, const dp_picture_rows *rows);
} dp_picture_format;
extern const dp_picture_format dp_picture_jpeg, dp_picture_png;

// For a format's use: that a picture has another size than is wanted.
dp_status dp_picture_refuse_size(const char *name, const dp_picture_shape *shape, uint64_t width,
                                 uint64_t height) DP_MUST_USE;

// picture_split.c: separates n pixels of three bytes each.
void dp_picture_split(const uint8_t *pixels, int64_t n, uint8_t *red, uint8_t *green, uint8_t *blue);

#endif
