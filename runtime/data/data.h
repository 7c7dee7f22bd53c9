// A data file as samples of one type and shape, which are read when they are needed.
//
// A format is one file with one const struct, and its line in formats.h; the content of a file tells its format, or
// what was asked for. Headers are not trusted: memory grows only with what is really there.
#ifndef DP_RUNTIME_DATA_DATA_H
#define DP_RUNTIME_DATA_DATA_H

#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the data is for. Some formats say nothing of shapes (tokens, CSV): their samples get the input's.
typedef struct {
  const dp_type *input;
  int batch_dim;     // the input's dim of samples, whose extent is the file's first axis; -1: the whole is one tensor
  bool skip_broken;  // a record that cannot be read is no reason to refuse the file
  int files;         // that share what may be held in memory; 0: this one has it alone
} dp_data_request;

typedef struct dp_data_format dp_data_format;

// Why a record cannot be read.
typedef struct {
  int64_t record;
  const char *why;  // as a message, with the file's name
} dp_data_fault;

typedef struct {
  const dp_data_format *format;
  const char *name;  // as in messages
  dp_dtype dtype;
  int rank;
  int64_t extents[DP_MAX_RANK];  // samples first
  bool *broken;                  // (samples) records that cannot be read; NULL: none are known
  int n_faults;
  dp_data_fault *faults;  // of the first records that are known to be broken
  void *state;            // the format's
} dp_data;

// The file that "FILE" or "FILE:PART" names; NULL: it is a pattern.
const char *dp_data_path(dp_arena *arena, const char *text);
// The files that "FILE", "FILE:PART" or a pattern names: a text that is no file is divided at its last colon. Returns
// how many.
int dp_data_paths(dp_arena *arena, const char *text, const char ***paths);

// Opens FILE, FILE:PART, or a pattern of several files, one after the other. EX_NOINPUT: cannot be opened; EX_DATAERR:
// malformed; EX_USAGE: there is no such part. The data lives in the arena, until it is closed.
dp_status dp_data_open(dp_arena *arena, const char *text, const dp_data_request *request, dp_data **data) DP_MUST_USE;
// A tensor that is in memory already; the caller keeps it alive.
dp_data *dp_data_of_tensor(dp_arena *arena, const char *name, const dp_tensor *tensor);
void dp_data_close(dp_data *data);  // NULL is allowed

int64_t dp_data_samples(const dp_data *data);      // the first extent; 1 if there is none
size_t dp_data_sample_bytes(const dp_data *data);  // without the first axis, if there is one
// Reads samples [first, first + count) to `target`. Many threads may read at once. EX_DATAERR: a broken record, which
// is named; EX_IOERR.
dp_status dp_data_read(const dp_data *data, int64_t first, int64_t count, void *target) DP_MUST_USE;
// XXH3 of what the data is: of all bytes up to 64 MiB, else of those at many fixed places (hash.c); of pictures, names,
// sizes, and the contents of some.
dp_status dp_data_hash(const dp_data *data, uint64_t *hash) DP_MUST_USE;

// ---- fit.c ----------------------------------------------------------------------------------------------------------

// Data as a graph input wants it.
typedef struct {
  const dp_data *data;
  dp_dtype dtype;
  int rank;
  int64_t extents[DP_MAX_RANK];  // the input's, samples first
} dp_fitted;

// Fits data to an input. The extents must agree, except that axes of length 1 may be missing or extra. Elements are
// converted to the input's type as they are read: integers if no value changes, floats to a narrower type by rounding
// to nearest, if they are within its range. Where the types alone do not say that this succeeds, all elements are
// examined now; *rounded is set if any will be rounded. With skip_broken, samples that cannot be converted become
// broken ones. `what` names file and input in messages. EX_DATAERR.
dp_status dp_data_fit(dp_arena *arena, const char *what, const dp_data_request *request, dp_data *data,
                      dp_fitted *fitted, bool *rounded) DP_MUST_USE;
size_t dp_fitted_sample_bytes(const dp_fitted *fitted);  // of the whole if there are no samples
// Reads and converts. scratch: room for as many samples of the data; unused if the types are the same.
dp_status dp_fitted_read(const dp_fitted *fitted, int64_t first, int64_t count, void *scratch,
                         void *target) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
