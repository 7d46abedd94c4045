// Records as rows of PostgreSQL: few statements for many records, since each costs the engine more than a row does.
// The meaning of a record is LatestState's.
//
// Records of one kind go out as one statement over arrays, and kinds in a fixed order: lists of players, matches, token
// uses, told events, forgotten matches. That is the order in which a lobby's records come; where they come otherwise,
// what was collected goes out first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/records.h"
#include "postgres/pg_connection.h"
#include "postgres/pg_matches.h"
#include "store/event_block.h"

namespace muster {

// One thread; for one transaction after another. The records of a transaction live until finish() has returned.
class PgWriter {
public:
    explicit PgWriter(const std::string& cell) : cell_(cell), matches_(cell) {}

    // The statements that it sends, on a new connection. Throws PgError.
    static void prepare(PgConnection& connection);

    // Before the first record of a transaction.
    void begin();
    // `now` dates what the record itself does not date.
    void write(PgConnection& connection, const Record& record, UnixMs now);
    // Sends what was collected; then the transaction may be committed.
    void finish(PgConnection& connection);

    // What the engine answered to the statement of that place.
    void answered(std::size_t place, const PgRows& rows);
    // Whether the record of that transaction was left out: another cell has its lobby or name (N-8). Of a lobby that
    // was left out once, all are said to be: who wrote them takes them back.
    bool is_anothers(const Record& record) const;
    bool has_anothers() const { return !matches_.of_others().empty() || !names_of_others_.empty(); }

    // What became of the transaction. Events that were known before are skipped, so the last durable id counts.
    void committed();
    void rolled_back();
    // As PgMatches. The transaction is to be tried again, with the same records.
    static bool is_row_missing(const PgError& error) { return PgMatches::is_row_missing(error); }
    void forget_rows() { matches_.forget_rows(); }
    void begin_after(std::int64_t event) { last_event_ = durable_event_ = event; }

private:
    enum class Stage : std::uint8_t { list, match, use, told, forgotten };

    void write_one(PgConnection& to, const ServerRecord& server, UnixMs now);
    void write_one(PgConnection& to, const ServerRemoved& removed, UnixMs now);
    void write_one(PgConnection& to, const MatchRecord& match, UnixMs now);
    void write_one(PgConnection& to, const MatchForgotten& forgotten, UnixMs now);
    void write_one(PgConnection& to, const PlayersRecord& players, UnixMs now);
    void write_one(PgConnection& to, const PlayersForgotten& forgotten, UnixMs now);
    void write_one(PgConnection& to, const TokenUsed& use, UnixMs now);
    void write_one(PgConnection& to, const TokenReleased& released, UnixMs now);
    void write_one(PgConnection& to, const EventTold& told, UnixMs now);
    void write_one(PgConnection& to, const AbortOwed& owed, UnixMs now);
    void write_one(PgConnection& to, const AbortsTold& told, UnixMs now);
    void write_one(PgConnection& to, const AbortSettled& settled, UnixMs now);
    void write_one(PgConnection& to, const NumbersReserved& numbers, UnixMs now);
    void write_one(PgConnection& to, const ClockRecord& clock, UnixMs now);
    void write_one(PgConnection& to, const AccountRecord& account, UnixMs now);
    void write_one(PgConnection& to, const EventRecord& event, UnixMs now);
    void write_one(PgConnection& to, const OperatorRecord& added, UnixMs now);
    void write_one(PgConnection& to, const OperatorRemoved& removed, UnixMs now);
    void write_one(PgConnection& to, const BlockRecord& block, UnixMs now);
    void write_one(PgConnection& to, const BlockRemoved& removed, UnixMs now);
    void write_one(PgConnection& to, const HostRecord& host, UnixMs now);
    void write_one(PgConnection& to, const HostForgotten& forgotten, UnixMs now);
    void write_one(PgConnection& to, const HostProcessRecord& process, UnixMs now);
    void write_one(PgConnection& to, const HostProcessForgotten& forgotten, UnixMs now);
    void write_one(PgConnection& to, const PlayerNotice& notice, UnixMs now);
    void write_one(PgConnection& to, const NoticeTold& told, UnixMs now);

    // The lobby has come so far; what comes before that goes out first when it was further already.
    void reach(PgConnection& to, LobbyId lobby, Stage stage);
    void send_lobbies(PgConnection& to);
    void send_lists(PgConnection& to);
    void send_uses(PgConnection& to);
    void send_events(PgConnection& to);
    void forget_collected();

    // The last list of a lobby's players.
    struct List {
        const PlayersRecord* players = nullptr;  // null: dropped
        UnixMs given_at{};
    };

    const std::string cell_;
    std::map<LobbyId, Stage> stages_;
    std::map<LobbyId, List> lists_;
    PgMatches matches_;
    std::map<std::pair<LobbyId, AccountId>, std::optional<UnixMs>> uses_;  // when used; nothing: released
    std::vector<LobbyId> told_;
    std::vector<LobbyId> forgotten_;
    std::vector<std::size_t> names_at_;  // places of statements that return others' names, ascending
    std::set<std::string> names_of_others_;
    EventBlock events_;
    std::int64_t last_event_ = 0;
    std::int64_t durable_event_ = 0;
};

}  // namespace muster
