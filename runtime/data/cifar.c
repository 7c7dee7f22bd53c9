// CIFAR-10 and CIFAR-100 in their binary form: records of one or two labels of a byte each, then 3x32x32 bytes.
// https://www.cs.toronto.edu/~kriz/cifar.html (section "Binary version").
#include <string.h>

#include "runtime/data/format.h"

enum { PICTURE_BYTES = 3 * 32 * 32 };

// The parts of a record.
static const struct {
  const char *name;
  uint64_t record_bytes, at;
  bool picture;
} parts[] = {
    {"cifar10", PICTURE_BYTES + 1, 1, true},          {"cifar10.label", PICTURE_BYTES + 1, 0, false},
    {"cifar100", PICTURE_BYTES + 2, 2, true},         {"cifar100.fine", PICTURE_BYTES + 2, 1, false},
    {"cifar100.coarse", PICTURE_BYTES + 2, 0, false},
};

static bool recognise(const dp_data_file *file) {
  return !file->folder && file->part && !strncmp(file->part, "cifar", 5);
}

static dp_status open_file(dp_data_file *file, dp_data *data) {
  size_t p = 0;
  while (p < DP_COUNT(parts) && strcmp(parts[p].name, file->part)) p++;
  if (p == DP_COUNT(parts))
    return dp_fail(EX_USAGE, "%s:%s: the parts of CIFAR are cifar10, cifar10.label, cifar100, cifar100.fine, %s",
                   file->path, file->part, "cifar100.coarse");
  const uint64_t record = parts[p].record_bytes;
  if (file->bytes.size % record)
    return dp_fail(EX_DATAERR, "%s: its %llu bytes are no whole number of records of %llu bytes", file->path,
                   (unsigned long long)file->bytes.size, (unsigned long long)record);
  data->dtype = DP_UINT8;
  data->rank = parts[p].picture ? 4 : 1;
  const int64_t extents[] = {(int64_t)(file->bytes.size / record), 3, 32, 32};
  memcpy(data->extents, extents, (size_t)data->rank * sizeof *extents);
  const dp_dense dense = {parts[p].at, record, false};
  return dp_dense_open(file, &dense, data);
}

const dp_data_format dp_data_format_cifar = {
    .what = "a file of CIFAR",
    .has_parts = true,
    .recognise = recognise,
    .open = open_file,
    .read = dp_dense_read,
    .close = dp_dense_close,
};
