// One product of matrices of type T, computed in type W, for cublaslt.c, which includes this once for each type. GET
// reads an element, OPERAND one of A or B; PUT rounds to one.

// sums (m) = the products of op(A)'s rows with column j of op(B), over k from `low` to `high`. a: op(A), column-major.
static void NAME(sum_column)(const W *a, int64_t m, const T *b, int64_t b_row, int64_t low, int64_t high, W *sums) {
  for (int64_t i = 0; i < m; i++) sums[i] = 0;
  for (int64_t k = low; k < high; k++) {
    const W factor = OPERAND(b[k * b_row]), *column = a + k * m;
    for (int64_t i = 0; i < m; i++) sums[i] += column[i] * factor;
  }
}

static void NAME(multiply)(const product *p, int32_t batch) {
  const int64_t m = (int64_t)p->d.rows, n = (int64_t)p->d.columns;
  const int64_t depth = (int64_t)columns_of(&p->a, p->desc.trans_a);
  const T *a = (const T *)p->a_data + batch * p->a.stride, *b = (const T *)p->b_data + batch * p->b.stride;
  const T *c = p->beta != 0 ? (const T *)p->c_data + batch * p->c.stride : NULL;
  const T *bias = p->desc.epilogue == CUBLASLT_EPILOGUE_BIAS ? p->desc.bias : NULL;
  T *d = (T *)p->d_data + batch * p->d.stride;
  int64_t a_row, a_column, b_row, b_column, c_row, c_column, d_row, d_column;
  strides_of(&p->a, p->desc.trans_a, &a_row, &a_column);
  strides_of(&p->b, p->desc.trans_b, &b_row, &b_column);
  strides_of(&p->c, CUBLAS_OP_N, &c_row, &c_column);
  strides_of(&p->d, CUBLAS_OP_N, &d_row, &d_column);
  W *dense = p->own, *own = dense + m * depth;
  for (int64_t k = 0; k < depth; k++)
    for (int64_t i = 0; i < m; i++) dense[k * m + i] = OPERAND(a[i * a_row + k * a_column]);
  for (int64_t j = 0; j < n; j++) {
    W *sums = p->algorithm.parts == 2 ? (W *)p->workspace + (batch * n + j) * 2 * m : own;
    const int64_t half = p->algorithm.parts == 2 ? depth / 2 : depth;
    NAME(sum_column)(dense, m, b + j * b_column, b_row, 0, half, sums);
    NAME(sum_column)(dense, m, b + j * b_column, b_row, half, depth, sums + m);
    for (int64_t i = 0; i < m; i++) {
      W value = (W)p->alpha * (sums[i] + sums[m + i]);
      if (c) value += (W)p->beta * GET(c[i * c_row + j * c_column]);
      if (bias) value += GET(bias[i]);
      d[i * d_row + j * d_column] = PUT(value);
    }
  }
}
