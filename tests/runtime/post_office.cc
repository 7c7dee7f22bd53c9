#include "tests/runtime/post_office.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace dp_test {

PostOffice::PostOffice(std::vector<int> process_of, uint64_t seed) : process_of_(std::move(process_of)), random_(seed) {
  const int processes = *std::max_element(process_of_.begin(), process_of_.end()) + 1;
  counters_.resize(static_cast<size_t>(processes));
  for (int p = 0; p < processes; p++) {
    Window *window = &counters_[static_cast<size_t>(p)];
    *window = {this, {p, process_of_.data(), window, Send, Receive, Abandon}};
  }
  carrier_ = std::thread(&PostOffice::Carry, this);
}

PostOffice::~PostOffice() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
  }
  news_.notify_all();
  carrier_.join();
}

void PostOffice::Send(void *self, const dp_message *message) {
  const auto *window = static_cast<Window *>(self);
  window->office->Post(window->peers.process, message->process, message, true);
}

void PostOffice::Receive(void *self, const dp_message *message) {
  const auto *window = static_cast<Window *>(self);
  window->office->Post(message->process, window->peers.process, message, false);
}

void PostOffice::Post(int from, int to, const dp_message *message, bool sends) {
  const dp_message_key &k = message->key;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Ends &ends = waiting_[{from, to, k.run, k.role, k.instruction, k.operand, k.device}];
    const dp_message *&end = sends ? ends.from : ends.to;
    if (end) complaints_ += "a message was posted twice; ";
    if (process_of_.at(static_cast<size_t>(k.device)) != from) complaints_ += "a message comes from elsewhere; ";
    end = message;
  }
  news_.notify_all();
}

void PostOffice::Abandon(void *self, uint64_t run) {
  const auto *window = static_cast<Window *>(self);
  PostOffice *office = window->office;
  {
    std::lock_guard<std::mutex> lock(office->mutex_);
    office->abandoned_.insert({window->peers.process, run});
  }
  office->news_.notify_all();
}

bool PostOffice::IsHopeless(const Name &name) const {
  const uint64_t run = std::get<2>(name);
  for (const int end : {std::get<0>(name), std::get<1>(name)})
    if (lost_.count(end) || abandoned_.count({end, run})) return true;
  return false;
}

void PostOffice::Lose(int process) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    lost_.insert(process);
  }
  news_.notify_all();
}

void PostOffice::Fail(int64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  failing_ = number;
}

int64_t PostOffice::Carried() {
  std::lock_guard<std::mutex> lock(mutex_);
  return carried_;
}

std::string PostOffice::Complaints() {
  std::lock_guard<std::mutex> lock(mutex_);
  return complaints_ + (waiting_.empty() ? "" : "messages were never met");
}

// Carries one of the messages that can be, or ends one that cannot be any more. Returns whether there was one.
bool PostOffice::CarryOne(std::unique_lock<std::mutex> *lock) {
  std::vector<Name> ready;
  for (const auto &[name, ends] : waiting_)
    if ((ends.from && ends.to) || IsHopeless(name)) ready.push_back(name);
  if (ready.empty()) return false;
  const Name name = ready[random_() % ready.size()];
  const Ends ends = waiting_[name];
  waiting_.erase(name);
  bool fails = !ends.from || !ends.to || carried_ == failing_;
  if (!fails && ends.from->count != ends.to->count) {
    complaints_ += "the ends differ in size; ";
    fails = true;
  }
  if (!fails) memcpy(ends.to->bytes, ends.from->bytes, ends.to->count);
  carried_++;
  const bool first = random_() % 2, late = random_() % 8 == 0;
  lock->unlock();
  if (late) std::this_thread::sleep_for(std::chrono::microseconds(200));
  for (const dp_message *end : {first ? ends.from : ends.to, first ? ends.to : ends.from})
    if (end) end->done(end->context, fails ? dp_fail(DP_EX_PEER_LOST, "process %d is lost", end->process) : nullptr);
  lock->lock();
  return true;
}

void PostOffice::Carry() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closed_)
    if (!CarryOne(&lock)) news_.wait(lock);
}

}  // namespace dp_test
