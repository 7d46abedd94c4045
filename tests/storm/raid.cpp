#include "raid.h"

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

void Raid::attack(const std::vector<AttackKind>& kinds) {
    std::vector<std::unique_ptr<Attack>> next;
    for (const AttackKind kind : kinds) next.push_back(make_attack(kind, next_address_++, ++seed_));
    const std::lock_guard lock(mutex_);
    attacks_ = std::move(next);
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
