// A blocked matrix product: a block of b is unpacked to row-major in the type of the sums and used by a block of rows.
#ifndef T
#include "backends/cpu/reference/matrix.h"

enum { ROWS = 32, COLUMNS = 64, DEPTH = 64 };

typedef struct {
  int64_t m, n, k;
  double alpha, beta;
  dp_matrix a, b, c;
} product;

// factor * sum. For integers, the factor is a whole number.
static double scaled_double(double factor, double sum) { return factor * sum; }
static uint64_t scaled_uint64_t(double factor, uint64_t sum) { return (uint64_t)(int64_t)factor * sum; }

#define T float
#define A double
#include __FILE__
#define T double
#define A double
#include __FILE__
#define T int64_t
#define A uint64_t
#include __FILE__
#define T int32_t
#define A uint64_t
#include __FILE__

void dp_matrix_multiply(dp_dtype dtype, int64_t m, int64_t n, int64_t k, double alpha, dp_matrix a, dp_matrix b,
                        double beta, dp_matrix c, void *y) {
  product p = {m, n, k, alpha, beta, a, b, c};
  if (dtype == DP_FLOAT32)
    multiply_float(&p, y);
  else if (dtype == DP_FLOAT64)
    multiply_double(&p, y);
  else if (dtype == DP_INT32)
    multiply_int32_t(&p, y);
  else
    multiply_int64_t(&p, y);
}

#else

// Adds to sums (ROWS, COLUMNS) the products over k0 .. k0 + depth, for the rows from i0 on and the columns from j0 on.
static void FN(add_block)(const product *p, int64_t i0, int rows, int64_t j0, int columns, int64_t k0, int depth,
                          A sums[ROWS][COLUMNS]) {
  const T *a = p->a.data, *b = p->b.data;
  A block[DEPTH][COLUMNS];
  for (int k = 0; k < depth; k++) {
    const T *b_row = b + (k0 + k) * p->b.row + j0 * p->b.column;
    for (int j = 0; j < columns; j++) block[k][j] = (A)b_row[j * p->b.column];
    for (int j = columns; j < COLUMNS; j++) block[k][j] = 0;
  }
  for (int i = 0; i < rows; i++)
    for (int k = 0; k < depth; k++) {
      A x = (A)a[(i0 + i) * p->a.row + (k0 + k) * p->a.column];
      for (int j = 0; j < COLUMNS; j++) sums[i][j] += x * block[k][j];
    }
}

static void FN(store_block)(const product *p, int64_t i0, int rows, int64_t j0, int columns, A sums[ROWS][COLUMNS],
                            T *y) {
  const T *c = p->c.data;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      A sum = DP_PASTE(scaled, A)(p->alpha, sums[i][j]);
      if (c) sum += DP_PASTE(scaled, A)(p->beta, (A)c[(i0 + i) * p->c.row + (j0 + j) * p->c.column]);
      y[(i0 + i) * p->n + j0 + j] = (T)sum;
    }
}

static void FN(multiply)(const product *p, T *y) {
  for (int64_t j0 = 0; j0 < p->n; j0 += COLUMNS)
    for (int64_t i0 = 0; i0 < p->m; i0 += ROWS) {
      int rows = (int)dp_min_i64(ROWS, p->m - i0), columns = (int)dp_min_i64(COLUMNS, p->n - j0);
      A sums[ROWS][COLUMNS] = {{0}};
      for (int64_t k0 = 0; k0 < p->k; k0 += DEPTH)
        FN(add_block)(p, i0, rows, j0, columns, k0, (int)dp_min_i64(DEPTH, p->k - k0), sums);
      FN(store_block)(p, i0, rows, j0, columns, sums, y);
    }
}
#undef T
#undef A
#endif
