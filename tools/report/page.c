// See page.h.
#include "tools/report/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/utf8.h"

dp_status dp_page_open(dp_page *page) {
  *page = (dp_page){0};
  page->out = open_memstream(&page->data, &page->bytes);
  return page->out ? DP_OK : dp_fail(DP_EX_MEMORY, "no memory for the page");
}

void dp_page_put(dp_page *page, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(page->out, format, args);
  va_end(args);
}

static const char *escape(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return NULL;
  }
}

static const char replacement[] = "\xEF\xBF\xBD";  // U+FFFD

// U+FFFE and U+FFFF are no characters of XML; what turns the direction of writing would make a text look like another.
static bool is_unwanted(const unsigned char *c, size_t length) {
  if (length == 1) return (c[0] < 0x20 && c[0] != '\n' && c[0] != '\t') || c[0] == 0x7F;
  if (length == 2) return c[0] == 0xC2 && c[1] < 0xA0;
  if (length != 3) return false;
  const unsigned code = (c[0] & 0x0Fu) << 12 | (c[1] & 0x3Fu) << 6 | (c[2] & 0x3Fu);
  return code >= 0xFFFE || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

void dp_page_text(dp_page *page, const char *text) {
  const size_t bytes = strlen(text);
  for (size_t i = 0; i < bytes;) {
    const unsigned char *c = (const unsigned char *)text + i;
    const size_t length = *c < 0x80 ? 1 : *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : 4, left = bytes - i;
    const char *escaped = escape(text[i]);
    const bool whole = dp_utf8_check(c, length < left ? length : left) == length;
    if (escaped)
      fputs(escaped, page->out);
    else if (!whole || is_unwanted(c, length))
      fputs(replacement, page->out);
    else
      fwrite(c, 1, length, page->out);
    i += whole ? length : 1;
  }
}

void dp_page_print(dp_page *page, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int length = vsnprintf(NULL, 0, format, args);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (text) {
    vsnprintf(text, (size_t)length + 1, format, again);
    dp_page_text(page, text);
  }
  page->failed |= !text;
  free(text);
  va_end(again);
  va_end(args);
}

dp_status dp_page_finish(dp_page *page) {
  const bool failed = ferror(page->out) || page->failed;
  FILE *out = page->out;
  page->out = NULL;
  return (fclose(out) != 0) | failed ? dp_fail(DP_EX_MEMORY, "no memory for the page") : DP_OK;
}

void dp_page_close(dp_page *page) {
  if (page->out) fclose(page->out);
  free(page->data);
  *page = (dp_page){0};
}

// ---- numbers for people ---------------------------------------------------------------------------------------------

static void group_digits(int64_t number, char text[DP_PAGE_NUMBER]) {
  char digits[24];
  const int n = snprintf(digits, sizeof digits, "%" PRId64, number);
  int at = 0;
  for (int i = 0; i < n; i++) {
    text[at++] = digits[i];
    if (digits[i] != '-' && i + 1 < n && (n - i - 1) % 3 == 0) text[at++] = ',';
  }
  text[at] = 0;
}

char *dp_page_number(double number, char text[DP_PAGE_NUMBER]) {
  if (!isfinite(number))
    strcpy(text, "-");
  else if (number == trunc(number) && fabs(number) < 1e15)
    group_digits((int64_t)number, text);
  else
    snprintf(text, DP_PAGE_NUMBER, fabs(number) >= 1000 && fabs(number) < 1e6 ? "%.1f" : "%.4g", number);
  return text;
}

char *dp_page_bytes(double bytes, char text[DP_PAGE_NUMBER]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  if (!(fabs(bytes) < 1e18)) return strcpy(text, "-");
  for (; unit + 1 < DP_COUNT(units) && bytes >= 1024; unit++) bytes /= 1024;
  snprintf(text, DP_PAGE_NUMBER, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

char *dp_page_time(double ms, char text[DP_PAGE_NUMBER]) {
  const double s = ms / 1e3;
  if (!isfinite(ms) || fabs(ms) > 1e15)
    strcpy(text, "-");
  else if (fabs(ms) < 0.9995)  // what %.3g does not round to 1000
    snprintf(text, DP_PAGE_NUMBER, "%.3g \u00b5s", ms * 1e3);
  else if (fabs(ms) < 999.5)
    snprintf(text, DP_PAGE_NUMBER, "%.3g ms", ms);
  else if (s < 100)
    snprintf(text, DP_PAGE_NUMBER, "%.3g s", s);
  else if (s < 7200)
    snprintf(text, DP_PAGE_NUMBER, "%d min %d s", (int)s / 60, (int)s % 60);
  else
    snprintf(text, DP_PAGE_NUMBER, "%" PRId64 " h %d min", (int64_t)(s / 3600), (int)(fmod(s, 3600) / 60));
  return text;
}

char *dp_page_share(double part, double whole, char text[DP_PAGE_NUMBER]) {
  if (whole > 0)
    snprintf(text, DP_PAGE_NUMBER, "%.0f %%", 100 * part / whole);
  else
    strcpy(text, "-");
  return text;
}
