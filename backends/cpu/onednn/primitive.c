// oneDNN primitives. See primitive.h.
//
// A primitive has up to three operands: slot 0 is x, slot 1 is w, slot 2 is y (or their gradients); pooling has no w. A
// slot whose layout in the primitive is not the caller's has a copy in scratch, and a reorder converts between it and
// the caller's memory. Of a w that is packed the caller keeps the copy.
#include "backends/cpu/onednn/primitive.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/isa.h"
#include "dnnl.h"
#include "dnnl_debug.h"
#include "ir/base/tsan.h"

// OpenMP's declaration. <omp.h> belongs to the compiler, and clang has it only with libomp. The library at run time is
// libgomp in any case, because oneDNN is linked with it.
extern void omp_set_num_threads(int threads);

enum { X, W, Y, SLOTS };

typedef struct {
  bool present, result, reordered;
  bool packed;                       // it is reordered by dp_primitive_pack alone
  int argument;                      // its argument number in oneDNN
  dnnl_memory_desc_t given, chosen;  // the caller's layout, the primitive's
  dnnl_primitive_desc_t reorder_desc, add_desc;
  dnnl_primitive_t reorder, add;  // add: accumulates dw into the caller's memory
  dnnl_memory_t user, own;        // own: in scratch, if reordered
  uint64_t offset;                // of own, in scratch
} slot;

struct dp_primitive {
  int threads;
  bool packed;  // w is
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;
  slot slots[SLOTS];
  dnnl_memory_t bias, scratchpad;
  uint64_t scratchpad_offset, scratch_bytes;
};

static dp_status check(dnnl_status_t status, const char *what) {
  if (status == dnnl_success) return DP_OK;
  int code = status == dnnl_out_of_memory ? DP_EX_MEMORY : EX_SOFTWARE;
  return dp_fail(code, "oneDNN: %s: %s", what, dnnl_status2str(status));
}

#define CALL(EXPR) DP_TRY(check((EXPR), #EXPR))

// ---- descriptions ---------------------------------------------------------------------------------------------------

static dnnl_data_type_t type_of(const dp_primitive_spec *s) { return s->bf16 ? dnnl_bf16 : dnnl_f32; }

// A part of a tensor with the extents `all`.
static dp_status plain_desc(dnnl_memory_desc_t *desc, int rank, const int64_t *dims, dnnl_data_type_t type,
                            const int64_t *all) {
  dnnl_dims_t d = {0}, strides = {0};
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    d[i] = dims[i];
    strides[i] = stride;
    stride *= all[i];
  }
  CALL(dnnl_memory_desc_init_by_strides(desc, rank, d, type, strides));
  return DP_OK;
}

// block: of channels; 0: plain. channels, rows: extents of dims 1 and 2 in the tensor that this is a part of; 0: it has
// all of them.
static dp_status image_desc(dnnl_memory_desc_t *desc, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                            int64_t block, int64_t channels, int64_t rows) {
  dnnl_memory_desc_t whole;
  dnnl_dims_t all, first = {0};
  memcpy(all, dims, sizeof all);
  if (channels) all[1] = channels;
  if (rows) all[2] = rows;
  if (!block) return plain_desc(desc, rank, dims, type, all);
  CALL(dnnl_memory_desc_init_by_tag(&whole, rank, all, type, block == 8 ? dnnl_nChw8c : dnnl_nChw16c));
  CALL(dnnl_memory_desc_init_submemory(desc, &whole, dims, first));
  return DP_OK;
}

// Lets oneDNN choose the layout, or keeps it plain if `keep`, with nothing between its rows.
static dp_status loose_desc(dnnl_memory_desc_t *desc, const dnnl_memory_desc_t *given, bool keep) {
  if (keep) return plain_desc(desc, given->ndims, given->dims, given->data_type, given->dims);
  CALL(dnnl_memory_desc_init_by_tag(desc, given->ndims, given->dims, given->data_type, dnnl_format_tag_any));
  return DP_OK;
}

