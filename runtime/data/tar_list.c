// See tar.h.
#include <stdlib.h>
#include <string.h>

#include "runtime/data/tar.h"

enum { BLOCK = 512, MAX_LONG = 1 << 16 };

// Offsets of fields in a header.
enum { NAME = 0, SIZE = 124, SUM = 148, TYPE = 156, MAGIC = 257, PREFIX = 345 };
enum { NAME_BYTES = 100, SIZE_BYTES = 12, SUM_BYTES = 8, PREFIX_BYTES = 155 };

// Octal digits, or a binary number with the highest bit set. False: neither.
static bool get_number(const uint8_t *at, int bytes, uint64_t *number) {
  uint64_t x = 0;
  if (at[0] & 0x80) {
    for (int i = bytes - 8; i < bytes; i++) x = x << 8 | at[i];
    for (int i = 1; i < bytes - 8; i++)
      if (at[i]) return false;
    *number = x;
    return !(at[0] & 0x7f);
  }
  int i = 0;
  while (i < bytes && at[i] == ' ') i++;
  for (; i < bytes && at[i] >= '0' && at[i] <= '7'; i++) x = x << 3 | (uint64_t)(at[i] - '0');
  *number = x;
  return i == bytes || at[i] == 0 || at[i] == ' ';
}

static bool sum_is_right(const uint8_t *header) {
  uint64_t wanted, sum = 0;
  for (int i = 0; i < BLOCK; i++) sum += i >= SUM && i < SUM + SUM_BYTES ? ' ' : header[i];
  return get_number(header + SUM, SUM_BYTES, &wanted) && wanted == sum;
}

bool dp_tar_is(const uint8_t *head, size_t count) {
  return count >= BLOCK && !memcmp(head + MAGIC, "ustar", 5) && sum_is_right(head);
}

// What the next header's own fields are overridden by.
typedef struct {
  char *name;  // NULL: nothing
  bool has_size;
  uint64_t size;
} overriding;

// Records "LENGTH key=value\n".
static bool read_pax(dp_arena *arena, char *text, size_t bytes, overriding *o) {
  while (bytes) {
    char *end;
    const unsigned long long length = strtoull(text, &end, 10);
    if (*end != ' ' || length > bytes || length < (size_t)(end - text) + 3 || text[length - 1] != '\n') return false;
    text[length - 1] = 0;
    if (!strncmp(end + 1, "path=", 5)) o->name = dp_strdup(arena, end + 6);
    if (!strncmp(end + 1, "size=", 5)) {
      o->size = strtoull(end + 6, &end, 10);
      o->has_size = true;
      if (*end) return false;
    }
    text += length;
    bytes -= length;
  }
  return true;
}

static dp_status damaged(const dp_bytes *bytes, uint64_t at, const char *what) {
  return dp_fail(EX_DATAERR, "%s: the tar archive is damaged at byte %llu: %s", bytes->path, (unsigned long long)at,
                 what);
}

static bool is_override(const uint8_t *header) { return header[TYPE] == 'L' || header[TYPE] == 'x'; }

static dp_status read_override(dp_arena *arena, const dp_bytes *bytes, uint64_t at, uint64_t size, char type,
                               overriding *o) {
  if (size > MAX_LONG) return damaged(bytes, at, "a name is too long");
  char *text = dp_alloc(arena, size + 1);
  DP_TRY(dp_bytes_read(bytes, at, text, size));
  if (type == 'L')
    o->name = text;
  else if (!read_pax(arena, text, size, o))
    return damaged(bytes, at, "a record of pax");
  return DP_OK;
}

static char *name_of(dp_arena *arena, const uint8_t *header) {
  const char *name = dp_strndup(arena, (const char *)header + NAME, NAME_BYTES);
  const char *prefix = dp_strndup(arena, (const char *)header + PREFIX, PREFIX_BYTES);
  // GNU's own headers ("ustar  ") have other things where the prefix is.
  const bool has_prefix = *prefix && !header[MAGIC + 5];
  return has_prefix ? dp_printf(arena, "%s/%s", prefix, name) : dp_strdup(arena, name);
}

// The header of a member, and where its content ends with its padding.
static dp_status read_header(const dp_bytes *bytes, uint64_t at, const uint8_t *header, const overriding *o,
                             uint64_t *size, uint64_t *end) {
  if (!sum_is_right(header)) return damaged(bytes, at, "a checksum is wrong");
  if (!get_number(header + SIZE, SIZE_BYTES, size)) return damaged(bytes, at, "a size is no number");
  if (!is_override(header) && o->has_size) *size = o->size;
  const uint64_t begin = at + BLOCK, left = bytes->size - begin;
  if (*size > left) return damaged(bytes, begin, "a member is longer than the rest of the file");
  if (dp_align_up(*size, BLOCK) > left) return damaged(bytes, begin, "a member's last block is not whole");
  *end = begin + dp_align_up(*size, BLOCK);
  return DP_OK;
}

dp_status dp_tar_list(dp_arena *arena, const dp_bytes *bytes, dp_tar_member **members, int64_t *count) {
  static const uint8_t zeros[BLOCK];
  overriding o = {0};
  bool ended = false;  // by a block of zeros; others follow it, or another archive
  *members = NULL;
  *count = 0;
  for (uint64_t at = 0; at < bytes->size;) {
    uint8_t header[BLOCK];
    uint64_t size = 0, end = 0;
    const size_t left = bytes->size - at < BLOCK ? (size_t)(bytes->size - at) : BLOCK;
    DP_TRY(dp_bytes_read(bytes, at, header, left));
    if (!memcmp(header, zeros, left) && (ended || left == BLOCK)) {
      ended = true;
      at += left;
      continue;
    }
    if (left < BLOCK) return damaged(bytes, at, "it ends within a header");
    if (ended && !dp_tar_is(header, BLOCK)) return damaged(bytes, at, "what follows its end is no archive");
    ended = false;
    DP_TRY(read_header(bytes, at, header, &o, &size, &end));
    if (is_override(header)) {
      DP_TRY(read_override(arena, bytes, at + BLOCK, size, (char)header[TYPE], &o));
    } else {
      if (header[TYPE] == '0' || !header[TYPE]) {
        const dp_tar_member m = {o.name ? o.name : name_of(arena, header), at + BLOCK, size};
        DP_PUSH(arena, *members, *count, m);
      }
      o = (overriding){0};
    }
    at = end;
  }
  return ended ? DP_OK : damaged(bytes, bytes->size, "it has no end, a block of zeros, so some of it may be missing");
}
