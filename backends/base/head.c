// See head.h.
#include "backends/base/head.h"

#include "ir/kernel/extents.h"

// What chunks' rows are a multiple of: so many of any type are aligned for every target.
enum { STEP = 256 };

static int64_t round_up(int64_t rows) { return (rows + STEP - 1) / STEP * STEP; }

static int64_t rows_of(const dp_local *v) {
  return v->rank > 1 ? dp_product(v->extents, 0, v->rank - 1) : v->extents[0];
}
static int64_t columns_of(const dp_local *v) { return v->rank > 1 ? v->extents[v->rank - 1] : 1; }

// ---- what each value is ---------------------------------------------------------------------------------------------

static dp_head_member member_of(const dp_kernel_region *r, int m, const dp_head *head) {
  const dp_kernel_member *from = &r->members[m];
  dp_head_member made = {.op = from->op, .node = from->node, .n_inputs = from->n_inputs};
  for (int i = 0; i < from->n_inputs; i++) {
    const int32_t v = from->inputs[i];
    made.rank[i] = v < 0 || !r->values[v].present ? -1 : r->values[v].local.rank;
    made.inputs[i] = v < 0 ? DP_HEAD_UNKNOWN : (dp_head_standing)head->standing[v];
  }
  return made;
}

// Whether rows are as many everywhere, and as long where they have to be.
static bool fits(const dp_kernel_region *r, int m, const dp_head *head) {
  const dp_kernel_member *member = &r->members[m];
  const bool same_rows = dp_op_is_pointwise(member->op) || dp_op_is(member->op, DP_OP_VIEW);
  const int64_t columns = columns_of(&r->values[member->outputs[0]].local);
  for (int i = 0; i < member->n_inputs; i++) {
    const int32_t v = member->inputs[i];
    if (v < 0) continue;
    const dp_local *x = &r->values[v].local;
    if (head->standing[v] == DP_HEAD_ROWS && (rows_of(x) != head->rows || (same_rows && columns_of(x) != columns)))
      return false;
  }
  return head->standing[member->outputs[0]] != DP_HEAD_ROWS ||
         rows_of(&r->values[member->outputs[0]].local) == head->rows;
}

static bool has_one_result(const dp_kernel_member *m) {
  for (int k = 1; k < m->n_outputs; k++)
    if (m->outputs[k] >= 0) return false;
  return m->n_outputs > 0 && m->outputs[0] >= 0;
}

static bool add_member(const dp_kernel_spec *spec, int m, dp_head *head) {
  const dp_kernel_region *r = spec->region;
  const dp_kernel_member *from = &r->members[m];
  if (from->n_inputs > DP_MAX_OPERANDS || !has_one_result(from)) return false;
  dp_head_member member = member_of(r, m, head);
  if (!dp_head_takes(&member)) return false;
  for (int i = 0; i < from->n_inputs; i++)
    if (from->inputs[i] >= 0) head->standing[from->inputs[i]] = (uint8_t)member.inputs[i];
  const int32_t y = from->outputs[0];
  head->standing[y] = (uint8_t)member.output;
  head->n_sums += member.output == DP_HEAD_SUM;
  head->of_product[y] = dp_op_is(from->op, DP_OP_PRODUCT);
  if (member.output == DP_HEAD_SUM && y >= spec->n_inputs + spec->n_outputs) return false;
  if (!m) head->rows = rows_of(&r->values[from->inputs[0]].local);
  return fits(r, m, head);
}

bool dp_head_of(const dp_kernel_spec *spec, int64_t fewest, dp_head *head) {
  const dp_kernel_region *r = spec->region;
  if (!r || !r->n_members || r->n_members > DP_HEAD_MEMBERS || r->n_values > DP_HEAD_VALUES) return false;
  *head = (dp_head){0};
  bool has_loss = false;
  if (!dp_op_is(r->members[0].op, DP_OP_PRODUCT)) return false;
  for (int m = 0; m < r->n_members; m++) {
    if (!add_member(spec, m, head)) return false;
    has_loss |= dp_head_is_loss(r->members[m].op);
  }
  const int64_t threads = dp_max_i64(1, spec->threads), eighth = (head->rows + DP_HEAD_CHUNKS - 1) / DP_HEAD_CHUNKS;
  const int64_t wanted = dp_min_i64(dp_max_i64(1, (head->rows + fewest - 1) / fewest), DP_HEAD_CHUNKS);
  const int64_t most = dp_min_i64(round_up(dp_max_i64(fewest, eighth)), round_up((head->rows + threads - 1) / threads));
  head->most = dp_min_i64(head->rows, most);
  head->count = (int)((wanted + threads - 1) / threads * threads);
  head->chunk = round_up((head->rows + head->count - 1) / head->count);
  const int64_t full = (head->rows + head->chunk - 1) / dp_max_i64(1, head->chunk), each = head->count / threads;
  head->busy = (int)dp_max_i64(1, (full + each - 1) / each);
  head->most_busy = (int)dp_max_i64(1, dp_min_i64(threads, round_up(head->rows) / STEP));
  return has_loss;
}

// ---- a chunk --------------------------------------------------------------------------------------------------------

