#include "raid.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace muster::storm {

Raid::Raid(std::uint64_t seed) : seed_(seed), thread_([this] { run(); }) {}

Raid::~Raid() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    thread_.join();
}

void Raid::aim(const Ports& ports) {
    const std::lock_guard lock(mutex_);
    target_.ports = ports;
}

void Raid::show(SeenToken token) {
    constexpr std::size_t most = 200;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    if (target_.seen.size() >= most) target_.seen.erase(target_.seen.begin());
    target_.seen.push_back(std::move(token));
}

void Raid::slow_down(int slowness) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) target_.slowness = slowness;
}

void Raid::attack(const std::vector<AttackKind>& kinds) {
    std::vector<std::unique_ptr<Attack>> next = made(kinds);
    const std::lock_guard lock(mutex_);
    attacks_ = std::move(next);
}

void Raid::join(const std::vector<AttackKind>& kinds) {
    std::vector<std::unique_ptr<Attack>> more = made(kinds);
    const std::lock_guard lock(mutex_);
    std::ranges::move(more, std::back_inserter(attacks_));
}

std::vector<std::unique_ptr<Attack>> Raid::made(const std::vector<AttackKind>& kinds) {
    std::vector<std::unique_ptr<Attack>> all;
    for (const AttackKind kind : kinds) all.push_back(make_attack(kind, next_address_++, ++seed_));
    return all;
}

std::optional<std::string> Raid::objection() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock ? std::exchange(objection_, std::nullopt) : std::nullopt;
}

void Raid::run() {
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            if (ends_) return;
            for (const auto& attack : attacks_) {
                if (target_.ports.http == 0) break;
                std::string objection = attack->step(target_, now());
                if (!objection.empty()) objection_ = std::move(objection);
            }
        }
        std::this_thread::sleep_for(2ms);
    }
}

}  // namespace muster::storm
