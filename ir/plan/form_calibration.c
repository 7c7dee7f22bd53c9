// The form of a plan's calibration: texts that can be printed, calls in order. What they say is up to the backend,
// which takes a choice only if its library offers it (backends/cuda). See form.h.
#include <string.h>

#include "ir/base/limits.h"
#include "ir/plan/form_private.h"

static bool is_text(const char *text) {
  size_t length = 0;
  for (; text[length]; length++)
    if (text[length] < ' ' || text[length] > '~' || length == DP_LIMIT_CALIBRATION_TEXT) return false;
  return length > 0;
}

static dp_status refuse(dp_fault *fault, const char *what) {
  return dp_rule_fail(fault, DP_RULE_FORM_NAME, "the calibration has %s that is not 1 to %d characters of ASCII", what,
                      DP_LIMIT_CALIBRATION_TEXT);
}

dp_status dp_plan_form_calibration(dp_fault *fault, const Dp__Calibration *c) {
  if (!is_text(c->device)) return refuse(fault, "a device");
  if (!c->n_choices) return dp_rule_fail(fault, DP_RULE_FORM_MISSING, "the calibration has no choices");
  if (c->n_libraries > DP_LIMIT_LIBRARIES || c->n_choices > DP_LIMIT_CHOICES)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT,
                        "the calibration has %zu libraries and %zu choices; the limits are %d and %d", c->n_libraries,
                        c->n_choices, DP_LIMIT_LIBRARIES, DP_LIMIT_CHOICES);
  for (size_t i = 0; i < c->n_libraries; i++)
    if (!is_text(c->libraries[i])) return refuse(fault, "a library");
  for (size_t i = 0; i < c->n_choices; i++) {
    if (!is_text(c->choices[i]->call)) return refuse(fault, "a call");
    if (!is_text(c->choices[i]->choice)) return refuse(fault, "a choice");
    if (i && strcmp(c->choices[i - 1]->call, c->choices[i]->call) >= 0)
      return dp_rule_fail(fault, DP_RULE_FORM_NAME, "the calibration's call '%s' does not come after '%s'",
                          c->choices[i]->call, c->choices[i - 1]->call);
  }
  return DP_OK;
}
