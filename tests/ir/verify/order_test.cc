// Happens-before and races of random programs, compared with brute force.
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "ir/verify/checker.h"
#include "tests/ir/verify/brute_order.h"
#include "tests/ir/verify/hand_plan.h"

namespace {

using dp_test::Append;
using dp_test::Arena;

// ---- spans ----------------------------------------------------------------------------------------------------------

TEST(Spans, AgreeWithAMapOfBytes) {
  for (unsigned seed = 0; seed < 24; seed++) {
    std::mt19937 random(seed);
    Arena arena;
    dp_spans *spans = dp_spans_create(arena);
    const uint64_t size = seed % 2 ? 4000 : 60;
    // For each byte: the last put that covers it (the writer), and whether that put's span is intact (the content).
    std::vector<uint32_t> writer(size), begin(size), end(size);
    for (uint32_t put = 1; put <= 600; put++) {
      uint64_t a = random() % size, b = std::min<uint64_t>(size, a + 1 + random() % (seed % 3 ? 9 : size));
      dp_span span = {};
      span.begin = a;
      span.end = b;
      span.content = span.writer = put;
      dp_spans_put(spans, &span);
      for (uint64_t i = a; i < b; i++) {
        writer[i] = put;
        begin[i] = static_cast<uint32_t>(a);
        end[i] = static_cast<uint32_t>(b);
      }
      if (put % 50) continue;
      uint64_t last = 0;
      std::vector<uint32_t> found(size), whole(size);
      for (dp_span_at at = dp_spans_find(spans, 0); dp_spans_get(spans, at); at = dp_spans_next(spans, at)) {
        const dp_span *s = dp_spans_get(spans, at);
        ASSERT_LE(last, s->begin);
        ASSERT_LT(s->begin, s->end);
        last = s->end;
        for (uint64_t i = s->begin; i < s->end; i++) {
          found[i] = s->writer;
          whole[i] = s->content;
        }
      }
      for (uint64_t i = 0; i < size; i++) {
        ASSERT_EQ(found[i], writer[i]) << "seed " << seed << " byte " << i;
        bool uncut = writer[i] != 0;
        for (uint64_t k = begin[i]; uncut && k < end[i]; k++) uncut = writer[k] == writer[i];
        ASSERT_EQ(whole[i], uncut ? writer[i] : 0) << "seed " << seed << " byte " << i;
        dp_span *s = dp_spans_get(spans, dp_spans_find(spans, i));
        ASSERT_TRUE(!writer[i] || (s && s->begin <= i && i < s->end));
      }
    }
  }
}

// ---- random programs ------------------------------------------------------------------------------------------------

// A program of Identity nodes on random ranges of transient memory; its meaning does not matter here.
class RandomProgram {
 public:
  RandomProgram(unsigned seed, bool cycles) : random_(seed) {
    std::string text = "model m {\n graph train {\n input v0: float32[16]\n";
    n_ = 3 + random_() % 14;
    for (unsigned i = 0; i < n_; i++) text += "v" + std::to_string(i + 1) + " = Identity(v0)\n";
    text += "output v1\n}\ngraph eval {\n input v0: float32[16]\n y = Relu(v0)\n output y\n}\n}\n";
    EXPECT_EQ(dp_test::Parse(arena, text, &model), "");
    dp__plan__init(&plan);
    writer_ = new dp_test::ProgramWriter(arena, &plan, model->graphs[0], 0);
    Write(cycles);
  }
  ~RandomProgram() { delete writer_; }

  // The checker's verdict: 0 for valid, or the rule.
  dp_rule Check() {
    dp_verify_report report = {};
    dp_checker c = {};
    c.report = &report;
    c.plan = &plan;
    c.model = model;
    c.arena = arena;
    Dp__Program *programs[] = {writer_->program};
    Dp__Role role = DP__ROLE__INIT, *roles[] = {&role};
    role.n_programs = 1;
    role.programs = programs;
    plan.n_roles = 1;
    plan.roles = roles;
    c.role = &role;
    c.program = writer_->program;
    c.graph = model->graphs[0];
    c.micro = c.pipe = -1;
    c.storages = static_cast<decltype(c.storages)>(dp_alloc(arena, sizeof *c.storages));
    dp_status status = dp_checker_tensors(&c);
    if (!status) status = dp_checker_flow(&c);
    if (!status) status = dp_checker_order(&c);
    dp_status_free(status);
    return status ? report.fault.rule : DP_RULE_NONE;
  }

