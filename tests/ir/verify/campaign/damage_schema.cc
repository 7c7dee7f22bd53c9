// Damages found through the schema, in any field of a role or of a variable's placement: damages a field; doubles,
// drops or swaps its items; or copies it from another plan. This tries what no other damage does, and covers new fields
// at once.
#include "ir/file/wire.h"
#include "tests/ir/verify/campaign/damage_kinds.h"
#include "tests/ir/verify/reflect.h"

namespace dp_test {

std::vector<std::vector<uint8_t>> &OtherPlans() {
  static std::vector<std::vector<uint8_t>> plans;
  return plans;
}

namespace {

// Leaves out the logical graphs and the kinds of variables, which the oracles take from the undamaged plan.
Fields DamagedFields(Dp__Plan *plan) {
  Fields fields;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (const auto &field : FieldsOf(&plan->roles[r]->base))
      fields[field.first].insert(fields[field.first].end(), field.second.begin(), field.second.end());
  for (size_t i = 0; i < plan->n_variables; i++) {
    Fields of = FieldsOf(&plan->variables[i]->base);
    for (const char *name :
         {"Variable.placements", "Variable.offset", "Variable.bytes", "Variable.stages", "Placement.kind",
          "Placement.dim", "Placement.outer", "Placement.unit", "Placement.reduction"})
      fields[name].insert(fields[name].end(), of[name].begin(), of[name].end());
  }
  return fields;
}

// Selects a name with fields that pass the test, all names being equally likely, and then one of the fields.
template <typename Test>
bool ChooseField(Edit &e, const Fields &fields, Test test, Field *field) {
  std::vector<std::vector<Field>> names;
  for (const auto &named : fields) {
    std::vector<Field> good;
    for (const Field &f : named.second)
      if (test(f)) good.push_back(f);
    if (!good.empty()) names.push_back(good);
  }
  std::vector<Field> of;
  return e.Choose(names, &of) && e.Choose(of, field);
}

bool Damage(Edit &e, const Field &field, const std::vector<Field> &alike, size_t kind) {
  std::mt19937 random(static_cast<unsigned>(e.UpTo(1u << 30)));
  return DamageField(e.arena, field, alike, kind, &random);
}

// Selects one of several items, in a field that has any.
bool DamageSeveral(Edit &e, size_t kind) {
  const Fields fields = DamagedFields(e.plan);
  Field field;
  if (!ChooseField(
          e, fields, [](const Field &f) { return f.Repeated() && f.Count(); }, &field))
    return false;
  return Damage(e, field, fields.at(field.Name()), kind);
}

}  // namespace

bool SchemaOther(Edit &e) {
  const Fields fields = DamagedFields(e.plan);
  Field field;
  if (!ChooseField(
          e, fields, [](const Field &) { return true; }, &field))
    return false;
  return Damage(e, field, fields.at(field.Name()), e.UpTo(kDamageKinds));
}

bool SchemaDoubled(Edit &e) { return DamageSeveral(e, kItemTwice); }
bool SchemaDropped(Edit &e) { return DamageSeveral(e, e.OneIn(2) ? kItemLastDropped : kItemFirstDropped); }
bool SchemaSwapped(Edit &e) { return DamageSeveral(e, kItemsSwapped); }

bool SchemaCrossed(Edit &e) {
  if (OtherPlans().empty()) return false;
  const std::vector<uint8_t> &packed = OtherPlans()[e.UpTo(OtherPlans().size())];
  ProtobufCMessage *other;
  if (dp_status status = dp_wire_unpack(e.arena, &dp__plan__descriptor, packed.data(), packed.size(), "plan", &other)) {
    dp_status_free(status);
    return false;
  }
  const Fields fields = DamagedFields(e.plan), others = DamagedFields(reinterpret_cast<Dp__Plan *>(other));
  Field field;
  if (!ChooseField(
          e, fields, [&](const Field &f) { return others.count(f.Name()) != 0; }, &field))
    return false;
  return Damage(e, field, others.at(field.Name()), field.Repeated() ? kItemOfAnother : kOfAnother);
}

}  // namespace dp_test
