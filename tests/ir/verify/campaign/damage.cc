// Damages to the order: waits, signals, streams; and the table of all damages. See damage.h. Those to memory and
// meaning are in damage_memory.cc, damage_meaning.cc, damage_split.cc, damage_pipe.cc, damage_host.cc and
// damage_field.cc.
#include "tests/ir/verify/campaign/damage.h"

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

bool Waits(const Dp__Instruction *in) { return in->n_waits; }
bool WaitsTwice(const Dp__Instruction *in) { return in->n_waits > 1; }
bool Signals(const Dp__Instruction *in) { return in->signal; }

// ---- waits ----------------------------------------------------------------------------------------------------------

bool WaitMissing(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Waits, &in)) return false;
  Remove(&in->n_waits, in->waits, e.UpTo(in->n_waits));
  return true;
}

bool WaitSwapped(Edit &e) {
  Dp__Instruction *a, *b;
  if (!e.ChooseWhere(Waits, &a) || !e.ChooseWhere(Waits, &b) || a == b) return false;
  uint32_t &x = a->waits[e.UpTo(a->n_waits)], &y = b->waits[e.UpTo(b->n_waits)];
  if (x == y) return false;
  std::swap(x, y);
  return true;
}

bool WaitOther(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Waits, &in)) return false;
  uint32_t &wait = in->waits[e.UpTo(in->n_waits)], other = static_cast<uint32_t>(e.UpTo(e.program->events));
  if (wait == other) return false;
  wait = other;
  return true;
}

// Waits for a later instruction, or for itself.
bool WaitCyclic(Edit &e) {
  Dp__Instruction *in, *later;
  Spot spot, after;
  if (!e.ChooseWhere([](const Dp__Instruction *) { return true; }, &in, &spot)) return false;
  if (!e.ChooseWhere(Signals, &later, &after) || !(after == spot || e.Follows(spot, after))) return false;
  e.AddWait(in, later->signal - 1);
  return true;
}

// One of two waits becomes the other; or one is doubled.
bool WaitDuplicate(Edit &e) {
  Dp__Instruction *in;
  if (!e.OneIn(8) && e.ChooseWhere(WaitsTwice, &in)) {
    size_t a = e.UpTo(in->n_waits), b = (a + 1) % in->n_waits;
    in->waits[a] = in->waits[b];
    return true;
  }
  if (!e.ChooseWhere(Waits, &in)) return false;
  Append(e.arena, &in->n_waits, &in->waits, in->waits[e.UpTo(in->n_waits)]);
  return true;
}

// The next instruction of the stream waits instead.
bool WaitLate(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere(Waits, &in, &spot)) return false;
  Dp__Stream *stream = e.program->streams[spot.stream];
  if (spot.at + 1 == stream->n_instructions) return false;
  size_t w = e.UpTo(in->n_waits);
  e.AddWait(stream->instructions[spot.at + 1], in->waits[w]);
  Remove(&in->n_waits, in->waits, w);
  return true;
}

// ---- signals --------------------------------------------------------------------------------------------------------

bool SignalMissing(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Signals, &in)) return false;
  in->signal = 0;
  return true;
}

bool SignalDoubled(Edit &e) {
  Dp__Instruction *a, *b;
  if (!e.ChooseWhere(Signals, &a) || !e.ChooseWhere([](const Dp__Instruction *) { return true; }, &b)) return false;
  if (a->signal == b->signal) return false;
  b->signal = a->signal;
  return true;
}

bool SignalSwapped(Edit &e) {
  Dp__Instruction *a, *b;
  if (!e.ChooseWhere(Signals, &a) || !e.ChooseWhere(Signals, &b) || a == b) return false;
  std::swap(a->signal, b->signal);
  return true;
}

// The previous instruction of the stream signals, before the work is done.
bool SignalEarly(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere(Signals, &in, &spot) || !spot.at) return false;
  Dp__Instruction *before = e.At({spot.stream, spot.at - 1});
  if (before->signal) return false;
  std::swap(before->signal, in->signal);
  return true;
}

// ---- collectives ----------------------------------------------------------------------------------------------------

