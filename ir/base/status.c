// dp_status: an exit code and a message, made where a fault is first detected.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/base.h"

enum { MESSAGE_BYTES = 4096 };

struct dp_error {
  int exit_code;
  char message[MESSAGE_BYTES];
};

// Used when there is no memory to allocate an error.
static dp_error out_of_memory = {DP_EX_MEMORY, "out of memory"};

dp_status dp_fail(int exit_code, const char *format, ...) {
  dp_error *error = malloc(sizeof *error);
  if (!error) return &out_of_memory;
  error->exit_code = exit_code;
  va_list args;
  va_start(args, format);
  vsnprintf(error->message, sizeof error->message, format, args);
  va_end(args);
  return error;
}

dp_status dp_status_context(dp_status status, const char *format, ...) {
  if (!status || status == &out_of_memory) return status;
  char context[MESSAGE_BYTES];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(context, sizeof context - 2, format, args);
  va_end(args);
  if (length < 0) return status;
  size_t used = strlen(context);
  memcpy(context + used, ": ", 3);
  used += 2;
  size_t room = sizeof context - 1 - used, tail = strlen(status->message);
  memcpy(context + used, status->message, tail < room ? tail : room);
  context[used + (tail < room ? tail : room)] = 0;
  memcpy(status->message, context, sizeof context);
  return status;
}

int dp_status_code(dp_status status) { return status ? status->exit_code : 0; }

const char *dp_status_message(dp_status status) { return status ? status->message : ""; }

void dp_status_free(dp_status status) {
  if (status != &out_of_memory) free(status);
}
