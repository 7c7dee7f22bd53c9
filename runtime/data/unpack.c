// Decompression: gzip, zstd, and the deflate of zip. Memory grows as content arrives, and content that is out of
// proportion to what it came from (a zip bomb) is refused. See bytes.h.
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "runtime/data/bytes.h"

enum { IN_BYTES = 1 << 16 };

typedef struct {
  const dp_bytes *packed;
  uint64_t at;  // what has been read of it
  uint8_t in[IN_BYTES];
  uint8_t *out;
  size_t count, capacity, limit;
} unpacking;

struct dp_packing {
  const char *name;
  uint8_t magic[4];
  int n_magic;
  dp_status (*unpack)(unpacking *u);
};

static dp_status damaged(const unpacking *u, const char *why) {
  return dp_fail(EX_DATAERR, "%s: its compressed data is damaged: %s", u->packed->path, why);
}

// The next bytes of the input; none at its end.
static dp_status refill(unpacking *u, size_t *count) {
  const uint64_t left = u->packed->size - u->at;
  *count = left < IN_BYTES ? (size_t)left : IN_BYTES;
  DP_TRY(dp_bytes_read(u->packed, u->at, u->in, *count));
  u->at += *count;
  return DP_OK;
}

// Makes room for more output, at least one byte.
static dp_status make_room(unpacking *u) {
  if (u->count < u->capacity) return DP_OK;
  if (u->capacity == u->limit)
    return dp_fail(EX_DATAERR,
                   "%s: unpacked, its %llu bytes are more than %zu: out of proportion; if that is right, unpack it "
                   "and give the unpacked file",
                   u->packed->path, (unsigned long long)u->packed->size, u->limit);
  size_t larger = u->capacity ? 2 * u->capacity : IN_BYTES;
  if (larger > u->limit) larger = u->limit;
  uint8_t *grown = realloc(u->out, larger);
  if (!grown) return dp_fail(DP_EX_MEMORY, "%s: no memory to unpack it", u->packed->path);
  u->out = grown;
  u->capacity = larger;
  return DP_OK;
}

// ---- deflate --------------------------------------------------------------------------------------------------------

// Gzip may have several members, one after the other.
static dp_status inflate_all(unpacking *u, z_stream *z, bool members) {
  bool full = false;  // zlib may hold output although it has taken all input
  for (int code = Z_OK;;) {
    size_t count = 0;
    if (!z->avail_in && !full) {
      DP_TRY(refill(u, &count));
      z->next_in = u->in;
      z->avail_in = (unsigned)count;
    }
    if (code == Z_STREAM_END && !z->avail_in) return DP_OK;
    if (code == Z_STREAM_END && (!members || inflateReset(z) != Z_OK)) return damaged(u, "more follows its end");
    if (!z->avail_in && !full) return damaged(u, "it ends too early");
    DP_TRY(make_room(u));
    const size_t room = u->capacity - u->count;
    z->next_out = u->out + u->count;
    z->avail_out = room > 1u << 30 ? 1u << 30 : (unsigned)room;
    const unsigned offered = z->avail_out;
    code = inflate(z, Z_NO_FLUSH);
    u->count += offered - z->avail_out;
    full = code == Z_OK && !z->avail_out;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return damaged(u, z->msg ? z->msg : "zlib");
  }
}

static dp_status inflate_with(unpacking *u, int window_bits, bool members) {
  z_stream z = {0};
  if (inflateInit2(&z, window_bits) != Z_OK) return dp_fail(DP_EX_MEMORY, "%s: no memory for zlib", u->packed->path);
  dp_status status = inflate_all(u, &z, members);
  inflateEnd(&z);
  return status;
}

static dp_status unpack_gzip(unpacking *u) { return inflate_with(u, 15 + 16, true); }
static dp_status unpack_deflate(unpacking *u) { return inflate_with(u, -15, false); }

// ---- zstd -----------------------------------------------------------------------------------------------------------

static dp_status decompress_all(unpacking *u, ZSTD_DCtx *context) {
  ZSTD_inBuffer in = {u->in, 0, 0};
  size_t left = 1;  // 0: a frame is complete
  for (bool full = false;;) {
    if (in.pos == in.size && !full) {
      DP_TRY(refill(u, &in.size));
      in.pos = 0;
      if (!in.size) return left ? damaged(u, "it ends too early") : DP_OK;
    }
    DP_TRY(make_room(u));
    ZSTD_outBuffer out = {u->out, u->capacity, u->count};
    left = ZSTD_decompressStream(context, &out, &in);
    if (ZSTD_isError(left)) return damaged(u, ZSTD_getErrorName(left));
    u->count = out.pos;
    full = left && out.pos == out.size;
  }
}

static dp_status unpack_zstd(unpacking *u) {
  ZSTD_DCtx *context = ZSTD_createDCtx();
  if (!context) return dp_fail(DP_EX_MEMORY, "%s: no memory for zstd", u->packed->path);
  dp_status status = decompress_all(u, context);
  ZSTD_freeDCtx(context);
  return status;
}

// ---- the table ------------------------------------------------------------------------------------------------------

static const dp_packing packings[] = {
    {"gzip", {0x1f, 0x8b, 8}, 3, unpack_gzip},
    {"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, unpack_zstd},
};
const dp_packing dp_packing_deflate = {"deflate", {0}, 0, unpack_deflate};

const dp_packing *dp_packing_find(const uint8_t *head, size_t count) {
  for (size_t i = 0; i < DP_COUNT(packings); i++)
    if (count >= (size_t)packings[i].n_magic && !memcmp(head, packings[i].magic, (size_t)packings[i].n_magic))
      return &packings[i];
  return NULL;
}

dp_status dp_packing_unpack(const dp_packing *packing, const dp_bytes *packed, dp_bytes *unpacked) {
  unpacking *u = calloc(1, sizeof *u);
  if (!u) return dp_fail(DP_EX_MEMORY, "%s: no memory to unpack it", packed->path);
  u->packed = packed;
  u->limit = packed->size > DP_BYTES_UNPACKED / DP_BYTES_RATIO ? packed->size * DP_BYTES_RATIO : DP_BYTES_UNPACKED;
  dp_status status = packing->unpack(u);
  if (status)
    free(u->out);
  else
    *unpacked = (dp_bytes){.path = packed->path, .fd = -1, .memory = u->out, .size = u->count};
  free(u);
  return status;
}
