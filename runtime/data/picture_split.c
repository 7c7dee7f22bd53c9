// Separates the three channels of pixels, which takes as long as a tenth of decoding where it is done byte by byte. See
// picture.h.
#include "runtime/data/picture.h"

enum { BLOCK = 32 };  // pixels; a fixed number, so that the compiler makes shuffles of the loop

static inline __attribute__((always_inline)) void split(const uint8_t *restrict pixels, int64_t n,
                                                        uint8_t *restrict red, uint8_t *restrict green,
                                                        uint8_t *restrict blue) {
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK)
    for (int k = 0; k < BLOCK; k++) {
      red[i + k] = pixels[3 * (i + k)];
      green[i + k] = pixels[3 * (i + k) + 1];
      blue[i + k] = pixels[3 * (i + k) + 2];
    }
  for (; i < n; i++) {
    red[i] = pixels[3 * i];
    green[i] = pixels[3 * i + 1];
    blue[i] = pixels[3 * i + 2];
  }
}

#ifdef __x86_64__
__attribute__((target("ssse3"))) static void split_by_shuffles(const uint8_t *pixels, int64_t n, uint8_t *red,
                                                               uint8_t *green, uint8_t *blue) {
  split(pixels, n, red, green, blue);
}
#endif

void dp_picture_split(const uint8_t *pixels, int64_t n, uint8_t *red, uint8_t *green, uint8_t *blue) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("ssse3")) {
    split_by_shuffles(pixels, n, red, green, blue);
    return;
  }
#endif
  split(pixels, n, red, green, blue);
}
