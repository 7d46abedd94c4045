// Muster itself, as pure state: in come frames, closed links, due timers and the store's word, each with the time; out
// go frames, records to make durable, and events. Start reading here.
//
// Game thread only. The daemon, the simulator and the tests drive this very same code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/entropy.h"
#include "base/ids.h"
#include "base/ip_address.h"
#include "base/issued_time.h"
#include "base/log.h"
#include "base/time.h"
#include "core/accounts.h"
#include "core/address_minutes.h"
#include "core/blocks.h"
#include "core/cell_news.h"
#include "core/cell_share.h"
#include "core/event_history.h"
#include "core/fleet.h"
#include "core/host_port.h"
#include "core/hosts.h"
#include "core/id_blocks.h"
#include "core/ledger.h"
#include "core/link_table.h"
#include "core/match_notices.h"
#include "core/matches.h"
#include "core/matchmaker_port.h"
#include "core/matchmakers.h"
#include "core/operators.h"
#include "core/player_port.h"
#include "core/players.h"
#include "core/recent_losses.h"
#include "core/refused_registrations.h"
#include "core/region_figures.h"
#include "core/replies.h"
#include "core/server_port.h"
#include "core/world.h"
#include "core/wrong_secrets.h"
#include "protocol/link_fault.h"
#include "protocol/link_output.h"
#include "protocol/peer_frame.h"
#include "protocol/port.h"
#include "protocol/wire_error.h"
#include "runtime/game_loop.h"

namespace muster {

struct CoreConfig {
    FleetConfig fleet;
    HostsConfig hosts;
    MatchmakersConfig matchmakers;
    MatchesConfig matches;
    PlayersConfig players;
    WorldConfig world;
    LedgerLimits ledger;
    CellShare share{};                 // of the numbers, where there are several cells
    bool others_have_players = false;  // other cells: what players hear of a match is for them, too
    ByteOrder player_order = ByteOrder::big;
    std::int32_t wrong_secrets_per_minute = 10;  // of one address; from this one on they are answered slower
    ServerPort::TokenCheck server_token;
    MatchmakerPort::TokenCheck matchmaker_token;
    PlayerPort::CredentialCheck player_credential;
};

class Core {
public:
    // All of them outlive core.
    struct Parts {
        GameLoop& loop;
        Log& log;
        LinkOutput& links;
        BatchOutput& store;
        Entropy& entropy;
        const Clock& clock;  // for the one stamp that must be later than its pass: a clock answer's
        UnixMs wall;         // the machine's date now
    };

    // Starts from what the last run left. Nothing may be asked of it before ready().
    Core(CoreConfig config, const Parts& parts, RecoveredState recovered);
    ~Core() = default;
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // A reload's new figures. Regions and byte order stay as they are.
    void configure(CoreConfig config);

    // The first numbers are reserved: peers may come.
    bool ready() const { return ids_.ready(); }

    // What the network reports, in the order it happened on each link; opened() and closed() come once each. Reports of
    // different links may come in any order, also of two that have used the same slot: those of the older one change
    // nothing once the newer one is known, and count as stale.
    // `name` is what the peer's certificate proves; empty without one.
    void opened(const Pass& pass, ConnectionId id, Port port, const IpAddress& peer, std::string_view name = {});
    void frame(const Pass& pass, ConnectionId id, const PeerFrame& frame);
    void malformed(const Pass& pass, ConnectionId id, WireError kind);
    void gave_up(const Pass& pass, ConnectionId id, LinkFault fault);
    void paused(const Pass& pass, ConnectionId id);
    void resumed(const Pass& pass, ConnectionId id);
    void closed(const Pass& pass, ConnectionId id);
    // All that the link was sent has left, as core asked to be told (LinkOutput::report_drained).
    void drained(ConnectionId id);
    // A handler failed on this link: it is closed, the others go on.
    void handler_failed(const Pass& pass, ConnectionId id);

    // The store's word on a batch.
    void store_outcome(const Pass& pass, BatchOutcome outcome);

    // At the end of each pass.
    void end_of_pass(const Pass& pass);

    // About once a second: what the machine's date is.
    void observe_wall(const Pass& pass, UnixMs wall);

    // Answers the question by take_answered() once all that was written so far is durable, or refuses it with
    // store_unavailable: what was done stays done then, and may be undone by a crash.
    void answer_when_durable(std::uint64_t question);

    // What an operator does. False when there is no such server, match or player.
    bool drain(ServerId id, bool draining, const DrainNote& note = {});
    // Its matches are aborted and its link is closed. A server that still runs may register anew.
    bool remove_server(const Pass& pass, ServerId id);
    // Who asks over HTTP: a matchmaker for all regions that has no link. Verdicts come by take_answered().
    struct HttpAsker {
        std::uint64_t question = 0;
        std::string_view operator_name{};  // none: anybody on this machine
    };
    // Asks for a server. The request is named by `id`, if it has one.
    void allocate(const Pass& pass, const HttpAsker& asker, const AllocationRequest& request, std::string id = {});
    // The accounts of a lobby.
    void set_players(const Pass& pass, const HttpAsker& asker, const MatchPlayers& list);
    // Gives a match or a request back, without a verdict. False when the asker has no such lobby.
    bool cancel_match(const Pass& pass, const HttpAsker& asker, LobbyId lobby, std::string_view reason);
    bool abort_match(const Pass& pass, LobbyId lobby, std::string_view reason);
    bool kick(const Pass& pass, AccountId player, std::string_view reason);
    void set_clock(const Pass& pass, std::optional<GameTime> time, std::optional<std::int32_t> speed);
    // Asks the agent of a host. The verdict comes by take_host_verdicts().
    void ask_host(std::uint64_t question, std::string_view host, HostCommand command) {
        hosts_.ask(question, host, std::move(command));
    }

