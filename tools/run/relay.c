// See relay.h.
#include "tools/run/relay.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

// Whole lines, so that those of several writers do not mix.
static void print(dp_relay *r, const char *line, size_t length) {
  fputs(r->prefix, r->out);
  fwrite(line, 1, length, r->out);
  fputc('\n', r->out);
  fflush(r->out);
}

// Prints the lines that are complete, and what is too long for one.
static void print_lines(dp_relay *r) {
  char *at = r->line, *end;
  while ((end = memchr(at, '\n', r->length))) {
    print(r, at, (size_t)(end - at));
    r->length -= (size_t)(end + 1 - at);
    at = end + 1;
  }
  memmove(r->line, at, r->length);
  if (r->length < sizeof r->line) return;
  print(r, r->line, r->length);
  r->length = 0;
}

static void end(dp_relay *r) {
  if (r->length) print(r, r->line, r->length);
  close(r->fd);
  r->fd = -1;
}

static void take(dp_relay *r) {
  const ssize_t n = read(r->fd, r->line + r->length, sizeof r->line - r->length);
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) {
    end(r);
    return;
  }
  r->length += (size_t)n;
  print_lines(r);
}

void dp_relay_run(dp_arena *arena, dp_relay *relays, int count) {
  struct pollfd *fds = dp_alloc_n(arena, (size_t)count, sizeof *fds);
  for (;;) {
    int open = 0;
    for (int i = 0; i < count; i++) {
      fds[i] = (struct pollfd){.fd = relays[i].fd, .events = POLLIN};
      open += relays[i].fd >= 0;
    }
    if (!open) return;
    if (poll(fds, (nfds_t)count, -1) < 0) continue;  // a signal came
    for (int i = 0; i < count; i++)
      if (fds[i].fd >= 0 && fds[i].revents) take(&relays[i]);
  }
}
