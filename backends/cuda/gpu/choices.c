// See choices.h.
#include "backends/cuda/gpu/choices.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 8192 };

static _Thread_local char noted[MOST_BYTES], taken[MOST_BYTES];

void dp_cuda_choice_add(const char *format, ...) {
  char choice[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(choice, sizeof choice, format, arguments);
  va_end(arguments);
  const size_t length = strlen(noted);
  if (strstr(noted, choice) || length + strlen(choice) + 3 > sizeof noted) return;
  sprintf(noted + length, "%s%s", length ? "; " : "", choice);
}

const char *dp_cuda_choices(void) {
  strcpy(taken, noted);
  *noted = 0;
  return taken;
}
