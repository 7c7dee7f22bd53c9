// Deadlocks across stages: compares the checker's verdict on small random programs with running them.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <regex>

#include "ir/file/proto.h"
#include "ir/verify/checker.h"
#include "tests/ir/verify/hand_plan.h"

namespace {

using dp_test::Append;
using dp_test::Arena;
using dp_test::ProgramWriter;

// Two to four stages whose steps are Identity nodes and transfers, on some streams and with some waits. The values do
// not matter here.
class RandomStages {
 public:
  explicit RandomStages(unsigned seed) : random_(seed), stages_(2 + random_() % 3) {
    EXPECT_EQ(
        dp_test::Parse(arena, "model m {\n graph train {\n input x: float32[4]\n y = Identity(x)\n output y\n}\n}\n",
                       &model),
        "");
    dp__plan__init(&plan);
    model->mesh.n_axes = 1;
    model->mesh.axes[0] = {DP_MESH_PIPE, stages_};
    plan.n_mesh = 1;
    plan.mesh = dp_proto_from_mesh(arena, &model->mesh);
    for (int64_t s = 0; s < stages_; s++) {
      Dp__Role *role = dp_test::AddRole(arena, &plan, "stage" + std::to_string(s), {}, {});
      writers_.emplace_back(new ProgramWriter(arena, &plan, model->graphs[0], 0));
      writers_.back()->stage = static_cast<uint32_t>(s);
      writers_.back()->Tensor("x", "x", "R", DP__SPACE__TRANSIENT, 0).Tensor("y", "y", "R", DP__SPACE__TRANSIENT, 64);
      Append(arena, &role->n_programs, &role->programs, writers_.back()->program);
    }
    Write();
  }

  // The checker's verdict: "" or the rule.
  std::string Check() {
    dp_verify_report report = {};
    dp_checker c = {};
    c.report = &report;
    c.plan = &plan;
    c.model = model;
    c.graph = model->graphs[0];
    c.arena = c.plan_arena = c.shared.arena = arena;
    c.micro = -1;
    c.storages = static_cast<decltype(c.storages)>(dp_alloc_n(arena, plan.n_roles, sizeof *c.storages));
    dp_status status = nullptr;
    for (c.role_index = 0; c.role_index < plan.n_roles && !status; c.role_index++) {
      c.role = plan.roles[c.role_index];
      c.program = c.role->programs[0];
      status = dp_checker_tensors(&c);
      if (!status) status = dp_checker_flow(&c);
      for (uint32_t i = 0; i < c.n_instructions && !status; i++)
        if (c.instructions[i].claim->communication) status = dp_checker_send_or_recv(&c, i);
    }
    if (!status) status = dp_checker_transfers(&c);
    if (!status) status = dp_checker_deadlock(&c);
    bool failed = status;
    message = dp_test::Message(status);
    return failed ? dp_rule_name(report.fault.rule) : "";
  }

  // Runs them: the first instruction of a stream runs when its waits are met; both ends of a transfer run at once.
  bool Finishes() const {
    std::map<std::pair<size_t, size_t>, size_t> at;  // by role and stream: how many are done
    std::vector<std::vector<bool>> signalled;
    for (size_t r = 0; r < plan.n_roles; r++) signalled.emplace_back(Program(r)->events, false);
    auto head = [&](size_t r, size_t s) -> const Dp__Instruction * {
      const Dp__Stream *stream = Program(r)->streams[s];
      auto found = at.find({r, s});
      size_t i = found == at.end() ? 0 : found->second;
      if (i == stream->n_instructions) return nullptr;
      for (size_t w = 0; w < stream->instructions[i]->n_waits; w++)
        if (!signalled[r][stream->instructions[i]->waits[w]]) return nullptr;
      return stream->instructions[i];
    };
    for (bool moved = true; moved;) {
      moved = false;
      std::map<uint32_t, std::vector<std::pair<size_t, size_t>>> ready;  // by channel
      std::vector<std::pair<size_t, size_t>> go;
      for (size_t r = 0; r < plan.n_roles; r++)
        for (size_t s = 0; s < Program(r)->n_streams; s++) {
          const Dp__Instruction *in = head(r, s);
          if (in && !in->communication) go.push_back({r, s});
          if (in && in->communication) ready[in->communication->channel].push_back({r, s});
        }
      for (const auto &pair : ready)
        if (pair.second.size() == 2) go.insert(go.end(), pair.second.begin(), pair.second.end());
      for (const auto &one : go) {
        const Dp__Instruction *in = Program(one.first)->streams[one.second]->instructions[at[one]];
        if (in->signal) signalled[one.first][in->signal - 1] = true;
        at[one]++;
        moved = true;
      }
    }
    for (size_t r = 0; r < plan.n_roles; r++)
      for (size_t s = 0; s < Program(r)->n_streams; s++)
        if (at[{r, s}] < Program(r)->streams[s]->n_instructions) return false;
    return true;
  }

