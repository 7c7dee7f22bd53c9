// Kernels share what they prepare only where everything that they may read of their specs is equal.
#include "runtime/bind/prepared.h"

#include <gtest/gtest.h>

namespace dp_test {
namespace {

// [6, 4], of which this device has rows 2 to 4.
dp_kernel_operand Operand() {
  dp_kernel_operand o = {};
  o.present = true;
  o.dtype = DP_FLOAT32;
  o.layout = DP_LAYOUT_PLAIN;
  o.local.rank = 2;
  for (int d = 0; d < 2; d++) o.local.outer[d] = o.local.unit[d] = o.local.shards[d] = 1;
  o.local.whole[0] = o.local.k[0] = 6;
  o.local.lo[0] = 2;
  o.local.hi[0] = 4;
  o.local.shards[0] = 3;
  o.local.extents[0] = 2;
  o.local.whole[1] = o.local.k[1] = o.local.hi[1] = o.local.extents[1] = 4;
  return o;
}

struct Change {
  const char *what;
  void (*make)(dp_kernel_operand *);
};

const Change kChanges[] = {
    {"present", [](dp_kernel_operand *o) { o->present = false; }},
    {"dtype", [](dp_kernel_operand *o) { o->dtype = DP_INT32; }},
    {"layout", [](dp_kernel_operand *o) { o->layout = DP_LAYOUT_NHWC; }},
    {"rank", [](dp_kernel_operand *o) { o->local.rank = 1; }},
    {"symbolic", [](dp_kernel_operand *o) { o->local.symbolic = 1; }},
    {"symbolic, the last dim", [](dp_kernel_operand *o) { o->local.symbolic = 2; }},
    {"whole", [](dp_kernel_operand *o) { o->local.whole[1] = 5; }},
    {"outer", [](dp_kernel_operand *o) { o->local.outer[1] = 2; }},
    {"unit", [](dp_kernel_operand *o) { o->local.unit[0] = 2; }},
    {"lo", [](dp_kernel_operand *o) { o->local.lo[0] = 1; }},
    {"hi", [](dp_kernel_operand *o) { o->local.hi[0] = 3; }},
    {"shards", [](dp_kernel_operand *o) { o->local.shards[0] = 2; }},
};

TEST(Prepared, OperandsDifferInAnyThingThatKernelsRead) {
  const dp_kernel_operand one = Operand(), same = Operand();
  EXPECT_TRUE(dp_kernel_operand_equal(&one, &same));
  for (const Change &change : kChanges) {
    dp_kernel_operand other = Operand();
    change.make(&other);
    EXPECT_FALSE(dp_kernel_operand_equal(&one, &other)) << change.what;
    EXPECT_FALSE(dp_kernel_operand_equal(&other, &one)) << change.what;
  }
}

// What lies behind the rank is nobody's.
TEST(Prepared, DimsBehindTheRankDoNotCount) {
  const dp_kernel_operand one = Operand();
  dp_kernel_operand other = Operand();
  other.local.whole[2] = other.local.shards[2] = 7;
  EXPECT_TRUE(dp_kernel_operand_equal(&one, &other));
}

// ---- states ---------------------------------------------------------------------------------------------------------

int made;

dp_status Prepare(const dp_kernel_spec *, void **state) {
  made++;
  *state = &made;
  return DP_OK;
}

struct Taken {
  dp_kernel_operand operand = Operand();
  dp_node node = {};
  dp_kernel_spec spec = {};
  Taken() {
    spec.node = &node;
    spec.inputs = &operand;
    spec.n_inputs = 1;
  }
};

TEST(Prepared, ShapesThatAreEqualForOneNumberOfSamplesAloneHaveStatesOfTheirOwn) {
  dp_kernel kernel = {};
  kernel.prepare = Prepare;
  dp_prepared *prepared = nullptr;
  ASSERT_EQ(dp_prepared_create(&prepared), DP_OK);
  Taken fixed, again, symbolic;
  symbolic.operand.local.symbolic = 1;
  void *state = nullptr;
  made = 0;
  for (const Taken *t : {&fixed, &again, &symbolic, &fixed})
    EXPECT_EQ(dp_prepared_state(prepared, &kernel, &t->spec, 0, &state), DP_OK);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(dp_prepared_state(prepared, &kernel, &fixed.spec, 1, &state), DP_OK);  // another physical device
  EXPECT_EQ(made, 3);
  dp_prepared_destroy(prepared);
}

}  // namespace
}  // namespace dp_test
