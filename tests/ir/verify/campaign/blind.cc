// A checker that is blind to one rule: where that rule would refuse a plan, the check continues as if it held. Linked
// in place of dp_rule_fail and dp_rule_wrap (see BUILD).
#include <cstdarg>
#include <cstdio>

#include "tests/ir/verify/campaign/campaign.h"

namespace dp_test {

dp_rule blind_to = DP_RULE_NONE;

}  // namespace dp_test

extern "C" {

dp_status __real_dp_rule_fail(dp_fault *fault, dp_rule rule, const char *format, ...);
dp_status __real_dp_rule_wrap(dp_fault *fault, dp_rule rule, dp_status status);
dp_status __wrap_dp_rule_fail(dp_fault *fault, dp_rule rule, const char *format, ...) DP_PRINTF(3, 4);
dp_status __wrap_dp_rule_wrap(dp_fault *fault, dp_rule rule, dp_status status);

dp_status __wrap_dp_rule_fail(dp_fault *fault, dp_rule rule, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return rule == dp_test::blind_to ? DP_OK : __real_dp_rule_fail(fault, rule, "%s", text);
}

dp_status __wrap_dp_rule_wrap(dp_fault *fault, dp_rule rule, dp_status status) {
  if (!status || rule != dp_test::blind_to) return __real_dp_rule_wrap(fault, rule, status);
  (void)dp_test::Message(status);
  return DP_OK;
}

}  // extern "C"
