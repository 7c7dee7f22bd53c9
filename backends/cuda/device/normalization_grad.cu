// The gradient of a normalization of rows of type T, each held in registers by SHARERS threads, a warp or a block, as
// VECTORS vectors of VECTOR elements, which are computed with in type C. A thread has the same columns of each row, so
// it keeps their sums too: memory is gone through once. ABOUT_MEAN 0: nothing is subtracted. SUMS: results that are
// sums over rows. dx may be x: a row is read before its sums are known, and written after.
//
// TAKES_U: dy has type U. ADDS: to each element of dx, rounded, that of `other` is added. What comes out is stored as T
// where STORES, and as U where STORES_U.
//
// Where elements are computed with as floats, squares are double, and means are taken relative to the row's first
// element, so that a large mean costs no digits. Nothing is divided, nor are columns numbered in 64 bits: both take
// registers, of which rows and sums leave few.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/normalization_grad.h"
#include "backends/cuda/device/vectors.h"

enum {
  LOCAL(groups) = DP_NORMALIZATION_THREADS / SHARERS,  // that have a row each
  LOCAL(elements) = VECTORS * VECTOR,                  // of a thread
  LOCAL(columns) = SHARERS == DP_WARP ? LOCAL(elements) * SHARERS : 1,
  LOCAL(blocks) = LOCAL(elements) * sizeof(C) <= 32 ? 4 : 2  // on a multiprocessor
};

DP_VECTOR(LOCAL(vector), LOCAL(load_vector), LOCAL(store_vector), T, VECTOR)
DP_VECTOR(LOCAL(narrow), LOCAL(load_narrow), LOCAL(store_narrow), U, VECTOR)

DP_DEVICE void LOCAL(load)(const dp_normalization_grad_arguments *a, const T *x, C *to) {
  const LOCAL(vector) v = LOCAL(load_vector)(x, a->aligned);
  DP_UNROLL
  for (int l = 0; l < VECTOR; l++) to[l] = (C)GET(v.e[l]);
}

// Elements of dy from number i on.
DP_DEVICE void LOCAL(load_dy)(const dp_normalization_grad_arguments *a, dp_i64 i, C *to) {
  if (!TAKES_U) {
    LOCAL(load)(a, (const T *)a->dy + i, to);
    return;
  }
  const LOCAL(narrow) v = LOCAL(load_narrow)((const U *)a->dy + i, a->aligned);
  DP_UNROLL
  for (int l = 0; l < VECTOR; l++) to[l] = (C)GET_U(v.e[l]);
}

// Stores elements of dx from number i on, with what is added to them.
DP_DEVICE void LOCAL(store_dx)(const dp_normalization_grad_arguments *a, const C *from, dp_i64 i) {
  LOCAL(vector) v;
  DP_UNROLL
  for (int l = 0; l < VECTOR; l++) v.e[l] = PUT(from[l]);
  if (ADDS) {
    const LOCAL(vector) other = LOCAL(load_vector)((const T *)a->other + i, a->aligned);
    DP_UNROLL
    for (int l = 0; l < VECTOR; l++) v.e[l] = PUT(GET(v.e[l]) + GET(other.e[l]));
  }
  if (STORES) LOCAL(store_vector)((T *)a->dx + i, v, a->aligned);
  if (!STORES_U) return;
  LOCAL(narrow) u;
  DP_UNROLL
  for (int l = 0; l < VECTOR; l++) u.e[l] = PUT_U(GET(v.e[l]));
  LOCAL(store_narrow)((U *)a->narrow + i, u, a->aligned);
}

enum { LOCAL(joined) = 3 };

// The numbers become their sums over the row's threads. shared: (warps, joined)
DP_DEVICE void LOCAL(join)(int count, double *numbers, double *shared) {
  DP_UNROLL
  for (int n = 0; n < count; n++) numbers[n] = dp_warp_sum(numbers[n]);
  if (SHARERS == DP_WARP) return;
  DP_UNROLL
  for (int n = 0; n < count; n++)
    if (dp_thread() % DP_WARP == 0) shared[dp_thread() / DP_WARP * LOCAL(joined) + n] = numbers[n];
  dp_barrier();
  DP_UNROLL
  for (int n = 0; n < count; n++) numbers[n] = shared[n];
  DP_UNROLL_BY(4)
  for (int w = 1; w < SHARERS / DP_WARP; w++) {
    DP_UNROLL
    for (int n = 0; n < count; n++) numbers[n] += shared[w * LOCAL(joined) + n];
  }
  dp_barrier();  // before somebody writes there again
}

// The first column of this thread's vector v.
DP_DEVICE int LOCAL(column)(int v) { return (v * SHARERS + dp_thread() % SHARERS) * VECTOR; }

// x: this thread's elements of the row, become relative to the mean.
DP_DEVICE void LOCAL(centre)(const dp_normalization_grad_arguments *a, const T *row, C *x, double *shared) {
  const C about = ABOUT_MEAN ? (C)GET(row[0]) : 0;
  C sum = 0;
  DP_UNROLL
  for (int v = 0; v < VECTORS; v++) {
    if (LOCAL(column)(v) >= (int)a->length) break;
    LOCAL(load)(a, row + LOCAL(column)(v), x + v * VECTOR);
  }
  if (!ABOUT_MEAN) return;
  DP_UNROLL
  for (int v = 0; v < VECTORS; v++) {
    if (LOCAL(column)(v) >= (int)a->length) break;
    DP_UNROLL
    for (int l = 0; l < VECTOR; l++) {
      x[v * VECTOR + l] -= about;
      sum += x[v * VECTOR + l];
    }
  }
  double mean = (double)sum;
  LOCAL(join)(1, &mean, shared);
  const C apart = (C)(mean * a->share);
  DP_UNROLL
  for (int i = 0; i < LOCAL(elements); i++) x[i] -= apart;
}

