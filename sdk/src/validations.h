// Tokens that players came with and that Muster has not judged yet.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "muster/ids.h"
#include "muster/outcome.h"
#include "muster/time.h"

namespace muster::sdk {

struct Validation {
    LobbyId lobby{};
    AccountId account{};
    std::string token{};
    std::function<void(const Outcome&)> done{};  // empty once it was called
    Time answer_by{};
    bool sent = false;         // on the present link
    bool answer_lost = false;  // sent on a link that broke before the answer
};

class Validations {
public:
    static constexpr std::size_t waiting_max = 10'000;

    bool full() const { return waiting_.size() >= waiting_max; }
    Validation& add(Validation validation);

    // The one that this answers: the first of the pair. Nothing when there is none.
    std::optional<Validation> answered(LobbyId lobby, AccountId account);
    // Callbacks of those that waited too long. Their answers are still awaited, so that no other takes them.
    std::vector<std::function<void(const Outcome&)>> expired(Time now);
    // All have that much more time.
    void postpone(Duration by);
    void link_lost();
    // Callbacks of all that waited; nothing waits any more.
    std::vector<std::function<void(const Outcome&)>> give_up();

    std::optional<Time> next_expiry() const;
    std::deque<Validation>& waiting() { return waiting_; }

private:
    std::deque<Validation> waiting_;
};

}  // namespace muster::sdk
