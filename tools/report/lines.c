// See lines.h.
#include "tools/report/lines.h"

#include <stdlib.h>
#include <unistd.h>

#include "ir/base/file.h"

dp_status dp_report_lines_open(const char *path, dp_report_lines *lines) {
  int fd;
  size_t bytes;
  DP_TRY(dp_file_open(path, &fd, &bytes));
  FILE *file = fdopen(fd, "re");
  if (!file) {
    close(fd);
    return dp_fail(DP_EX_MEMORY, "%s: no memory to read it", path);
  }
  rewind(file);  // standard input may have been read to make a file of it
  *lines = (dp_report_lines){.file = file, .path = path};
  return DP_OK;
}

bool dp_report_lines_next(dp_report_lines *l) {
  l->at = ftello(l->file);
  const ssize_t length = getline(&l->line, &l->capacity, l->file);
  if (length < 0) {
    l->failed |= !feof(l->file);
    return false;
  }
  l->length = (size_t)length;
  while (l->length && (l->line[l->length - 1] == '\n' || l->line[l->length - 1] == '\r')) l->line[--l->length] = 0;
  l->number++;
  return true;
}

bool dp_report_lines_again(dp_report_lines *l, int64_t at) {
  return !fseeko(l->file, at, SEEK_SET) && dp_report_lines_next(l);
}

dp_status dp_report_lines_close(dp_report_lines *l) {
  fclose(l->file);
  free(l->line);
  return l->failed ? dp_fail(EX_IOERR, "%s: cannot be read to its end", l->path) : DP_OK;
}
