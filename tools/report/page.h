// A page of HTML that is being written. Markup and text are two functions, so that nothing that comes from a file can
// become markup. The page is XML as well: every element is closed, every attribute quoted.
#ifndef DP_TOOLS_REPORT_PAGE_H
#define DP_TOOLS_REPORT_PAGE_H

#include <stdio.h>

#include "ir/base/base.h"

typedef struct {
  FILE *out;
  char *data;
  size_t bytes;
  bool failed;  // memory was short
} dp_page;

// Begins a page in memory, which dp_page_close frees. DP_EX_MEMORY.
dp_status dp_page_open(dp_page *page) DP_MUST_USE;
// Writes markup. Arguments are numbers and constants of the program, never what was read.
void dp_page_put(dp_page *page, const char *format, ...) DP_PRINTF(2, 3);
// Writes text, for content and for the values of attributes. Characters of markup are escaped; what is no printable
// UTF-8 becomes U+FFFD.
void dp_page_text(dp_page *page, const char *text);
void dp_page_print(dp_page *page, const char *format, ...) DP_PRINTF(2, 3);
// Ends the writing: data and bytes are then the page. DP_EX_MEMORY.
dp_status dp_page_finish(dp_page *page) DP_MUST_USE;
void dp_page_close(dp_page *page);

// ---- numbers for people; each returns `text` ------------------------------------------------------------------------

enum { DP_PAGE_NUMBER = 32 };
char *dp_page_number(double number, char text[DP_PAGE_NUMBER]);  // "0.1934", "1.2e-05", "12,345", "-" if not finite
char *dp_page_bytes(double bytes, char text[DP_PAGE_NUMBER]);    // "12 B", "1.5 MiB"
char *dp_page_time(double ms, char text[DP_PAGE_NUMBER]);        // "35 µs", "12.1 ms", "3.2 s", "5 min 20 s"
char *dp_page_share(double part, double whole, char text[DP_PAGE_NUMBER]);  // "42 %", "-" of nothing

#endif
