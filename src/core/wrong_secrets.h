// Wrong tokens and credentials at the game ports: counted, told, and from some number on answered slower (S-4).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "core/address_minutes.h"
#include "core/link_table.h"
#include "protocol/codec.h"
#include "protocol/port.h"
#include "runtime/pass.h"
#include "runtime/timers.h"

namespace muster {

// Game thread only. What it is given outlives it.
//
// Only the answer to a wrong secret is slow: the right one is let in at once, whatever else its address sent. An
// address that is wrong again is told once a minute.
class WrongSecrets {
public:
    // How long the answer to a wrong secret is held back once there were too many; the link says and hears nothing
    // meanwhile. Shorter than the handshake deadline.
    static constexpr Duration hold_back = std::chrono::seconds(5);

    // From the `per_minute`-th of an address within a minute on, answers are held back.
    WrongSecrets(LinkTable& links, Timers& timers, Log& log, std::int32_t per_minute)
        : links_(links), timers_(timers), log_(log), per_minute_(static_cast<std::uint32_t>(per_minute)) {}

    void configure(std::int32_t per_minute) { per_minute_ = static_cast<std::uint32_t>(per_minute); }

    // The link showed a wrong secret: answers, now or later, and closes it.
    template <class M>
    void refuse(const Pass& pass, Link& link, const M& answer) {
        std::vector<std::byte> frame;
        encode(answer, links_.order(M::port), frame);
        refuse_with(pass, link, std::move(frame));
    }

    // Since the start.
    std::uint64_t count(Port port) const { return counts_[static_cast<std::size_t>(port)]; }

private:
    void refuse_with(const Pass& pass, Link& link, std::vector<std::byte> frame);

    LinkTable& links_;
    Timers& timers_;
    Log& log_;
    std::uint32_t per_minute_;
    AddressMinutes minutes_;
    std::array<std::uint64_t, ports.size()> counts_{};
};

}  // namespace muster
