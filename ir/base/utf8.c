// Well-formed UTF-8 as defined by table 3-7 of the Unicode standard. See utf8.h.
#include "ir/base/utf8.h"

// Length of the well-formed sequence at s, which has `room` bytes; 0 when it is malformed.
static size_t sequence(const unsigned char *s, size_t room) {
  unsigned char c = s[0], low = 0x80, high = 0xBF;
  if (c < 0x80) return c != 0;
  size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  if (c < 0xC2 || c > 0xF4 || length > room) return 0;
  if (c == 0xE0) low = 0xA0;
  if (c == 0xED) high = 0x9F;
  if (c == 0xF0) low = 0x90;
  if (c == 0xF4) high = 0x8F;
  if (s[1] < low || s[1] > high) return 0;
  for (size_t i = 2; i < length; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  return length;
}

size_t dp_utf8_check(const void *text, size_t bytes) {
  const unsigned char *s = text;
  size_t i = 0;
  while (i < bytes) {
    size_t length = sequence(s + i, bytes - i);
    if (!length) break;
    i += length;
  }
  return i;
}
