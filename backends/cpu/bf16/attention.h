// Attention of bfloat16: what the kernels of dp.ScaledDotProductAttention and of its gradient share.
//
// Probabilities and the gradients of scores are rounded where they are multiplied, as the instruction takes them. All
// sums are float32.
#ifndef DP_BACKENDS_CPU_BF16_ATTENTION_H
#define DP_BACKENDS_CPU_BF16_ATTENTION_H

#include "backends/cpu/onednn/attention_tile.h"

extern const dp_attention_type dp_attention_bf16;

// Whether the kernels take the operands; `q`, `mask`: the places of Q and of the mask.
bool dp_attention_bf16_match(const dp_kernel_spec *spec, int q, int mask);

#endif
