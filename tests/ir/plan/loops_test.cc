// Loops of files: what repeats is folded and comes out the same; what does not make sense is refused.
#include "ir/plan/loops.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/base/limits.h"
#include "ir/plan/form.h"
#include "ir/plan/plan.h"
#include "tests/ir/base/files.h"
#include "tests/ir/verify/campaign/tiny_models.h"
#include "tests/ir/verify/hand_plan.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {
namespace {

std::string Pack(const Dp__Plan *plan) {
  std::string bytes(dp__plan__get_packed_size(plan), 0);
  dp__plan__pack(plan, reinterpret_cast<uint8_t *>(&bytes[0]));
  return bytes;
}

std::string Expand(dp_arena *arena, Dp__Plan *plan) {
  dp_fault fault = {};
  return Message(dp_plan_loops_expand(arena, plan, &fault));
}

// ---- what repeats ---------------------------------------------------------------------------------------------------

// A plan of one program with one stream: lists without meaning.
struct Lists {
  Lists() {
    plan = New(arena, dp__plan__init);
    Dp__Role *role = New(arena, dp__role__init);
    program = New(arena, dp__program__init);
    stream = New(arena, dp__stream__init);
    program->name = dp_strdup(arena, "train");
    stream->name = dp_strdup(arena, "compute");
    Append(arena, &plan->n_roles, &plan->roles, role);
    Append(arena, &role->n_programs, &role->programs, program);
    Append(arena, &program->n_streams, &program->streams, stream);
  }
  Dp__DeviceTensor *Tensor(uint32_t value, uint64_t offset) {
    Dp__DeviceTensor *t = New(arena, dp__device_tensor__init);
    t->value = value;
    t->offset = offset;
    t->bytes = 64;
    Append(arena, &program->n_tensors, &program->tensors, t);
    return t;
  }
  Dp__Instruction *Instruction(const std::string &op, const std::vector<uint32_t> &inputs, uint32_t signal) {
    Dp__Instruction *in = New(arena, dp__instruction__init);
    in->op = dp_strdup(arena, op.c_str());
    for (uint32_t i : inputs) Append(arena, &in->n_inputs, &in->inputs, i);
    in->signal = signal;
    Append(arena, &stream->n_instructions, &stream->instructions, in);
    return in;
  }
  // The folded plan, which comes out as `plan` is.
  Dp__Plan *Fold() {
    const std::string before = Pack(plan);
    Dp__Plan *folded = dp_plan_loops_fold(arena, plan), *other = dp_plan_loops_fold(arena, plan);
    EXPECT_EQ(Pack(plan), before) << "folding must leave the plan unchanged";
    EXPECT_EQ(Expand(arena, other), "");
    EXPECT_EQ(Pack(other), before);
    return folded;
  }
  Arena arena;
  Dp__Plan *plan;
  Dp__Program *program;
  Dp__Stream *stream;
};

TEST(Loops, OfInstructionsWithConstantDifferences) {
  Lists l;
  l.Instruction("First", {9}, 0);
  for (uint32_t j = 0; j < 5; j++) {
    l.Instruction("Conv", {1, 10 + j}, 0);
    l.Instruction("Add", {20 + 2 * j, 100 - j}, j + 1);
  }
  l.Instruction("Last", {}, 0);
  const Dp__Stream *s = l.Fold()->roles[0]->programs[0]->streams[0];
  ASSERT_EQ(s->n_loops, 1u);
  EXPECT_EQ(s->n_instructions, 4u);
  const Dp__Loop *loop = s->loops[0];
  EXPECT_EQ(loop->first, 1u);
  EXPECT_EQ(loop->length, 2u);
  EXPECT_EQ(loop->count, 5u);
  ASSERT_EQ(loop->n_changes, 4u);
  const std::vector<int64_t> by = {1, 2, -1, 1};
  for (size_t i = 0; i < by.size(); i++) {
    ASSERT_EQ(loop->changes[i]->n_by, 1u);
    EXPECT_EQ(loop->changes[i]->by[0], by[i]);
  }
}

TEST(Loops, OfTensorsWhoseOffsetsAreIrregular) {
  Lists l;
  const std::vector<uint64_t> offsets = {0, 640, 64, 0, UINT64_MAX};
  for (uint32_t j = 0; j < 5; j++) l.Tensor(3, offsets[j])->stage = j;
  const Dp__Program *p = l.Fold()->roles[0]->programs[0];
  ASSERT_EQ(p->n_loops, 1u);
  EXPECT_EQ(p->n_tensors, 1u);
  ASSERT_EQ(p->loops[0]->n_changes, 2u);
  EXPECT_EQ(p->loops[0]->changes[0]->n_by, 1u);
  EXPECT_EQ(p->loops[0]->changes[1]->n_by, 4u);
}

TEST(Loops, NotOfWhatDiffersOtherwise) {
  Lists l;
  for (uint32_t j = 0; j < 6; j++) l.Instruction("Add", {j * j}, 0);                 // no constant difference
  for (uint32_t j = 0; j < 6; j++) l.Instruction("Op" + std::to_string(j), {1}, 0);  // other texts
  for (uint32_t j = 0; j < 6; j++) l.Instruction("Sum", std::vector<uint32_t>(j + 1, 1), 0);
  for (uint32_t j = 0; j < 2; j++) l.Instruction("Twice", {}, 0);
  const std::vector<double> numbers = {1, 2, 4, -1};
  for (double f : numbers) {
    Dp__Attribute *a = New(l.arena, dp__attribute__init);
    a->f = f;
    Dp__Instruction *in = l.Instruction("Scale", {}, 0);
    Append(l.arena, &in->n_attributes, &in->attributes, a);
  }
  EXPECT_EQ(l.Fold()->roles[0]->programs[0]->streams[0]->n_loops, 0u);
}

TEST(Loops, OfNumbersThatFall) {
  Lists l;
  for (int32_t n = 0; n < 4; n++) l.Instruction("Add", {}, 0)->compute_dtype = 2 - n;
  const Dp__Stream *folded = l.Fold()->roles[0]->programs[0]->streams[0];
  EXPECT_EQ(folded->n_instructions, 1u);
  EXPECT_EQ(folded->loops[0]->changes[0]->by[0], -1);
  Lists round;
  const std::vector<uint32_t> numbers = {2, 1, 0, UINT32_MAX, UINT32_MAX - 1};
  for (uint32_t n : numbers) round.Instruction("Add", {n}, 0);
  EXPECT_EQ(round.Fold()->roles[0]->programs[0]->streams[0]->n_instructions, 3u) << "from 0 to 2^32 - 1 it rises";
}

TEST(Loops, OfNothing) {
  Lists l;
  EXPECT_EQ(l.Fold()->roles[0]->programs[0]->n_loops, 0u);
  l.Tensor(0, 0);
  EXPECT_EQ(l.Fold()->roles[0]->programs[0]->n_loops, 0u);
}

// Pieces that repeat, beside and in one another, with differences that are constant or not.
TEST(Loops, OfRandomListsComeOutTheSame) {
  size_t loops = 0;
  for (unsigned seed = 0; seed < 300; seed++) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Lists l;
    for (size_t piece = random() % 6; piece; piece--) {
      const size_t length = 1 + random() % 20, count = 1 + random() % 12;
      std::vector<uint32_t> start(length), step(length);
      for (size_t k = 0; k < length; k++) start[k] = random() % 1000, step[k] = random() % 3 - 1;
      for (uint32_t j = 0; j < count; j++)
        for (size_t k = 0; k < length; k++) {
          const uint32_t number = start[k] + j * step[k] + (random() % 200 ? 0 : 1);
          const std::string op = std::string(1, static_cast<char>('a' + start[k] % 4));
          Dp__Instruction *in = l.Instruction(op, {number, start[k]}, number);
          in->scratch = New(l.arena, dp__scratch__init);
          in->scratch->offset = random() % 4 * 64;
          l.Tensor(number, random() % 4 * 64);
        }
    }
    const Dp__Program *folded = l.Fold()->roles[0]->programs[0];
    loops += folded->n_loops + folded->streams[0]->n_loops;
    if (HasFailure()) return;
  }
  EXPECT_GT(loops, 300u);
}

