#include "tests/runtime/plan_order.h"

namespace dp_test {

std::map<Location, std::set<Location>> Before(const Dp__Program *program) {
  std::map<Location, std::set<Location>> before;
  std::map<uint32_t, Location> signaller;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
        const Dp__Instruction *in = program->streams[s]->instructions[i];
        bool ready = !before.count({s, i}) && (!i || before.count({s, i - 1}));
        for (size_t w = 0; w < in->n_waits && ready; w++) ready = signaller.count(in->waits[w]) > 0;
        if (!ready) continue;
        std::set<Location> all;
        auto follow = [&](Location location) {
          all.insert(location);
          all.insert(before[location].begin(), before[location].end());
        };
        if (i) follow({s, i - 1});
        for (size_t w = 0; w < in->n_waits; w++) follow(signaller[in->waits[w]]);
        before[{s, i}] = all;
        if (in->signal) signaller[in->signal - 1] = {s, i};
        moved = true;
      }
  }
  return before;
}

}  // namespace dp_test
