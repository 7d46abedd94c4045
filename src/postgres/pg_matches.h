// Matches as rows of PostgreSQL. A row is written whole when it may not be there; of one that is there, only what
// changes while a match is played: less for both sides to write, and no index changes until the match is over.
//
// Which rows are there is known from batches that became durable in this term. The fence (postgres/pg_cell.h) lets
// nobody else write in between, and fails our batch where the last one is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/records.h"
#include "postgres/pg_connection.h"

namespace muster {

// One thread; for one transaction after another.
class PgMatches {
public:
    explicit PgMatches(std::string cell) : cell_(std::move(cell)) {}

    // The statements that it sends, on a new connection. Throws PgError.
    static void prepare(PgConnection& connection);

    // Before the first record of a transaction.
    void begin();
    // Of several states of a lobby the last one counts. The record lives until send().
    void collect(const MatchRecord& match) { collected_[match.lobby] = &match; }
    // Whether a match of that lobby that is over waits to be sent.
    bool has_end_of(LobbyId lobby) const;
    // The row goes with this transaction.
    void dropped(LobbyId lobby) { touched_[lobby] = std::nullopt; }
    // Sends what was collected.
    void send(PgConnection& to);

    // What the engine answered to the statement of that place.
    void answered(std::size_t place, const PgRows& rows);
    // Whether the engine refused the transaction since a row that was known is not there, as after somebody has deleted
    // it by hand.
    static bool is_row_missing(const PgError& error) { return error.sqlstate == "2201F"; }
    // After that: none is known any more, and the next try writes whole rows.
    void forget_rows() { known_.clear(); }
    // Those that another cell has (N-8): nothing of them was written.
    const std::set<LobbyId>& of_others() const { return of_others_; }

    // What became of the transaction.
    void committed();
    void rolled_back();

private:
    // What stays as it is while a match is played; the token until it is over. Equal for equal texts, and else by a
    // chance of one in 2^64.
    struct Fixed {
        std::uint64_t digest = 0;
        std::uint64_t token = 0;
    };

    static Fixed fixed_of(const MatchRecord& match);
    bool is_there(const MatchRecord& match, const Fixed& fixed) const;
    void send_whole(PgConnection& to, const std::vector<const MatchRecord*>& matches);
    void send_changes(PgConnection& to, const std::vector<const MatchRecord*>& matches);

    const std::string cell_;
    boost::unordered_flat_map<std::int32_t, Fixed>
        known_;  // lobbies whose rows are there, with a match that is not over

    // Of the transaction.
    std::map<LobbyId, const MatchRecord*> collected_;
    std::map<LobbyId, std::optional<Fixed>> touched_;  // what was sent; nothing: over or dropped
    std::vector<std::size_t> whole_at_;                // places of statements
    std::set<LobbyId> of_others_;
};

}  // namespace muster
