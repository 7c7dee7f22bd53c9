// PNG, by libpng. Palettes are looked up, alpha is left out, fewer bits than 8 are widened; 16 bits are refused,
// because they would lose. Colour profiles and gamma are not applied, as other loaders do not apply them.
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/picture.h"

enum { MAX_CHUNK = 8 << 20, MAX_CHUNKS = 16 };

// Chunks that say nothing of the pixels, which libpng would unpack and keep.
static const uint8_t unused[] = "tEXt\0zTXt\0iTXt\0iCCP\0sPLT\0eXIf\0hIST\0pCAL\0sCAL\0";

typedef struct {
  const uint8_t *data;
  size_t left;
  uint8_t *pixels, **rows;  // of a picture that comes in several passes; NULL: it does not
  char message[128];
} reading;

static void fail(png_structp png, png_const_charp message) {
  reading *r = png_get_error_ptr(png);
  snprintf(r->message, sizeof r->message, "%s", message);
  longjmp(png_jmpbuf(png), 1);
}

static void ignore(png_structp png, png_const_charp message) { (void)png, (void)message; }

static void give(png_structp png, png_bytep to, size_t count) {
  reading *r = png_get_io_ptr(png);
  if (count > r->left) png_error(png, "it ends too early");
  memcpy(to, r->data, count);
  r->data += count;
  r->left -= count;
}

// Of a picture that comes in several passes, rows are whole only at the end. Fails through png_jmpbuf.
static dp_status read_passes(png_structp png, const char *name, const dp_picture_rows *rows, reading *r) {
  const size_t height = (size_t)rows->shape->height,
               row_bytes = (size_t)rows->shape->width * (size_t)rows->shape->channels;
  r->pixels = malloc(height * row_bytes + 1);
  r->rows = malloc(height * sizeof *r->rows + 1);
  if (!r->pixels || !r->rows) return dp_fail(DP_EX_MEMORY, "%s: no memory for the picture", name);
  for (size_t y = 0; y < height; y++) r->rows[y] = r->pixels + y * row_bytes;
  png_read_image(png, r->rows);
  for (size_t y = 0; y < height; y++) {
    memcpy(dp_picture_row(rows, (int64_t)y), r->rows[y], row_bytes);
    dp_picture_row_end(rows, (int64_t)y);
  }
  return DP_OK;
}

static dp_status read_rows(png_structp png, const dp_picture_rows *rows) {
  for (int64_t y = 0; y < rows->shape->height; y++) {
    png_read_row(png, dp_picture_row(rows, y), NULL);
    dp_picture_row_end(rows, y);
  }
  return DP_OK;
}

// Fails through png_jmpbuf.
static dp_status decode_rows(png_structp png, png_infop info, const char *name, const dp_picture_rows *rows,
                             reading *r) {
  const dp_picture_shape *shape = rows->shape;
  png_read_info(png, info);
  const uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  if (width != shape->width || height != shape->height) return dp_picture_refuse_size(name, shape, width, height);
  const int kind = png_get_color_type(png, info);
  const bool grey = !(kind & PNG_COLOR_MASK_COLOR);
  if (!grey && shape->channels == 1)
    return dp_fail(EX_DATAERR, "%s: the picture is in colour, but the input has one channel", name);
  if (png_get_bit_depth(png, info) == 16)
    return dp_fail(EX_DATAERR, "%s: PNG of 16 bits a channel is not supported", name);
  png_set_expand(png);
  png_set_strip_alpha(png);
  if (grey && shape->channels == 3) png_set_gray_to_rgb(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != (size_t)shape->width * (size_t)shape->channels)
    return dp_fail(EX_DATAERR, "%s: PNG of this kind of colour (%d) is not supported", name, kind);
  DP_TRY(passes > 1 ? read_passes(png, name, rows, r) : read_rows(png, rows));
  png_read_end(png, NULL);
  return DP_OK;
}

static void forget(reading *r) {
  free(r->pixels);
  free(r->rows);
}

static dp_status decode(const char *name, const uint8_t *data, size_t bytes, const dp_picture_rows *rows) {
  reading r = {.data = data, .left = bytes};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, fail, ignore);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  if (!info) {
    png_destroy_read_struct(&png, NULL, NULL);
    return dp_fail(DP_EX_MEMORY, "%s: no memory for libpng", name);
  }
  if (setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, NULL);
    forget(&r);
    return dp_fail(EX_DATAERR, "%s: the PNG is damaged: %s", name, r.message);
  }
  png_set_read_fn(png, &r, give);
  // The header is read whatever it says, so that the message can say it; rows come only if it is what is wanted.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(png, MAX_CHUNK);
  png_set_chunk_cache_max(png, MAX_CHUNKS);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, unused, sizeof unused / 5);
  dp_status status = decode_rows(png, info, name, rows, &r);
  png_destroy_read_struct(&png, &info, NULL);
  forget(&r);
  return status;
}

const dp_picture_format dp_picture_png = {"\x89PNG\r\n\x1a\n", decode};