// Two exchange places, with their waits and signals.
bool CollectiveSwapped(Edit &e) {
  Dp__Instruction *a, *b;
  Spot x, y;
  if (!e.ChooseWhere(IsCollective, &a, &x) || !e.ChooseWhere(IsCollective, &b, &y) || a == b) return false;
  e.Swap(x, y);
  return true;
}

// Two exchange places; waits and signals stay.
bool CollectiveCrossed(Edit &e) {
  Dp__Instruction *a, *b;
  if (!e.ChooseWhere(IsCollective, &a) || !e.ChooseWhere(IsCollective, &b) || a == b) return false;
  std::swap(a->n_waits, b->n_waits);
  std::swap(a->waits, b->waits);
  std::swap(a->signal, b->signal);
  Spot x, y;
  if (!e.Find(a, &x) || !e.Find(b, &y)) return false;
  e.Swap(x, y);
  return true;
}

// Moves to its own stream, where only its own waits hold it back.
bool CollectiveUnordered(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere(IsCollective, &in, &spot)) return false;
  Dp__Stream *stream = e.program->streams[spot.stream], *own = e.NewStream("own");
  Remove(&stream->n_instructions, stream->instructions, spot.at);
  Append(e.arena, &own->n_instructions, &own->instructions, in);
  return true;
}

}  // namespace