// ---- compiled plans -------------------------------------------------------------------------------------------------

struct Bytes {
  double whole = 0, folded = 0;
};

// Of the plan's programs; the logical graphs are not folded.
Bytes ProgramBytes(const std::string &text, const std::string &options) {
  CompiledModel compiled(text, options);
  EXPECT_EQ(compiled.failure, "");
  Bytes bytes;
  if (!compiled.plan) return bytes;
  Dp__Plan *folded = dp_plan_loops_fold(compiled.arena, compiled.plan);
  for (size_t r = 0; r < folded->n_roles; r++) {
    bytes.whole += static_cast<double>(dp__role__get_packed_size(compiled.plan->roles[r]));
    bytes.folded += static_cast<double>(dp__role__get_packed_size(folded->roles[r]));
  }
  EXPECT_EQ(Expand(compiled.arena, folded), "");
  EXPECT_EQ(Pack(folded), Pack(compiled.plan));
  return bytes;
}

// What each further micro-batch adds to a plan is less than a tenth of what it adds to the list.
TEST(Loops, OfMicrobatches) {
  for (const char *mesh : {"strategy=single", "strategy=data mesh=data:2", "strategy=pipeline mesh=pipe:2",
                           "strategy=pipeline mesh=pipe:3 schedule=gpipe"}) {
    const std::string options = std::string(mesh) + " batch=64 microbatches=";
    const Bytes few = ProgramBytes(kDense, options + "16"), many = ProgramBytes(kDense, options + "64");
    printf("%s: 16 micro-batches %.0f bytes, folded %.0f; 64: %.0f, folded %.0f\n", mesh, few.whole, few.folded,
           many.whole, many.folded);
    EXPECT_LT(many.folded - few.folded, (many.whole - few.whole) / 10) << mesh;
  }
}

