// Damages to uploads: what runs beside another run touches what that one uses, or waits for it.
#include <cstring>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

bool ReadsHost(const Edit &e, const Dp__Instruction *in) {
  return in->n_inputs && in->inputs[0] && e.Tensor(in->inputs[0])->space == DP__SPACE__HOST_INPUT;
}

// One that comes from the host by a stream that is ahead.
bool ChooseUpload(Edit &e, Dp__Instruction **in, Spot *spot) {
  return e.ChooseWhere([&](const Dp__Instruction *is) { return ReadsHost(e, is); }, in, spot) &&
         e.program->streams[spot->stream]->ahead;
}

uint64_t Room(const Edit &e, int space, uint64_t bytes) {
  const uint64_t has = e.ArenaBytes(space);
  return has < bytes ? 0 : (has - bytes) / 64 + 1;
}

}  // namespace

// A stream is said to be ahead, or not to be.
bool UploadAhead(Edit &e) {
  Dp__Stream *stream = e.program->streams[e.UpTo(e.program->n_streams)];
  stream->ahead = !stream->ahead;
  return true;
}

// Its upload comes with the run itself.
bool UploadLate(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!ChooseUpload(e, &in, &spot)) return false;
  const size_t to = e.UpTo(e.program->n_streams);
  if (e.program->streams[to]->ahead) return false;
  Dp__Stream *from = e.program->streams[spot.stream];
  Remove(&from->n_instructions, from->instructions, spot.at);
  e.Insert({to, 0}, in);
  return true;
}

// Something else comes ahead of the run that it belongs to.
bool UploadEarly(Edit &e) {
  Dp__Instruction *in, *upload;
  Spot spot, to;
  if (!ChooseUpload(e, &upload, &to)) return false;
  if (!e.ChooseWhere([](const Dp__Instruction *is) { return !is->n_waits; }, &in, &spot)) return false;
  Dp__Stream *from = e.program->streams[spot.stream];
  if (from->ahead) return false;
  Remove(&from->n_instructions, from->instructions, spot.at);
  e.Insert(to, in);
  return true;
}

bool UploadWaits(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!ChooseUpload(e, &in, &spot) || !e.program->events) return false;
  e.AddWait(in, static_cast<uint32_t>(e.UpTo(e.program->events)));
  return true;
}

// Its copy lies where the run before has its values.
bool UploadSpace(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!ChooseUpload(e, &in, &spot)) return false;
  Dp__DeviceTensor *t = e.Tensor(in->outputs[0]);
  const uint64_t room = Room(e, DP__SPACE__TRANSIENT, t->bytes);
  if (!room) return false;
  t->space = DP__SPACE__TRANSIENT;
  t->offset = e.UpTo(room) * 64;
  return true;
}

// A value of the run lies among its inputs.
bool UploadOver(Edit &e) {
  Dp__Instruction *in;
  auto makes = [&](const Dp__Instruction *is) {
    return is->n_outputs && is->outputs[0] && e.Tensor(is->outputs[0])->space == DP__SPACE__TRANSIENT;
  };
  if (!e.ChooseWhere(makes, &in)) return false;
  Dp__DeviceTensor *t = e.Tensor(in->outputs[0]);
  const uint64_t room = Room(e, DP__SPACE__DEVICE_INPUT, t->bytes);
  if (!room) return false;
  t->space = DP__SPACE__DEVICE_INPUT;
  t->offset = e.UpTo(room) * 64;
  return true;
}

}  // namespace dp_test
