// Scales with round ticks. See chart.h.
#include <math.h>

#include "tools/report/chart.h"

// 1, 2 or 5 times a power of ten, the least that is no less than `raw`.
static double round_step(double raw) {
  const double power = pow(10, floor(log10(raw))), part = raw / power;
  return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

enum { ROUND_TICKS = 5 };

dp_scale dp_scale_round(double low, double high) {
  if (!(low <= high) || !isfinite(low) || !isfinite(high)) low = 0, high = 1;
  const double least = fmax(fabs(low), fabs(high)) * 1e-9;
  if (high - low <= least) {
    const double room = high != 0 ? fabs(high) * 0.1 : 1;
    low -= room;
    high += room;
  }
  const double step = round_step((high - low) / ROUND_TICKS);
  return (dp_scale){floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step, false};
}

dp_scale dp_scale_fit(double low, double high) {
  if (!(low > 0) || !isfinite(high) || high / low < 100) return dp_scale_round(low, high);
  return (dp_scale){pow(10, floor(log10(low) + 1e-9)), pow(10, ceil(log10(high) - 1e-9)), true};
}

double dp_scale_at(const dp_scale *s, double value) {
  if (s->log) return (log10(value) - log10(s->low)) / (log10(s->high) - log10(s->low));
  return (value - s->low) / (s->high - s->low);
}

static int log_ticks(const dp_scale *s, int wanted, double ticks[DP_CHART_TICKS]) {
  const int first = (int)lround(log10(s->low)), last = (int)lround(log10(s->high));
  const int by = (last - first + wanted - 1) / wanted;
  int n = 0;
  for (int power = first; power <= last && n<DP_CHART_TICKS; power += by> 0 ? by : 1) ticks[n++] = pow(10, power);
  return n;
}

int dp_scale_ticks(const dp_scale *s, int wanted, double ticks[DP_CHART_TICKS], double *step) {
  *step = 0;
  if (s->log) return log_ticks(s, wanted, ticks);
  *step = round_step((s->high - s->low) / wanted);
  int n = 0;
  const double first = ceil(s->low / *step - 1e-6);
  for (; n < DP_CHART_TICKS && (first + n) * *step <= s->high + *step * 1e-6; n++) {
    const double tick = (first + n) * *step;
    ticks[n] = fabs(tick) < *step * 1e-6 ? 0 : tick;
  }
  return n;
}

char *dp_scale_label(double value, double step, char text[DP_PAGE_NUMBER]) {
  const double size = fabs(value);
  if (step == 0 || size >= 1e9 || (size > 0 && step < 1e-4)) {
    snprintf(text, DP_PAGE_NUMBER, "%.4g", value);
  } else if (step >= 1e5 || (size >= 1e6 && step >= 1e3)) {
    snprintf(text, DP_PAGE_NUMBER, size > 0 ? "%.4gM" : "0", value / 1e6);
  } else if (step >= 1e3 || (size >= 1e4 && step >= 1e2)) {
    snprintf(text, DP_PAGE_NUMBER, size > 0 ? "%.4gk" : "0", value / 1e3);
  } else {
    const double decimals = ceil(-log10(step) - 1e-9);
    snprintf(text, DP_PAGE_NUMBER, "%.*f", decimals > 0 ? (int)decimals : 0, value);
  }
  return text;
}
