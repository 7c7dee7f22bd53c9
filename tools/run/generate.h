// dprun --generate: text from a model that predicts the next token.
//
// The program infer has one input, a window of T whole numbers a sample, [N,T], and one output of the form [N,T,V]: at
// each place the scores of the V tokens for the next place. Such a model is causal: what it gives at a place depends on
// that place and those before. So the window is filled from its beginning, the rest does not matter, and the scores
// at the last token are those of the next one. In a full window the first token makes room.
#ifndef DP_TOOLS_RUN_GENERATE_H
#define DP_TOOLS_RUN_GENERATE_H

#include "tools/run/dprun.h"

// Writes the tokens to standard output, each when it is drawn. EX_CONFIG: the model has another form; EX_TEMPFAIL: a
// signal came; EX_IOERR: standard output cannot be written; and as dp_dprun_draw and dp_dprun_prompt_read.
dp_status dp_dprun_generate_run(dp_dprun *run) DP_MUST_USE;

#endif
