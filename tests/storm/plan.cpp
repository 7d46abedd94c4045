#include "plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include <fmt/core.h>

#include "base/random.h"

namespace muster::storm {
namespace {

constexpr Span act_length = 3500ms;
constexpr std::size_t acts_per_life = 3;

template <class T>
void shuffle(std::vector<T>& all, Random& random) {
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
}

// Hands out all of a kind in a random order, again and again.
template <class T>
class Deck {
public:
    Deck(std::vector<T> cards, Random& random) : cards_(std::move(cards)), random_(random) {}
    bool empty() const { return cards_.empty(); }
    T draw() {
        if (left_.empty()) {
            left_ = cards_;
            shuffle(left_, random_);
        }
        const T card = left_.back();
        left_.pop_back();
        return card;
    }

private:
    std::vector<T> cards_;
    std::vector<T> left_;
    Random& random_;
};

Span some(Random& random, Span least, Span most) {
    return Span(random.between(least.count(), most.count()));
}

// Those that belong to a fault are not drawn.
std::vector<AttackKind> drawn(const std::optional<std::vector<AttackKind>>& chosen) {
    std::vector<AttackKind> all = chosen.value_or(std::vector<AttackKind>{});
    for (int i = 0; i < attack_count && !chosen; ++i) all.push_back(static_cast<AttackKind>(i));
    std::erase(all, AttackKind::restless_servers);
    return all;
}

bool is_chosen(const PlanOptions& options, AttackKind kind) {
    return !options.attacks || std::ranges::find(*options.attacks, kind) != options.attacks->end();
}

// Steps of the date: hours either way, days ahead, to 1970, past 2038.
std::int64_t date_step(Random& random) {
    constexpr std::int64_t hour_ms = 3'600'000;
    constexpr std::int64_t year_hours = 8'766;
    constexpr std::array hours{std::int64_t{1},   std::int64_t{-1}, std::int64_t{24},
                               std::int64_t{200}, -56 * year_hours, 13 * year_hours};
    return hours[random.below(hours.size())] * hour_ms;
}

// The first of its kind is the worst.
void draw_fault(Act& act, FaultKind kind, bool first, Random& random) {
    act.fault = kind;
    act.fault_after = some(random, 200ms, 1s);
    act.fault_length = some(random, 1s, 2s);
    act.length = act_length;
    if (kind == FaultKind::stop) {
        // Longer than the time after which a silent peer is removed, or just noticeable.
        act.fault_length = random.chance(0.7) ? some(random, 4500ms, 6s) : some(random, 300ms, 3s);
        act.length = act.fault_length + 3s;
    }
    if (kind == FaultKind::date) act.date_step_ms = date_step(random);
    if (kind == FaultKind::slow_disk) {
        // It hangs all the while, or is just slow.
        act.sync_delay_ms = static_cast<std::int32_t>(first ? 10'000 : random.between(100, 10'000));
        act.fault_length = first ? some(random, 6s, 7500ms) : some(random, 2s, 6s);
        act.length = act.fault_length + 3s;
    }
    if (kind == FaultKind::kill) {
        // In the middle of a sync that hangs.
        act.sync_delay_ms = 60'000;
        act.fault_length = some(random, 100ms, 600ms);
    }
    // Their traces last as long, and what comes after them is judged, too.
    if (kind == FaultKind::full_disk || kind == FaultKind::descriptors) act.length = act.fault_length + 3s;
}

// Of three lives one ends by each. The last one by kill -9: what was answered last is asked for once more.
FaultKind ending(Deck<FaultKind>& others, std::size_t life, bool last) {
    return last || life % 3 == 2 ? FaultKind::kill : others.draw();
}

}  // namespace

Plan make_plan(const PlanOptions& options) {
    Random random(options.seed);
    using enum FaultKind;
    Deck<AttackKind> attacks(drawn(options.attacks), random);
    Deck<AttackKind> last_attacks(drawn(options.attacks), random);  // with so little time that they count for nothing
    Deck<FaultKind> faults(
        options.faults.value_or(std::vector{none, stop, stop, date, slow_disk, full_disk, descriptors}), random);
    Deck<FaultKind> endings({terminate, broken_disk}, random);

    Plan plan;
    constexpr Span finish = 10s;  // the last check of everything
    Span left = options.length - plan.calm - finish;
    bool spins = random.chance(0.5);
    std::set<FaultKind> seen;
    do {
        Life life;
        life.spins = spins = !spins;
        life.net_threads = static_cast<int>(random.between(0, 2));
        life.entity_heartbeats = random.chance(0.5);
        while (life.acts.size() < acts_per_life && left > 0s) {
            Act act;
            for (std::int64_t n = random.between(2, 3); n > 0 && !attacks.empty(); --n)
                act.attacks.push_back(attacks.draw());
            const FaultKind fault = faults.draw();
            draw_fault(act, fault, seen.insert(fault).second, random);
            if (act.fault == slow_disk && is_chosen(options, AttackKind::restless_servers))
                act.attacks_by_fault.push_back(AttackKind::restless_servers);
            left -= act.length;
            life.acts.push_back(std::move(act));
        }
        Act last;
        for (std::int64_t n = random.between(1, 3); n > 0 && !last_attacks.empty(); --n)
            last.attacks.push_back(last_attacks.draw());
        draw_fault(last, ending(endings, plan.lives.size(), left <= 0s), false, random);
        last.length = last.fault_after;
        if (last.fault == kill) last.length += last.fault_length;
        left -= last.length + 2s;  // and the next life begins
        life.acts.push_back(std::move(last));
        plan.lives.push_back(std::move(life));
    } while (left > 0s);
    return plan;
}

std::string_view to_string(FaultKind kind) {
    switch (kind) {
        case FaultKind::none:
            return "no fault";
        case FaultKind::stop:
            return "stop";
        case FaultKind::date:
            return "date";
        case FaultKind::slow_disk:
            return "slow_disk";
        case FaultKind::full_disk:
            return "full_disk";
        case FaultKind::descriptors:
            return "descriptors";
        case FaultKind::kill:
            return "kill";
        case FaultKind::terminate:
            return "terminate";
        case FaultKind::broken_disk:
            return "broken_disk";
    }
    return "";
}

std::string to_string(const Act& act) {
    std::string text;
    for (const AttackKind attack : act.attacks) text += fmt::format("{} ", to_string(attack));
    text += fmt::format("| {} after {:.1f} s", to_string(act.fault), seconds(act.fault_after));
    if (act.fault == FaultKind::date) text += fmt::format(", by {} h", act.date_step_ms / 3'600'000);
    if (act.fault == FaultKind::slow_disk) text += fmt::format(", syncs of {} ms", act.sync_delay_ms);
    if (act.fault >= FaultKind::stop && act.fault <= FaultKind::descriptors)
        text += fmt::format(", for {:.1f} s", seconds(act.fault_length));
    for (const AttackKind attack : act.attacks_by_fault) text += fmt::format(", with {}", to_string(attack));
    return text;
}

std::string to_string(const Life& life) {
    return fmt::format("life: {}, {} network thread{}{}", life.spins ? "the loop spins" : "the loop waits",
                       life.net_threads, life.net_threads == 1 ? "" : "s",
                       life.entity_heartbeats ? ", entity heartbeats" : "");
}

}  // namespace muster::storm
