// The damages of the table in damage.cc that are defined in other files. Each is a Damage::make.
#ifndef DP_TESTS_IR_VERIFY_CAMPAIGN_DAMAGE_KINDS_H
#define DP_TESTS_IR_VERIFY_CAMPAIGN_DAMAGE_KINDS_H

#include "tests/ir/verify/campaign/edit.h"

namespace dp_test {

// damage_memory.cc
bool OffsetTensor(Edit &e);
bool OffsetOperand(Edit &e);
bool LayoutTensor(Edit &e);
bool LayoutOperand(Edit &e);
bool LayoutVariable(Edit &e);
bool LayoutStorage(Edit &e);
bool LayoutUpdate(Edit &e);
bool OffsetScratch(Edit &e);
bool PackedOperand(Edit &e);
bool OffsetOutside(Edit &e);
bool OffsetHome(Edit &e);
bool SizeShort(Edit &e);
bool SizeLong(Edit &e);
bool SizeArena(Edit &e);
bool LifetimeTensor(Edit &e);
bool LifetimeScratch(Edit &e);
bool RowOperand(Edit &e);
bool RowPlacement(Edit &e);
bool RowHome(Edit &e);

// damage_meaning.cc
bool CollectiveAxis(Edit &e);
bool CollectiveAlone(Edit &e);
bool CollectiveCount(Edit &e);
bool CollectiveType(Edit &e);
bool CollectivePeer(Edit &e);
bool CollectiveReduction(Edit &e);
bool CollectiveKind(Edit &e);
bool CollectiveOperand(Edit &e);
bool BucketMissing(Edit &e);
bool BucketDoubled(Edit &e);
bool BucketCrossed(Edit &e);
bool BucketMoved(Edit &e);
bool EarlyRead(Edit &e);
bool EarlyMove(Edit &e);
bool ReduceMissing(Edit &e);
bool ReduceDoubled(Edit &e);
bool StaleReader(Edit &e);
bool StaleEarly(Edit &e);
bool StaleUpdate(Edit &e);
bool UpdateDoubled(Edit &e);
bool MeanSum(Edit &e);
bool MeanDivide(Edit &e);
bool NodeAttribute(Edit &e);
bool NodeOperand(Edit &e);
bool NodeSwapped(Edit &e);
bool NodeKernel(Edit &e);
bool StepMissing(Edit &e);
bool BindingInput(Edit &e);
bool BindingOutput(Edit &e);

// damage_split.cc
bool AxisSwapped(Edit &e);
bool AxisTwice(Edit &e);
bool PartialTaken(Edit &e);
bool NormPart(Edit &e);
bool GatherDropped(Edit &e);
bool ShardRow(Edit &e);
bool ShardView(Edit &e);
bool ShardAxis(Edit &e);
bool UpdateShard(Edit &e);
bool UpdateState(Edit &e);
bool StaleGathered(Edit &e);

// damage_pipe.cc
bool MicroDropped(Edit &e);
bool MicroChain(Edit &e);
bool MicroDoubled(Edit &e);
bool MicroCrossed(Edit &e);
bool MicroEarly(Edit &e);
bool MicroSet(Edit &e);
bool MicroUpdate(Edit &e);
bool MicroWhole(Edit &e);
bool TransferValue(Edit &e);
bool TransferMicro(Edit &e);
bool TransferCrossed(Edit &e);
bool TransferDropped(Edit &e);
bool TransferPeer(Edit &e);
bool TransferOrder(Edit &e);
bool TransferWait(Edit &e);
bool TransferStale(Edit &e);
bool StageHome(Edit &e);
bool StageUpdate(Edit &e);
bool StageInput(Edit &e);
bool StageOutput(Edit &e);

// damage_host.cc
bool HostBefore(Edit &e);
bool HostStage(Edit &e);
bool HostSpace(Edit &e);

// damage_upload.cc
bool UploadAhead(Edit &e);
bool UploadLate(Edit &e);
bool UploadEarly(Edit &e);
bool UploadWaits(Edit &e);
bool UploadSpace(Edit &e);
bool UploadOver(Edit &e);
// damage_loop.cc
bool LoopShort(Edit &e);
bool LoopLong(Edit &e);
bool LoopChange(Edit &e);
bool LoopNumber(Edit &e);
bool LoopStays(Edit &e);
bool LoopMoved(Edit &e);

// damage_region.cc
bool RegionMissing(Edit &e);
bool RegionOrder(Edit &e);
bool RegionOperand(Edit &e);
bool RegionAttribute(Edit &e);
bool RegionEnd(Edit &e);
bool RegionKept(Edit &e);
bool RegionLeaked(Edit &e);
bool RegionOver(Edit &e);
bool RegionAgain(Edit &e);

// damage_skip.cc
bool SkipDropped(Edit &e);
bool SkipLimit(Edit &e);

// damage_scale.cc
bool ScaleOther(Edit &e);
bool ScaleSkip(Edit &e);
bool ScalePart(Edit &e);

// damage_schema.cc
bool SchemaOther(Edit &e);
bool SchemaDoubled(Edit &e);
bool SchemaDropped(Edit &e);
bool SchemaSwapped(Edit &e);
bool SchemaCrossed(Edit &e);
// The packed plans that some damages copy from. Set before any damage is made.
std::vector<std::vector<uint8_t>> &OtherPlans();

// damage_field.cc
bool FieldOther(Edit &e);
bool FieldSwapped(Edit &e);

}  // namespace dp_test

#endif
