// What core asks to be made durable, and what it gets back at the next start. Plain values: the store decides how they
// are kept.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "protocol/process_state.h"

namespace muster {

// How far a match has come. The numbers are stored: never renumber.
enum class MatchState : std::uint8_t {
    offering = 0,   // a server was chosen, and is asked once this is durable
    allocated = 1,  // it acknowledged, and the matchmaker was answered
    ready = 2,
    started = 3,
    ended = 4,
    aborted = 5,  // fell through, with its reason
};

// Who has a server drained, when and why; empty while it is not drained.
struct DrainNote {
    std::string who;     // empty: the server itself
    std::string reason;  // empty: none was given
    UnixMs at;
    friend bool operator==(const DrainNote&, const DrainNote&) = default;
};

// A registration. Written when it is made, and when its draining or capacity changes.
struct ServerRecord {
    ServerId id;
    IpAddress ip;
    std::uint16_t port = 0;
    RegionId region;
    std::int64_t epoch = 0;
    std::int32_t max_matches = 0;
    bool drained_by_server = false;
    bool drained_by_operator = false;
    UnixMs registered_at;
    DrainNote drain{};
    std::string name{};  // what its certificate proves; empty without one
    friend bool operator==(const ServerRecord&, const ServerRecord&) = default;
};

// The server has left the registry.
struct ServerRemoved {
    ServerId id;
    friend bool operator==(const ServerRemoved&, const ServerRemoved&) = default;
};

// A match as it stands now; replaces what was known of its lobby. The token is empty once the match is over.
struct MatchRecord {
    LobbyId lobby;
    std::string matchmaker;
    RegionId region;
    std::int8_t game_type = 0;
    std::int8_t game_mode = 0;
    std::int8_t player_count = 0;
    std::int32_t average_rating = 0;
    MatchState state = MatchState::offering;
    std::string reason;
    ServerId server;
    std::int64_t server_epoch = 0;
    std::string server_ip;  // as told to the matchmaker, so that it is told the same again
    std::int32_t server_port = 0;
    std::string token;
    UnixMs requested_at;
    UnixMs allocated_at;  // 0 until it happened; so are the next three
    UnixMs ready_at;
    UnixMs started_at;
    UnixMs ended_at;                // of an end or an abort
    std::uint8_t untold_event = 0;  // once it is over: its event (3 or 4), until its matchmaker has heard it
    friend bool operator==(const MatchRecord&, const MatchRecord&) = default;
};

// A request that failed before a server acknowledged in time: its lobby may be asked for again, so nothing but history
// stays.
struct MatchForgotten {
    LobbyId lobby;
    friend bool operator==(const MatchForgotten&, const MatchForgotten&) = default;
};

// The accounts that may play a lobby; replaces an earlier list.
struct PlayersRecord {
    LobbyId lobby;
    std::string matchmaker;
    std::vector<AccountId> accounts;
    friend bool operator==(const PlayersRecord&, const PlayersRecord&) = default;
};

// The lobby's list of players is void: it was refused after it had been handed over.
struct PlayersForgotten {
    LobbyId lobby;
    friend bool operator==(const PlayersForgotten&, const PlayersForgotten&) = default;
};

// An account was let in with the lobby's token. Forgotten when the match is over.
struct TokenUsed {
    LobbyId lobby;
    AccountId account;
    friend bool operator==(const TokenUsed&, const TokenUsed&) = default;
};

// It was not let in after all: the answer could not wait for the disk any longer. It may try again.
struct TokenReleased {
    LobbyId lobby;
    AccountId account;
    friend bool operator==(const TokenReleased&, const TokenReleased&) = default;
};

// The event of a match that is over was heard by its matchmaker, or is given up: `untold_event` is 0 from now on.
struct EventTold {
    LobbyId lobby;
    friend bool operator==(const EventTold&, const EventTold&) = default;
};

// The endpoint's server is to drop the lobby, and has not surely heard so: whoever registers there is told.
struct AbortOwed {
    IpAddress ip;
    std::uint16_t port = 0;
    LobbyId lobby;
    friend bool operator==(const AbortOwed&, const AbortOwed&) = default;
};

// The endpoint has heard of this one, or is offered the lobby anew.
struct AbortSettled {
    IpAddress ip;
    std::uint16_t port = 0;
    LobbyId lobby;
    friend bool operator==(const AbortSettled&, const AbortSettled&) = default;
};

// The endpoint has heard of all that it was owed, or is given up.
struct AbortsTold {
    IpAddress ip;
    std::uint16_t port = 0;
    friend bool operator==(const AbortsTold&, const AbortsTold&) = default;
};

// Numbers below these may have been given out; the next start begins here.
struct NumbersReserved {
    std::int32_t server_ids_below = 1;
    std::int64_t epochs_below = 1;
    std::int64_t event_ids_below = 1;
    friend bool operator==(const NumbersReserved&, const NumbersReserved&) = default;
};

// The world clock: game time that has passed, in milliseconds, and its speed.
struct ClockRecord {
    std::int64_t elapsed_game_ms = 0;
    std::int32_t speed = 1;
    std::int32_t configured_speed = 0;  // what the config had then; 0: an older version wrote it
    friend bool operator==(const ClockRecord&, const ClockRecord&) = default;
};

// An open-mode name and the account id it was given.
struct AccountRecord {
    std::string name;
    AccountId account;
    friend bool operator==(const AccountRecord&, const AccountRecord&) = default;
};

// A line of the event history. Ids grow: one that is not greater than the last is known already, and skipped.
struct EventRecord {
    std::int64_t id = 0;
    UnixMs time;
    std::string type;
    std::string fields;  // base/packed_fields.h
    friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

// What an operator's token allows, in growing order. The numbers are stored: never renumber.
enum class OperatorRole : std::uint8_t { viewer = 0, matchmaker = 1, operate = 2, admin = 3 };

// An operator of the API; replaces what was known under the name.
struct OperatorRecord {
    std::string name;
    OperatorRole role = OperatorRole::viewer;
    std::string token_hash;  // of the token, which nobody keeps: 64 hexadecimal digits
    std::string added_by;
    UnixMs added_at;
    friend bool operator==(const OperatorRecord&, const OperatorRecord&) = default;
};

struct OperatorRemoved {
    std::string name;
    friend bool operator==(const OperatorRemoved&, const OperatorRemoved&) = default;
};

// What a block is about. The numbers are stored: never renumber.
enum class BlockKind : std::uint8_t { ip = 0, account = 1, name = 2 };

// Who is let in no more; replaces an earlier block of the same kind and value.
struct BlockRecord {
    BlockKind kind = BlockKind::ip;
    std::string value;  // an IpRange, an account's number or a player's name, in its canonical spelling
    std::string reason;
    std::string blocked_by;
    UnixMs blocked_at;
    UnixMs until;  // 0: until it is taken back
    friend bool operator==(const BlockRecord&, const BlockRecord&) = default;
};

struct BlockRemoved {
    BlockKind kind = BlockKind::ip;
    std::string value;
    friend bool operator==(const BlockRemoved&, const BlockRemoved&) = default;
};

// A host whose agent has told of it; replaces what was known under the name.
struct HostRecord {
    std::string name;
    std::string address;  // where players reach it; empty: not known
    RegionId region;
    std::string version;
    bool draining = false;
    UnixMs joined_at;
    UnixMs lost_at;  // 0: its agent had a link
    friend bool operator==(const HostRecord&, const HostRecord&) = default;
};

// The host and its processes.
struct HostForgotten {
    std::string name;
    friend bool operator==(const HostForgotten&, const HostForgotten&) = default;
};

// A process of a known host, as its agent told it last; replaces what was known under both names. Nothing of its output
// is kept: that may hold secrets.
struct HostProcessRecord {
    std::string host;
    std::string name;
    std::string run;
    ProcessState state = ProcessState::starting;
    std::int32_t pid = 0;  // 0: it did not run; so have the next two no value
    std::int32_t port = 0;
    ServerId server;
    UnixMs started_at;
    std::int32_t restarts = 0;
    UnixMs exit_at;               // 0: it had never ended
    std::int32_t exit_code = -1;  // -1: a signal, or nobody knows
    std::int32_t exit_signal = 0;
    std::string exit_reason;
    friend bool operator==(const HostProcessRecord&, const HostProcessRecord&) = default;
};

struct HostProcessForgotten {
    std::string host;
    std::string name;
    friend bool operator==(const HostProcessForgotten&, const HostProcessForgotten&) = default;
};

// What players in other cells are to hear of a match (N-8): each other cell with players tells its own.
struct PlayerNotice {
    // The numbers are stored: never renumber.
    enum class Kind : std::uint8_t {
        ready = 0,         // its players may come; replaces an earlier one of the lobby
        begun = 1,         // or over: nobody needs to come any more
        fell_through = 2,  // its players hear why
    };

