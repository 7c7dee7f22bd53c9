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

// One format of pictures, which writes rows to `rows`: height pointers to width * channels bytes.
typedef struct {
  const char *magic;
  dp_status (*decode)(const char *name, const uint8_t *data, size_t bytes, const dp_picture_shape *shape,
                      uint8_t *const *rows);
} dp_picture_format;
extern const dp_picture_format dp_picture_jpeg, dp_picture_png;

// For a format's use: that a picture has another size than is wanted.
dp_status dp_picture_refuse_size(const char *name, const dp_picture_shape *shape, uint64_t width,
                                 uint64_t height) DP_MUST_USE;

#endif
