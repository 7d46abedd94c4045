// Peers of all three ports against the whole of core: whatever they say, in whatever order, with a disk that is slow or
// full and time that jumps, core never breaks one of its own checks, and always comes to rest.
//
// An input is a list of steps, a byte for what happens and a few for its numbers. Numbers are small, so that ids,
// lobbies and names meet; some steps send bytes that nobody has written down.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"
#include "core/core.h"
#include "fuzz/fuzz_target.h"
#include "protocol/codec.h"
#include "protocol/messages.h"
#include "runtime/message_source.h"

namespace muster::fuzz {
namespace {

using namespace std::chrono_literals;

class NoLog final : public LogSink {
public:
    void write(const LogRecord&) noexcept override {}
};

// What the peers can know: tokens they were given.
struct Learned {
    std::string match_token = "MATCH_1_x_1";
    std::string resume_token;
};

class FuzzWorld final : public MessageSource, private LinkOutput, private BatchOutput {
public:
    explicit FuzzWorld(std::span<const std::uint8_t> input)
        : input_(input), log_(clock_, no_log_, LogLevel::error), loop_(clock_, log_) {
        CoreConfig config;
        config.fleet.regions = {{RegionId(0), "USE"}, {RegionId(2), "EU"}};
        config.matchmakers.regions = config.fleet.regions;
        config.players.heartbeats.enabled = true;
        config.server_token = [](std::string_view token) { return token != "bad"; };
        config.matchmaker_token = [](std::string_view token) { return token != "bad"; };
        config.player_credential = [](std::string_view, std::string_view credential, UnixMs) {
            if (credential == "bad")
                return Result<std::optional<AccountId>, Refusal>(Failure(Refusal::invalid_credential));
            if (credential == "7") return Result<std::optional<AccountId>, Refusal>(AccountId(7));
            return Result<std::optional<AccountId>, Refusal>(std::nullopt);
        };
        core_.emplace(std::move(config), Core::Parts{loop_, log_, *this, *this, entropy_, clock_, clock_.wall()},
                      RecoveredState{});
        loop_.add_source(*this);
        loop_.on_flush([this](const Pass& pass) { core_->end_of_pass(pass); });
        settle();
    }

    void run() {
        while (at_ < input_.size()) step();
        holding_ = false;
        fault_ = StoreFault::none;
        advance(5min);
        MUSTER_CHECK(core_->matches().in_flight() == 0, "nothing is left half done");
    }

private:
    static constexpr std::size_t links_max = 12;
    struct Socket {
        ConnectionId id;
        Port port = Port::servers;
        bool open = false;
        bool closing = false;
    };

    std::uint8_t byte() { return at_ < input_.size() ? input_[at_++] : std::uint8_t{0}; }
    std::int32_t small() { return static_cast<std::int32_t>(byte() % 16) - 2; }
    LobbyId lobby() { return LobbyId(static_cast<std::int32_t>(byte() % 6)); }
    ServerId server() { return ServerId(static_cast<std::int32_t>(byte() % 6)); }