    Hosts::Forgetting forget_host(std::string_view host) { return hosts_.forget(host); }

    // Operators with names, and who is blocked (S-5, S-6). What was begun is answered by take_answered() once it is
    // durable, and `done` is published then.
    Operators::Verdict add_operator(std::uint64_t question, const OperatorRecord& wanted, event::OperatorAction done) {
        return operators_.add(question, wanted, std::move(done));
    }
    Operators::Verdict remove_operator(std::uint64_t question, std::string_view name, event::OperatorAction done) {
        return operators_.remove(question, name, std::move(done));
    }
    // Closes the links and sessions that it hits. It ends after `length`, unless that is 0.
    Blocks::Verdict block(const Pass& pass, std::uint64_t question, BlockRecord wanted, Duration length,
                          event::OperatorAction done);
    Blocks::Verdict unblock(std::uint64_t question, BlockKind kind, std::string_view value,
                            event::OperatorAction done) {
        return blocks_.remove(question, kind, value, std::move(done));
    }

    // Whether this pass answered a promise of an earlier one: what it has to say leaves only while the store may answer
    // (N-4).
    bool take_promised() { return replies_.take_promised(); }

    // The operator's questions that were answered since the last call, by their numbers.
    std::vector<AnsweredQuestion> take_answered() { return replies_.take_answered(); }

    // The same of hosts.
    std::vector<HostVerdict> take_host_verdicts() { return hosts_.take_verdicts(); }

    // For a program that embeds the library: the players' own messages, and who keeps an entity's heartbeat (H-1).
    void on_game_message(PlayerPort::GameHandler handler) { player_port_.on_game_message(std::move(handler)); }
    bool set_authority(AccountId player, bool here) { return players_.set_authority(player, here); }

    // What other cells have written for this one.
    void take_news(const Pass& pass, const CellNews& news);

    // N-6: another owner goes on from what is written. Says nothing to anybody.
    void hand_over(const Pass& pass) { world_.save(pass); }

    // refuses what is new, fails what is in flight, says good-bye.
    void shut_down(const Pass& pass);

    const Fleet& fleet() const { return fleet_; }
    const Matches& matches() const { return matches_; }
    const Players& players() const { return players_; }
    const World& world() const { return world_; }
    const Matchmakers& matchmakers() const { return matchmakers_; }
    const Hosts& hosts() const { return hosts_; }
    const Ledger& ledger() const { return ledger_; }
    const Replies& replies() const { return replies_; }
    // Logins that wait for the disk.
    std::size_t logins_waiting() const { return player_port_.logins_waiting(); }
    const RecentLosses& losses() const { return losses_; }
    const RefusedRegistrations& refused_registrations() const { return refused_registrations_; }
    const RegionFigures& region_figures() const { return region_figures_; }
    const IssuedTime& issued() const { return issued_; }
    const WrongSecrets& wrong_secrets() const { return wrong_secrets_; }
    const Blocks& blocks() const { return blocks_; }
    // Links and logins that a block has refused or closed.
    std::uint64_t blocked_links(Port port) const { return blocked_links_[static_cast<std::size_t>(port)]; }
    std::uint64_t protocol_errors(Port port, WireError kind) const;
    // Frames for a link that is gone or closing, and reports of links that a newer one has taken the slot of.
    std::uint64_t stale_messages() const { return stale_messages_; }

private:
    void take(const Pass& pass, ConnectionId id, const PeerFrame& frame);
    Matchmaker matchmaker_of(const HttpAsker& asker) const;
    void apply_facts(const Pass& pass);
    void close_flooding(const Pass& pass);
    void end_outlived(const Pass& pass, ConnectionId newer);
    void end(const Pass& pass, const Link& link);
    void refuse(const Pass& pass, Link& link, const PeerFrame& frame, WireError kind);
    void say_last(const Pass& pass, Link& link, Reason reason);
    void enforce(const Pass& pass, const BlockRecord& block);
    void close_blocked(const Pass& pass, Link& link);
    void close_blocked(const Pass& pass, Players::Place session);
    void speaks_no_more(const Pass& pass, const Link& link, std::string_view reason);

    static constexpr std::size_t port_count = 3;
    static constexpr std::size_t kind_count = wire_errors.size();

    Log& log_;
    IssuedTime issued_;
    Ledger ledger_;
    IdBlocks ids_;
    LinkTable links_;
    Replies replies_;
    Matchmakers matchmakers_;
    Fleet fleet_;
    Players players_;
    MatchNotices notices_;
    Matches matches_;
    Accounts accounts_;
    World world_;
    WrongSecrets wrong_secrets_;
    Operators operators_;
    Blocks blocks_;
    RefusedRegistrations refused_registrations_;
    ServerPort server_port_;
    Hosts hosts_;
    HostPort host_port_;
    MatchmakerPort matchmaker_port_;
    PlayerPort player_port_;
    RegionFigures region_figures_;
    RecentLosses losses_;
    EventHistory history_;
    std::array<std::uint64_t, port_count> blocked_links_{};
    AddressMinutes blocked_addresses_;
    std::array<std::array<std::uint64_t, kind_count>, port_count> protocol_errors_{};
    std::uint64_t stale_messages_ = 0;
};

}  // namespace muster
