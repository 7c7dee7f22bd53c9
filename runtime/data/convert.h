// Numbers of one type as another. Private.
#ifndef DP_RUNTIME_DATA_CONVERT_H
#define DP_RUNTIME_DATA_CONVERT_H

#include "ir/graph/type.h"

// Whether every number of `from` is one of `to`.
bool dp_convert_is_exact(dp_dtype from, dp_dtype to);
// Whether the conversion is acceptable: it gives the same number (NaN stays NaN), or both types are float and the
// number is rounded, within the range of `to`; *rounded is set then.
bool dp_convert_keeps(dp_dtype from, const void *element, dp_dtype to, bool *rounded);
// As dp_element_set converts.
void dp_convert(dp_dtype from, const void *source, dp_dtype to, void *target, size_t count);

#endif
