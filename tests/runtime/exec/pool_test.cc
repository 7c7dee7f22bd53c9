// The workers' contract: each unit runs once, after all its predecessors, with any number of workers, repeatedly.
#include "runtime/exec/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Message;

// The units and edges of a dp_task_graph, by its names.
struct Edges {
  std::vector<int> n_parts, n_before, first, after;

  // Ends first and after.
  dp_task_graph Make(dp_status (*run)(void *, int, int, int), void *context) {
    first.push_back(static_cast<int>(after.size()));
    after.push_back(0);
    dp_task_graph graph = {};
    graph.n_units = static_cast<int>(n_parts.size());
    graph.n_parts = n_parts.data();
    graph.n_before = n_before.data();
    graph.first_after = first.data();
    graph.after = after.data();
    graph.run = run;
    graph.context = context;
    return graph;
  }
};

// A graph whose edges go from lower to higher units. Running it records order and counts.
class Graph {
 public:
  Graph(const dp_pool *pool, int units, int edges, int most_parts, unsigned seed) : runs_(units), parts_left_(units) {
    std::mt19937 random(seed);
    std::vector<std::vector<int>> after(units);
    edges_.n_before.resize(units);
    for (int e = 0; e < edges; e++) {
      int a = static_cast<int>(random() % units), b = static_cast<int>(random() % units);
      if (a == b) continue;
      after[std::min(a, b)].push_back(std::max(a, b));
      edges_.n_before[std::max(a, b)]++;
    }
    before_.resize(units);
    for (int u = 0; u < units; u++) {
      edges_.first.push_back(static_cast<int>(edges_.after.size()));
      for (int v : after[u]) {
        edges_.after.push_back(v);
        before_[v].push_back(u);
      }
      edges_.n_parts.push_back(1 + static_cast<int>(random() % most_parts));
    }
    graph = edges_.Make(Run, this);
    EXPECT_EQ(Message(dp_pool_prepare(pool, &graph, &state)), "");
  }
  ~Graph() { dp_pool_release(state); }

  void Begin() {
    for (size_t u = 0; u < runs_.size(); u++) {
      runs_[u] = 0;
      parts_left_[u] = edges_.n_parts[u];
    }
    early = 0;
  }
  bool AllRan() const {
    for (size_t u = 0; u < runs_.size(); u++)
      if (runs_[u] != edges_.n_parts[u]) return false;
    return true;
  }

  dp_task_graph graph;
  dp_pool_state *state = nullptr;
  std::atomic<int> early{0};  // units that ran before a predecessor was done
  int failing = -1;

 private:
  static dp_status Run(void *context, int unit, int part, int parts) {
    Graph *g = static_cast<Graph *>(context);
    EXPECT_EQ(parts, g->edges_.n_parts[unit]);
    EXPECT_LT(part, parts);
    for (int b : g->before_[unit])
      if (g->parts_left_[b]) g->early++;
    g->runs_[unit]++;
    g->parts_left_[unit]--;
    return unit == g->failing ? dp_fail(EX_DATAERR, "unit %d", unit) : DP_OK;
  }

  Edges edges_;
  std::vector<std::vector<int>> before_;
  std::vector<std::atomic<int>> runs_, parts_left_;
};

class Pool {
 public:
  explicit Pool(int workers) { EXPECT_EQ(Message(dp_pool_create(workers, &pool)), ""); }
  ~Pool() { dp_pool_destroy(pool); }
  dp_pool *pool = nullptr;
};

TEST(Pool, EveryUnitOnceInOrder) {
  for (int workers : {1, 2, 3, 8}) {
    Pool pool(workers);
    std::vector<std::unique_ptr<Graph>> graphs;
    for (unsigned seed = 0; seed < 8; seed++)
      graphs.emplace_back(new Graph(pool.pool, 1 + 30 * seed, 60 * seed, 1 + seed % 4, seed));
    for (int round = 0; round < 20; round++)
      for (auto &g : graphs) {
        g->Begin();
        ASSERT_EQ(Message(dp_pool_run(pool.pool, &g->graph, g->state)), "");
        ASSERT_TRUE(g->AllRan());
        ASSERT_EQ(g->early, 0);
      }
  }
}

TEST(Pool, AChainAndAFan) {
  Pool pool(4);
  Graph chain(pool.pool, 500, 0, 1, 1), fan(pool.pool, 1, 0, 4000, 3);
  for (int round = 0; round < 10; round++) {
    chain.Begin();
    ASSERT_EQ(Message(dp_pool_run(pool.pool, &chain.graph, chain.state)), "");
    ASSERT_TRUE(chain.AllRan());
    fan.Begin();
    ASSERT_EQ(Message(dp_pool_run(pool.pool, &fan.graph, fan.state)), "");
    ASSERT_TRUE(fan.AllRan());
  }
}

