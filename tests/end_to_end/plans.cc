#include "tests/end_to_end/plans.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "ir/verify/verify.h"
#include "passes/pipeline.h"
#include "tests/ir/text/text_helper.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {

std::string Failure(dp_status status) {
  if (!status) return "";
  std::string code = std::to_string(dp_status_code(status));
  return code + ": " + Message(status);
}

void Must(dp_status status) {
  std::string failure = Failure(status);
  if (failure.empty()) return;
  ADD_FAILURE() << failure;
  throw std::runtime_error(failure);
}

std::vector<std::pair<std::string, std::vector<double>>> ReadNumbers(const std::string &path) {
  std::vector<std::pair<std::string, std::vector<double>>> lines;
  std::istringstream text(ReadText(path));
  for (std::string line; std::getline(text, line);) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    lines.emplace_back();
    words >> lines.back().first;
    for (double number; words >> number;) lines.back().second.push_back(number);
  }
  return lines;
}

namespace {

Plan FromBytes(const std::vector<uint8_t> &bytes) {
  Dp__Plan *plan = dp__plan__unpack(nullptr, bytes.size(), bytes.data());
  if (!plan) throw std::runtime_error("a plan that was packed cannot be unpacked");
  return Plan(plan, [](Dp__Plan *p) { dp__plan__free_unpacked(p, nullptr); });
}

std::vector<uint8_t> ToBytes(const Dp__Plan *plan) {
  std::vector<uint8_t> bytes(dp__plan__get_packed_size(plan));
  dp__plan__pack(plan, bytes.data());
  return bytes;
}

}  // namespace

Plan Compile(const std::string &text, const std::string &words) {
  Arena arena;
  dp_model *model = nullptr;
  Must(dp_text_parse(arena, "model.dpt", text.data(), text.size(), &model));
  Options options;
  options.Set(words);
  Dp__Plan *plan = nullptr;
  Must(dp_pipeline_run(model, &options.options, &plan));
  Plan result = FromBytes(ToBytes(plan));
  EXPECT_EQ(Verify(result), "") << words;
  return result;
}

Plan Copy(const Plan &plan) { return FromBytes(ToBytes(plan.get())); }

std::string Verify(const Plan &plan) { return Failure(dp_verify_plan(plan.get(), nullptr)); }

Dp__Instruction *At(const Plan &plan, const Location &location) {
  const Dp__Program *program = plan->roles[location.role]->programs[location.program];
  return program->streams[location.stream]->instructions[location.instruction];
}

size_t FindProgram(const Plan &plan, const std::string &name) {
  for (size_t i = 0; i < plan->roles[0]->n_programs; i++)
    if (plan->roles[0]->programs[i]->name == name) return i;
  throw std::runtime_error("the plan has no program " + name);
}

std::string Describe(const Plan &plan, const Location &location) {
  const Dp__Program *program = plan->roles[location.role]->programs[location.program];
  const Dp__Instruction *in = At(plan, location);
  std::string text = std::string(program->name) + ", " + program->streams[location.stream]->name + ", " +
                     std::to_string(location.instruction) + " (" + in->op;
  if (in->n_outputs && in->outputs[0]) {
    const Dp__DeviceTensor *t = program->tensors[in->outputs[0] - 1];
    text += std::string(" of ") + plan->graphs[program->graph]->values[t->value]->name;
  }
  return text + ")";
}

std::vector<Location> Instructions(const Plan &plan, const std::string &name, size_t role) {
  std::vector<Location> locations;
  size_t p = FindProgram(plan, name);
  const Dp__Program *program = plan->roles[role]->programs[p];
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) locations.push_back({p, s, i, role});
  return locations;
}

std::vector<Location> Communications(const Plan &plan, const std::string &name) {
  std::vector<Location> locations;
  for (const Location &location : Instructions(plan, name))
    if (!*At(plan, location)->kernel) locations.push_back(location);
  return locations;
}

namespace {

void AddWait(Dp__Instruction *in, uint32_t event) {
  for (size_t i = 0; i < in->n_waits; i++)
    if (in->waits[i] == event) return;
  in->waits = static_cast<uint32_t *>(realloc(in->waits, (in->n_waits + 1) * sizeof *in->waits));
  in->waits[in->n_waits++] = event;
}

bool DropWait(Dp__Instruction *in, uint32_t event) {
  for (size_t i = 0; i < in->n_waits; i++)
    if (in->waits[i] == event) {
      in->waits[i] = in->waits[--in->n_waits];
      return true;
    }
  return false;
}

template <typename Visit>
void EachInstruction(Dp__Program *program, Visit visit) {
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) visit(program->streams[s]->instructions[i]);
}

// Events are numbered without gaps: the last one takes the number of an event that is no longer signalled.
void DropEvent(Dp__Program *program, uint32_t event) {
  uint32_t last = --program->events;
  EachInstruction(program, [&](Dp__Instruction *in) {
    DropWait(in, event);
    if (in->signal == last + 1) in->signal = event + 1;
    if (event != last && DropWait(in, last)) AddWait(in, event);
  });
}

}  // namespace

Plan WithoutInstruction(const Plan &plan, const Location &location) {
  Plan damaged = Copy(plan);
  Dp__Program *program = damaged->roles[0]->programs[location.program];
  Dp__Stream *stream = program->streams[location.stream];
  Dp__Instruction *gone = stream->instructions[location.instruction],
                  *before = location.instruction ? stream->instructions[location.instruction - 1] : nullptr,
                  *after = location.instruction + 1 < stream->n_instructions
                               ? stream->instructions[location.instruction + 1]
                               : nullptr;
  std::vector<uint32_t> events(gone->waits, gone->waits + gone->n_waits);  // what it followed
  if (gone->signal && before) {
    if (!before->signal) before->signal = ++program->events;
    events.push_back(before->signal - 1);
  }
  EachInstruction(program, [&](Dp__Instruction *in) {
    bool follows = gone->signal && DropWait(in, gone->signal - 1);
    for (size_t i = 0; follows && i < events.size(); i++) AddWait(in, events[i]);
  });
  for (size_t i = 0; after && i < gone->n_waits; i++) AddWait(after, gone->waits[i]);
  for (size_t i = location.instruction; i + 1 < stream->n_instructions; i++)
    stream->instructions[i] = stream->instructions[i + 1];
  stream->n_instructions--;
  if (gone->signal) DropEvent(program, gone->signal - 1);
  dp__instruction__free_unpacked(gone, nullptr);
  return damaged;
}

Plan WithoutWait(const Plan &plan, const Location &location, size_t wait) {
  Plan damaged = Copy(plan);
  Dp__Instruction *in = At(damaged, location);
  DropWait(in, in->waits[wait]);
  return damaged;
}

Plan WithDevicesAlone(const Plan &plan, const Location &location) {
  Plan damaged = Copy(plan);
  At(damaged, location)->communication->n_axes = 0;
  return damaged;
}

}  // namespace dp_test
