// See augment.h. The words of one Philox block decide: word 0 whether a sample is mirrored, words 1 and 2 how far it is
// shifted down and to the right.
#include "runtime/data/augment.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/data/order.h"
#include "runtime/data/resized.h"

enum { MAX_CROP = 4096 };

// "0.08" or "0.08..0.5".
static bool parse_areas(const char *at, const char *end, dp_augment *a) {
  char *stop;
  if (*at < '0' || *at > '9') return false;
  a->area_min = strtod(at, &stop);
  a->area_max = 1;
  // strtod takes the first point of "1..2" for a decimal one.
  if (stop < end && *stop == '.' && stop[-1] == '.') stop--;
  if (end - stop > 2 && !strncmp(stop, "..", 2) && stop[2] >= '0' && stop[2] <= '9')
    a->area_max = strtod(stop + 2, &stop);
  return stop == end && a->area_min > 0 && a->area_min <= a->area_max && a->area_max <= 1;
}

static dp_status parse_word(const char *text, const char *at, size_t length, dp_augment *a) {
  char *end;
  if (length == 4 && !strncmp(at, "flip", 4) && !a->flip) {
    a->flip = true;
    return DP_OK;
  }
  if (length > 5 && !strncmp(at, "crop:", 5) && !a->crop && at[5] >= '0' && at[5] <= '9') {
    a->crop = strtoll(at + 5, &end, 10);
    if (end == at + length && a->crop >= 1 && a->crop <= MAX_CROP) return DP_OK;
  }
  if (length > 8 && !strncmp(at, "resized:", 8) && a->area_max == 0 && parse_areas(at + 8, at + length, a))
    return DP_OK;
  return dp_fail(
      EX_USAGE,
      "--augment: '%s': expected flip, crop:PIXELS (1 to %d), resized:AREA (above 0 to 1, or a range such as "
      "0.25..0.5), or some of them with commas",
      text, MAX_CROP);
}

dp_status dp_augment_parse(const char *text, dp_augment *augment) {
  dp_augment a = {0};
  for (const char *at = text;; at++) {
    const size_t length = strcspn(at, ",");
    DP_TRY(parse_word(text, at, length, &a));
    at += length;
    if (!*at) break;
  }
  *augment = a;
  return DP_OK;
}

dp_status dp_augment_fit(const char *name, const dp_type *input, int batch_dim, dp_augment *a) {
  int64_t e[DP_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < input->shape.rank; d++)
    if (d != batch_dim) e[rank++] = input->shape.dims[d].offset;
  const bool first = rank == 3 && (e[0] == 1 || e[0] == 3), last = rank == 3 && (e[2] == 1 || e[2] == 3);
  char text[256];
  if (batch_dim < 0 || (rank != 2 && !first && !last))
    return dp_fail(EX_CONFIG,
                   "--augment %s: the input is %s; pictures are [N,C,H,W], [N,H,W,C] or [N,H,W], with 1 or 3 channels",
                   name, dp_type_print(input, text, sizeof text));
  a->planes = first ? e[0] : 1;
  a->height = e[first];
  a->width = e[first + 1];
  a->dtype = input->dtype;
  a->channels = !first && last ? e[2] : 1;
  a->pixel_bytes = dp_type_bytes(input->dtype) * (size_t)a->channels;
  return DP_OK;
}

// A number in [0, count).
static int64_t below(uint32_t random, int64_t count) { return (int64_t)((uint64_t)random * (uint64_t)count >> 32); }

// Row y of a plane is row y + down of what it was, and pixel x pixel x + right; mirrored after that.
static void move_plane(const dp_augment *a, const char *from, char *to, int64_t down, int64_t right, bool mirror) {
  const size_t bytes = a->pixel_bytes;
  for (int64_t y = 0; y < a->height; y++) {
    for (int64_t x = 0; x < a->width; x++) {
      const int64_t from_y = y + down, from_x = (mirror ? a->width - 1 - x : x) + right;
      const bool inside = from_y >= 0 && from_y < a->height && from_x >= 0 && from_x < a->width;
      char *pixel = to + (size_t)(y * a->width + x) * bytes;
      if (inside)
        memcpy(pixel, from + (size_t)(from_y * a->width + from_x) * bytes, bytes);
      else
        memset(pixel, 0, bytes);
    }
  }
}

static void resize(const dp_augment *a, uint64_t seed, int64_t epoch, int64_t sample, char *data, char *scratch) {
  const dp_part_of_picture part = dp_resized_choose(a->area_min, a->area_max, a->height, a->width, seed, epoch, sample);
  const size_t plane = (size_t)(a->height * a->width) * a->pixel_bytes;
  memcpy(scratch, data, plane * (size_t)a->planes);
  for (size_t p = 0; p < (size_t)a->planes; p++)
    dp_resized_enlarge(a->dtype, a->channels, a->height, a->width, &part, scratch + p * plane, data + p * plane);
}

void dp_augment_run(const dp_augment *a, uint64_t seed, int64_t epoch, int64_t sample, void *data, void *scratch) {
  uint32_t random[4];
  dp_order_random(seed, (uint32_t)epoch, dp_hash_name("dp.augment"), (uint64_t)sample, random);
  const bool mirror = a->flip && random[0] >> 31;
  const int64_t down = a->crop ? below(random[1], 2 * a->crop + 1) - a->crop : 0;
  const int64_t right = a->crop ? below(random[2], 2 * a->crop + 1) - a->crop : 0;
  if (a->area_max > 0) resize(a, seed, epoch, sample, data, scratch);
  if (!mirror && !down && !right) return;
  const size_t plane = (size_t)(a->height * a->width) * a->pixel_bytes, bytes = plane * (size_t)a->planes;
  memcpy(scratch, data, bytes);
  for (int64_t p = 0; p < a->planes; p++)
    move_plane(a, (char *)scratch + (size_t)p * plane, (char *)data + (size_t)p * plane, down, right, mirror);
}
