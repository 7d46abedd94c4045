// The inside of every client: its link, and what the runner's calls do with it. Each client adds what it says and what
// it hears.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "muster/client.h"
#include "muster/clock_estimate.h"
#include "muster/outcome.h"
#include "muster/time.h"
#include "protocol/port.h"
#include "protocol/wire_error.h"
#include "sdk/src/callbacks.h"
#include "sdk/src/link.h"

namespace muster::sdk {

class ClientState {
public:
    using OnLink = std::function<void(LinkState)>;

    virtual ~ClientState() = default;
    ClientState(const ClientState&) = delete;
    ClientState& operator=(const ClientState&) = delete;

    // The runner's calls.
    void connected(Time now);
    void disconnected(Time now);
    void receive(std::span<const std::byte> bytes, Time now);
    void tick(Time now);
    std::optional<Time> next_tick() const;
    virtual bool leaving() const { return false; }

    Link& link() { return link_; }
    LinkState link_state() const { return link_state_; }
    const ClockEstimate& clock() const { return clock_; }

protected:
    ClientState(ByteOrder order, LinkState first, OnError on_error, OnLink on_link)
        : link_(order), link_state_(first), on_error_(std::move(on_error)), on_link_(std::move(on_link)) {}

    // There is a connection: sends the first message.
    virtual void greet() = 0;
    // That message was not answered: what the user is told.
    virtual std::string_view no_greeting() const = 0;
    // The connection is gone.
    virtual void link_lost() = 0;
    // Takes all whole messages in the bytes.
    virtual std::optional<WireError> hear(std::span<const std::byte> bytes) = 0;
    // Does what is due, and says when it wants to be called next.
    virtual void work(Time now) = 0;
    virtual std::optional<Time> next_work() const = 0;
    // The first call has come that says what time it is; until then it was 0.
    virtual void time_known(Time) {}

    void set_link_state(LinkState state);
    // The same out of a command of the user's, who hears of it later.
    void left(LinkState state);
    // Tells the user of its own call's failure, later.
    template <class Done>
    void owe(Done done) {
        owed_.owe(std::move(done));
    }
    template <class Callback, class... Args>
    void call(const Callback& callback, const Args&... args) const noexcept {
        sdk::call(on_error_, callback, args...);
    }
    template <class Calls>
    void guarded(Calls&& calls) const noexcept {
        sdk::guarded(on_error_, std::forward<Calls>(calls));
    }
    void tell(ErrorCode code, std::string_view text) const { tell_error(on_error_, code, text); }
    void tell(const Outcome& outcome) const { tell(outcome.code, outcome.text); }

    Time now_{};
    Link link_;
    LinkState link_state_;
    ClockEstimate clock_;

private:
    void set_now(Time now);

    const OnError on_error_;
    const OnLink on_link_;
    bool time_known_ = false;
    OwedCalls owed_;
};

}  // namespace muster::sdk