// A recurrent network whose steps are nodes of their own.
std::string Recurrent(int steps) {
  std::string text =
      "model m {\n  loss \"mse(y,t)\"\n  optimizer \"sgd(lr=0.1)\"\n  input x: float32[N,6]\n"
      "  parameter w: float32[6,6] = normal(0, 0.1)\n  h0 = Tanh(x)\n";
  for (int t = 0; t < steps; t++) {
    const std::string n = std::to_string(t), next = std::to_string(t + 1);
    text +=
        "  a" + n + " = MatMul(h" + n + ", w)\n  b" + n + " = Add(a" + n + ", x)\n  h" + next + " = Tanh(b" + n + ")\n";
  }
  return text + "  y = Sigmoid(h" + std::to_string(steps) + ")\n  output y\n}\n";
}

TEST(Loops, OfRecurrentSteps) {
  const Bytes few = ProgramBytes(Recurrent(20), "batch=4 strategy=single"),
              many = ProgramBytes(Recurrent(80), "batch=4 strategy=single");
  printf("20 steps %.0f bytes, folded %.0f; 80: %.0f, folded %.0f\n", few.whole, few.folded, many.whole, many.folded);
  EXPECT_LT(many.folded - few.folded, (many.whole - few.whole) / 4);
}

// ---- what is refused ------------------------------------------------------------------------------------------------

struct OneLoop : Lists {
  OneLoop() {
    for (uint32_t i = 0; i < 4; i++) Instruction("Add", {i}, 0);
    loop = New(arena, dp__loop__init);
    loop->first = 1;
    loop->length = 2;
    loop->count = 3;
    change = New(arena, dp__change__init);
    change->number = 0;
    Append(arena, &change->n_by, &change->by, int64_t{1});
    Append(arena, &loop->n_changes, &loop->changes, change);
    Append(arena, &stream->n_loops, &stream->loops, loop);
  }
  std::string Says() { return Expand(arena, plan); }
  Dp__Loop *loop;
  Dp__Change *change;
};

TEST(Loops, AreWrittenOut) {
  OneLoop l;
  EXPECT_EQ(l.Says(), "");
  std::string first;
  for (size_t i = 0; i < l.stream->n_instructions; i++) first += std::to_string(l.stream->instructions[i]->inputs[0]);
  EXPECT_EQ(first, "01222323") << "0, (1 2) (2 2) (3 2), 3";
  EXPECT_EQ(l.stream->n_loops, 0u);
  OneLoop below;
  below.change->by[0] = -1;
  EXPECT_EQ(below.Says(), "");
  EXPECT_EQ(below.stream->instructions[5]->inputs[0], UINT32_MAX) << "modulo 2^32";
}

TEST(Loops, ThatLeaveTheirList) {
  static const struct {
    uint32_t first, length;
  } wrong[] = {{4, 1}, {3, 2}, {5, 0}, {0, 5}, {UINT32_MAX, 1}, {1, UINT32_MAX}};
  for (const auto &w : wrong) {
    OneLoop l;
    l.loop->first = w.first;
    l.loop->length = w.length;
    EXPECT_NE(l.Says().find("program train: rule FORM.INDEX: compute: a loop of "), std::string::npos) << l.Says();
  }
  OneLoop l;
  Append(l.arena, &l.stream->n_loops, &l.stream->loops, l.loop);
  EXPECT_EQ(l.Says(), "program train: rule FORM.INDEX: compute: a loop of 2 items from 1 on, where 3 to 4 are left");
}

