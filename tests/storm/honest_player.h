// A player as it should be: logs in with a signed credential, echoes pings, measures its round trip, and resumes when
// its link is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "protocol/player_messages.h"
#include "protocol/port.h"
#include "stage.h"

namespace muster::storm {

// One thread, that of the links.
class HonestPlayer {
public:
    static constexpr std::int32_t first_account = 1'000;
    static constexpr std::uint32_t address = 0x7F00'000D;

    HonestPlayer(Stage& stage, std::size_t number, std::size_t link);

    void come(Span most);
    void opened();
    void frame(Code code, std::span<const std::byte> payload);
    void closed();

    bool logged_in() const { return logged_in_; }
    void sweep(Moment at) const;

private:
    void connect();
    void unlinked();
    void leave();
    void measure();
    void login_answered(const PlayerLoginResponse& answer);
    void clock_told(const ClockSyncReply& answer);
    void match_starts(const PlayerMatchStart& start);
    void closing(const ServerClose& close);
    void later(Span least, Span most, std::function<void()> deed);
    std::string name() const;

    Stage& stage_;
    const std::size_t link_;
    const std::int32_t account_;
    std::uint64_t visit_ = 0;
    bool logged_in_ = false;
    bool leaving_ = false;  // has logged out, and waits for the end of its link
    std::string resume_token_;
    Moment came_;
    std::optional<Moment> away_since_;
    std::optional<Moment> measured_;  // a round trip under way
    std::int64_t issued_us_ = 0;      // the latest time that it was told on this link
};

}  // namespace muster::storm