// Units of several devices, one after the other on each, whose parts wait until all parts of all devices' units with
// that number have begun. With one device, or with one part to a unit, no worker is free then for what is at home with
// another.
class Homes {
 public:
  Homes(const dp_pool *pool, int devices, int parts, int units)
      : devices_(devices), parts_(parts), begun_(units), by_(devices * parts) {
    for (int u = 0; u < devices * units; u++) {
      edges_.first.push_back(static_cast<int>(edges_.after.size()));
      if (u + devices < devices * units) edges_.after.push_back(u + devices);
      edges_.n_before.push_back(u >= devices);
      edges_.n_parts.push_back(parts);
      lane_of_.push_back(u % devices);
      n_lanes_of_.push_back(1);
    }
    for (int &lane : lane_of_) lanes_of_.push_back(&lane);
    for (int d = 0; d < devices; d++) lanes_.push_back({3 * d + 1, false, false});  // others are elsewhere
    graph = edges_.Make(Run, this);
    graph.n_lanes = devices;
    graph.lanes = lanes_.data();
    graph.n_lanes_of = n_lanes_of_.data();
    graph.lanes_of = lanes_of_.data();
    EXPECT_EQ(Message(dp_pool_prepare(pool, &graph, &state)), "");
  }
  ~Homes() { dp_pool_release(state); }

  void Begin() {
    for (auto &n : begun_) n = 0;
  }

  dp_task_graph graph;
  dp_pool_state *state = nullptr;
  std::atomic<int> moved{0};  // parts that ran on another thread than those with their number before

 private:
  static dp_status Run(void *context, int unit, int part, int) {
    Homes *h = static_cast<Homes *>(context);
    std::atomic<int> &begun = h->begun_[unit / h->devices_];
    begun++;
    while (begun < h->devices_ * h->parts_) std::this_thread::yield();
    std::thread::id &by = h->by_[unit % h->devices_ * h->parts_ + part], now = std::this_thread::get_id();
    if (by != std::thread::id() && by != now) h->moved++;
    by = now;
    return DP_OK;
  }

  int devices_, parts_;
  Edges edges_;
  std::vector<int> lane_of_, n_lanes_of_;
  std::vector<int *> lanes_of_;
  std::vector<dp_lane> lanes_;
  std::vector<std::atomic<int>> begun_;
  std::vector<std::thread::id> by_;
};

TEST(Pool, PartsStayAtHome) {
  const struct { int devices, parts; } shapes[] = {{1, 1}, {1, 2}, {1, 5}, {2, 1}, {4, 1}};
  for (const auto &s : shapes) {
    Pool pool(s.devices * s.parts);
    Homes homes(pool.pool, s.devices, s.parts, 50);
    for (int run = 0; run < 4; run++) {
      homes.Begin();
      ASSERT_EQ(Message(dp_pool_run(pool.pool, &homes.graph, homes.state)), "");
    }
    EXPECT_EQ(homes.moved, 0) << s.devices << " devices, " << s.parts << " parts";
  }
}

TEST(Pool, NothingToDo) {
  Pool pool(2);
  Graph empty(pool.pool, 0, 0, 1, 1);
  EXPECT_EQ(Message(dp_pool_run(pool.pool, &empty.graph, empty.state)), "");
}

TEST(Pool, AFailureEndsTheRunAndNothingElse) {
  for (int workers : {1, 4}) {
    Pool pool(workers);
    Graph g(pool.pool, 200, 600, 3, 5);
    for (int failing : {0, 57, 199}) {
      g.failing = failing;
      g.Begin();
      EXPECT_EQ(Message(dp_pool_run(pool.pool, &g.graph, g.state)), "unit " + std::to_string(failing));
      g.failing = -1;
      g.Begin();
      EXPECT_EQ(Message(dp_pool_run(pool.pool, &g.graph, g.state)), "");
      EXPECT_TRUE(g.AllRan());
    }
  }
}

// A worker sees the plain stores of the units before its own; ThreadSanitizer and the sums check this.
TEST(Pool, PlainMemoryIsHandedOn) {
  constexpr int kUnits = 300;
  struct Chain {
    long cells[kUnits];
  } chain = {};
  int n_parts[kUnits], n_before[kUnits], first[kUnits + 1], after[2 * kUnits], edges = 0;
  for (int u = 0; u < kUnits; u++) {  // u before u + 1 and u + 2
    n_parts[u] = 1;
    n_before[u] = std::min(u, 2);
    first[u] = edges;
    for (int v = u + 1; v <= u + 2 && v < kUnits; v++) after[edges++] = v;
  }
  first[kUnits] = edges;
  auto run = [](void *context, int u, int, int) -> dp_status {
    long *cells = static_cast<Chain *>(context)->cells;
    cells[u] = u < 2 ? u + 1 : (cells[u - 1] + cells[u - 2]) % 1000003;
    return DP_OK;
  };
  dp_task_graph graph = {};
  graph.n_units = kUnits;
  graph.n_parts = n_parts;
  graph.n_before = n_before;
  graph.first_after = first;
  graph.after = after;
  graph.run = run;
  graph.context = &chain;
  dp_pool_state *state = nullptr;
  Pool pool(3);
  ASSERT_EQ(Message(dp_pool_prepare(pool.pool, &graph, &state)), "");
  long a = 1, b = 2;
  for (int u = 2; u < kUnits; u++) {
    long c = (a + b) % 1000003;
    a = b;
    b = c;
  }
  for (int round = 0; round < 50; round++) {
    chain = {};
    ASSERT_EQ(Message(dp_pool_run(pool.pool, &graph, state)), "");
    ASSERT_EQ(chain.cells[kUnits - 1], b);
  }
  dp_pool_release(state);
}

}  // namespace
