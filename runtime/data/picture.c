// See picture.h.
#include "runtime/data/picture.h"

#include <stdlib.h>
#include <string.h>

static const dp_picture_format *const formats[] = {&dp_picture_jpeg, &dp_picture_png};

dp_status dp_picture_refuse_size(const char *name, const dp_picture_shape *shape, uint64_t width, uint64_t height) {
  return dp_fail(EX_DATAERR, "%s: the picture has %llu x %llu pixels, but the input wants %lld x %lld", name,
                 (unsigned long long)width, (unsigned long long)height, (long long)shape->width,
                 (long long)shape->height);
}

// Three channels, each in a plane of its own.
static void put_channels_first(const uint8_t *pixels, const dp_picture_shape *shape, uint8_t *target) {
  const int64_t area = shape->height * shape->width;
  uint8_t *red = target, *green = target + area, *blue = target + 2 * area;
  for (int64_t i = 0; i < area; i++) {
    red[i] = pixels[3 * i];
    green[i] = pixels[3 * i + 1];
    blue[i] = pixels[3 * i + 2];
  }
}

dp_status dp_picture_decode(const char *name, const uint8_t *data, size_t bytes, const dp_picture_shape *shape,
                            uint8_t *target) {
  const dp_picture_format *format = NULL;
  for (size_t i = 0; i < DP_COUNT(formats) && !format; i++)
    if (bytes >= strlen(formats[i]->magic) && !memcmp(data, formats[i]->magic, strlen(formats[i]->magic)))
      format = formats[i];
  if (!format) return dp_fail(EX_DATAERR, "%s: neither JPEG nor PNG", name);
  const size_t row_bytes = (size_t)shape->width * (size_t)shape->channels;
  const bool planes = shape->channels_first && shape->channels > 1;
  uint8_t **rows = malloc((size_t)shape->height * sizeof *rows + 1);
  uint8_t *pixels = planes ? malloc((size_t)shape->height * row_bytes + 1) : target;
  dp_status status = rows && pixels ? DP_OK : dp_fail(DP_EX_MEMORY, "%s: no memory for the picture", name);
  if (!status) {
    for (int64_t y = 0; y < shape->height; y++) rows[y] = pixels + (size_t)y * row_bytes;
    status = format->decode(name, data, bytes, shape, rows);
  }
  if (!status && planes) put_channels_first(pixels, shape, target);
  if (planes) free(pixels);
  free(rows);
  return status;
}
