// See npy.h. The format is numpy.lib.format's: magic, version 1.0, u16 length of the header, the header as a Python
// literal. NumPy leaves room for the first extent to grow to 21 digits and pads the header to a multiple of 64 bytes.
#include <stdio.h>
#include <string.h>

#include "runtime/data/npy.h"

enum { ALIGNMENT = 64, GROWTH_DIGITS = 21, PREFIX_BYTES = 10, HEADER_BYTES = 512, CHUNK = 1024 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are written in memory order");

static const char *const descr[DP_MAX_TYPE + 1] = {
    [DP_FLOAT32] = "<f4", [DP_FLOAT64] = "<f8", [DP_FLOAT16] = "<f2", [DP_BFLOAT16] = "<f4", [DP_UINT8] = "|u1",
    [DP_INT8] = "|i1",    [DP_UINT16] = "<u2",  [DP_INT16] = "<i2",   [DP_UINT32] = "<u4",   [DP_INT32] = "<i4",
    [DP_UINT64] = "<u8",  [DP_INT64] = "<i8",   [DP_BOOL] = "|b1",
};

// Prints everything before the data and returns its length. It fits HEADER_BYTES even with DP_MAX_RANK extents of 19
// digits.
static size_t print_header(dp_dtype dtype, int rank, const int64_t *extents, char header[HEADER_BYTES]) {
  size_t at = PREFIX_BYTES;
#define PUT(...) at += (size_t)snprintf(header + at, HEADER_BYTES - at, __VA_ARGS__)
  PUT("{'descr': '%s', 'fortran_order': False, 'shape': (", descr[dtype]);
  for (int i = 0; i < rank; i++) PUT("%s%lld", i ? ", " : "", (long long)extents[i]);
  PUT("%s), }", rank == 1 ? "," : "");
  if (rank) PUT("%*s", GROWTH_DIGITS - snprintf(NULL, 0, "%lld", (long long)extents[0]), "");
  PUT("%*s\n", (int)(ALIGNMENT - 1 - at % ALIGNMENT), "");
#undef PUT
  size_t length = at - PREFIX_BYTES;
  const unsigned char prefix[PREFIX_BYTES] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length & 0xff), (unsigned char)(length >> 8)};
  memcpy(header, prefix, sizeof prefix);
  return at;
}

dp_status dp_npy_writer_open(const char *path, dp_dtype dtype, int rank, const int64_t *extents,
                             dp_npy_writer *writer) {
  char header[HEADER_BYTES];
  if ((unsigned)dtype > DP_MAX_TYPE || !descr[dtype])
    return dp_fail(EX_UNAVAILABLE, "%s: .npy cannot hold elements of type %s", path, dp_type_name(dtype));
  dp_npy_writer w = {.dtype = dtype, .left = 1};
  for (int i = 0; i < rank; i++)
    if (extents[i] < 0 || __builtin_mul_overflow(w.left, extents[i], &w.left))
      return dp_fail(EX_DATAERR, "%s: the array is too large", path);
  size_t bytes = print_header(dtype, rank, extents, header);
  DP_TRY(dp_file_writer_open(path, &w.file));
  dp_status status = dp_file_writer_write(&w.file, header, bytes);
  if (status) {
    dp_file_writer_abandon(&w.file);
    return status;
  }
  *writer = w;
  return DP_OK;
}

// A bfloat16 is the upper half of a float32.
static dp_status write_widened(dp_npy_writer *writer, const char *elements, int64_t count) {
  uint32_t wide[CHUNK];
  for (int64_t done = 0; done < count;) {
    int64_t n = dp_min_i64(CHUNK, count - done);
    for (int64_t i = 0; i < n; i++) {
      uint16_t half;
      memcpy(&half, elements + (done + i) * 2, sizeof half);
      wide[i] = (uint32_t)half << 16;
    }
    DP_TRY(dp_file_writer_write(&writer->file, wide, (size_t)n * sizeof *wide));
    done += n;
  }
  return DP_OK;
}

dp_status dp_npy_writer_write(dp_npy_writer *writer, const void *elements, int64_t count) {
  if (count > writer->left) return dp_fail(EX_SOFTWARE, "%s: more elements than its header says", writer->file.path);
  writer->left -= count;
  if (writer->dtype == DP_BFLOAT16) return write_widened(writer, elements, count);
  return dp_file_writer_write(&writer->file, elements, (size_t)count * dp_type_bytes(writer->dtype));
}

dp_status dp_npy_writer_commit(dp_npy_writer *writer) {
  if (!writer->left) return dp_file_writer_commit(&writer->file);
  dp_status status =
      dp_fail(EX_SOFTWARE, "%s: %lld elements fewer than its header says", writer->file.path, (long long)writer->left);
  dp_file_writer_abandon(&writer->file);
  return status;
}

void dp_npy_writer_abandon(dp_npy_writer *writer) { dp_file_writer_abandon(&writer->file); }
