// Several files as one: those that a pattern matches, in the order of their names, one after the other. Private.
#ifndef DP_RUNTIME_DATA_SEVERAL_H
#define DP_RUNTIME_DATA_SEVERAL_H

#include "runtime/data/data.h"

bool dp_several_is_pattern(const char *path);  // holds '*', '?' or '['
// The files that match, in order; none if there is no memory.
int dp_several_list(dp_arena *arena, const char *pattern, const char ***paths);
// Opens all files that match, each with the same part. EX_NOINPUT: none does; EX_DATAERR: they differ in type or shape.
dp_status dp_several_open(dp_arena *arena, const char *pattern, const char *part, const dp_data_request *request,
                          dp_data *data) DP_MUST_USE;

#endif
