// A file of lines of JSON, which is read line by line: it may be larger than memory. Of a line, 64 MiB at most are
// kept.
#ifndef DP_TOOLS_REPORT_LINES_H
#define DP_TOOLS_REPORT_LINES_H

#include <stdio.h>

#include "ir/base/base.h"

typedef struct {
  FILE *file;
  const char *path;
  char *line;  // the line that was read last, without its end; it may hold NUL
  size_t capacity, length;
  int64_t number;  // its number, from 1
  int64_t at;      // where it begins in the file
  bool failed;
} dp_report_lines;

// Opens a regular file. EX_NOINPUT, EX_DATAERR.
dp_status dp_report_lines_open(const char *path, dp_report_lines *lines) DP_MUST_USE;
// Reads the next line. False: there is none, or the file cannot be read on (dp_report_lines_close tells).
bool dp_report_lines_next(dp_report_lines *lines);
// Reads the line that begins at `at` once more.
bool dp_report_lines_again(dp_report_lines *lines, int64_t at);
// EX_IOERR: the file could not be read to its end.
dp_status dp_report_lines_close(dp_report_lines *lines) DP_MUST_USE;

#endif
