// What a format of data files is. Private to the formats.
#ifndef DP_RUNTIME_DATA_FORMAT_H
#define DP_RUNTIME_DATA_FORMAT_H

#include "runtime/data/bytes.h"
#include "runtime/data/data.h"

// A file that is being opened.
typedef struct {
  dp_arena *arena;
  const char *path;
  const char *part;  // NULL: none was asked for
  const dp_data_request *request;
  bool folder;
  dp_bytes bytes;  // of a file; a format that keeps them moves them out (dp_data_take)
  const uint8_t *head;
  size_t n_head;  // at most 4,096
} dp_data_file;

struct dp_data_format {
  const char *what;  // "an IDX file"
  bool has_parts;    // takes FILE:PART
  bool (*recognise)(const dp_data_file *file);
  // Sets type, extents and state.
  dp_status (*open)(dp_data_file *file, dp_data *data);
  // Many threads may read at once.
  dp_status (*read)(const dp_data *data, int64_t first, int64_t count, void *target);
  void (*close)(dp_data *data);
  // As dp_data_hash, with the contents of at most so many samples. NULL: dp_data_hash_samples.
  dp_status (*hash)(const dp_data *data, int64_t contents, uint64_t *hash);
};

// The formats, in the order in which they are asked (formats.h).
extern const dp_data_format *const dp_data_formats[];  // ends with NULL

// ---- dense.c: samples at equal distances ----------------------------------------------------------------------------

typedef struct {
  uint64_t at, stride;  // of the first sample, and from one to the next
  bool big_endian;
} dp_dense;

// Makes the file's bytes the data's. The type and extents must be set, and the last sample end within the bytes.
dp_status dp_dense_open(dp_data_file *file, const dp_dense *dense, dp_data *data) DP_MUST_USE;
// The same of bytes that dense closes.
dp_status dp_dense_of(const dp_data_file *file, dp_bytes *bytes, const dp_dense *dense, dp_data *data) DP_MUST_USE;
// The same where the samples are all that follows the header of `at` bytes. EX_DATAERR: the file is not as long as the
// extents say.
dp_status dp_dense_rest(dp_data_file *file, uint64_t at, bool big_endian, dp_data *data) DP_MUST_USE;
dp_status dp_dense_read(const dp_data *data, int64_t first, int64_t count, void *target) DP_MUST_USE;
void dp_dense_close(dp_data *data);

// ---- helpers --------------------------------------------------------------------------------------------------------

// The extents of one sample of the input, and their product; false: the input has no samples.
bool dp_data_wanted(const dp_data_request *request, int64_t extents[DP_MAX_RANK], int *rank, int64_t *count);
// Marks one of so many samples as broken, and takes the status that says why.
void dp_data_mark_broken(dp_arena *arena, dp_data *data, int64_t samples, int64_t record, dp_status why);
// Remembers why a record is broken, unless many others are.
void dp_data_add_fault(dp_arena *arena, dp_data *data, int64_t record, const char *why);
// Opens one file, which is no pattern.
dp_status dp_data_open_file(dp_arena *arena, const char *path, const char *part, const dp_data_request *request,
                            dp_data *data) DP_MUST_USE;
// hash.c: of the samples as they are read.
dp_status dp_data_hash_samples(const dp_data *data, uint64_t *hash) DP_MUST_USE;
// The i-th of so many places from 0 to `last`, equally far from each other.
int64_t dp_hash_place(int64_t i, int64_t places, int64_t last);
// Moves the file's bytes to the caller, who closes them.
dp_bytes dp_data_take(dp_data_file *file);
// Opens bytes that hold a .npy, as npz does; takes them.
dp_status dp_npy_open(dp_data_file *file, dp_data *data) DP_MUST_USE;

#endif
