// What fuzz_data reads files as: the first byte of an input chooses a row, the rest is the file. Of a pattern of two
// files, the next two bytes are the length of the first, little-endian.
#ifndef DP_TESTS_FUZZ_DATA_KINDS_H
#define DP_TESTS_FUZZ_DATA_KINDS_H

#include "ir/graph/type.h"

enum { DATA_SKIPS_BROKEN = 0x80, DATA_IS_PATTERN = 0x40, DATA_ROW = 0x3F };  // bits of the first byte

typedef struct {
  const char *file;   // its name; "pictures/..." is read as the folder "pictures"
  const char *part;   // NULL: none
  dp_dtype dtype;     // of the input
  int rank;           // of a sample
  int extents[3];     // (rank)
  const char *seeds;  // samples of tests/runtime/data, by name
} data_kind;

#define DATA_ARCHIVES "us.tar us.tar.gz pax.tar gnu.tar"

static const data_kind data_kinds[] = {
    {"d.idx", NULL, DP_FLOAT32, 2, {2, 2}, ""},
    {"d.npy", NULL, DP_FLOAT32, 1, {3}, "expected_x.npy x.npy.gz x.npy.zst"},
    {"d.npz", NULL, DP_FLOAT32, 1, {3}, "one.npz"},
    {"d.npz", "x", DP_FLOAT32, 1, {3}, "two.npz packed.npz"},
    {"d.csv", NULL, DP_FLOAT32, 2, {2, 2}, "bare.csv"},
    {"d.csv", "c,a", DP_INT32, 1, {2}, "named.csv named.csv.zst"},
    {"d.bin", "cifar10", DP_UINT8, 3, {3, 32, 32}, "cifar10.bin"},
    {"d.bin", "cifar100.fine", DP_INT64, 0, {0}, "cifar100.bin"},
    {"d.bin", "uint16+1", DP_INT64, 1, {8}, "tokens16.bin"},
    {"d.bin", "uint32", DP_INT32, 1, {8}, "tokens32.bin"},
    {"d.tar", NULL, DP_UINT8, 3, {3, 7, 9}, DATA_ARCHIVES},
    {"d.tar", "cls", DP_INT64, 0, {0}, DATA_ARCHIVES},
    {"pictures/a/p.png",
     NULL,
     DP_FLOAT32,
     3,
     {3, 7, 9},
     "a.png b.jpg c.JPEG d.png e.png f.png g.jpg h.png i.jpg giant.png"},
    {"pictures/a/p.jpg", NULL, DP_UINT8, 2, {7, 9}, "e.png g.jpg h.png"},
};

#endif
