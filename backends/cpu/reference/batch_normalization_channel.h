// Batch normalization of one channel, and its gradient, over a batch or a group of its samples, for element type T.
// Included by files that include themselves once for each type. x, y, dy and dx point at the channel's first element.
//
//   dx = scale * invstd * (dy - sum(dy) / count - z * sum(dy * z) / count),  z = (x - mean) * invstd

// Executes a statement for each element of the channel; `at` is its index.
#define EACH(e, at)                             \
  for (int64_t n_ = 0; n_ < (e)->samples; n_++) \
    for (int64_t i_ = 0, at = n_ * (e)->channels * (e)->inner; i_ < (e)->inner; i_++, at++)

static inline void FN(statistics)(const dp_channels *e, const T *x, double *mean, double *variance) {
  double sum = 0, squares = 0, count = (double)(e->samples * e->inner);
  EACH(e, at) sum += (double)x[at];
  *mean = count > 0 ? sum / count : 0;
  EACH(e, at) squares += ((double)x[at] - *mean) * ((double)x[at] - *mean);
  *variance = count > 0 ? squares / count : 0;
}

static inline void FN(apply)(const dp_channels *e, const T *x, double mean, double factor, double shift, T *y) {
  EACH(e, at) y[at] = (T)(((double)x[at] - mean) * factor + shift);
}

static inline void FN(gradient_sums)(const dp_channels *e, const T *x, const T *dy, double mean, double invstd,
                                     double *sum, double *products) {
  *sum = *products = 0;
  EACH(e, at) {
    *sum += (double)dy[at];
    *products += (double)dy[at] * ((double)x[at] - mean) * invstd;
  }
}

static inline void FN(gradient_apply)(const dp_channels *e, const T *x, const T *dy, double mean, double invstd,
                                      double scale, double sum, double products, T *dx) {
  double count = (double)(e->samples * e->inner), factor = scale * invstd;
  EACH(e, at) {
    double z = ((double)x[at] - mean) * invstd;
    dx[at] = (T)(factor * ((double)dy[at] - sum / count - z * products / count));
  }
}

#undef EACH
