// Convolutions of small planes, and their gradients, as products without padding.
//
// A tap of the kernel connects windows with elements of x. Where it lies in padding it adds nothing: on planes of 4 x 4
// that are 3 taps of 10, with a kernel of 3 x 3 and one element of padding. Images are copied with their samples last,
// (channels, plane, samples), and weights tap by tap. A run of windows along a row then is one of columns,
// also with a stride, whose steps lie together in copies of x; and
//
//   Conv            y (M, columns)  += w[tap] (M, C) x (C, columns)
//   ConvGradInput   dx (C, columns) += w[tap]' dy (M, columns)
//   ConvGradWeight  dw[tap] (M, C)  += dy (M, columns) x'
//
// for each run of each tap are products, which oneDNN's sgemm computes.
#ifndef DP_BACKENDS_CPU_FAST_PLANES_H
#define DP_BACKENDS_CPU_FAST_PLANES_H

#include "backends/base/conv_extents.h"
#include "backends/cpu/vector/transpose.h"

// Elements x + i of their plane and y + i of theirs, i < count, which a tap connects.
typedef struct {
  int64_t tap, x, y, count;
} dp_planes_run;

// Of a part's scratch, in floats.
typedef struct {
  int64_t x, y, w, ordered;
} dp_planes_room;

typedef struct {
  dp_vector_transpose transpose;
  dp_conv conv;
  int parts;
  bool backwards;   // as dp_planes_roles.backwards
  bool by_samples;  // whether parts compute some samples, else some channels
  int64_t chunk;    // samples that are copied at a time
  dp_planes_room room;
  int64_t *places;  // of the elements of x's plane in copies
  dp_planes_run *runs;
  int64_t n_runs;
} dp_planes;

// What a part computes: samples, and channels of the result (of dw: its rows).
typedef struct {
  int64_t sample, sample_end, channel, channels;
} dp_planes_part;

// x (N, C, ...), w (M, C, ...): operands or results of the spec. backwards: the result is divided by channels of x, not
// of y. sums: over samples, which are not divided then.
typedef struct {
  const dp_local *x, *w;
  bool backwards, sums;
} dp_planes_roles;

// dp_kernel.match, scratch_bytes, prepare and release; the state is a dp_planes.
bool dp_planes_match(const dp_kernel_spec *spec, const dp_planes_roles *roles);
uint64_t dp_planes_scratch_bytes(const dp_kernel_spec *spec, const dp_planes_roles *roles);
dp_status dp_planes_prepare(const dp_kernel_spec *spec, const dp_planes_roles *roles, void **state);
void dp_planes_release(void *state);

// Part `part` of planes->parts; and where its scratch begins.
dp_planes_part dp_planes_part_of(const dp_planes *planes, int part);
float *dp_planes_scratch(const dp_planes *planes, void *scratch, int part);

// Floats from a channel to the next in copied images of so many samples, from a row to the next in copied weights: no
// power of two, so that they do not push each other out of the cache.
int64_t dp_planes_pitch(int64_t plane, int64_t samples);
int64_t dp_planes_row(int64_t columns);

// Images of one operand or result, (samples, all channels, plane), of which some channels are copied. room: of x, where
// windows have a stride along rows, for one channel before its elements are in the order of that stride's steps. NULL:
// they stay in their own.
typedef struct {
  int64_t all, channels, plane, samples;
  float *room;
} dp_planes_images;

// All channels of x, of y; no samples yet. scratch: the part's.
dp_planes_images dp_planes_x(const dp_planes *planes, float *scratch);
dp_planes_images dp_planes_y(const dp_planes *planes);

// From (samples, all, plane) to (channels, plane, samples), and back.
void dp_planes_take(const dp_planes *planes, const dp_planes_images *images, const float *from, float *to);
void dp_planes_give(const dp_planes *planes, const dp_planes_images *images, const float *from, float *to);

// y, or dx with planes->backwards: w is the plain operand, which `images` are multiplied by. bias: of each channel of
// the result, or NULL.
dp_status dp_planes_apply(const dp_planes *planes, const float *images, const float *w, const float *bias,
                          float *result, void *scratch, int part);

#endif
