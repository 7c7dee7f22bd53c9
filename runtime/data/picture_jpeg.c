// JPEG, by libjpeg-turbo. What the library warns of, such as an end that is missing, counts as damage: it would fill
// the rest with grey.
#include <setjmp.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>

#include "runtime/data/picture.h"

enum { MAX_SCANS = 100 };  // progressive files of a few bytes can ask for many, each as long as the whole picture

typedef struct {
  struct jpeg_error_mgr manager;
  jmp_buf back;
  char message[JMSG_LENGTH_MAX];
} errors;

static void fail(j_common_ptr info) {
  errors *e = (errors *)info->err;
  e->manager.format_message(info, e->message);
  longjmp(e->back, 1);
}

static void warn(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code != JWRN_EXTRANEOUS_DATA) fail(info);
}

static void watch(j_common_ptr info) {
  if (((j_decompress_ptr)info)->input_scan_number > MAX_SCANS) {
    snprintf(((errors *)info->err)->message, JMSG_LENGTH_MAX, "more than %d scans", MAX_SCANS);
    longjmp(((errors *)info->err)->back, 1);
  }
}

// Fails through errors->back.
static dp_status decode_rows(j_decompress_ptr info, const char *name, const dp_picture_rows *rows) {
  const dp_picture_shape *shape = rows->shape;
  jpeg_read_header(info, TRUE);
  if (info->image_width != shape->width || info->image_height != shape->height)
    return dp_picture_refuse_size(name, shape, info->image_width, info->image_height);
  const bool grey = info->jpeg_color_space == JCS_GRAYSCALE;
  if (!grey && shape->channels == 1)
    return dp_fail(EX_DATAERR, "%s: the picture is in colour, but the input has one channel", name);
  if (!grey && info->num_components != 3)
    return dp_fail(EX_DATAERR, "%s: JPEG of %d components is not supported", name, info->num_components);
  info->out_color_space = shape->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(info);
  while (info->output_scanline < info->output_height) {
    const int64_t y = info->output_scanline;
    JSAMPROW row = dp_picture_row(rows, y);
    if (jpeg_read_scanlines(info, &row, 1)) dp_picture_row_end(rows, y);
  }
  jpeg_finish_decompress(info);
  return DP_OK;
}

static dp_status decode(const char *name, const uint8_t *data, size_t bytes, const dp_picture_rows *rows) {
  struct jpeg_decompress_struct info = {0};
  struct jpeg_progress_mgr progress = {.progress_monitor = watch};
  errors e;
  info.err = jpeg_std_error(&e.manager);
  e.manager.error_exit = fail;
  e.manager.emit_message = warn;
  if (setjmp(e.back)) {
    jpeg_destroy_decompress(&info);
    return dp_fail(EX_DATAERR, "%s: the JPEG is damaged: %s", name, e.message);
  }
  jpeg_create_decompress(&info);
  info.progress = &progress;
  jpeg_mem_src(&info, data, bytes);
  dp_status status = decode_rows(&info, name, rows);
  jpeg_destroy_decompress(&info);
  return status;
}

const dp_picture_format dp_picture_jpeg = {"\xff\xd8\xff", decode};