TEST(Loops, WithoutIterations) {
  for (uint32_t count : {0u, 1u}) {
    OneLoop l;
    l.loop->count = count;
    EXPECT_EQ(l.Says(), "program train: rule FORM.LIMIT: compute: a loop of 2 items and " + std::to_string(count) +
                            " iterations");
  }
  OneLoop l;
  l.loop->length = 0;
  EXPECT_EQ(l.Says(), "program train: rule FORM.LIMIT: compute: a loop of 0 items and 3 iterations");
}

TEST(Loops, WithChangesOfOtherNumbers) {
  OneLoop l;
  l.change->number = 1000;
  EXPECT_NE(l.Says().find("rule FORM.INDEX: compute: change 0 of a loop is of number 1000 of "), std::string::npos);
  OneLoop twice;
  Append(twice.arena, &twice.loop->n_changes, &twice.loop->changes, twice.change);
  EXPECT_NE(twice.Says().find("rule FORM.INDEX: compute: change 1 of a loop is of number 0 of "), std::string::npos);
}

TEST(Loops, WithTooManyOrTooFewDifferences) {
  for (size_t n : {0u, 3u}) {
    OneLoop l;
    l.change->n_by = 0;
    for (size_t i = 0; i < n; i++) Append(l.arena, &l.change->n_by, &l.change->by, int64_t{1});
    EXPECT_EQ(l.Says(), "program train: rule FORM.LIMIT: compute: number 0 of a loop of 3 iterations changes " +
                            std::to_string(n) + " times");
  }
}

// A small file must not take much memory.
TEST(Loops, ThatTakeTooMuchMemory) {
  OneLoop l;
  l.loop->count = UINT32_MAX;
  EXPECT_EQ(l.Says(), "program train: rule FORM.LIMIT: compute: loops of more than " + std::to_string(DP_LIMIT_LOOPED) +
                          " bytes when they are written out");
  EXPECT_LT(dp_arena_bytes(l.arena), 1u << 20);
  // Together: each alone would do.
  OneLoop many;
  many.loop->first = 0, many.loop->length = 1;
  many.loop->count = static_cast<uint32_t>(
      DP_LIMIT_LOOPED * 2ll / 3 / static_cast<long long>(dp_plan_loops_memory(&many.stream->instructions[0]->base)));
  Dp__Loop *second = New(many.arena, dp__loop__init);
  *second = *many.loop;
  second->first = 1;
  Append(many.arena, &many.stream->n_loops, &many.stream->loops, second);
  EXPECT_NE(many.Says().find("rule FORM.LIMIT: compute: loops of more than"), std::string::npos);
  EXPECT_LT(dp_arena_bytes(many.arena), 1u << 20);
}

// A file's equal messages may be one in memory: what stands in it counts wherever it stands. Names count too.
TEST(Loops, ThatTakeTooMuchMemoryTogether) {
  OneLoop l;
  const size_t each = dp_plan_loops_memory(&l.stream->instructions[1]->base) + sizeof(void *);
  l.loop->length = 1;
  l.loop->count = static_cast<uint32_t>(DP_LIMIT_LOOPED / 3 / each);
  Dp__Role *role = l.plan->roles[0];
  Dp__Program *program = role->programs[0];
  for (int i = 0; i < 3; i++) Append(l.arena, &role->n_programs, &role->programs, program);
  EXPECT_NE(l.Says().find("rule FORM.LIMIT: compute: loops of more than"), std::string::npos);
  OneLoop named;
  named.stream->instructions[1]->kernel = dp_strdup(named.arena, std::string(1 << 20, 'k').c_str());
  named.loop->count = 300;
  EXPECT_NE(named.Says().find("rule FORM.LIMIT: compute: loops of more than"), std::string::npos);
}

