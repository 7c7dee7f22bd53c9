// Layouts as plans number them: in the same order, from 1 on.
#ifndef DP_IR_PLAN_LAYOUT_H
#define DP_IR_PLAN_LAYOUT_H

#include "ir/graph/type.h"
#include "ir/plan/plan.pb-c.h"

static inline Dp__Layout dp_plan_layout_of(dp_layout layout) {
  return (Dp__Layout)((int)layout + (int)DP__LAYOUT__PLAIN);
}

// Of a layout that a plan may have (form.h); none is plain.
static inline dp_layout dp_plan_to_layout(Dp__Layout layout) {
  return layout == DP__LAYOUT__LAYOUT_NONE ? DP_LAYOUT_PLAIN : (dp_layout)((int)layout - (int)DP__LAYOUT__PLAIN);
}

#endif
