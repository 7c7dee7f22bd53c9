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

void dp_picture_row_end(const dp_picture_rows *rows, int64_t y) {
  const int64_t width = rows->shape->width, area = rows->shape->height * width;
  uint8_t *target = rows->target + y * width;
  if (rows->row) dp_picture_split(rows->row, width, target, target + area, target + 2 * area);
}

dp_status dp_picture_decode(const char *name, const uint8_t *data, size_t bytes, const dp_picture_shape *shape,
                            uint8_t *target) {
  const dp_picture_format *format = NULL;
  for (size_t i = 0; i < DP_COUNT(formats) && !format; i++)
    if (bytes >= strlen(formats[i]->magic) && !memcmp(data, formats[i]->magic, strlen(formats[i]->magic)))
      format = formats[i];
  if (!format) return dp_fail(EX_DATAERR, "%s: neither JPEG nor PNG", name);
  dp_picture_rows rows = {.shape = shape, .target = target};
  if (!shape->channels_first || shape->channels == 1) return format->decode(name, data, bytes, &rows);
  rows.row = malloc((size_t)shape->width * (size_t)shape->channels + 1);
  if (!rows.row) return dp_fail(DP_EX_MEMORY, "%s: no memory for the picture", name);
  dp_status status = format->decode(name, data, bytes, &rows);
  free(rows.row);
  return status;
}
