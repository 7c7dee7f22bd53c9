// One row per kind of file. See kind.h.
#define _GNU_SOURCE
#include "ir/base/kind.h"

#include <string.h>

enum { LOOKED_AT = 4096, MAX_HEADER_BYTES = 100 << 20 };

typedef struct {
  const uint8_t *data;
  size_t bytes;
} head;

static bool begins(head h, const char *magic, size_t length) {
  return h.bytes >= length && !memcmp(h.data, magic, length);
}
#define BEGINS(h, MAGIC) begins(h, MAGIC, sizeof MAGIC - 1)

static bool holds(head h, const char *word) { return memmem(h.data, h.bytes, word, strlen(word)); }

static bool is_plan(head h) { return BEGINS(h, "DPPLAN"); }
static bool is_npy(head h) { return BEGINS(h, "\x93NUMPY"); }
static bool is_zip(head h) { return BEGINS(h, "PK\3\4"); }
static bool is_torch(head h) {
  bool pickle = BEGINS(h, "\x80\2") || BEGINS(h, "\x80\3") || BEGINS(h, "\x80\4");
  return pickle || (is_zip(h) && (holds(h, "data.pkl") || holds(h, "/version")));
}
static bool is_npz(head h) { return is_zip(h) && holds(h, ".npy"); }
static bool is_gzip(head h) { return BEGINS(h, "\x1f\x8b"); }
static bool is_hdf5(head h) { return BEGINS(h, "\x89HDF\r\n\x1a\n"); }
static bool is_picture(head h) { return BEGINS(h, "\x89PNG") || BEGINS(h, "\xff\xd8\xff"); }
static bool is_gguf(head h) { return BEGINS(h, "GGUF"); }
static bool is_utf16(head h) { return BEGINS(h, "\xff\xfe") || BEGINS(h, "\xfe\xff"); }
static bool is_json(head h) { return BEGINS(h, "{"); }
static bool is_text_model(head h) {
  if (BEGINS(h, "\xef\xbb\xbf")) h = (head){h.data + 3, h.bytes - 3};
  return BEGINS(h, "model") || BEGINS(h, "//");
}

// u64 header length, little-endian, then the header in JSON.
static bool is_safetensors(head h) {
  uint64_t length = 0;
  for (int i = 7; i >= 0 && h.bytes > 8; i--) length = length << 8 | h.data[i];
  return h.bytes > 8 && length >= 2 && length <= MAX_HEADER_BYTES && h.data[8] == '{';
}

// 0, 0, type, rank.
static bool is_idx(head h) {
  return h.bytes >= 8 && !h.data[0] && !h.data[1] && h.data[2] >= 8 && h.data[2] <= 14 && h.data[3] >= 1 &&
         h.data[3] <= 8;
}

// Field 1 of both is a version: ours is 1; ONNX has used 3 and higher since its release.
static bool is_onnx(head h) { return h.bytes > 2 && h.data[0] == 8 && h.data[1] >= 3 && h.data[1] < 64; }
static bool is_model(head h) { return BEGINS(h, "\x08\x01"); }

// The first that matches wins.
static const struct {
  bool (*is)(head h);
  dp_file_kind kind;
} kinds[] = {
    {is_plan, {"a plan, which is already compiled", "dprun executes it, dpc show prints it"}},
    {is_npy, {"an array of NumPy (.npy)", "data is given by dprun --data NAME=FILE"}},
    {is_torch,
     {"a file of PyTorch (.pt, .pth)", "torch.onnx.export writes a network, safetensors.torch.save_file weights"}},
    {is_npz, {"a zip of NumPy arrays (.npz)", "numpy.save writes one array to a file"}},
    {is_zip, {"a zip archive", NULL}},
    {is_gzip, {"gzipped", "decompress it first: only data files may be compressed"}},
    {is_hdf5, {"HDF5 (.h5)", NULL}},
    {is_picture, {"a picture", NULL}},
    {is_gguf, {"weights for llama.cpp (.gguf)", NULL}},
    {is_utf16, {"text in UTF-16", "save it as UTF-8"}},
    {is_safetensors, {"weights (.safetensors)", "dprun --init=FILE loads them, beside a plan of the network"}},
    {is_idx, {"data in IDX", "data is given by dprun --data NAME=FILE"}},
    {is_onnx, {"a model in ONNX", "dpc compile takes it under a name that ends with .onnx"}},
    {is_model, {"a model (.pb)", "dpc compile makes a plan of it"}},
    {is_text_model, {"a model's text (.dpt)", "dpc compile makes a plan of it"}},
    {is_json, {"JSON", NULL}},
};

const dp_file_kind *dp_file_kind_of(const uint8_t *data, size_t bytes) {
  head h = {data, bytes < LOOKED_AT ? bytes : LOOKED_AT};
  for (size_t i = 0; i < DP_COUNT(kinds); i++)
    if (kinds[i].is(h)) return &kinds[i].kind;
  return NULL;
}

dp_status dp_file_kind_refuse(const char *path, const uint8_t *data, size_t bytes, const char *expected) {
  const dp_file_kind *kind = dp_file_kind_of(data, bytes);
  if (!bytes) return dp_fail(EX_DATAERR, "%s: expected %s, but the file is empty", path, expected);
  if (!kind) return dp_fail(EX_DATAERR, "%s: expected %s, but the file is of an unknown kind", path, expected);
  return dp_fail(EX_DATAERR, "%s: expected %s, but this is %s%s%s", path, expected, kind->what,
                 kind->advice ? "; " : "", kind->advice ? kind->advice : "");
}
