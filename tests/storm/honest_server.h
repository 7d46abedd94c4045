// A game server as it should be: it heartbeats, takes matches, plays them to their end, and comes back when its link is
// gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "protocol/port.h"
#include "protocol/server_messages.h"
#include "stage.h"

namespace muster::storm {

// One thread, that of the links.
class HonestServer {
public:
    static constexpr std::int32_t first_port = 20'000;
    static constexpr std::uint32_t address = 0x7F00'000B;
    static constexpr std::int8_t region = 2;
    static constexpr std::int32_t max_matches = 50;

    // The first one's sensors are broken: it never knows its load.
    HonestServer(Stage& stage, std::size_t number, std::size_t link);

    // Connects within `most`, whenever the daemon is there.
    void come(Span most);
    void opened();
    void frame(Code code, std::span<const std::byte> payload);
    void closed();

    // Loses its link, and comes back in the next life of the daemon.
    void stay_away();
    // A match that it holds and that its matchmaker knows of, if there is one.
    std::optional<std::int32_t> some_match() const;

    bool registered() const { return registered_; }
    std::size_t matches() const { return holds_.size(); }
    // Objects to what was never answered.
    void sweep(Moment at) const;

private:
    enum class Step : std::uint8_t {
        offered,
        taken,
        reporting_ready,
        validating,
        reporting_start,
        playing,
        reporting_end
    };
    struct Hold {
        std::string token;
        Step step = Step::offered;
        bool started = false;
        std::optional<Moment> asked;      // a report without an answer
        std::set<std::int32_t> expected;  // accounts whose token is being judged
        std::optional<Moment> ends;
    };

    void connect();
    void leave_for_a_moment();
    void unlinked();
    void beat();
    void welcomed(const ServerHandshakeResponse& answer);
    void beat_answered(const ServerHeartbeatAck& ack);
    void drain(bool draining);
    void offered(const AllocateMatch& offer);
    void acknowledge(std::int32_t lobby);
    void hesitate(std::int32_t lobby, const std::string& token);
    void wait_for_word(std::int32_t lobby, const std::string& token, Moment offered_at);
    void take_late(std::int32_t lobby, const std::string& token);
    void wait_to_drop(std::int32_t lobby, const std::string& token, Moment taken_at);
    void report_ready(std::int32_t lobby);
    void ready_answered(std::int32_t lobby, std::optional<std::string_view> refusal);
    void validate(std::int32_t lobby, Hold& hold);
    void token_judged(std::int32_t lobby, std::int32_t account, std::optional<std::string_view> refusal);
    void report_start(std::int32_t lobby, Hold& hold);
    void report_end(std::int32_t lobby);
    void report_answered(std::int32_t lobby, std::optional<std::string_view> refusal);
    void report_refused(std::int32_t lobby, const Hold& hold, std::string_view refusal, std::optional<Moment> asked);
    void told_of_error(const ServerError& error);
    void aborted(const AbortMatch& abort);
    // Does it in a while, unless the link is another by then.
    void later(Span least, Span most, std::function<void()> deed);
    void resume();
    std::string name() const;
    bool broken_sensors() const { return port_ == first_port; }
    Answer self(const Hold& hold) const { return {id_, port_, hold.token}; }

    Stage& stage_;
    const std::size_t link_;
    const std::int32_t port_;
    std::uint64_t visit_ = 0;  // counts connections
    std::uint64_t comes_in_life_ = 0;
    bool registered_ = false;
    std::int32_t id_ = 0;
    Moment came_;  // the last time it connected
    Moment registered_at_;
    bool wants_drain_ = false;
    bool drains_ = false;               // it has been told so
    std::optional<Moment> away_since_;  // while it is not registered
    std::deque<Moment> beats_;          // without an answer
    std::int64_t issued_ms_ = 0;        // in the latest answer
    Moment issued_at_;
    std::map<std::int32_t, Hold> holds_;
};

}  // namespace muster::storm
