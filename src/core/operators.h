// The operators of the API by name: who there is, kept durably (S-5). Their tokens are judged by who serves HTTP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/events.h"
#include "core/ledger.h"
#include "core/records.h"
#include "core/replies.h"
#include "runtime/events.h"

namespace muster {

// Game thread only. What it is given outlives it.
//
// A change counts once it is durable: then its question is answered and its event published. When the store fails, the
// question is refused with store_unavailable, and nothing has changed.
class Operators {
public:
    static constexpr std::size_t operators_max = 1'000;

    struct Parts {
        Ledger& ledger;
        Replies& replies;
        Events& events;
    };

    Operators(const Parts& parts, const std::vector<OperatorRecord>& recovered);

    enum class Verdict : std::uint8_t {
        begun,  // the answer to the question comes by Replies
        name_taken,
        unknown,
        too_many,
    };
    // The name is one (operator_name.h). `done` is published when it is.
    Verdict add(std::uint64_t question, const OperatorRecord& wanted, event::OperatorAction done);
    Verdict remove(std::uint64_t question, std::string_view name, event::OperatorAction done);

    std::size_t size() const { return known_.size(); }

private:
    enum class State : std::uint8_t { adding, kept, removing };

    // A change on its way to the store.
    struct Change {
        std::string name;
        std::uint64_t question = 0;
        event::OperatorAction done;
    };

    void write(const Record& record, Change change);
    void settled(std::uint64_t number, bool durable);

    Ledger& ledger_;
    Replies& replies_;
    Events& events_;
    std::map<std::string, State, std::less<>> known_;
    std::map<std::uint64_t, Change> changes_;
    std::uint64_t last_change_ = 0;
};

}  // namespace muster
