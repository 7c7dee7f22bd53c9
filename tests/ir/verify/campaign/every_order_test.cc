// Runs small plans in every possible order: each device starts and ends work before or after whatever the others do. If
// any order gives a wrong result, brute force reports a conflict and the checker refuses the plan; if the checker
// accepts it, all orders are right.
#include <gtest/gtest.h>

#include "tests/ir/verify/brute_order.h"
#include "tests/ir/verify/campaign/oracle_meaning.h"
#include "tests/ir/verify/host_plan.h"
#include "tests/ir/verify/pipe_plan.h"

namespace dp_test {
namespace {

const Batch kWhole = {"infer", 4, 3};

struct Orders {
  int count = 0, wrong = 0;
};

std::vector<uint8_t> Packed(const Dp__Plan *plan) {
  std::vector<uint8_t> packed(dp__plan__get_packed_size(plan));
  dp__plan__pack(plan, packed.data());
  return packed;
}

std::map<std::string, std::vector<double>> RunOnce(const Dp__Plan *plan, const Logical &logical, const Batch &batch,
                                                   Chooser *order) {
  Machine machine(plan, logical);
  machine.Run(batch, order);
  return machine.Outputs();
}

bool Same(const std::map<std::string, std::vector<double>> &a, const std::map<std::string, std::vector<double>> &b) {
  return a == b;  // garbage does not even equal itself
}

Orders RunAll(const Dp__Plan *plan, const Dp__Plan *good, const Batch &batch) {
  Logical logical(Packed(plan));
  EveryOrder order;
  const auto expected = RunOnce(good, logical, batch, &order);
  Orders orders;
  order = EveryOrder();
  do {
    orders.wrong += !Same(RunOnce(plan, logical, batch, &order), expected);
    orders.count++;
  } while (order.Next());
  return orders;
}

// ---- devices of one role --------------------------------------------------------------------------------------------

// Two devices that each start and end four instructions have 16 choose 8 orders.
TEST(EveryOrder, IsThat) {
  HostPlan host;
  host.Give("x", 0);
  host.Finish();
  Orders orders = RunAll(&host.small.plan, &host.small.plan, kWhole);
  EXPECT_EQ(orders.count, 12870);
  EXPECT_EQ(orders.wrong, 0);
}

// x is placed beside y and overlaps some or all of its rows. A device that writes the same bytes for both does so in
// order: if split by columns, wherever x starts; if split by rows, only where x and y coincide. The checker does not
// distinguish these.
TEST(EveryOrder, OfTwoDevicesFindsWhatTheCheckerRefuses) {
  int wrong = 0;
  for (const char *split : {"S(0)", "S(1)"})
    for (uint64_t row = 0; row <= 8; row += 2) {
      SCOPED_TRACE(std::string(split) + " at row " + std::to_string(row));
      HostPlan good, host(2, split);
      good.Finish();
      host.Give("x", row * HostPlan::kRow);
      host.Finish();
      Orders orders = RunAll(&host.small.plan, &good.small.plan, kWhole);
      const bool apart = row == 0 || row == 8, own = row == 4 || !strcmp(split, "S(1)");
      EXPECT_EQ(host.small.Verify(), apart ? "" : "ORDER.CONFLICT");
      EXPECT_EQ(BruteOrder(&host.small.plan, 0), apart || own ? "" : "ORDER.CONFLICT");
      EXPECT_EQ(orders.wrong > 0, !apart && !own) << orders.wrong << " of " << orders.count;
      wrong += orders.wrong > 0;
    }
  EXPECT_EQ(wrong, 2);
}

// ---- two stages -----------------------------------------------------------------------------------------------------

// Stage 0 writes h where stage 1 writes the scores. This is fine before it sends h, since everything else waits for
// that.
TEST(EveryOrder, OfTwoStages) {
  for (bool before : {false, true}) {
    PipePlan good(1), pipe(1);
    ProgramWriter &w = pipe.Writer(0, "infer");
    for (PipePlan *p : {&good, &pipe})
      for (int s : {0, 1})
        for (size_t i = 0; i < p->plan->roles[s]->n_arenas; i++)
          if (p->plan->roles[s]->arenas[i]->space == DP__SPACE__HOST_OUTPUT) p->plan->roles[s]->arenas[i]->bytes = 256;
    w.Tensor("h@host", "h", "R", DP__SPACE__HOST_OUTPUT, 64);
    Dp__Instruction *gather = w.Add("send", "dp.Gather", "", {"h"}, {"h@host"});
    if (before) {
      Dp__Stream *stream = pipe.Stream(0, "infer", "send");
      std::swap(stream->instructions[0], stream->instructions[1]);
      std::swap(gather->waits, stream->instructions[1]->waits);
      std::swap(gather->n_waits, stream->instructions[1]->n_waits);
    }
    Orders orders = RunAll(pipe.plan, good.plan, {"infer", 8, 3});
    EXPECT_EQ(pipe.Verify(), "ORDER.CONFLICT");
    EXPECT_EQ(BruteOrder(pipe.plan, 1), before ? "" : "ORDER.CONFLICT");
    EXPECT_EQ(orders.wrong > 0, !before) << orders.wrong << " of " << orders.count;
  }
}

// ---- orders at random -----------------------------------------------------------------------------------------------

// A hundred random runs find what all orders show together.
TEST(RandomOrder, FindsTheSame) {
  for (int64_t devices : {2, 3, 6})
    for (const char *value : {"x", "x@whole"})
      for (bool apart : {false, true}) {
        HostPlan good(devices, "S(0)", 40 * HostPlan::kRow), host(devices, "S(0)", 40 * HostPlan::kRow);
        good.Finish();
        host.Give(value, apart ? 0 : 39 * HostPlan::kRow);
        host.Finish();
        Logical logical(Packed(&good.small.plan));
        const Batch batch = {"infer", 2 * devices, 3};
        RandomOrder any(0);
        const auto expected = RunOnce(&good.small.plan, logical, batch, &any);
        int wrong[3] = {};
        for (unsigned seed = 0; seed < 300; seed++) {
          RandomOrder order(seed);
          wrong[seed % 3] += !Same(RunOnce(&host.small.plan, logical, batch, &order), expected);
        }
        for (int count : wrong) EXPECT_EQ(count > 0, !apart) << devices << " devices, " << value;
      }
}

}  // namespace
}  // namespace dp_test