  Dp__Stream *Stream(size_t role, const std::string &name) const {
    for (size_t s = 0; s < Program(role)->n_streams; s++)
      if (name == Program(role)->streams[s]->name) return Program(role)->streams[s];
    throw std::runtime_error("no stream " + name);
  }

  std::string message;

 private:
  const Dp__Program *Program(size_t role) const { return plan.roles[role]->programs[0]; }

  // The programs are made in order, so they have no deadlock; then most get a few exchanges.
  void Write() {
    const unsigned streams = 1 + random_() % 3, count = 4 + random_() % 14;
    std::vector<std::vector<Dp__Instruction *>> made(writers_.size());
    auto any = [&] { return static_cast<int>(random_() % writers_.size()); };
    auto stream = [&] { return "s" + std::to_string(random_() % streams); };
    uint32_t channel = 0;
    for (unsigned i = 0; i < count; i++) {
      int a = any(), b = any();
      if (a == b) {
        made[a].push_back(writers_[a]->Add(stream(), "Identity", "y", {"x"}, {"y"}));
      } else {
        channel++;
        made[a].push_back(writers_[a]->AddSend(channel, b, stream(), "y"));
        made[b].push_back(writers_[b]->AddRecv(channel, a, stream(), "y"));
      }
    }
    for (size_t r = 0; r < writers_.size(); r++) {
      Dp__Program *p = writers_[r]->program;
      const size_t n = made[r].size();
      if (n < 2) continue;
      for (unsigned tries = random_() % (n + 1); tries; tries--) {
        size_t a = random_() % n, b = random_() % n;
        if (a == b) continue;
        if (a > b && random_() % 8) std::swap(a, b);
        if (!made[r][a]->signal) made[r][a]->signal = ++p->events;
        bool twice = false;
        for (size_t w = 0; w < made[r][b]->n_waits; w++) twice |= made[r][b]->waits[w] == made[r][a]->signal - 1;
        if (!twice) Append(arena, &made[r][b]->n_waits, &made[r][b]->waits, made[r][a]->signal - 1);
      }
      Dp__Stream *s = p->streams[random_() % p->n_streams];
      size_t i = random_() % s->n_instructions;
      if (i && random_() % 3 == 0) std::swap(s->instructions[i], s->instructions[i - 1]);
    }
  }

  std::mt19937 random_;
  const int64_t stages_;
  Arena arena;
  dp_model *model = nullptr;
  Dp__Plan plan;
  std::vector<std::unique_ptr<ProgramWriter>> writers_;
};

TEST(Deadlock, AgreesWithRunning) {
  int finish = 0, within = 0, across = 0;
  for (unsigned seed = 0; seed < 3000; seed++) {
    RandomStages stages(seed);
    std::string found = stages.Check();
    ASSERT_EQ(found, stages.Finishes() ? "" : "ORDER.CYCLE") << "seed " << seed << " " << stages.message;
    finish += found.empty();
    within += stages.message.find("the program deadlocks") != std::string::npos;
    across += stages.message.find("the pipeline deadlocks") != std::string::npos;
  }
  EXPECT_GT(finish, 300);
  EXPECT_GT(within, 100);
  EXPECT_GT(across, 300);
}

// The message's head and its list of steps must form a cycle, and each link of it must exist in the program.
TEST(Deadlock, NamesACycle) {
  const std::regex step("role stage(\\d+),(?: program train,)? stream (s\\d), instruction (\\d+)");
  const std::regex link("(waits for|comes after|other side is) role");
  int named = 0;
  for (unsigned seed = 0; seed < 600; seed++) {
    RandomStages stages(seed);
    stages.Check();
    const std::string &m = stages.message;
    if (m.find("the pipeline deadlocks") == std::string::npos || m.size() > 900) continue;
    std::vector<Dp__Instruction *> steps;
    std::vector<Dp__Stream *> streams;
    std::vector<int> at;
    for (std::sregex_iterator i(m.begin(), m.end(), step), end; i != end; ++i) {
      streams.push_back(stages.Stream(std::stoul((*i)[1]), (*i)[2]));
      at.push_back(std::stoi((*i)[3]));
      steps.push_back(streams.back()->instructions[at.back()]);
    }
    std::vector<std::string> links;
    for (std::sregex_iterator i(m.begin(), m.end(), link), end; i != end; ++i) links.push_back((*i)[1]);
    ASSERT_EQ(steps.size(), links.size() + 1) << m;
    EXPECT_EQ(steps.front(), steps.back()) << m;
    for (size_t i = 0; i < links.size(); i++) {
      const Dp__Instruction *a = steps[i], *b = steps[i + 1];
      bool waits = false;
      for (size_t w = 0; w < a->n_waits; w++) waits |= a->waits[w] + 1 == b->signal;
      bool holds = links[i] == "waits for"     ? waits
                   : links[i] == "comes after" ? streams[i] == streams[i + 1] && at[i] > at[i + 1]
                                               : a->communication && b->communication && a != b &&
                                                     a->communication->channel == b->communication->channel;
      EXPECT_TRUE(holds) << m << ": link " << i;
    }
    named++;
  }
  EXPECT_GT(named, 30);
}

}  // namespace
