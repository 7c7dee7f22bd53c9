// Messages between the threads of one process, each of which takes itself for a process of its own (dp_peers). They are
// carried by a thread, one at a time, in an order drawn from a seed, and late.
#ifndef DP_TESTS_RUNTIME_POST_OFFICE_H
#define DP_TESTS_RUNTIME_POST_OFFICE_H

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/base/peers.h"

namespace dp_test {

class PostOffice {
 public:
  // process_of: of each device.
  PostOffice(std::vector<int> process_of, uint64_t seed);
  ~PostOffice();  // nothing may be posted any more
  PostOffice(const PostOffice &) = delete;
  PostOffice &operator=(const PostOffice &) = delete;

  // The office as this process sees it; valid as long as the office.
  const dp_peers *Counter(int process) { return &counters_.at(static_cast<size_t>(process)).peers; }
  // The process takes part no more: what it or others have posted with it as an end fails, and so does what follows.
  void Lose(int process);
  // Message number `number` of those carried, from 0, fails at both ends.
  void Fail(int64_t number);
  int64_t Carried();
  // What did not fit together, and what was posted twice; "" if all was well.
  std::string Complaints();

 private:
  struct Window {
    PostOffice *office;
    dp_peers peers;
  };
  using Name = std::tuple<int, int, uint64_t, int32_t, int32_t, int32_t, int32_t>;  // from, to, key
  struct Ends {
    const dp_message *from = nullptr, *to = nullptr;
  };

  static void Send(void *self, const dp_message *message);
  static void Receive(void *self, const dp_message *message);
  static void Abandon(void *self, uint64_t run);
  bool IsHopeless(const Name &name) const;
  void Post(int from, int to, const dp_message *message, bool sends);
  void Carry();
  bool CarryOne(std::unique_lock<std::mutex> *lock);

  std::vector<int> process_of_;
  std::vector<Window> counters_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::map<Name, Ends> waiting_;  // one end has been posted, or both
  std::set<int> lost_;
  std::set<std::pair<int, uint64_t>> abandoned_;  // by a process, a run
  std::mt19937_64 random_;
  int64_t carried_ = 0, failing_ = -1;
  bool closed_ = false;
  std::string complaints_;
  std::thread carrier_;
};

}  // namespace dp_test

#endif