static dp_status describe_slots(dp_primitive *p, const dp_primitive_spec *s) {
  const dp_geometry *g = &s->window;
  dnnl_dims_t x = {s->samples, s->x_channels}, y = {s->samples, s->y_channels}, w = {0}, w_all;
  int at = 0;
  if (s->groups > 1 || s->grouped) w[at++] = s->groups;
  w[at++] = s->y_channels / s->groups;
  const int w_channels = at;
  w[at++] = s->x_channels / s->groups;
  for (int i = 0; i < g->rank; i++) {
    x[2 + i] = g->x[i];
    y[2 + i] = g->y[i];
    w[at++] = g->kernel[i];
  }
  bool backward_input = s->kind == DP_PRIMITIVE_CONV_GRAD_INPUT,
       backward_weight = s->kind == DP_PRIMITIVE_CONV_GRAD_WEIGHT;
  bool pooling = s->kind >= DP_PRIMITIVE_AVERAGE_POOL, forward = !backward_input && !backward_weight;
  p->slots[X] =
      (slot){.present = true, .result = backward_input, .argument = backward_input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC};
  p->slots[W] = (slot){.present = !pooling,
                       .result = backward_weight,
                       .argument = backward_weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS};
  p->slots[Y] = (slot){.present = true, .result = forward, .argument = forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST};
  const dnnl_data_type_t type = type_of(s), of_w = backward_weight ? dnnl_f32 : type;
  memcpy(w_all, w, sizeof w_all);
  if (s->w_channels) w_all[w_channels] = s->w_channels;
  DP_TRY(image_desc(&p->slots[X].given, 2 + g->rank, x, type, s->x_block, s->x_all_channels, s->x_rows));
  if (!pooling) DP_TRY(plain_desc(&p->slots[W].given, at, w, of_w, w_all));
  return image_desc(&p->slots[Y].given, 2 + g->rank, y, type, s->y_block, s->y_all_channels, s->y_rows);
}

// Other kernels for bfloat16 compute as the instruction would, slowly.
static dp_status check_native(const dp_primitive *p) {
  const char *name = "";
  CALL(dnnl_primitive_desc_query(p->desc, dnnl_query_impl_info_str, 0, &name));
  return strstr(name, "avx512_core_bf16") ? DP_OK : dp_fail(EX_SOFTWARE, "oneDNN: %s is not for AVX-512 BF16", name);
}

static dp_status describe_conv(dp_primitive *p, const dp_primitive_spec *s, const dnnl_primitive_attr_t attr) {
  dnnl_memory_desc_t x, w, y, bias;
  dnnl_dims_t stride = {0}, dilation = {0}, begin = {0}, end = {0};
  for (int i = 0; i < s->window.rank; i++) {
    stride[i] = s->window.stride[i];
    dilation[i] = s->window.dilation[i] - 1;
    begin[i] = s->window.pad_begin[i];
    end[i] = s->window.pad_end[i];
  }
  // For a few channels, blocks of 16 are mostly padding: measured 2 to 4 times slower than plain for 1 and 3 channels.
  bool keep = s->kind == DP_PRIMITIVE_CONV_GRAD_INPUT && s->groups == 1 && s->x_channels < 8 && !s->bf16;
  DP_TRY(loose_desc(&x, &p->slots[X].given, keep));
  DP_TRY(loose_desc(&w, &p->slots[W].given, keep));
  DP_TRY(loose_desc(&y, &p->slots[Y].given, keep));
  DP_TRY(plain_desc(&bias, 1, &s->y_channels, type_of(s), &s->y_channels));
  dnnl_convolution_desc_t desc;
  dnnl_alg_kind_t algorithm = dnnl_convolution_direct;
  if (s->kind == DP_PRIMITIVE_CONV)
    CALL(dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, algorithm, &x, &w,
                                                    s->bias ? &bias : NULL, &y, stride, dilation, begin, end));
  else if (s->kind == DP_PRIMITIVE_CONV_GRAD_INPUT)
    CALL(dnnl_dilated_convolution_backward_data_desc_init(&desc, algorithm, &x, &w, &y, stride, dilation, begin, end));
  else
    CALL(dnnl_dilated_convolution_backward_weights_desc_init(&desc, algorithm, &x, &w, NULL, &y, stride, dilation,
                                                             begin, end));
  CALL(dnnl_primitive_desc_create(&p->desc, &desc, attr, p->engine, NULL));
  return s->bf16 ? check_native(p) : DP_OK;
}