DP_DEVICE void LOCAL(fetch_from)(const void *rows, dp_i64 row, int bytes) {
  for (int i = dp_thread() % SHARERS * DP_LINE_BYTES; i < bytes; i += SHARERS * DP_LINE_BYTES)
    dp_prefetch((const char *)rows + row * bytes + i);
}

// Lets the cache fetch a row of each operand while the one before it is computed: registers have no room for it.
DP_DEVICE void LOCAL(fetch)(const dp_normalization_grad_arguments *a, dp_i64 row) {
  const int length = (int)a->length;
  LOCAL(fetch_from)(a->x, row, length * (int)sizeof(T));
  LOCAL(fetch_from)(a->dy, row, length * (int)(TAKES_U ? sizeof(U) : sizeof(T)));
  if (ADDS) LOCAL(fetch_from)(a->other, row, length * (int)sizeof(T));
}

// Computes a row of dx, and adds what it adds to the sums of this thread's columns. dy is read twice, which finds it in
// a cache, so that registers are left for the sums.
DP_DEVICE void LOCAL(row)(const dp_normalization_grad_arguments *a, dp_i64 row, C *sums, double *shared) {
  const T *scale = (const T *)a->scale;
  const dp_i64 start = row * a->length;
  C x[LOCAL(elements)];
  DP_UNROLL
  for (int i = 0; i < LOCAL(elements); i++) x[i] = 0;
  LOCAL(centre)(a, (const T *)a->x + start, x, shared);
  double square = 0, along = 0;
  C sum = 0;
  DP_UNROLL
  for (int v = 0; v < VECTORS; v++) {
    const int column = LOCAL(column)(v);
    if (column >= (int)a->length) break;
    C d[VECTOR], s[VECTOR];
    LOCAL(load_dy)(a, start + column, d);
    LOCAL(load)(a, scale + column, s);
    DP_UNROLL
    for (int l = 0; l < VECTOR; l++) {
      const double centred = (double)x[v * VECTOR + l];
      const C g = d[l] * s[l];
      square += centred * centred;
      along += centred * (double)g;
      sum += g;
    }
  }
  double all[LOCAL(joined)] = {square, along, (double)sum};
  LOCAL(join)(ABOUT_MEAN ? 3 : 2, all, shared);
  const double invstd = dp_inverse_root(all[0] * a->share + a->epsilon);
  const C factor = (C)invstd, mean_along = (C)(all[1] * invstd * a->share);
  const C mean = ABOUT_MEAN ? (C)(all[2] * a->share) : 0;
  DP_UNROLL
  for (int v = 0; v < VECTORS; v++) {
    const int column = LOCAL(column)(v);
    if (column >= (int)a->length) break;
    C d[VECTOR], s[VECTOR];
    LOCAL(load_dy)(a, start + column, d);
    LOCAL(load)(a, scale + column, s);
    DP_UNROLL
    for (int l = 0; l < VECTOR; l++) {
      const int i = v * VECTOR + l;
      const C h = x[i] * factor;
      if (SUMS > 0) sums[i] += d[l] * h;
      if (SUMS > 1) sums[LOCAL(elements) + i] += d[l];
      s[l] = factor * (d[l] * s[l] - mean - h * mean_along);
    }
    LOCAL(store_dx)(a, s, start + column);
  }
}

// Writes the sums of the block's warps, or of its threads where a row has all of them, as one part.
DP_DEVICE void LOCAL(put)(const dp_normalization_grad_arguments *a, const C *sums, C *part, C *columns) {
  const int group = dp_thread() / SHARERS;
  for (int w = 0; w < LOCAL(groups); w++) {
    if (group == w) {
      DP_UNROLL
      for (int i = 0; i < LOCAL(elements); i++) {
        const int column = LOCAL(column)(i / VECTOR) + i % VECTOR;
        if (column >= (int)a->length) continue;
        if (SHARERS == DP_WARP)
          columns[column] = w ? columns[column] + sums[i] : sums[i];
        else
          part[column] = sums[i];
      }
    }
    if (SHARERS == DP_WARP) dp_barrier();
  }
  if (SHARERS > DP_WARP) return;
  for (dp_i64 i = dp_thread(); i < a->length; i += dp_threads()) part[i] = columns[i];
  dp_barrier();
}

DP_BOUNDED_KERNEL(dp_normalization_grad_arguments, DP_NORMALIZATION_THREADS, LOCAL(blocks)) {
  DP_SHARED double shared[LOCAL(joined) * DP_BLOCK_SHARED];
  DP_SHARED C columns[LOCAL(columns)];
  C sums[2 * LOCAL(elements)];
  DP_UNROLL
  for (int i = 0; i < 2 * LOCAL(elements); i++) sums[i] = 0;
  const dp_i64 first = a.rows * dp_block() / a.sums, end = a.rows * (dp_block() + 1) / a.sums;
  for (dp_i64 row = first + dp_thread() / SHARERS; row < end; row += LOCAL(groups)) {
    if (row + LOCAL(groups) < end) LOCAL(fetch)(&a, row + LOCAL(groups));
    LOCAL(row)(&a, row, sums, shared);
  }
  C *part = (C *)a.parts + dp_block() * SUMS * a.length;
  if (SUMS > 0) LOCAL(put)(&a, sums, part, columns);
  if (SUMS > 1) LOCAL(put)(&a, sums + LOCAL(elements), part + a.length, columns);
}