const std::vector<Damage> &Damages() {
  static const char kRace[] = "ORDER.CONFLICT ORDER.COLLECTIVE";
  static const char kWait[] = "ORDER.CONFLICT ORDER.COLLECTIVE ORDER.CYCLE ORDER.WAIT";
  static const char kSwap[] = "ORDER.CONFLICT ORDER.COLLECTIVE ORDER.CYCLE MEANING.CONTENT MEANING.UNDEFINED";
  static const char kPlaced[] =
      "FORM.RANGE FORM.ALIGN ORDER.CONFLICT ORDER.ALIAS MEANING.CONTENT MEANING.UNDEFINED MEANING.UPDATE "
      "MEANING.STORAGE "
      "MEANING.INPUT MEANING.STALE";
  static const char kRegionKept[] = "TENSOR.SPACE MEANING.OPERANDS MEANING.UPDATE MEANING.STORAGE";
  static const char kRegionLeaked[] =
      "TENSOR.SPACE MEANING.UNDEFINED MEANING.OPERANDS MEANING.CONVERSION MEANING.TRANSFER";
  static const char kRegionOver[] = "ORDER.ALIAS ORDER.CONFLICT MEANING.UNDEFINED MEANING.CONTENT MEANING.STORAGE";
  static const char kRegionAgain[] =
      "ORDER.ALIAS ORDER.CONFLICT MEANING.UNDEFINED MEANING.CONTENT MEANING.STORAGE MEANING.UPDATE";
  static const char kConversion[] = "MEANING.CONVERSION";
  static const char kSize[] =
      "TENSOR.BYTES FORM.RANGE ORDER.CONFLICT ORDER.ALIAS MEANING.UNDEFINED MEANING.CONTENT MEANING.STORAGE "
      "MEANING.INPUT "
      "MEANING.UPDATE";
  static const char kLayout[] = "TENSOR.LAYOUT MEANING.CONTENT MEANING.STALE MEANING.TRANSFER ORDER.ALIAS";
  static const char kLaidUpdate[] =
      "TENSOR.LAYOUT TENSOR.VERSION MEANING.CONTENT MEANING.STALE MEANING.STORAGE MEANING.UPDATE ORDER.ALIAS";
  static const char kLifetime[] = "ORDER.CONFLICT ORDER.ALIAS MEANING.CONTENT MEANING.UNDEFINED";
  static const char kEarly[] = "ORDER.CONFLICT ORDER.CYCLE MEANING.CONTENT MEANING.UNDEFINED MEANING.STALE";
  static const char kGone[] = "MEANING.CONTENT MEANING.UNDEFINED MEANING.UPDATE MEANING.STORAGE";
  static const char kStep[] = "MEANING.CONTENT MEANING.UNDEFINED MEANING.UPDATE MEANING.STORAGE MEANING.TRANSFER";
  static const char kNode[] = "MEANING.NODE MEANING.OPERANDS MEANING.KERNEL";
  static const char kRow[] =
      "FORM.RANGE FORM.ALIGN TENSOR.PLACEMENT TENSOR.LAYOUT TENSOR.BYTES MEANING.ROW MEANING.CONVERSION "
      "MEANING.CONTENT "
      "MEANING.UNDEFINED MEANING.STORAGE MEANING.INPUT MEANING.OUTPUT MEANING.UPDATE ORDER.CONFLICT ORDER.ALIAS";
  static const char kSplit[] =
      "TENSOR.PLACEMENT TENSOR.LAYOUT TENSOR.BYTES MEANING.ROW MEANING.CONVERSION MEANING.CONTENT MEANING.STORAGE "
      "MEANING.STALE";
  static const char kPart[] =
      "TENSOR.BYTES MEANING.MICRO MEANING.ROW MEANING.CONVERSION MEANING.CONTENT MEANING.UNDEFINED MEANING.UPDATE "
      "MEANING.STORAGE "
      "ORDER.CONFLICT ORDER.ALIAS";
  static const char kState[] =
      "MEANING.OPERANDS MEANING.CONTENT MEANING.UNDEFINED MEANING.UPDATE MEANING.STORAGE ORDER.CONFLICT";
  static const char kStaleGathered[] =
      "MEANING.STALE MEANING.CONTENT MEANING.UNDEFINED MEANING.CONVERSION MEANING.UPDATE ORDER.CONFLICT";
  static const char kMicro[] =
      "MEANING.MICRO MEANING.CONVERSION MEANING.ROW MEANING.CONTENT MEANING.UNDEFINED TENSOR.LAYOUT TENSOR.BYTES "
      "ORDER.CONFLICT ORDER.ALIAS";
  static const char kMicroSet[] =
      "FORM.MICRO FORM.RANGE MEANING.MICRO MEANING.CONTENT MEANING.CONVERSION MEANING.ROW MEANING.TRANSFER "
      "TENSOR.LAYOUT "
      "TENSOR.BYTES";
  static const char kTransfer[] = "MEANING.TRANSFER MEANING.CONTENT MEANING.UNDEFINED ORDER.CONFLICT";
  static const char kTransferOrder[] = "ORDER.CYCLE ORDER.CONFLICT MEANING.TRANSFER MEANING.CONTENT MEANING.UNDEFINED";
  static const char kHost[] = "ORDER.CONFLICT MEANING.CONTENT MEANING.UNDEFINED";
  static const char kUpload[] =
      "ORDER.AHEAD ORDER.BESIDE ORDER.CYCLE ORDER.WAIT ORDER.ALIAS TENSOR.SPACE FORM.RANGE FORM.ALIGN MEANING.ROW "
      "MEANING.CONVERSION MEANING.UPDATE";
  static const char kStageUpdate[] =
      "FORM.RANGE MEANING.UPDATE MEANING.STORAGE MEANING.CONTENT MEANING.UNDEFINED ORDER.CONFLICT TENSOR.VERSION";
  static const char kScale[] =
      "MEANING.OPERANDS MEANING.CONTENT MEANING.UNDEFINED MEANING.ROW MEANING.CONVERSION MEANING.STALE ORDER.CONFLICT";
  static const std::vector<Damage> damages = {
      {"wait.missing", WaitMissing, kRace},
      {"wait.swapped", WaitSwapped, kWait},
      {"wait.other", WaitOther, kWait},
      {"wait.cyclic", WaitCyclic, "ORDER.CYCLE"},
      {"wait.duplicate", WaitDuplicate, "ORDER.WAIT"},
      {"wait.late", WaitLate, kRace},
      {"signal.missing", SignalMissing, "ORDER.EVENT"},
      {"signal.doubled", SignalDoubled, "ORDER.EVENT"},
      {"signal.swapped", SignalSwapped, kWait},
      {"signal.early", SignalEarly, kRace},
      {"collective.swapped", CollectiveSwapped, kSwap},
      {"collective.crossed", CollectiveCrossed, kSwap},
      {"collective.unordered", CollectiveUnordered, kRace},
      {"collective.axis", CollectiveAxis, kConversion},
      {"collective.alone", CollectiveAlone, kConversion},
      {"collective.count", CollectiveCount, "TENSOR.BYTES MEANING.CONVERSION MEANING.UNDEFINED"},
      {"collective.dtype", CollectiveType, "TENSOR.TYPE MEANING.CONVERSION"},
      {"collective.peer", CollectivePeer, kConversion},
      {"collective.reduction", CollectiveReduction, kConversion},
      {"collective.kind", CollectiveKind, kConversion},
      {"collective.operand", CollectiveOperand, "MEANING.CONVERSION TENSOR.SPACE"},
      {"bucket.missing", BucketMissing, kGone},
      {"bucket.doubled", BucketDoubled, "ORDER.ALIAS MEANING.CONTENT MEANING.UNDEFINED"},
      {"bucket.crossed", BucketCrossed, kConversion},
      {"bucket.moved", BucketMoved, "ORDER.CONFLICT MEANING.CONTENT MEANING.UNDEFINED MEANING.CONVERSION"},
      {"offset.tensor", OffsetTensor, kPlaced},
      {"offset.operand", OffsetOperand, kPlaced},
      {"offset.scratch", OffsetScratch, kLifetime},
      {"offset.outside", OffsetOutside, "FORM.RANGE"},
      {"offset.storage", OffsetHome, "FORM.RANGE MEANING.STORAGE", true},
      {"packed.operand", PackedOperand, "MEANING.PACKED", true},
      {"layout.tensor", LayoutTensor, kLayout},
      {"layout.operand", LayoutOperand, kLayout},
      {"layout.variable", LayoutVariable, kLayout},
      {"layout.storage", LayoutStorage, "TENSOR.LAYOUT", true},
      {"layout.update", LayoutUpdate, kLaidUpdate},
      {"size.short", SizeShort, kSize},
      {"size.long", SizeLong, kSize},
      {"size.arena", SizeArena, "FORM.RANGE FORM.ROLE", true},
      {"lifetime.tensor", LifetimeTensor, kLifetime},
      {"lifetime.scratch", LifetimeScratch, kLifetime},
      {"early.read", EarlyRead, kEarly},
      {"early.move", EarlyMove, kEarly},
      {"reduce.missing", ReduceMissing, kGone},
      {"reduce.doubled", ReduceDoubled, "TENSOR.BYTES MEANING.CONTENT MEANING.UNDEFINED"},
      {"stale.reader", StaleReader, "MEANING.STALE MEANING.CONTENT MEANING.UNDEFINED ORDER.CONFLICT ORDER.CYCLE"},
      {"stale.early", StaleEarly, "MEANING.STALE MEANING.CONTENT MEANING.UNDEFINED ORDER.CONFLICT ORDER.CYCLE"},
      {"stale.update", StaleUpdate, "MEANING.UPDATE MEANING.STALE MEANING.CONTENT MEANING.STORAGE"},
      {"update.doubled", UpdateDoubled, "MEANING.UPDATE MEANING.STALE MEANING.CONTENT ORDER.CONFLICT"},
      {"row.operand", RowOperand, kRow},
      {"row.placement", RowPlacement, kRow},
      {"row.storage", RowHome, kRow, true},
      {"mean.sum", MeanSum, kNode},
      {"mean.divide", MeanDivide, kNode},
      {"node.attribute", NodeAttribute, kNode},
      {"node.operand", NodeOperand, kNode},
      {"node.swapped", NodeSwapped, kNode},
      {"node.kernel", NodeKernel, kNode},
      {"step.missing", StepMissing, kStep},
      {"binding.input", BindingInput, "MEANING.INPUT TENSOR.SPACE"},
      {"binding.output", BindingOutput, "MEANING.OUTPUT"},
      {"axis.swapped", AxisSwapped, kSplit},
      {"axis.twice", AxisTwice, "TENSOR.PLACEMENT TENSOR.LAYOUT MEANING.CONVERSION MEANING.CONTENT MEANING.UPDATE"},
      {"partial.taken", PartialTaken, kPart},
      {"partial.norm", NormPart, kPart},
      {"gather.dropped", GatherDropped, kPart},
      {"shard.row", ShardRow, kRow},
      {"shard.view", ShardView, kSplit},
      {"shard.axis", ShardAxis, kSplit},
      {"shard.update", UpdateShard, kPlaced},
      {"shard.state", UpdateState, kState},
      {"stale.gathered", StaleGathered, kStaleGathered},
      {"micro.dropped", MicroDropped, kMicro},
      {"micro.chain", MicroChain, kMicro},
      {"micro.doubled", MicroDoubled, kMicro},
      {"micro.crossed", MicroCrossed, kMicro},
      {"micro.early", MicroEarly, kEarly},
      {"micro.set", MicroSet, kMicroSet},
      {"micro.update", MicroUpdate, kMicro},
      {"micro.whole", MicroWhole, kMicro},
      {"transfer.value", TransferValue, kTransfer},
      {"transfer.micro", TransferMicro, kTransfer},
      {"transfer.crossed", TransferCrossed, "MEANING.TRANSFER ORDER.CYCLE"},
      {"transfer.dropped", TransferDropped,
       "MEANING.TRANSFER ORDER.CYCLE MEANING.UNDEFINED MEANING.CONTENT ORDER.CONFLICT"},
      {"transfer.peer", TransferPeer, "FORM.RANGE FORM.PEER MEANING.TRANSFER"},
      {"transfer.order", TransferOrder, kTransferOrder},
      {"transfer.wait", TransferWait, kRace},
      {"transfer.stale", TransferStale, "FORM.RANGE MEANING.STORAGE MEANING.UPDATE MEANING.STALE MEANING.CONTENT",
       true},
      {"stage.storage", StageHome, "FORM.RANGE FORM.ROLE MEANING.STORAGE MEANING.UPDATE MEANING.CONTENT", true},
      {"stage.update", StageUpdate, kStageUpdate},
      {"stage.input", StageInput, "MEANING.INPUT"},
      {"stage.output", StageOutput, "MEANING.OUTPUT MEANING.UNDEFINED"},
      {"host.before", HostBefore, kHost},
      {"host.stage", HostStage, kHost},
      {"host.space", HostSpace, "TENSOR.SPACE MEANING.OUTPUT MEANING.INPUT"},
      {"upload.ahead", UploadAhead, kUpload},
      {"upload.late", UploadLate, kUpload},
      {"upload.early", UploadEarly, kUpload},
      {"upload.waits", UploadWaits, kUpload},
      {"upload.space", UploadSpace, kUpload},
      {"upload.over", UploadOver, kUpload},
      {"loop.short", LoopShort, "*", true},
      {"loop.long", LoopLong, "*", true},
      {"loop.change", LoopChange, "*", true},
      {"loop.number", LoopNumber, "*", true},
      {"loop.stays", LoopStays, "*", true},
      {"loop.moved", LoopMoved, "*", true},
      {"region.missing", RegionMissing, "MEANING.NODE MEANING.UNDEFINED MEANING.OPERANDS", true},
      {"region.order", RegionOrder, "MEANING.UNDEFINED ORDER.ALIAS", true},
      {"region.operand", RegionOperand, "MEANING.UNDEFINED MEANING.OPERANDS MEANING.ROW MEANING.MICRO", true},
      {"region.node", RegionAttribute, "MEANING.NODE", true},
      {"region.end", RegionEnd, "MEANING.UNDEFINED MEANING.OPERANDS", true},
      {"region.kept", RegionKept, kRegionKept, true},
      {"region.leaked", RegionLeaked, kRegionLeaked, true},
      {"region.over", RegionOver, kRegionOver, true},
      {"region.again", RegionAgain, kRegionAgain, true},
      {"skip.dropped", SkipDropped, "MEANING.SKIP", true},
      {"skip.limit", SkipLimit, "MEANING.SKIP", true},
      {"scale.other", ScaleOther, kScale},
      {"scale.skip", ScaleSkip, kScale},
      {"scale.part", ScalePart, kScale},
      {"field.other", FieldOther, "*", true},
      {"field.swapped", FieldSwapped, "*", true},
      {"schema.other", SchemaOther, "*", true},
      {"schema.doubled", SchemaDoubled, "*", true},
      {"schema.dropped", SchemaDropped, "*", true},
      {"schema.swapped", SchemaSwapped, "*", true},
      {"schema.crossed", SchemaCrossed, "*", true},
  };
  return damages;
}

}  // namespace dp_test