static dp_status describe_pool(dp_primitive *p, const dp_primitive_spec *s, const dnnl_primitive_attr_t attr) {
  const dp_geometry *g = &s->window;
  dnnl_dims_t stride = {0}, kernel = {0}, dilation = {0}, begin = {0}, end = {0};
  for (int i = 0; i < g->rank; i++) {
    stride[i] = g->stride[i];
    kernel[i] = g->kernel[i];
    dilation[i] = g->dilation[i] - 1;
    begin[i] = g->pad_begin[i];
    // With ceil_mode the last window may reach beyond the padding.
    int64_t reach = (g->y[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1 - g->x[i] - g->pad_begin[i];
    end[i] = dp_max_i64(reach, g->pad_end[i]);
  }
  dnnl_alg_kind_t algorithm =
      s->kind == DP_PRIMITIVE_AVERAGE_POOL_PADDED ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding;
  dnnl_pooling_v2_desc_t desc;
  CALL(dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, algorithm, &p->slots[X].given,
                                         &p->slots[Y].given, stride, kernel, dilation, begin, end));
  CALL(dnnl_primitive_desc_create(&p->desc, &desc, attr, p->engine, NULL));
  return DP_OK;
}

// ---- layouts and scratch --------------------------------------------------------------------------------------------

static uint64_t scratchpad_bytes(const_dnnl_primitive_desc_t desc) {
  const dnnl_memory_desc_t *scratchpad = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  return scratchpad ? dnnl_memory_desc_get_size(scratchpad) : 0;
}

static uint64_t max_bytes(uint64_t a, uint64_t b) { return a > b ? a : b; }

static dp_status describe_reorder(dp_primitive *p, slot *s, const_dnnl_primitive_attr_t attr,
                                  dnnl_primitive_desc_t *desc) {
  const dnnl_memory_desc_t *from = s->result ? &s->chosen : &s->given, *to = s->result ? &s->given : &s->chosen;
  CALL(dnnl_reorder_primitive_desc_create(desc, from, p->engine, to, p->engine, attr));
  return DP_OK;
}

// Describes a reorder that accumulates: `attr` with a sum after it.
static dp_status describe_add(dp_primitive *p, slot *s, const_dnnl_primitive_attr_t attr) {
  dnnl_primitive_attr_t with_sum;
  dnnl_post_ops_t sum = NULL;
  CALL(dnnl_primitive_attr_clone(&with_sum, attr));
  dp_status status = check(dnnl_post_ops_create(&sum), "post-ops");
  if (!status) status = check(dnnl_post_ops_append_sum(sum, 1), "a sum");
  if (!status) status = check(dnnl_primitive_attr_set_post_ops(with_sum, sum), "post-ops");
  if (!status) status = describe_reorder(p, s, with_sum, &s->add_desc);
  if (sum) dnnl_post_ops_destroy(sum);
  dnnl_primitive_attr_destroy(with_sum);
  return status;
}

static dp_status lay_out(dp_primitive *p, const_dnnl_primitive_attr_t attr) {
  uint64_t scratchpad = scratchpad_bytes(p->desc);
  for (int i = 0; i < SLOTS; i++) {
    slot *s = &p->slots[i];
    if (!s->present) continue;
    bool added = s->result && i == W;
    s->chosen = *dnnl_primitive_desc_query_md(p->desc, dnnl_query_exec_arg_md, s->argument);
    s->reordered = added || !dnnl_memory_desc_equal(&s->chosen, &s->given);
    if (!s->reordered) continue;
    DP_TRY(describe_reorder(p, s, attr, &s->reorder_desc));
    scratchpad = max_bytes(scratchpad, scratchpad_bytes(s->reorder_desc));
    if (added) {
      DP_TRY(describe_add(p, s, attr));
      scratchpad = max_bytes(scratchpad, scratchpad_bytes(s->add_desc));
    }
    s->packed = p->packed && i == W;
    if (s->packed) continue;
    s->offset = p->scratch_bytes;
    p->scratch_bytes = dp_align_up(p->scratch_bytes + dnnl_memory_desc_get_size(&s->chosen), DP_CPU_ALIGNMENT);
  }
  p->scratchpad_offset = p->scratch_bytes;
  p->scratch_bytes += scratchpad;
  return DP_OK;
}

static dp_status describe(dp_primitive *p, const dp_primitive_spec *spec) {
  CALL(dnnl_engine_create(&p->engine, dnnl_cpu, 0));
  DP_TRY(describe_slots(p, spec));
  dnnl_primitive_attr_t attr;
  CALL(dnnl_primitive_attr_create(&attr));
  dp_status status = check(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), "scratchpad mode");
  if (!status)
    status = spec->kind < DP_PRIMITIVE_AVERAGE_POOL ? describe_conv(p, spec, attr) : describe_pool(p, spec, attr);
  if (!status) status = lay_out(p, attr);
  dnnl_primitive_attr_destroy(attr);
  return status;
}

