#include "sdk/src/validations.h"

#include <algorithm>
#include <utility>

namespace muster::sdk {

Validation& Validations::add(Validation validation) {
    if (!validation.done) validation.done = [](const Outcome&) {};  // an empty one means that it was called
    return waiting_.emplace_back(std::move(validation));
}

std::optional<Validation> Validations::answered(LobbyId lobby, AccountId account) {
    const auto first = std::ranges::find_if(
        waiting_, [&](const Validation& each) { return each.sent && each.lobby == lobby && each.account == account; });
    if (first == waiting_.end()) return std::nullopt;
    Validation found = std::move(*first);
    waiting_.erase(first);
    return found;
}

std::vector<std::function<void(const Outcome&)>> Validations::expired(Time now) {
    std::vector<std::function<void(const Outcome&)>> late;
    for (Validation& each : waiting_) {
        if (each.done && now >= each.answer_by) late.push_back(std::exchange(each.done, nullptr));
    }
    std::erase_if(waiting_, [](const Validation& each) { return !each.done && !each.sent; });
    return late;
}

void Validations::postpone(Duration by) {
    for (Validation& each : waiting_) each.answer_by += by;
}

void Validations::link_lost() {
    std::erase_if(waiting_, [](const Validation& each) { return !each.done; });
    for (Validation& each : waiting_) each.answer_lost |= std::exchange(each.sent, false);
}

std::vector<std::function<void(const Outcome&)>> Validations::give_up() {
    std::vector<std::function<void(const Outcome&)>> all;
    for (Validation& each : std::exchange(waiting_, {})) {
        if (each.done) all.push_back(std::move(each.done));
    }
    return all;
}

std::optional<Time> Validations::next_expiry() const {
    std::optional<Time> next;
    for (const Validation& each : waiting_) {
        if (each.done) next = next ? std::min(*next, each.answer_by) : each.answer_by;
    }
    return next;
}

}  // namespace muster::sdk