// Rows [first, first + count), all in the last dim that has rows. What tells where a row is in the whole tensor stays
// true if rows have one dim.
static dp_local cut(const dp_local *v, int64_t first, int64_t count) {
  const int at = v->rank > 1 ? v->rank - 2 : 0;
  dp_local c = *v;
  for (int d = 0; d <= at; d++) {
    c.whole[d] = c.extents[d] = c.k[d] = c.hi[d] = 1;
    c.outer[d] = c.unit[d] = c.shards[d] = 1;
    c.lo[d] = 0;
  }
  c.symbolic |= 1u << at;
  c.whole[at] = c.k[at] = dp_product(v->whole, 0, at + 1);
  c.extents[at] = count;
  c.lo[at] = (at ? 0 : v->lo[0] * v->unit[0]) + first;
  c.hi[at] = c.lo[at] + count;
  return c;
}

typedef struct {
  dp_head_chunk *to;
  int32_t *numbers;  // the next that are free
} filling;

// Its operands, to be filled in, and then its result.
static int32_t *add(filling *f, const dp_op *op, const dp_node *node, int n_inputs) {
  int32_t *numbers = f->numbers;
  f->to->members[f->to->region.n_members++] = (dp_kernel_member){op, node, n_inputs, 1, numbers, numbers + n_inputs};
  f->numbers += n_inputs + 1;
  return numbers;
}

// The sum's place among the results that are sums; -1: the value is none.
static int sum_of(const dp_kernel_spec *spec, const dp_head *head, int32_t value) {
  int at = 0;
  if (head->standing[value] != DP_HEAD_SUM) return -1;
  for (int32_t v = spec->n_inputs; v < value; v++) at += head->standing[v] == DP_HEAD_SUM;
  return at;
}

// A product adds to C; whatever else is added afterwards.
static void copy_member(filling *f, const dp_kernel_spec *spec, const dp_head *head, int m, bool adds) {
  const dp_kernel_member *from = &spec->region->members[m];
  const int shift = adds ? head->n_sums : 0, sum = adds ? sum_of(spec, head, from->outputs[0]) : -1;
  const bool to_c = sum >= 0 && head->of_product[from->outputs[0]];
  const int n_inputs = to_c ? 3 : from->n_inputs;
  int32_t *numbers = add(f, from->op, from->node, n_inputs);
  for (int i = 0; i < from->n_inputs && i < n_inputs; i++)
    numbers[i] = from->inputs[i] < spec->n_inputs ? from->inputs[i] : from->inputs[i] + shift;
  if (to_c) numbers[2] = spec->n_inputs + sum;
  numbers[n_inputs] = from->outputs[0] + shift;
  if (sum < 0 || to_c) return;
  const int32_t y = numbers[n_inputs], share = f->to->region.n_values++;
  f->to->values[share] = f->to->values[y];
  numbers[n_inputs] = share;
  numbers = add(f, f->to->add.op, &f->to->add, 2);
  numbers[0] = spec->n_inputs + sum;
  numbers[1] = share;
  numbers[2] = y;
}

void dp_head_chunk_make(const dp_kernel_spec *spec, const dp_head *head, int64_t first, int64_t rows, bool adds,
                        dp_head_chunk *made) {
  const dp_kernel_region *r = spec->region;
  const int shift = adds ? head->n_sums : 0;
  int sum = spec->n_inputs;
  *made = (dp_head_chunk){.spec = *spec, .add = {.op = dp_op_find("", "Add"), .name = ""}};
  for (int v = 0; v < r->n_values; v++) {
    dp_kernel_operand *to = &made->values[v < spec->n_inputs ? v : v + shift];
    *to = r->values[v];
    if (to->present && head->standing[v] == DP_HEAD_ROWS) to->local = cut(&r->values[v].local, first, rows);
    if (adds && head->standing[v] == DP_HEAD_SUM) made->values[sum++] = *to;
  }
  made->region = (dp_kernel_region){0, r->n_values + shift, made->members, made->values};
  filling f = {made, made->numbers};
  for (int m = 0; m < r->n_members; m++) copy_member(&f, spec, head, m, adds);
  made->spec.threads = 1;
  made->spec.region = &made->region;
  made->spec.n_inputs = spec->n_inputs + shift;
  made->spec.inputs = made->values;
  made->spec.outputs = made->values + made->spec.n_inputs;
}

static int64_t offset_of(const dp_kernel_operand *v, int64_t first) {
  return first * columns_of(&v->local) * (int64_t)dp_type_bytes(v->dtype);
}

void dp_head_chunk_ends(const dp_kernel_spec *spec, const dp_head *head, int64_t first, const void *const *in,
                        void *const *out, void *const *before, void *const *sums, const void **from, void **to) {
  const dp_kernel_operand *values = spec->region->values;
  for (int v = 0; v < spec->n_inputs; v++) {
    const bool moves = in[v] && head->standing[v] == DP_HEAD_ROWS;
    from[v] = moves ? (const char *)in[v] + offset_of(&values[v], first) : in[v];
  }
  for (int s = 0; s < head->n_sums; s++) from[spec->n_inputs + s] = before[s];
  for (int k = 0, s = 0; k < spec->n_outputs; k++) {
    const int v = spec->n_inputs + k;
    to[k] = head->standing[v] == DP_HEAD_SUM ? sums[s++] : (char *)out[k] + offset_of(&values[v], first);
  }
}