// ---- creating, destroying -------------------------------------------------------------------------------------------

static dp_status make_memory(dp_primitive *p, const dnnl_memory_desc_t *desc, dnnl_memory_t *memory) {
  CALL(dnnl_memory_create(memory, desc, p->engine, DNNL_MEMORY_NONE));
  return DP_OK;
}

static dp_status make_primitive(dp_primitive *p, const dp_primitive_spec *spec) {
  CALL(dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags));
  CALL(dnnl_primitive_create(&p->primitive, p->desc));
  for (int i = 0; i < SLOTS; i++) {
    slot *s = &p->slots[i];
    if (!s->present) continue;
    DP_TRY(make_memory(p, &s->given, &s->user));
    if (!s->reordered) continue;
    DP_TRY(make_memory(p, &s->chosen, &s->own));
    CALL(dnnl_primitive_create(&s->reorder, s->reorder_desc));
    if (s->add_desc) CALL(dnnl_primitive_create(&s->add, s->add_desc));
  }
  if (spec->bias) {
    dnnl_memory_desc_t bias;
    DP_TRY(plain_desc(&bias, 1, &spec->y_channels, type_of(spec), &spec->y_channels));
    DP_TRY(make_memory(p, &bias, &p->bias));
  }
  // All steps share one scratchpad, since they run one after another. Only its size matters.
  dnnl_dims_t bytes = {(int64_t)(p->scratch_bytes - p->scratchpad_offset)};
  if (!bytes[0]) return DP_OK;
  dnnl_memory_desc_t scratchpad;
  CALL(dnnl_memory_desc_init_by_tag(&scratchpad, 1, bytes, dnnl_u8, dnnl_a));
  return make_memory(p, &scratchpad, &p->scratchpad);
}

void dp_primitive_destroy(dp_primitive *p) {
  if (!p) return;
  for (int i = 0; i < SLOTS; i++) {
    slot *s = &p->slots[i];
    dnnl_memory_destroy(s->own);
    dnnl_memory_destroy(s->user);
    dnnl_primitive_destroy(s->reorder);
    dnnl_primitive_destroy(s->add);
    dnnl_primitive_desc_destroy(s->reorder_desc);
    dnnl_primitive_desc_destroy(s->add_desc);
  }
  dnnl_memory_destroy(p->scratchpad);
  dnnl_memory_destroy(p->bias);
  dnnl_primitive_destroy(p->primitive);
  dnnl_primitive_desc_destroy(p->desc);
  if (p->stream) dnnl_stream_destroy(p->stream);
  if (p->engine) dnnl_engine_destroy(p->engine);
  free(p);
}

