// NumPy's .npz: a zip of .npy files. FILE:NAME is the array NAME; FILE alone the only one. Arrays that are stored
// (numpy.savez) are read where they are; those of numpy.savez_compressed are unpacked into memory.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (sections 4.3 and 4.5.3)
#define _GNU_SOURCE
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "runtime/data/format.h"

enum {
  END_BYTES = 22,      // of the end record, without its comment
  LOCATOR_BYTES = 20,  // of the locator of zip64's end record, before it
  END64_BYTES = 56,    // of that record
  ENTRY_BYTES = 46,    // of a member's entry in the directory, without names
  LOCAL_BYTES = 30,    // of the header before its content
  MAX_COMMENT = 65535,
  MAX_DIRECTORY = 64 << 20,
  STORED = 0,
  DEFLATED = 8,
  ZIP64 = 1,  // an extra field
};

static uint16_t get16(const uint8_t *at) {
  uint16_t x;
  memcpy(&x, at, sizeof x);
  return le16toh(x);
}

static uint32_t get32(const uint8_t *at) {
  uint32_t x;
  memcpy(&x, at, sizeof x);
  return le32toh(x);
}

static uint64_t get64(const uint8_t *at) {
  uint64_t x;
  memcpy(&x, at, sizeof x);
  return le64toh(x);
}

typedef struct {
  const char *name;  // without ".npy"
  int method;
  uint32_t crc;
  uint64_t packed, size, at;  // bytes in the file, bytes unpacked, the local header
} member;

static dp_status broken(const dp_data_file *file, const char *what) {
  return dp_fail(EX_DATAERR, "%s: the zip archive is damaged: %s", file->path, what);
}

// ---- the directory --------------------------------------------------------------------------------------------------

// Where the directory lies, as the end record says, or that of zip64.
static dp_status find_directory(const dp_data_file *file, uint64_t *at, uint64_t *bytes) {
  const uint64_t size = file->bytes.size, looked = size < MAX_COMMENT + END_BYTES ? size : MAX_COMMENT + END_BYTES;
  uint8_t *tail = dp_alloc(file->arena, looked);
  DP_TRY(dp_bytes_read(&file->bytes, size - looked, tail, looked));
  uint64_t end = looked < END_BYTES ? 0 : looked - END_BYTES + 1;
  while (end && memcmp(tail + end - 1, "PK\5\6", 4)) end--;
  if (!end) return broken(file, "it has no directory");
  end--;
  *bytes = get32(tail + end + 12);
  *at = get32(tail + end + 16);
  if (end < LOCATOR_BYTES || memcmp(tail + end - LOCATOR_BYTES, "PK\6\7", 4)) return DP_OK;
  uint8_t record[END64_BYTES];
  DP_TRY(dp_bytes_header(&file->bytes, get64(tail + end - LOCATOR_BYTES + 8), record, sizeof record));
  if (memcmp(record, "PK\6\6", 4)) return broken(file, "its directory of zip64 is not where it says");
  *bytes = get64(record + 40);
  *at = get64(record + 48);
  return DP_OK;
}

// Sizes and places of 4 GiB and more stand in an extra field, in this order, each only if the entry's own is full.
static dp_status read_zip64(const dp_data_file *file, const uint8_t *extra, size_t bytes, member *m) {
  uint64_t *const fields[] = {&m->size, &m->packed, &m->at};
  while (bytes >= 4) {
    const size_t length = get16(extra + 2);
    if (length > bytes - 4) return broken(file, "an extra field is too long");
    size_t used = 0;
    for (size_t i = 0; get16(extra) == ZIP64 && i < DP_COUNT(fields); i++) {
      if (*fields[i] != UINT32_MAX) continue;
      if (used + 8 > length) return broken(file, "a field of zip64 is too short");
      *fields[i] = get64(extra + 4 + used);
      used += 8;
    }
    extra += 4 + length;
    bytes -= 4 + length;
  }
  return DP_OK;
}

