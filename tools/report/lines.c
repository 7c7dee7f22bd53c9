// See lines.h.
#include "tools/report/lines.h"

#include <stdlib.h>
#include <unistd.h>

#include "ir/base/file.h"

enum { LONGEST = 64 << 20 };  // bytes; a confusion matrix of 1,000 classes has a tenth of that

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

// Of a longer line, only the beginning is kept, which is no JSON.
static bool read_line(dp_report_lines *l) {
  int c;
  l->length = 0;
  do {
    if (l->length + 1 >= l->capacity) {
      const size_t capacity = l->capacity ? 2 * l->capacity : 1024;
      char *line = realloc(l->line, capacity);
      l->failed |= !line;
      if (!line) return false;
      l->line = line;
      l->capacity = capacity;
    }
    c = getc_unlocked(l->file);
    if (c != EOF && c != '\n' && l->length < LONGEST) l->line[l->length++] = (char)c;
  } while (c != EOF && c != '\n');
  l->line[l->length] = 0;
  l->failed |= ferror(l->file) != 0;
  return !l->failed && (c != EOF || l->length);
}

bool dp_report_lines_next(dp_report_lines *l) {
  l->at = ftello(l->file);
  if (!read_line(l)) return false;
  while (l->length && l->line[l->length - 1] == '\r') l->line[--l->length] = 0;
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
