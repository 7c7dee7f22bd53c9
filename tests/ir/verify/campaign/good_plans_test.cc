// No false alarms: the checker and brute force accept 300 seeded plans of many networks, strategies, meshes, optimizers
// and options (4,000 with DP_FULL; CAMPAIGN_PLANS sets the number). Folded, each is no larger, and written out the same
// again. Every tenth is also executed and gives the same as
// the model on one device.
#include <gtest/gtest.h>

#include "ir/plan/loops.h"
#include "tests/ir/verify/brute_order.h"
#include "tests/ir/verify/campaign/campaign.h"
#include "tests/ir/verify/campaign/tiny_models.h"
#include "tests/passes/random_network.h"

namespace dp_test {
namespace {

enum { kPlans = 300, kFullPlans = 4000, kCarried = 10 };

unsigned Plans() {
  const char *asked = getenv("CAMPAIGN_PLANS");
  if (asked) return static_cast<unsigned>(strtoul(asked, nullptr, 10));
  return getenv("DP_FULL") ? kFullPlans : kPlans;
}

class Wish {
 public:
  explicit Wish(unsigned seed) : random_(seed) {
    RandomNetwork network(seed);
    static const char *const own[] = {kDense, kImages, kSkip, kSplit, kHeads};
    const bool made = seed % 2;
    text = made ? network.text : own[seed / 2 % 5];
    static const char *const meshes[] = {"data:1",
                                         "data:2",
                                         "data:3",
                                         "data:5",
                                         "data:8",
                                         "data:2,tensor:2",
                                         "tensor:3,data:2",
                                         "data:2,tensor:3",
                                         "data:2,tensor:2,other:2",
                                         "data:32",
                                         "pipe:2",
                                         "data:2,pipe:3",
                                         "pipe:2,tensor:2",
                                         "data:2,pipe:2,tensor:2"};
    static const char *const schedules[] = {"gpipe", "1f1b"};
    static const char *const strategies[] = {"data", "data", "zero zero-stage=1", "zero zero-stage=2",
                                             "zero zero-stage=3"};
    mesh = made ? network.mesh + (OneIn(3) ? ",pipe:2" : "") : Pick(meshes);
    static const char *const optimizers[] = {"sgd(lr=0.05)",
                                             "sgd(lr=0.02,momentum=0.9,nesterov=1,weight_decay=1e-3)",
                                             "adam(lr=1e-3)",
                                             "adamw(lr=1e-3,weight_decay=0.01)",
                                             "adam(lr=0.01,clip_norm=0.5)",
                                             "sgd(lr=0.05,clip_norm=1.0)"};
    options = "batch=" + std::to_string(2 + UpTo(9)) + " optimizer=" + Pick(optimizers);
    const bool infer = OneIn(8);
    if (infer) options = "batch=" + std::to_string(2 + UpTo(9)) + " mode=infer";
    const bool local = !made && OneIn(4);
    if (local) options += " batchnorm=local";
    if (OneIn(4) && !infer && made) options += " freeze=*1";
    if (OneIn(3)) options += " threads=2";
    if (OneIn(3) && !infer) options += " recompute=*";
    const bool staged = mesh.find("pipe:") != std::string::npos;
    if (staged) micro = std::string(" schedule=") + Pick(schedules);
    if (staged || OneIn(4)) micro += " microbatches=" + std::to_string(1 + UpTo(4));
    // zero cannot split what `data` already splits.
    if (!infer && text.find("data=") == std::string::npos) strategy = Pick(strategies);
    if (mesh.find("data:") == std::string::npos) strategy = "pipeline";
    // Statistics over each device's own samples may differ from those of one device.
    carried = seed % kCarried == 0 && !local && !infer;
    options += carried || OneIn(2) ? " precision=fp64" : " precision=fp32";
    // Regions have products and reductions there.
    if (OneIn(3)) options += " target=cuda";
  }
  std::string All() const { return options + micro + " strategy=" + strategy + " mesh=" + mesh; }

  std::string text, mesh, options, micro, strategy = "data";
  bool carried;

 private:
  size_t UpTo(size_t n) { return random_() % n; }
  bool OneIn(size_t n) { return UpTo(n) == 0; }
  template <size_t N>
  std::string Pick(const char *const (&of)[N]) {
    return of[UpTo(N)];
  }
  std::mt19937 random_;
};

TEST(GoodPlans, RaiseNoAlarm) {
  const unsigned plans = Plans();
  size_t held = 0, carried = 0;
  for (unsigned seed = 0; seed < plans; seed++) {
    Wish wish(seed);
    if (getenv("CAMPAIGN_VERBOSE")) printf("seed %u, %s\n", seed, wish.All().c_str()), fflush(stdout);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + wish.All());
    const std::vector<uint8_t> packed = CompilePacked(wish.text, wish.All());
    Edit whole(packed, 0), folded(packed, 0);
    folded.plan = dp_plan_loops_fold(folded.arena, folded.plan);
    const size_t bytes = folded.Pack().size();
    dp_fault fault = {};
    EXPECT_EQ(Message(dp_plan_loops_expand(folded.arena, folded.plan, &fault)), "");
    EXPECT_EQ(folded.Pack(), whole.Pack()) << "folding and writing out give another plan";
    EXPECT_LE(bytes, packed.size());
    std::string message = CheckerSays(std::string(packed.begin(), packed.end()));
    EXPECT_EQ(message, "");
    for (size_t p = 0; p < whole.role->n_programs; p++) EXPECT_EQ(BruteOrder(whole.plan, p), "");
    held += message.empty();
    if (!wish.carried) continue;
    const std::vector<uint8_t> one = CompilePacked(wish.text, wish.options);
    Edit single(one, 0);
    Logical many_logical(packed), one_logical(one);
    EXPECT_EQ(Differs(whole.plan, many_logical, Carry(single.plan, one_logical, seed), seed), "");
    carried++;
  }
  printf("%zu plans held, %zu of them carried out\n", held, carried);
  EXPECT_EQ(held, plans);
  EXPECT_GE(carried, plans / kCarried / 2);
}

}  // namespace
}  // namespace dp_test