// What would take too much stays a list, so that what is written can be read.
TEST(Loops, AreNotMadeIfTheyTookTooMuchMemory) {
  for (bool fits : {true, false}) {
    Lists l;
    Dp__Attribute *a = New(l.arena, dp__attribute__init);
    a->n_floats = 1 << 20;
    a->floats = static_cast<double *>(dp_alloc_n(l.arena, a->n_floats, sizeof *a->floats));
    Dp__Instruction *in = l.Instruction("Constant", {}, 0);
    Append(l.arena, &in->n_attributes, &in->attributes, a);
    const size_t count = DP_LIMIT_LOOPED / dp_plan_loops_memory(&in->base) + (fits ? 0 : 2);
    while (l.stream->n_instructions < count) Append(l.arena, &l.stream->n_instructions, &l.stream->instructions, in);
    EXPECT_EQ(dp_plan_loops_fold(l.arena, l.plan)->roles[0]->programs[0]->streams[0]->n_loops, fits ? 1u : 0u);
  }
}

// ---- in files -------------------------------------------------------------------------------------------------------

class LoopFiles : public FolderTest {};

TEST_F(LoopFiles, HoldLoopsAndAreReadWithout) {
  CompiledModel compiled(kDense, "batch=64 microbatches=32 strategy=single");
  ASSERT_EQ(compiled.failure, "");
  ASSERT_EQ(Message(dp_plan_write(compiled.plan, Path("a.bin").c_str())), "");
  EXPECT_LT(Get("a.bin").size(), Pack(compiled.plan).size() / 2);
  Dp__Plan *plan;
  ASSERT_EQ(Message(dp_plan_read(compiled.arena, Path("a.bin").c_str(), &plan)), "");
  EXPECT_EQ(Pack(plan), Pack(compiled.plan));
  // A plan without loops says the same.
  const std::string whole = Pack(compiled.plan);
  std::string header("DPPLAN\r\n", 8);
  const uint64_t numbers[] = {DP_PLAN_VERSION, whole.size(), dp_hash64(whole.data(), whole.size())};
  header.append(reinterpret_cast<const char *>(numbers), sizeof numbers);
  Put("b.bin", header + whole);
  ASSERT_EQ(Message(dp_plan_read(compiled.arena, Path("b.bin").c_str(), &plan)), "");
  EXPECT_EQ(Pack(plan), Pack(compiled.plan));
}

// The numeric fields of a message and of those in it, as changes count them. Members are instructions again.
std::string NumbersOf(const ProtobufCMessageDescriptor *message, int depth) {
  std::string numbers;
  for (unsigned i = 0; i < message->n_fields; i++) {
    const ProtobufCFieldDescriptor &f = message->fields[i];
    const auto *within = static_cast<const ProtobufCMessageDescriptor *>(f.descriptor);
    switch (f.type) {
      case PROTOBUF_C_TYPE_MESSAGE:
        numbers += std::string(f.name) + "(" + (depth ? NumbersOf(within, depth - 1) : "...") + ") ";
        break;
      case PROTOBUF_C_TYPE_INT32:
      case PROTOBUF_C_TYPE_INT64:
      case PROTOBUF_C_TYPE_UINT32:
      case PROTOBUF_C_TYPE_UINT64:
        numbers += std::string(f.name) + " ";
        break;
      default:;
    }
  }
  return numbers;
}

// A number more, or one elsewhere, moves all that follow in the loops of files that exist: then DP_PLAN_VERSION must
// rise.
TEST(Loops, CountTheSameNumbersInAllFilesOfAVersion) {
  EXPECT_EQ(DP_PLAN_VERSION, 1);
  EXPECT_EQ(NumbersOf(&dp__instruction__descriptor, 1),
            "attributes(kind i ints dims(...) tensor(...) ) nodes inputs outputs waits signal scratch(offset bytes ) "
            "threads compute_dtype communication(axes reduction channel peer(...) ) members(attributes(...) nodes "
            "inputs outputs waits signal scratch(...) threads compute_dtype communication(...) members(...) "
            "packed(...) ) packed(operand offset bytes ) ");
  EXPECT_EQ(NumbersOf(&dp__device_tensor__descriptor, 1),
            "value version placements(kind dim outer unit reduction ) stage micro(first count of ) dtype offset "
            "bytes ");
}

// Whoever gets a plan from elsewhere than a file is not to take its loops for instructions.
TEST(Loops, AreNoPlanInMemory) {
  HandPlan hand;
  Dp__Stream *stream = hand.Stream("train", "compute");
  Dp__Loop *loop = New(hand.arena, dp__loop__init);
  Append(hand.arena, &stream->n_loops, &stream->loops, loop);
  std::string message;
  EXPECT_EQ(hand.Verify(&message), "FORM.LIMIT");
  EXPECT_NE(message.find("a loop that was not written out"), std::string::npos) << message;
}

}  // namespace
}  // namespace dp_test