    void step() {
        const std::uint8_t what = byte();
        Socket& link = sockets_[byte() % links_max];
        switch (what % 32) {
            case 0:
            case 1:
            case 2:
                return open(link, static_cast<Port>(what % 3));
            case 3:
                return disconnect(link);
            case 4:
            case 5:
                return say(link, ServerHandshake{"t", GameEndpoint{"10.0.0.1", 5000 + byte() % 4}, region(), small()});
            case 6:
                return say(link, ServerHeartbeat{server(), small(), static_cast<float>(byte()), 5});
            case 7:
            case 8:
                return say(link, AllocateMatchAck{byte() % 4 != 0, lobby()});
            case 9:
                return say(link, ReadyForMatch{server(), lobby(), MatchTokenText(learned_.match_token)});
            case 10:
                return say(link,
                           ValidateToken{server(), lobby(), AccountId(small()), MatchTokenText(learned_.match_token)});
            case 11:
                return say(link, MatchStartedReport{server(), lobby()});
            case 12:
                return say(link, MatchEndedReport{server(), lobby()});
            case 13:
                return say(link, SetDraining{server(), byte() % 2 == 0});
            case 14:
                return say(link, ServerGoodbye{server()});
            case 15:
                return say(link, MatchmakerHandshake{
                                     "t", MatchmakerIdText(byte() % 2 == 0 ? "a" : "b"), {{RegionId(0), RegionId(2)}}});
            case 16:
            case 17:
                return say(link, AllocationRequest{lobby(), 6, 0, region(), 4, 1650});
            case 18:
                return say(link, CancelMatch{lobby()});
            case 19:
                return say(link, MatchPlayers{lobby(), {{AccountId(small()), AccountId(1)}}});
            case 20:
                return say(link, MatchmakerHeartbeat{});
            case 21:
            case 22:
                return say(link, PlayerLogin{NameText(byte() % 2 == 0 ? "ann" : "bob"), CredentialText(credential()),
                                             ResumeTokenText(byte() % 2 == 0 ? "" : learned_.resume_token)});
            case 23:
                return byte() % 2 == 0 ? say(link, PingEcho{}) : say(link, PlayerActivity{});
            case 24:
                return say(link, EntityHeartbeatAnswer{static_cast<std::uint32_t>(byte() % 8), byte()});
            case 25:
                return byte() % 3 == 0 ? say(link, PlayerLogout{}) : say(link, PingRequest{});
            case 26:
                return raw(link);
            case 27:
                return advance(waits[byte() % waits.size()]);
            case 28:
                clock_.advance(waits[byte() % waits.size()]);  // nobody was awake
                return settle();
            case 29:
                holding_ = byte() % 2 == 0;
                fault_ = byte() % 3 == 0 ? StoreFault::full : StoreFault::none;
                return settle();
            case 30:
                return operate();
            default:
                return say(link, ClockSync{small()});
        }
    }

    static constexpr std::array<Duration, 10> waits{1ms, 100ms, 1s, 3s, 5s, 10s, 26s, 31s, 61s, 125s};

    RegionId region() { return RegionId(static_cast<std::int8_t>(byte() % 4)); }
    std::string_view credential() {
        constexpr std::array<std::string_view, 4> known{"", "", "7", "bad"};
        return known[byte() % known.size()];
    }

    void open(Socket& link, Port port) {
        if (link.open) return;
        const auto slot = static_cast<std::uint32_t>(&link - sockets_.data());
        link = {{slot, ++generation_}, port, true, false};
        post([this, id = link.id, port](const Pass& pass) {
            core_->opened(pass, id, port, IpAddress::v4({127, 0, 0, 1}));
        });
    }

    void disconnect(Socket& link) {
        if (!link.open) return;
        link.open = false;
        post([this, id = link.id](const Pass& pass) { core_->closed(pass, id); });
    }

    template <class M>
    void say(Socket& link, const M& message) {
        if (!link.open) return;
        std::vector<std::byte> frame;
        encode(message, default_byte_order(M::port), frame);
        hand_over(link, M::code, {frame.begin() + frame_head_size, frame.end()});
    }

    void raw(Socket& link) {
        if (!link.open) return;
        const Code code = static_cast<Code>(byte() << 8 | byte());
        std::vector<std::byte> payload(byte() % 24);
        for (std::byte& each : payload) each = static_cast<std::byte>(byte());
        hand_over(link, code, std::move(payload));
    }

    void hand_over(const Socket& link, Code code, std::vector<std::byte> payload) {
        post([this, id = link.id, code, bytes = std::move(payload)](const Pass& pass) {
            core_->frame(pass, id, PeerFrame{code, bytes, pass.now, 0});
        });
    }

    void operate() {
        const std::uint8_t what = byte();
        post([this, what, who = small()](const Pass& pass) {
            switch (what % 6) {
                case 0:
                    core_->drain(ServerId(who), what % 2 == 0);
                    return;
                case 1:
                    core_->abort_match(pass, LobbyId(who), "");
                    return;
                case 2:
                    core_->kick(pass, AccountId(who), "");
                    return;
                case 3:
                    return core_->set_clock(pass, GameTime{3, 4, 5}, 1 + what);
                case 4:
                    core_->set_authority(AccountId(who), what % 4 == 0);
                    return;
                default:
                    return core_->gave_up(pass, sockets_[what % links_max].id, LinkFault::flooded);
            }
        });
    }