// Makes the description and, if `whole`, the primitives that run it.
static dp_status create(const dp_primitive_spec *spec, bool whole, dp_primitive **primitive) {
  dp_primitive *p = calloc(1, sizeof *p);
  if (!p) return dp_fail(DP_EX_MEMORY, "out of memory");
  p->threads = spec->threads;
  p->packed = spec->packed;
  dp_isa_hold_default();
  omp_set_num_threads(spec->threads);
  dp_status status = describe(p, spec);
  if (!status && whole) status = make_primitive(p, spec);
  if (status) {
    dp_primitive_destroy(p);
    return status;
  }
  *primitive = p;
  return DP_OK;
}

dp_status dp_primitive_create(const dp_primitive_spec *spec, dp_primitive **primitive) {
  return create(spec, true, primitive);
}

dp_status dp_primitive_scratch_bytes(const dp_primitive_spec *spec, uint64_t *bytes) {
  dp_primitive *p;
  DP_TRY(create(spec, false, &p));
  *bytes = p->scratch_bytes;
  dp_primitive_destroy(p);
  return DP_OK;
}

dp_status dp_primitive_takes_blocks(const dp_primitive_spec *spec, bool *takes) {
  dp_primitive *p;
  *takes = true;
  if (!spec->x_block && !spec->y_block) return DP_OK;
  DP_TRY(create(spec, false, &p));
  *takes = !(spec->x_block && p->slots[X].reordered) && !(spec->y_block && p->slots[Y].reordered);
  dp_primitive_destroy(p);
  return DP_OK;
}

dp_status dp_primitive_packed_bytes(const dp_primitive_spec *spec, uint64_t *bytes) {
  dp_primitive *p;
  DP_TRY(create(spec, false, &p));
  *bytes = p->slots[W].reordered ? dnnl_memory_desc_get_size(&p->slots[W].chosen) : 0;
  dp_primitive_destroy(p);
  return DP_OK;
}

dp_status dp_primitive_packs_alike(const dp_primitive_spec *a, const dp_primitive_spec *b, bool *alike) {
  dp_primitive *p, *q;
  DP_TRY(create(a, false, &p));
  dp_status status = create(b, false, &q);
  if (!status) {
    *alike = dnnl_memory_desc_equal(&p->slots[W].chosen, &q->slots[W].chosen) != 0;
    dp_primitive_destroy(q);
  }
  dp_primitive_destroy(p);
  return status;
}

// Where the part's first element lies in the whole's copy, if its blocks lie there as in a copy of its own.
static dp_status find_part(const dp_primitive *whole, const dp_primitive *part, int64_t first, bool *alike,
                           uint64_t *offset) {
  const dnnl_memory_desc_t *all = &whole->slots[W].chosen, *own = &part->slots[W].chosen;
  const dnnl_memory_desc_t *given = &part->slots[W].given;
  dnnl_memory_desc_t found;
  dnnl_dims_t at = {first};
  *alike = all->ndims == own->ndims && dnnl_memory_desc_init_submemory(&found, all, given->dims, at) == dnnl_success;
  if (!*alike) return DP_OK;
  *offset = (uint64_t)found.offset0 * dnnl_data_type_size(found.data_type);
  found.offset0 = 0;
  *alike = dnnl_memory_desc_equal(&found, own) != 0;
  return DP_OK;
}

dp_status dp_primitive_packed_part(const dp_primitive_spec *whole, const dp_primitive_spec *part, int64_t first,
                                   bool *alike, uint64_t *offset) {
  dp_primitive *p, *q;
  DP_TRY(create(whole, false, &p));
  dp_status status = create(part, false, &q);
  if (!status) {
    status = find_part(p, q, whole->groups > 1 ? first / (whole->y_channels / whole->groups) : first, alike, offset);
    dp_primitive_destroy(q);
  }
  dp_primitive_destroy(p);
  return status;
}

