// The order in which the machine executes what nothing orders. See oracle_meaning.h.
#include <algorithm>

#include "tests/ir/verify/campaign/oracle_meaning.h"

namespace dp_test {

size_t RandomOrder::Choose(const std::vector<Choice> &choices) {
  enum { kAlike, kOneAhead, kAtOnce };
  enum { kChanges = 64, kElse = 8 };  // once in 64 choices, others run ahead; once in 8, any is taken
  const size_t any = random_() % choices.size();
  if (kind_ == kAlike || random_() % kElse == 0) return any;
  if (kind_ == kAtOnce) {
    size_t begin = any;  // ready ones come before those that have started
    if (choices[begin].ends && !choices[0].ends)
      begin = random_() % static_cast<size_t>(std::count_if(choices.begin(), choices.end(),
                                                            [](const Choice &choice) { return !choice.ends; }));
    return begin;
  }
  if (random_() % kChanges == 0) rank_.clear();
  for (const Choice &choice : choices)
    if (!rank_.count(choice.device)) rank_[choice.device] = static_cast<unsigned>(random_());
  unsigned most = 0;
  for (const Choice &choice : choices) most = std::max(most, rank_[choice.device]);
  size_t chosen = any;
  while (rank_[choices[chosen].device] != most) chosen = (chosen + 1) % choices.size();
  return chosen;
}

size_t EveryOrder::Choose(const std::vector<Choice> &choices) {
  if (depth_ == path_.size()) path_.push_back({0, choices.size()});
  return path_[depth_++].first;
}

bool EveryOrder::Next() {
  while (!path_.empty() && path_.back().first + 1 == path_.back().second) path_.pop_back();
  if (path_.empty()) return false;
  path_.back().first++;
  depth_ = 0;
  return true;
}

}  // namespace dp_test
