// CRC-32C (Castagnoli), as RFC 3720 defines it.
#ifndef DP_RUNTIME_TENSORBOARD_CRC32C_H
#define DP_RUNTIME_TENSORBOARD_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t dp_crc32c(const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
