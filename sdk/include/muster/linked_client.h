// What the SDK's own clients share: one link to Muster, its state, and Muster's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "muster/client.h"
#include "muster/clock_estimate.h"
#include "muster/outcome.h"
#include "muster/time.h"

namespace muster::sdk {

class ClientState;

class LinkedClient : public Client {
public:
    ~LinkedClient() override;

    LinkState link_state() const;
    // Why there is no link, with the address first in its text; success while there is one, or nothing has failed yet.
    // What Muster refuses goes to on_error.
    const Outcome& failure() const { return failure_; }
    // Muster's clock. Also there while the link is down; its bound grows.
    const ClockEstimate& clock() const;

    void seed_jitter(std::uint64_t seed) final;
    bool wants_connection() const final;
    void connected(Time now) final;
    void disconnected(Time now) final;
    void failed(std::string_view address, const Outcome& why) final;
    void receive(std::span<const std::byte> bytes, Time now) final;
    std::vector<std::byte> take_output() final;
    void tick(Time now) final;
    std::optional<Time> next_tick() const final;
    bool leaving() const final;

protected:
    explicit LinkedClient(std::unique_ptr<ClientState> inside);
    ClientState& inside() const { return *inside_; }

private:
    const std::unique_ptr<ClientState> inside_;
    Outcome failure_{};
};

}  // namespace muster::sdk
