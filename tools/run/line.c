// See line.h.
#include "tools/run/line.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80, INDENT = 2 };

int dp_line_columns(FILE *out) {
  struct winsize size;
  const char *terminal = getenv("TERM");
  const int fd = fileno(out);
  if (!isatty(fd) || (terminal && !strcmp(terminal, "dumb"))) return 0;
  return !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : USUAL_COLUMNS;
}

// How much of the text goes into a row of `room` columns.
static size_t row_of(const char *text, size_t room) {
  const size_t length = strlen(text);
  if (length <= room) return length;
  for (int gap = 2; gap > 0; gap--)
    for (size_t at = room; at > 0; at--)
      if (!strncmp(text + at, "  ", (size_t)gap)) return at;
  return strcspn(text, " ");
}

static void print_rows(FILE *out, const char *text, size_t columns) {
  for (size_t indent = 0; *text; indent = INDENT) {
    const size_t room = columns > indent + 1 ? columns - indent - 1 : 1;  // some terminals wrap after the last column
    const size_t length = row_of(text, room);
    fprintf(out, "%*s%.*s\n", (int)indent, "", (int)length, text);
    text += length;
    text += strspn(text, " ");
  }
}

void dp_line_print(FILE *out, const char *format, ...) {
  const int columns = dp_line_columns(out);
  char *text = NULL;
  size_t bytes;
  FILE *line = columns ? open_memstream(&text, &bytes) : NULL;
  va_list args;
  va_start(args, format);
  vfprintf(line ? line : out, format, args);
  va_end(args);
  if (line && !fclose(line))
    print_rows(out, text, (size_t)columns);
  else
    fputc('\n', out);
  free(text);
}