// ---- running --------------------------------------------------------------------------------------------------------

static dp_status reorder(dp_primitive *p, slot *s, bool add) {
  dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, s->result ? s->own : s->user},
                            {DNNL_ARG_TO, s->result ? s->user : s->own},
                            {DNNL_ARG_SCRATCHPAD, p->scratchpad}};
  CALL(dnnl_primitive_execute(add && s->add ? s->add : s->reorder, p->stream, p->scratchpad ? 3 : 2, args));
  return DP_OK;
}

// Setting an address fills the padding there with zeros, as does whatever writes an operand that has any. So it is left
// out where nothing changes: steps find their tensors where they were.
static dp_status place(dnnl_memory_t memory, const void *at) {
  void *before;
  CALL(dnnl_memory_get_data_handle(memory, &before));
  // oneDNN's interface has no const, but it only reads operands.
  if (before != at) CALL(dnnl_memory_set_data_handle(memory, (void *)(uintptr_t)at));
  return DP_OK;
}

static dp_status point(dp_primitive *p, const dp_primitive_data *data, char *scratch) {
  const void *users[SLOTS] = {data->x, data->w, data->y};
  for (int i = 0; i < SLOTS; i++) {
    slot *s = &p->slots[i];
    if (s->present) DP_TRY(place(s->user, users[i]));
    if (s->reordered) DP_TRY(place(s->own, s->packed ? users[i] : scratch + s->offset));
  }
  if (p->bias) DP_TRY(place(p->bias, data->bias));
  return p->scratchpad ? place(p->scratchpad, scratch + p->scratchpad_offset) : DP_OK;
}

dp_status dp_primitive_run(dp_primitive *p, const dp_primitive_data *data, void *scratch, bool add, bool again) {
  omp_set_num_threads(p->threads);
  DP_TRY(point(p, data, scratch));
  dnnl_exec_arg_t args[SLOTS + 2];
  int count = 0;
  for (int i = 0; i < SLOTS; i++) {
    slot *s = &p->slots[i];
    if (!s->present) continue;
    if (s->reordered && !s->packed && !s->result && !(again && i == W)) DP_TRY(reorder(p, s, false));
    args[count++] = (dnnl_exec_arg_t){s->argument, s->reordered ? s->own : s->user};
  }
  if (p->bias) args[count++] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, p->bias};
  if (p->scratchpad) args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, p->scratchpad};
  CALL(dnnl_primitive_execute(p->primitive, p->stream, count, args));
  for (int i = 0; i < SLOTS; i++)
    if (p->slots[i].reordered && p->slots[i].result) DP_TRY(reorder(p, &p->slots[i], add));
  CALL(dnnl_stream_wait(p->stream));
  return DP_OK;
}

dp_status dp_primitive_pack(dp_primitive *p, const void *w, void *packed, void *scratch) {
  omp_set_num_threads(p->threads);
  DP_TRY(point(p, &(dp_primitive_data){.w = packed}, scratch));
  DP_TRY(place(p->slots[W].user, w));
  DP_TRY(reorder(p, &p->slots[W], false));
  CALL(dnnl_stream_wait(p->stream));
  return DP_OK;
}

dp_status dp_primitive_sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                             int64_t lda, const float *b, int64_t ldb, float beta, float *y, int64_t ldy, int threads) {
  const size_t each = sizeof *y;
  dp_tsan_read_rows(a, trans_a ? k : m, (size_t)(trans_a ? m : k) * each, (size_t)lda * each);
  dp_tsan_read_rows(b, trans_b ? n : k, (size_t)(trans_b ? k : n) * each, (size_t)ldb * each);
  dp_tsan_write_rows(y, m, (size_t)n * each, (size_t)ldy * each);
  omp_set_num_threads(threads);
  CALL(dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, y, ldy));
  return DP_OK;
}
