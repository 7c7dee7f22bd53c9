// Lines for people. On a terminal they are broken between words, for the terminal would break them anywhere.
#ifndef DP_TOOLS_RUN_LINE_H
#define DP_TOOLS_RUN_LINE_H

#include <stdio.h>

#include "ir/base/base.h"

// How many columns the stream's terminal has; 0: it goes elsewhere, or to a terminal that only appends (TERM=dumb).
int dp_line_columns(FILE *out);
// Prints a line, whose end is added. It is broken at two spaces, which separate figures, if that is possible, else at
// one; what follows is set in. A longer word stays whole.
void dp_line_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
