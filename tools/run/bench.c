// dprun --bench-data: how fast the data comes, whatever the network.
#include <stdio.h>

#include "tools/run/dprun.h"

// Takes all batches, as a step of no time would. *samples: how many came.
static dp_status take_all(const dp_dprun_feed *feed, int64_t *samples) {
  int slot;
  int64_t n;
  while (!dp_dprun_signal_came() && dp_prefetch_next(feed->prefetch, &slot, &n)) {
    *samples += n;
    dp_prefetch_release(feed->prefetch);
  }
  return dp_prefetch_failure(feed->prefetch);
}

dp_status dp_dprun_bench_data(dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  dp_dprun_feed *feed = &run->train;
  const int64_t steps = o->steps >= 0 ? o->steps : feed->steps * (o->epochs >= 0 ? o->epochs : 1);
  int64_t samples = 0;
  const double begun = dp_progress_now();
  DP_TRY(dp_dprun_feed_begin(feed, 0, feed->steps ? steps : 0));
  dp_status status = take_all(feed, &samples);
  dp_dprun_feed_end(feed);
  DP_TRY(status);
  const double seconds = dp_progress_now() - begun;
  const double megabytes = (double)samples * (double)dp_loader_sample_bytes(feed->loader) / 1e6;
  printf("data: %lld samples, %.1f MB in %.3f s: %.0f samples/s, %.1f MB/s\n", (long long)samples, megabytes, seconds,
         (double)samples / seconds, megabytes / seconds);
  return DP_OK;
}
