// Samples that are pictures, wherever their bytes are: in the files of a folder, in the members of a tar. Private.
#ifndef DP_RUNTIME_DATA_PICTURES_H
#define DP_RUNTIME_DATA_PICTURES_H

#include "runtime/data/format.h"
#include "runtime/data/picture.h"

typedef struct dp_pictures dp_pictures;
struct dp_pictures {
  dp_picture_shape shape;
  // Reads the encoded bytes of a sample into a block from malloc. `name` (of NAME bytes) is set for messages.
  dp_status (*load)(const dp_data *data, int64_t sample, char *name, uint8_t **encoded, size_t *bytes);
};

enum { DP_PICTURE_NAME = 512, DP_PICTURE_MAX_BYTES = 256 << 20 };

// For a `load`: reads all of the bytes into a block from malloc. EX_DATAERR: they are too many for a picture.
dp_status dp_pictures_take(const char *name, int64_t sample, const dp_bytes *bytes, uint8_t **encoded) DP_MUST_USE;

// Sets type, extents and shape as the input wants them: [N,C,H,W], [N,H,W,C] or [N,H,W], with 1 or 3 channels.
// EX_DATAERR: the input takes no pictures.
dp_status dp_pictures_open(const dp_data_file *file, int64_t samples, dp_pictures *pictures, dp_data *data) DP_MUST_USE;
// Decodes the first one, so that what is wrong with all of them shows before training.
dp_status dp_pictures_check(const dp_data_file *file, const dp_data *data) DP_MUST_USE;
// data->state begins with a dp_pictures.
dp_status dp_pictures_read(const dp_data *data, int64_t first, int64_t count, void *target) DP_MUST_USE;
// Adds the encoded contents of at most so many pictures, at equal distances, to the hash of their names and sizes.
dp_status dp_pictures_hash(const dp_data *data, int64_t contents, uint64_t *hash) DP_MUST_USE;
bool dp_pictures_has_ending(const char *name);  // ".jpg", ".jpeg" or ".png"

#endif