    void post(std::function<void(const Pass&)> action) {
        inbox_.push_back(std::move(action));
        settle();
    }

    void settle() {
        for (int i = 0; i < 1'000; ++i) {
            if (loop_.turn().idle() && inbox_.empty() && (holding_ || waiting_.empty())) return;
        }
        MUSTER_CHECK(false, "core comes to rest");
    }

    void advance(Duration by) {
        const Time end = clock_.now() + by;
        for (int i = 0; i < 100'000; ++i) {
            settle();
            const auto wake = loop_.next_wake();
            if (!wake || *wake > end) break;
            clock_.advance_to(std::max(*wake, clock_.now()));
        }
        clock_.advance_to(end);
        settle();
    }

    // MessageSource.
    std::string_view name() const override { return "fuzz"; }
    bool refill() override {
        if (!holding_ && !waiting_.empty()) {
            RecordBatch batch = std::move(waiting_.front());
            waiting_.pop_front();
            const StoreFault before = failed_.fault_of(batch);
            BatchOutcome outcome{batch.number, before == StoreFault::none ? fault_ : before};
            if (outcome.fault != StoreFault::none) {
                failed_ = {batch.number, outcome.fault};
                outcome.records = std::move(batch.records);
            }
            inbox_.push_back(
                [this, outcome = std::move(outcome)](const Pass& pass) { core_->store_outcome(pass, outcome); });
        }
        return !inbox_.empty();
    }
    bool handle_next(const Pass& pass) override {
        if (inbox_.empty()) return false;
        const auto action = std::move(inbox_.front());
        inbox_.pop_front();
        action(pass);
        return true;
    }
    std::string_view last_handled() const override { return "step"; }
    std::size_t depth() const override { return inbox_.size(); }

    // LinkOutput.
    void send(ConnectionId to, std::span<const std::byte> frame) override {
        Socket& link = sockets_[to.slot];
        if (link.id != to) return;
        MUSTER_CHECK(!link.closing, "nothing follows the last word");
        MUSTER_CHECK(frame.size() >= frame_head_size, "whole frames only");
        const auto payload = frame.subspan(frame_head_size);
        if (link.port == Port::servers) {
            if (const auto offer = decode<AllocateMatch>(payload, ByteOrder::little); offer && !offer->token.empty())
                learned_.match_token = offer->token.string();
        } else if (link.port == Port::players) {
            const auto login = decode<PlayerLoginResponse>(payload, ByteOrder::big);
            const auto* accepted = login ? std::get_if<PlayerLoginResponse::Accepted>(&login->answer) : nullptr;
            if (accepted) learned_.resume_token = accepted->resume_token.string();
        }
    }
    void report_drained(ConnectionId) override {}
    void greeted(ConnectionId) override {}
    void close(ConnectionId link) override {
        Socket& closing = sockets_[link.slot];
        if (closing.id == link) closing.closing = true;
    }

    // BatchOutput.
    bool submit(RecordBatch&& batch) override {
        if (waiting_.size() >= 64) return false;
        waiting_.push_back(std::move(batch));
        return true;
    }

    std::span<const std::uint8_t> input_;
    std::size_t at_ = 0;
    VirtualClock clock_;
    NoLog no_log_;
    Log log_;
    SeededEntropy entropy_{1};
    GameLoop loop_;
    std::optional<Core> core_;
    std::array<Socket, links_max> sockets_{};
    std::uint32_t generation_ = 0;
    std::deque<std::function<void(const Pass&)>> inbox_;
    std::deque<RecordBatch> waiting_;
    FailedBatch failed_;
    bool holding_ = false;
    StoreFault fault_ = StoreFault::none;
    Learned learned_;
};

}  // namespace
}  // namespace muster::fuzz

FUZZ_TARGET("fault 44, fault 45, fault 67: whatever peers say, core breaks no check of its own and comes to rest") {
    constexpr std::size_t size_max = 512;  // a longer play shows little that a shorter one does not
    if (size > size_max) return -1;
    muster::fuzz::FuzzWorld({data, size}).run();
    return 0;
}
