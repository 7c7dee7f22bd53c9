// Validates text from outside.
#ifndef DP_IR_BASE_UTF8_H
#define DP_IR_BASE_UTF8_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Length of the longest prefix that is well-formed UTF-8 (shortest forms, no surrogates, at most U+10FFFF) without NUL;
// `bytes` when all of it is.
size_t dp_utf8_check(const void *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
