// Tells ThreadSanitizer what it cannot see: what libraries without instrumentation do, and memcpy, because it runs
// without interceptors.
#ifndef DP_IR_BASE_TSAN_H
#define DP_IR_BASE_TSAN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
void __tsan_read_range(void *first, unsigned long bytes);
void __tsan_write_range(void *first, unsigned long bytes);
void __tsan_acquire(void *at);
void __tsan_release(void *at);
// What libraries make threads wait for: what came before the release is seen after the acquire.
static inline void dp_tsan_acquire(void *at) { __tsan_acquire(at); }
static inline void dp_tsan_release(void *at) { __tsan_release(at); }
static inline void dp_tsan_read(const void *first, size_t bytes) { __tsan_read_range((void *)(uintptr_t)first, bytes); }
static inline void dp_tsan_write(void *first, size_t bytes) { __tsan_write_range(first, bytes); }
// Rows of `bytes` bytes, `stride` bytes apart.
static inline void dp_tsan_read_rows(const void *first, int64_t rows, size_t bytes, size_t stride) {
  for (int64_t i = 0; i < rows; i++) dp_tsan_read((const char *)first + (size_t)i * stride, bytes);
}
static inline void dp_tsan_write_rows(void *first, int64_t rows, size_t bytes, size_t stride) {
  for (int64_t i = 0; i < rows; i++) dp_tsan_write((char *)first + (size_t)i * stride, bytes);
}
#else
static inline void dp_tsan_acquire(void *at) { (void)at; }
static inline void dp_tsan_release(void *at) { (void)at; }
static inline void dp_tsan_read(const void *first, size_t bytes) { (void)first, (void)bytes; }
static inline void dp_tsan_write(void *first, size_t bytes) { (void)first, (void)bytes; }
static inline void dp_tsan_read_rows(const void *first, int64_t rows, size_t bytes, size_t stride) {
  (void)first, (void)rows, (void)bytes, (void)stride;
}
static inline void dp_tsan_write_rows(void *first, int64_t rows, size_t bytes, size_t stride) {
  (void)first, (void)rows, (void)bytes, (void)stride;
}
#endif

#endif