    LobbyId lobby;
    Kind kind = Kind::ready;
    std::string server_ip{};  // of one that is ready, as are the next two
    std::int32_t server_port = 0;
    std::string token{};
    std::string reason{};               // of one that fell through
    std::vector<AccountId> accounts{};  // of both
    friend bool operator==(const PlayerNotice&, const PlayerNotice&) = default;
};

// A notice of another cell was told here: drops what it voids of its lobby, and the notice itself unless it says ready.
struct NoticeTold {
    std::int64_t number = 0;
    friend bool operator==(const NoticeTold&, const NoticeTold&) = default;
};

using Record =
    std::variant<ServerRecord, ServerRemoved, MatchRecord, MatchForgotten, PlayersRecord, TokenUsed, NumbersReserved,
                 ClockRecord, AccountRecord, EventRecord, PlayersForgotten, TokenReleased, EventTold, AbortOwed,
                 AbortsTold, OperatorRecord, OperatorRemoved, BlockRecord, BlockRemoved, HostRecord, HostForgotten,
                 HostProcessRecord, HostProcessForgotten, AbortSettled, PlayerNotice, NoticeTold>;

// The records of one pass or of several: all of them become durable, in order, or none.
struct RecordBatch {
    std::uint64_t number = 0;  // grows by one from 1; outcomes come in the same order
    std::vector<Record> records;
    // The batch before it when that was not answered yet, else 0. When that one fails this one fails too, so that a
    // newer state is never durable before an older one.
    std::uint64_t follows = 0;
};

// Why a batch did not become durable.
enum class StoreFault : std::uint8_t {
    none,
    full,       // no room on the disk: nothing of the batch was kept; it may work later
    transient,  // locked, busy: the same
    refused,    // a right or a table of the database is missing: the same, once an operator has put it back
    misplaced,  // the store's file was deleted or replaced under us: nothing was written
};

struct BatchOutcome {
    std::uint64_t number = 0;
    StoreFault fault = StoreFault::none;
    std::vector<Record> records{};  // of a batch that failed: given back
    // Of a durable batch: places, ascending, of the records that were left out, since another cell has what they name
    // (N-8).
    std::vector<std::size_t> anothers{};
};

// The last batch that failed, as a store remembers it: a batch that follows it fails too.
struct FailedBatch {
    std::uint64_t number = 0;
    StoreFault fault = StoreFault::none;
    // `none` when the batch may be written.
    StoreFault fault_of(const RecordBatch& next) const {
        return next.follows != 0 && next.follows == number ? fault : StoreFault::none;
    }
};

// What is remembered of a match that is over. In order: by its end, then by its lobby.
struct LobbyOver {
    UnixMs at;
    LobbyId lobby;
    ServerId server;
    MatchState how = MatchState::ended;  // or aborted
    friend auto operator<=>(const LobbyOver&, const LobbyOver&) = default;
};

// Everything a start needs. Of ended and aborted matches little is left, and only while their lobby is remembered.
struct RecoveredState {
    NumbersReserved numbers;
    std::vector<ServerRecord> servers;
    std::vector<MatchRecord> matches;  // those not over, and those over whose matchmaker is still to be told
    std::vector<TokenUsed> tokens_used;
    std::vector<PlayersRecord> players;
    std::vector<AccountRecord> accounts;
    std::vector<LobbyOver> over;  // oldest first
    std::vector<AbortOwed> owed_aborts;
    std::vector<OperatorRecord> operators;          // by name
    std::vector<BlockRecord> blocks;                // by kind and value
    std::vector<HostRecord> hosts;                  // by name
    std::vector<HostProcessRecord> host_processes;  // by host and name
    bool has_clock = false;
    ClockRecord clock;
};

}  // namespace muster
