// The regular files in a tar archive: ustar, with the long names and sizes of pax and GNU. Private.
// https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html (sections "pax Interchange Format" and
// "ustar Interchange Format")
#ifndef DP_RUNTIME_DATA_TAR_H
#define DP_RUNTIME_DATA_TAR_H

#include "runtime/data/bytes.h"

typedef struct {
  char *name;
  uint64_t at, bytes;  // of the content
} dp_tar_member;

bool dp_tar_is(const uint8_t *head, size_t count);
// All members, also those of archives that follow each other, as of `cat a.tar b.tar`. EX_DATAERR: damaged. An archive
// ends with two blocks of zeros, and those that fill the last record; at least one must be there.
dp_status dp_tar_list(dp_arena *arena, const dp_bytes *bytes, dp_tar_member **members, int64_t *count) DP_MUST_USE;

#endif
