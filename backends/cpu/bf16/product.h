// Products of bfloat16 matrices by AVX-512's own instruction for them.
//
// Blocking after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008): the right matrix is
// packed once in panels of a few columns, the left one in blocks of rows that stay in the cache.
#ifndef DP_BACKENDS_CPU_BF16_PRODUCT_H
#define DP_BACKENDS_CPU_BF16_PRODUCT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A matrix of bfloat16. Elements from one row to the next, and from one column to the next.
typedef struct {
  const uint16_t *first;
  int64_t row, column;
} dp_bf16_matrix;

// y (m, n) = alpha * a (m, k) * b (k, n) + beta * c, rounded once; y is row-major. c (m, n) is broadcast where its
// strides are 0; c.first NULL: none. Or, where `sums` is not NULL, sums = alpha * a * b + beta * sums in float32, whose
// rows are sums_row elements apart; with beta 0 they are not read.
typedef struct {
  int64_t m, n, k;
  dp_bf16_matrix a, b, c;
  uint16_t *y;
  float alpha, beta;
  float *sums;
  int64_t sums_row;
} dp_bf16_product;

// Bytes of scratch for so many parts; never less for larger extents.
uint64_t dp_bf16_product_bytes(int64_t m, int64_t n, int64_t k, int parts);

// Computes part `part` of `parts`: some of the columns of y, or of sums, which overlaps no operand but may be c. The
// parts share the scratch, which is aligned to 64 bytes, and need not wait for each other. Needs AVX-512 with BF16.
// Sums are float32, in an order that depends on k alone; as the instruction has it, subnormal numbers count as 0, also
// in a sum.
void dp_bf16_product_run(const dp_bf16_product *product, void *scratch, int part, int parts);

#ifdef __cplusplus
}
#endif
#endif