static dp_status read_members(const dp_data_file *file, member **members, int *count) {
  uint64_t at = 0, bytes = 0;
  *members = NULL;
  *count = 0;
  DP_TRY(find_directory(file, &at, &bytes));
  if (bytes > MAX_DIRECTORY) return broken(file, "its directory is too large");
  if (at > file->bytes.size || bytes > file->bytes.size - at) return broken(file, "its directory is not within it");
  uint8_t *directory = dp_alloc(file->arena, bytes);
  DP_TRY(dp_bytes_header(&file->bytes, at, directory, bytes));
  for (uint64_t i = 0; i < bytes;) {
    const uint8_t *e = directory + i;
    if (bytes - i < ENTRY_BYTES || memcmp(e, "PK\1\2", 4)) return broken(file, "an entry of its directory");
    const size_t name = get16(e + 28), extra = get16(e + 30), comment = get16(e + 32);
    if (name + extra + comment > bytes - i - ENTRY_BYTES) return broken(file, "an entry of its directory is too long");
    member m = {NULL, get16(e + 10), get32(e + 16), get32(e + 20), get32(e + 24), get32(e + 42)};
    DP_TRY(read_zip64(file, e + ENTRY_BYTES + name, extra, &m));
    if (get16(e + 8) & 1) return dp_fail(EX_DATAERR, "%s: the zip archive is encrypted", file->path);
    const bool npy = name > 4 && !memcmp(e + ENTRY_BYTES + name - 4, ".npy", 4);
    m.name = dp_strndup(file->arena, (const char *)e + ENTRY_BYTES, npy ? name - 4 : name);
    DP_PUSH(file->arena, *members, *count, m);
    i += ENTRY_BYTES + name + extra + comment;
  }
  return DP_OK;
}

// ---- one array ------------------------------------------------------------------------------------------------------

static const member *find_member(const member *members, int count, const char *part) {
  if (!part) return count == 1 ? &members[0] : NULL;
  for (int i = 0; i < count; i++)
    if (!strcmp(members[i].name, part)) return &members[i];
  return NULL;
}

static dp_status refuse_part(const dp_data_file *file, const member *members, int count) {
  const char *names = "";
  for (int i = 0; i < count && i < 8; i++)
    names = dp_printf(file->arena, "%s%s%.40s", names, i ? ", " : "", members[i].name);
  if (file->part)
    return dp_fail(EX_USAGE, "%s:%.80s: it has no array of this name, but %s%s", file->path, file->part,
                   count ? names : "none", count > 8 ? " ..." : "");
  return dp_fail(EX_USAGE, "%s: it has %d arrays: choose one with %s:NAME, of %s%s", file->path, count, file->path,
                 names, count > 8 ? " ..." : "");
}

// Checks an array against the archive's own sum.
static dp_status check_sum(const dp_data_file *file, const dp_bytes *bytes, uint32_t sum) {
  uint8_t piece[1 << 16];
  uint32_t crc = 0;
  for (uint64_t at = 0; at < bytes->size;) {
    const size_t n = bytes->size - at < sizeof piece ? (size_t)(bytes->size - at) : sizeof piece;
    DP_TRY(dp_bytes_read(bytes, at, piece, n));
    crc = (uint32_t)crc32(crc, piece, (unsigned)n);
    at += n;
  }
  return crc == sum ? DP_OK : broken(file, "a checksum is wrong");
}

// Replaces the file's bytes by the member's.
static dp_status take_member(dp_data_file *file, const member *m) {
  uint8_t local[LOCAL_BYTES];
  DP_TRY(dp_bytes_header(&file->bytes, m->at, local, sizeof local));
  if (memcmp(local, "PK\3\4", 4)) return broken(file, "an array is not where its directory says");
  const uint64_t at = m->at + LOCAL_BYTES + get16(local + 26) + get16(local + 28);
  if (at > file->bytes.size || m->packed > file->bytes.size - at) return broken(file, "an array is not within it");
  if (m->method != STORED && m->method != DEFLATED)
    return dp_fail(EX_DATAERR, "%s: its compression (%d) is not supported: save it with numpy.savez", file->path,
                   m->method);
  if (m->method == STORED) {
    if (m->packed != m->size) return broken(file, "an array has two sizes");
    file->bytes.at += at;
    file->bytes.size = m->size;
    return file->bytes.size <= DP_BYTES_HELD ? check_sum(file, &file->bytes, m->crc) : DP_OK;
  }
  const dp_bytes packed = dp_bytes_part(&file->bytes, at, m->packed);
  dp_bytes unpacked;
  DP_TRY(dp_packing_unpack(&dp_packing_deflate, &packed, &unpacked));
  dp_bytes_close(&file->bytes);
  file->bytes = unpacked;
  return unpacked.size == m->size ? check_sum(file, &unpacked, m->crc) : broken(file, "an array has another size");
}

static bool recognise(const dp_data_file *file) {
  return file->n_head >= 4 && !memcmp(file->head, "PK\3\4", 4) && memmem(file->head, file->n_head, ".npy", 4);
}

static dp_status open_file(dp_data_file *file, dp_data *data) {
  member *members = NULL;
  int count = 0;
  DP_TRY(read_members(file, &members, &count));
  const member *m = find_member(members, count, file->part);
  if (!m) return refuse_part(file, members, count);
  DP_TRY(take_member(file, m));
  return dp_npy_open(file, data);
}

const dp_data_format dp_data_format_npz = {
    .what = "a .npz file",
    .has_parts = true,
    .recognise = recognise,
    .open = open_file,
    .read = dp_dense_read,
    .close = dp_dense_close,
};
