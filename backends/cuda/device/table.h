// Tensors that one launch works on, in a table in the GPU's memory. Each has a `first_block`, which rises from 0.
#ifndef DP_BACKENDS_CUDA_DEVICE_TABLE_H
#define DP_BACKENDS_CUDA_DEVICE_TABLE_H

// The entry that this block works on. first: the first entry's first_block. bytes: of an entry.
DP_DEVICE int LOCAL(table_entry)(const long long *first, dp_i64 bytes, dp_i64 n_entries) {
  int entry = 0, end = (int)n_entries;
  while (end - entry > 1) {
    const int middle = (entry + end) / 2;
    if (*(const long long *)((const char *)first + middle * bytes) <= dp_block())
      entry = middle;
    else
      end = middle;
  }
  return entry;
}

#endif