  std::string Brute() const { return dp_test::BruteOrder(writer_->program); }

 private:
  void Write(bool cycles) {
    const unsigned slots = 4 + random_() % 24;
    std::vector<unsigned> lengths(1 + random_() % 4);
    for (unsigned i = 0; i < n_; i++) lengths[random_() % lengths.size()]++;
    unsigned made = 0, event = 0;
    std::vector<std::pair<unsigned, unsigned>> order;  // in the order of creation: stream by stream
    for (unsigned s = 0; s < lengths.size(); s++) {
      for (unsigned i = 0; i < lengths[s]; i++, made++) {
        std::string number = std::to_string(made);
        // Each has 64 bytes or more, in one slot or several; results do not overlap their own operands.
        unsigned a = random_() % (slots / 2), b = slots / 2 + random_() % (slots - slots / 2);
        if (random_() % 2) std::swap(a, b);
        writer_->Tensor("in" + number, "v0", "", DP__SPACE__TRANSIENT, 64 * a);
        writer_->Tensor("out" + number, "v" + std::to_string(made + 1), "", DP__SPACE__TRANSIENT, 64 * b);
        if (a + 3 < b || (b < a && a + 3 < slots)) writer_->At("in" + number)->bytes = 64 * (1 + random_() % 3);
        if (b + 3 < a) writer_->At("out" + number)->bytes = 64 * (1 + random_() % 3);
        writer_->Add("s" + std::to_string(s), "Identity", "v" + std::to_string(made + 1), {"in" + number},
                     {"out" + number}, {}, -1);
      }
    }
    std::vector<Dp__Instruction *> steps;
    for (size_t s = 0; s < writer_->program->n_streams; s++)
      for (size_t i = 0; i < writer_->program->streams[s]->n_instructions; i++)
        steps.push_back(writer_->program->streams[s]->instructions[i]);
    // Events point forward in a random order that the streams allow, so that most programs have no cycle; or anywhere.
    std::vector<double> time(steps.size());
    for (size_t s = 0, k = 0; s < writer_->program->n_streams; s++)
      for (size_t i = 0, n = writer_->program->streams[s]->n_instructions; i < n; i++, k++)
        time[k] = (static_cast<double>(i) + (random_() % 100) / 100.0) / static_cast<double>(n);
    for (unsigned tries = random_() % (3 * n_); tries; tries--) {
      size_t a = random_() % n_, b = random_() % n_;
      if (a == b || (!cycles && time[a] >= time[b])) continue;
      if (!steps[a]->signal) steps[a]->signal = ++event;
      bool twice = false;
      for (size_t w = 0; w < steps[b]->n_waits; w++) twice |= steps[b]->waits[w] == steps[a]->signal - 1;
      if (!twice) Append(arena, &steps[b]->n_waits, &steps[b]->waits, steps[a]->signal - 1);
    }
    writer_->program->events = event;
  }

  std::mt19937 random_;
  unsigned n_;
  Arena arena;
  dp_model *model = nullptr;
  Dp__Plan plan;
  dp_test::ProgramWriter *writer_;
};

TEST(Order, AgreesWithBruteForce) {
  std::map<std::string, int> counts;
  for (unsigned seed = 0; seed < 1600; seed++) {
    RandomProgram program(seed, seed % 4 == 0);
    std::string expected = program.Brute(), found = dp_rule_name(program.Check());
    ASSERT_EQ(found, expected) << "seed " << seed;
    counts[found]++;
  }
  EXPECT_GT(counts[""], 100);
  EXPECT_GT(counts["ORDER.CONFLICT"], 100);
  EXPECT_GT(counts["ORDER.CYCLE"], 100);
}

}  // namespace
