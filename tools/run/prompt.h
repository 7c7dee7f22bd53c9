// The prompt of --generate: its tokens.
#ifndef DP_TOOLS_RUN_PROMPT_H
#define DP_TOOLS_RUN_PROMPT_H

#include "ir/base/base.h"

// The tokens of the text, or of standard input for "-". numbers: whole numbers with white space or commas between; else
// a token is a byte. Each must be one of `vocabulary`. EX_USAGE: there is none, or another text; EX_DATAERR: a token is
// not in the vocabulary; EX_IOERR: standard input cannot be read.
dp_status dp_dprun_prompt_read(dp_arena *arena, const char *text, bool numbers, int64_t vocabulary, int64_t **tokens,
                               int64_t *count) DP_MUST_USE;

#endif
