// A plan to damage: its own copy in memory, seeded random choices, and ways to change it.
//
// Plans of one model for several numbers of devices have the same instructions, so one seed damages all of them in the
// same place.
#ifndef DP_TESTS_IR_VERIFY_CAMPAIGN_EDIT_H
#define DP_TESTS_IR_VERIFY_CAMPAIGN_EDIT_H

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ir/plan/plan.pb-c.h"
#include "tests/ir/text/text_helper.h"
#include "tests/ir/verify/hand_plan.h"

namespace dp_test {

struct Spot {
  size_t stream, at;
  bool operator==(const Spot &o) const { return stream == o.stream && at == o.at; }
};

class Edit {
 public:
  // packed: a plan's bytes. Selects the role and the program to damage, usually train.
  Edit(const std::vector<uint8_t> &packed, unsigned seed);
  std::string Pack() const;
  // The same program of the given role.
  void Enter(size_t role_index);
  size_t RoleIndex() const;

  // ---- choices
  size_t UpTo(size_t n) { return random_() % n; }
  bool OneIn(size_t n) { return UpTo(n) == 0; }
  template <typename T>
  bool Choose(const std::vector<T> &of, T *one) {
    if (of.empty()) return false;
    *one = of[UpTo(of.size())];
    return true;
  }
  using Test = std::function<bool(const Dp__Instruction *)>;
  std::vector<Spot> Where(const Test &test) const;
  bool ChooseWhere(const Test &test, Dp__Instruction **in, Spot *spot = nullptr);
  // The tensor of another value in a device's memory, with the same type, extents and placements, or with others.
  bool ChooseOther(uint32_t operand, bool same_kind, uint32_t *other);

  // ---- looking
  Dp__Instruction *At(Spot spot) const { return program->streams[spot.stream]->instructions[spot.at]; }
  Dp__DeviceTensor *Tensor(uint32_t operand) const { return program->tensors[operand - 1]; }  // index plus 1
  bool Find(const Dp__Instruction *in, Spot *spot) const;
  bool Signaller(uint32_t event, Spot *spot) const;
  bool Reads(const Dp__Instruction *in, uint32_t operand) const;
  bool Writes(const Dp__Instruction *in, uint32_t operand) const;
  // Whether b comes after a, by streams and waits.
  bool Follows(Spot a, Spot b) const;
  const Dp__Value *Value(const Dp__DeviceTensor *t) const { return plan->graphs[program->graph]->values[t->value]; }
  uint64_t ArenaBytes(int space) const;

  // ---- changing
  // Adds a copy of the tensor. Returns its index plus 1.
  uint32_t Clone(uint32_t operand);
  Dp__Instruction *CloneInstruction(const Dp__Instruction *in);
  void AddWait(Dp__Instruction *in, uint32_t event);
  void Insert(Spot spot, Dp__Instruction *in);
  void Move(Spot from, size_t to);  // within its stream
  void Swap(Spot a, Spot b);
  void TakeOut(Spot spot);
  Dp__Stream *NewStream(const std::string &name);
  char *Keep(const std::string &text) { return dp_strdup(arena, text.c_str()); }
  template <typename T>
  T *New(void (*init)(T *)) {
    T *message = static_cast<T *>(dp_alloc(arena, sizeof *message));
    init(message);
    return message;
  }

  Arena arena;
  Dp__Plan *plan = nullptr;
  Dp__Role *role = nullptr;
  Dp__Program *program = nullptr;

 private:
  std::mt19937 random_;
};

// Removes an instruction without changing the order of the others.
void TakeOut(dp_arena *arena, Dp__Program *program, Spot spot);

bool IsCollective(const Dp__Instruction *in);  // devices wait for each other
bool IsReduction(const Dp__Instruction *in);

}  // namespace dp_test

#endif
