#include "tests/end_to_end/training.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <set>
#include <stdexcept>
#include <utility>

#include "backends/null/backend.h"
#include "backends/registry.h"
#include "ir/plan/form.h"
#include "runtime/learning_rate.h"

namespace dp_test {

namespace {

// A backend that remembers its allocations, so that a test can inspect each device's memory.
thread_local std::vector<char *> *allocated;
thread_local const dp_backend *opened;

void *Allocate(dp_place place, uint64_t bytes, uint64_t alignment) {
  void *memory = opened->allocate(place, bytes, alignment);
  if (allocated) allocated->push_back(static_cast<char *>(memory));
  return memory;
}

// The backend that the plan is for.
dp_backend MakeBackend(const Plan &plan, const RunOptions &options) {
  if (options.null_backend) return dp_backend_null(dp_backend_find(plan->target->backend)->target);
  const dp_backend_entry *entry = dp_backend_find(plan->target->backend);
  Must(entry->open(options.units, &opened));
  if (options.map) Must(entry->map(options.map));
  dp_backend backend = *opened;
  backend.allocate = Allocate;
  return backend;
}

// The pipeline stage of a device, which equals its role's number; 0 without a pipeline.
size_t StageOf(const dp_mesh &mesh, int64_t device) {
  int64_t at[DP_MAX_MESH] = {};
  dp_mesh_coordinate(&mesh, device, at);
  for (int a = 0; a < mesh.n_axes; a++)
    if (dp_mesh_is_staged(&mesh.axes[a])) return static_cast<size_t>(at[a]);
  return 0;
}

bool IsOn(const dp_variable &p, size_t stage) {
  for (int i = 0; i < p.n_stages; i++)
    if (static_cast<size_t>(p.stages[i]) == stage) return true;
  return p.n_stages == 0;
}

}  // namespace

uint64_t ArenaBytes(const Dp__Role *role, Dp__Space space) {
  const Dp__Arena *arena = dp_plan_form_arena(role, space);
  return arena ? arena->bytes : 0;
}

// ---- samples --------------------------------------------------------------------------------------------------------

namespace {

struct DigitFiles {
  std::string images = ReadText("examples/data/digits/train-images-idx3-ubyte").substr(16),
              labels = ReadText("examples/data/digits/train-labels-idx1-ubyte").substr(8);
};

const DigitFiles &Files() {
  static const DigitFiles files;
  return files;
}

}  // namespace

int64_t DigitLabel(int64_t sample) {
  return static_cast<uint8_t>(Files().labels[static_cast<size_t>(sample) % Files().labels.size()]);
}

Feed Digits() {
  return [](const std::string &input, int64_t sample, int64_t element) -> double {
    if (input == "label") return static_cast<double>(DigitLabel(sample));
    if (input == "target") return DigitLabel(sample) == element % 10 ? 1 : 0.1;
    size_t at = static_cast<size_t>(sample) * 64 + static_cast<size_t>(element % 64);
    return static_cast<uint8_t>(Files().images[at % Files().images.size()]);
  };
}

// ---- running --------------------------------------------------------------------------------------------------------

Training::Training(Plan plan, RunOptions options)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      backend_(MakeBackend(plan_, options_)),
      slot_(options_.slot) {
  dp_session_options session = {};
  session.workers = options_.workers;
  session.unchecked = options_.unchecked;
  session.seed = options_.seed;
  session.peers = options_.peers;
  session.trace = options_.trace;
  std::vector<char *> blocks;
  allocated = &blocks;
  dp_status status = dp_session_create(plan_.get(), &backend_, &session, &session_);
  allocated = nullptr;
  Must(status);
  if (options_.null_backend) return;
  // For each device its persistent, transient and offload arenas and two copies of its inputs, unless they are empty.
  const dp_mesh &mesh = dp_session_model(session_)->mesh;
  size_t block = 0;
  for (int64_t d = 0; d < dp_mesh_devices(&mesh); d++) {
    const Dp__Role *role = plan_->roles[StageOf(mesh, d)];
    if (!dp_peers_here(options_.peers, static_cast<int>(d))) {
      storages_.push_back(nullptr);
      offloads_.push_back(nullptr);
      continue;
    }
    storages_.push_back(ArenaBytes(role, DP__SPACE__PERSISTENT) ? blocks.at(block++) : nullptr);
    if (ArenaBytes(role, DP__SPACE__TRANSIENT)) block++;
    offloads_.push_back(ArenaBytes(role, DP__SPACE__OFFLOAD) ? blocks.at(block++) : nullptr);
    if (ArenaBytes(role, DP__SPACE__DEVICE_INPUT)) block += 2;
  }
}

Training::~Training() { dp_session_destroy(session_); }

// The inputs of all stages, each once.
void Training::Fill(int program, int64_t first, int64_t n) {
  std::set<std::string> filled;
  for (size_t r = 0; r < plan_->n_roles; r++) {
    const Dp__Program *p = plan_->roles[r]->programs[program];
    for (size_t i = 0; i < p->n_inputs; i++)
      if (!dp_graph_is_scalar(p->inputs[i]->name) && filled.insert(p->inputs[i]->name).second)
        FillInput(program, p->inputs[i]->name, p->tensors[p->inputs[i]->tensor]->value, first, n);
  }
}

void Training::FillInput(int program, const char *name, uint32_t value, int64_t first, int64_t n) {
  const dp_type &type = *dp_session_graph(session_, program)->values[value]->type;
  char *at = static_cast<char *>(dp_session_input(session_, program, name, static_cast<int>(slot_)));
  int64_t each = n ? dp_shape_count(&type.shape, n) / n : 0;
  const bool target = name == Target();
  if (target) labels_ = 0;
  for (int64_t s = 0; s < n; s++)
    for (int64_t e = 0; e < each; e++, at += dp_type_bytes(type.dtype)) {
      const double element = options_.feed(name, first + s, e);
      if (target && element != kIgnored) labels_++;
      dp_element_set(type.dtype, at, element);
    }
}

std::string Training::TryProgram(const std::string &name, int64_t first, int64_t n) {
  int program = dp_session_find(session_, name.c_str());
  if (program < 0) throw std::runtime_error("the plan has no program " + name);
  slot_ ^= 1;
  Fill(program, first, n);
  dp_step step = {step_, n, dp_learning_rate(plan_->schedule, step_)};
  std::string failure = Failure(dp_session_run(session_, program, static_cast<int>(slot_), &step));
  if (failure.empty() && name != "infer" && !options_.null_backend) CheckCount(name);
  return failure;
}

// The loss's second argument; "" where there is no loss.
std::string Training::Target() const {
  std::string loss = plan_->loss;
  if (loss.empty()) return "";
  const size_t begin = loss.find_first_not_of(' ', loss.find(',') + 1), end = loss.rfind(')');
  return loss.substr(begin, end - begin);
}

// Checks that the loss counts as many labels as were fed.
void Training::CheckCount(const std::string &program) {
  if (!HasLoss()) return;
  const double count = Number(program.c_str(), "count");
  if (labels_ >= 0 && count != static_cast<double>(labels_))
    throw std::runtime_error(program + " counts " + std::to_string(count) + " labels of " + std::to_string(labels_));
}

double Training::Number(const char *program, const char *output) {
  return dp_session_number(session_, dp_session_find(session_, program), output);
}

bool Training::HasLoss() const {
  const size_t program = FindProgram(plan_, "train");
  for (int64_t d = 0; d < dp_mesh_devices(&Model()->mesh); d++) {
    if (!dp_peers_here(options_.peers, static_cast<int>(d))) continue;
    const Dp__Program *p = plan_->roles[StageOf(Model()->mesh, d)]->programs[program];
    for (size_t i = 0; i < p->n_outputs; i++)
      if (!strcmp(p->outputs[i]->name, "loss")) return true;
  }
  return false;
}

double Training::Train(int64_t first, int64_t n) {
  std::string failure = TryProgram("train", first, n);
  if (!failure.empty()) throw std::runtime_error(failure);
  step_++;
  return Number("train", "loss");
}

std::vector<double> Training::TrainAll(const std::vector<int64_t> &batches) {
  std::vector<double> losses;
  int64_t first = 0;
  for (int64_t n : batches) {
    losses.push_back(Train(first, n));
    first += n;
  }
  return losses;
}

// Labels of all ones are no classes, and such numbers are none.
void Training::SpoilInputs(int program) {
  for (size_t r = 0; r < plan_->n_roles; r++) {
    const Dp__Program *p = plan_->roles[r]->programs[program];
    for (size_t i = 0; i < p->n_inputs; i++)
      std::memset(dp_session_input(session_, program, p->inputs[i]->name, static_cast<int>(slot_)), 0xff,
                  p->tensors[p->inputs[i]->tensor]->bytes);
  }
}

std::string Training::TryAhead(const std::vector<int64_t> &batches, std::vector<double> *losses) {
  const int program = dp_session_find(session_, "train");
  const size_t depth = static_cast<size_t>(dp_session_depth(session_));
  std::deque<int64_t> labels;  // of the steps that are on
  const auto end = [&] {
    const std::string failure = Failure(dp_session_end(session_));
    if (!failure.empty()) return std::to_string(losses->size()) + ": " + failure;
    labels_ = labels.front();
    labels.pop_front();
    if (!options_.null_backend) CheckCount("train");
    losses->push_back(Number("train", "loss"));
    return std::string();
  };
  int64_t first = 0;
  std::string failure;
  for (size_t i = 0; i < batches.size() && failure.empty(); i++) {
    slot_ ^= 1;
    Fill(program, first, batches[i]);
    first += batches[i];
    dp_step step = {step_, batches[i], dp_learning_rate(plan_->schedule, step_)};
    Must(dp_session_begin(session_, program, static_cast<int>(slot_), &step));
    step_++;
    labels.push_back(labels_);
    if (labels.size() == depth) failure = end();
    if (depth == 1 || !failure.empty()) continue;
    Must(dp_session_taken(session_));
    SpoilInputs(program);
  }
  while (failure.empty() && !labels.empty()) failure = end();
  return failure;
}

std::vector<double> Training::TrainAhead(const std::vector<int64_t> &batches) {
  std::vector<double> losses;
  const std::string failure = TryAhead(batches, &losses);
  if (!failure.empty()) throw std::runtime_error(failure);
  return losses;
}

double Training::Evaluate(int64_t first, int64_t n) {
  std::string failure = TryProgram("eval", first, n);
  if (!failure.empty()) throw std::runtime_error(failure);
  return Number("eval", "loss");
}

double Training::Correct() { return Number("eval", "correct"); }

std::vector<double> Training::Infer(int64_t first, int64_t n) {
  std::string failure = TryProgram("infer", first, n);
  if (!failure.empty()) throw std::runtime_error(failure);
  const int program = dp_session_find(session_, "infer");
  std::set<std::string> outputs;
  for (size_t r = 0; r < plan_->n_roles; r++) {
    const Dp__Program *p = plan_->roles[r]->programs[program];
    for (size_t i = 0; i < p->n_outputs; i++) outputs.insert(p->outputs[i]->name);
  }
  std::vector<double> numbers;
  for (const std::string &name : outputs) {
    dp_type type;
    const char *at = static_cast<const char *>(dp_session_output(session_, program, name.c_str(), &type));
    for (int64_t e = 0; e < dp_shape_count(&type.shape, n); e++, at += dp_type_bytes(type.dtype))
      numbers.push_back(dp_element_get(type.dtype, at));
  }
  return numbers;
}

// ---- state ----------------------------------------------------------------------------------------------------------

namespace {

size_t WholeBytes(const dp_variable &p) {
  return static_cast<size_t>(dp_shape_count(&p.type->shape, 0)) * dp_type_bytes(p.type->dtype);
}

}  // namespace

std::map<std::string, Bytes> Training::State() const {
  std::map<std::string, Bytes> state;
  const dp_model *model = dp_session_model(session_);
  for (int32_t i = 0; i < model->n_variables; i++) {
    Bytes bytes(WholeBytes(model->variables[i]));
    Must(dp_session_variable_read(session_, i, bytes.data()));
    state[model->variables[i].name] = bytes;
  }
  return state;
}

std::string Training::TryRead(int32_t variable, void *whole) const {
  return Failure(dp_session_variable_read(session_, variable, whole));
}

std::vector<double> Training::Numbers(const std::string &name) const {
  const dp_model *model = dp_session_model(session_);
  int32_t i = dp_model_find_variable(model, name.c_str());
  if (i < 0) throw std::runtime_error("the plan has no variable " + name);
  dp_dtype dtype = model->variables[i].type->dtype;
  Bytes bytes(WholeBytes(model->variables[i]));
  Must(dp_session_variable_read(session_, i, bytes.data()));
  std::vector<double> numbers;
  for (size_t at = 0; at < bytes.size(); at += dp_type_bytes(dtype))
    numbers.push_back(dp_element_get(dtype, &bytes[at]));
  return numbers;
}

void Training::SetNumbers(const std::string &name, const std::vector<double> &numbers) {
  const dp_model *model = dp_session_model(session_);
  int32_t i = dp_model_find_variable(model, name.c_str());
  if (i < 0) throw std::runtime_error("the plan has no variable " + name);
  dp_dtype dtype = model->variables[i].type->dtype;
  Bytes bytes(WholeBytes(model->variables[i]));
  if (bytes.size() != numbers.size() * dp_type_bytes(dtype)) throw std::runtime_error(name + " has another size");
  for (size_t k = 0; k < numbers.size(); k++) dp_element_set(dtype, &bytes[k * dp_type_bytes(dtype)], numbers[k]);
  Must(dp_session_variable_write(session_, i, bytes.data()));
}

namespace {

// A shard in the plain order, of one that lies in NHWC.
Bytes PlainOf(const Bytes &nhwc, const dp_local &local, size_t element) {
  const int64_t *e = local.extents;
  Bytes plain(nhwc.size());
  size_t to = 0;
  for (int64_t i = 0; i < e[0]; i++)
    for (int64_t c = 0; c < e[1]; c++)
      for (int64_t p = 0; p < e[2] * e[3]; p++, to += element)
        std::copy_n(&nhwc[static_cast<size_t>((i * e[2] * e[3] + p) * e[1] + c) * element], element, &plain[to]);
  return plain;
}

}  // namespace

Bytes Training::Part(int32_t variable, int64_t device) const {
  const dp_mesh &mesh = Model()->mesh;
  const dp_variable &p = Model()->variables[variable];
  if (!IsOn(p, StageOf(mesh, device))) return {};
  int64_t at[DP_MAX_MESH] = {};
  dp_mesh_coordinate(&mesh, device, at);
  const dp_local local = dp_shard_range(&p.type->shape, p.placements, &mesh, at, 0);
  const char *storage = (p.offloaded ? offloads_ : storages_).at(static_cast<size_t>(device)) + p.offset;
  Bytes bytes(static_cast<size_t>(dp_local_count(&local)) * dp_type_bytes(p.type->dtype));
  if (backend_.download && !p.offloaded)
    Must(backend_.download(static_cast<int>(device), bytes.data(), storage, bytes.size()));
  else
    std::copy(storage, storage + bytes.size(), bytes.begin());
  return p.layout == DP_LAYOUT_NHWC ? PlainOf(bytes, local, dp_type_bytes(p.type->dtype)) : bytes;
}

std::string Training::Replicas() const {
  const dp_model *model = dp_session_model(session_);
  std::map<std::string, Bytes> state = State();
  for (int32_t i = 0; i < model->n_variables; i++) {
    const dp_variable &p = model->variables[i];
    std::map<std::vector<int64_t>, Bytes> parts;  // by the coordinates that select a part
    Bytes bytes;                                  // of the last device that has any
    for (size_t d = 0; d < storages_.size(); d++) {
      if (!IsOn(p, StageOf(model->mesh, static_cast<int64_t>(d)))) continue;
      int64_t at[DP_MAX_MESH] = {};
      dp_mesh_coordinate(&model->mesh, static_cast<int64_t>(d), at);
      std::vector<int64_t> part;
      for (int a = 0; a < model->mesh.n_axes; a++) part.push_back(p.placements[a].kind == DP_SHARD ? at[a] : -1);
      bytes = Part(i, static_cast<int64_t>(d));
      auto found = parts.emplace(part, bytes);
      if (!found.second && found.first->second != bytes)
        return std::string(p.name) + " differs on device " + std::to_string(d);
    }
    // Checks that these are the bytes to compare: among equal copies, the session reads the last.
    if (bytes.size() == WholeBytes(p)) {
      EXPECT_EQ(bytes, state[p.name]) << p.name;
    }
  }
  return "";
}

// ---- the rest -------------------------------------------------------------------------------------------------------

std::string TryLoad(const Plan &plan) {
  dp_session_options options = {};
  options.workers = 1;
  dp_session *session = nullptr;
  const dp_backend *backend = nullptr;
  Must(dp_backend_find(plan->target->backend)->open(nullptr, &backend));
  std::string failure = Failure(dp_session_create(plan.get(), backend, &options, &session));
  if (failure.empty()) dp_session_destroy(session);
  return failure;
}

std::string RunNull(const Plan &plan, int workers, const std::vector<int64_t> &batches) {
  RunOptions options;
  options.workers = workers;
  options.null_backend = true;
  options.unchecked = true;
  Training run(plan, options);
  std::vector<double> losses;
  const std::string ahead = run.TryAhead(batches, &losses);
  if (!ahead.empty()) return ahead;
  for (int64_t n : batches)
    for (const char *program : {"train", "eval"}) {
      std::string failure = run.TryProgram(program, 0, n);
      if (!failure.empty()) return failure;
    }
  return "";
}

void ExpectClose(const std::vector<double> &found, const std::vector<double> &expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++)
    EXPECT_NEAR(found[i], expected[i], tolerance * std::fabs(expected[i])) << "step " << i + 1;
}

void ExpectLikeOneDevice(const Plan &plan, const Plan &single, const std::vector<int64_t> &batches) {
  Training one(single), many(plan);
  ExpectClose(many.TrainAll(batches), one.TrainAll(batches), 1e-9);
  for (const auto &entry : one.State()) {
    std::vector<double> found = many.Numbers(entry.first), expected = one.Numbers(entry.first);
    ASSERT_EQ(found.size(), expected.size()) << entry.first;
    for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(found[i], expected[i], 1e-8) << entry.first;
  }
  EXPECT_NEAR(many.Evaluate(0, 11), one.Evaluate(0, 11), 1e-9);
}

}  // namespace dp_test
