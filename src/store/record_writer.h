// Records as rows: what each of them changes in the store's tables. The meaning is LatestState's; beyond it the past is
// kept for people to query.
//
// A transaction is all or nothing, so of a match that changes several times within one only the last state is written.
// Events go into blocks (event_writer.h).
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/records.h"
#include "store/database.h"
#include "store/event_writer.h"

namespace muster {

// One thread, inside a transaction of the caller. The database outlives it.
class RecordWriter {
public:
    explicit RecordWriter(Database& database);

    // `now` dates what the record itself does not date. The record lives until finish(). Fails with SqliteError; the
    // caller rolls back.
    void write(const Record& record, UnixMs now);
    // Writes what was put off; after it the transaction may be committed.
    void finish();
    // What became of the transaction.
    void committed();
    void rolled_back();
    // Events were removed meanwhile.
    void events_removed() { events_.begin_row(); }

private:
    // The latest state of a match in this transaction, not written yet.
    struct PutOff {
        const MatchRecord* match = nullptr;  // null once it is written
        bool was_alive = false;              // it stands for an earlier record, too, in which the match was not over
    };

    void write_one(const ServerRecord& server, UnixMs now);
    void write_one(const ServerRemoved& removed, UnixMs now);
    void write_one(const MatchRecord& match, UnixMs now);
    // Before a record that means something else for the lobby, whatever was put off for it is written.
    void settle(LobbyId lobby);
    void put(PutOff& put_off);
    // A statement that changes rows opens its table and all indexes first; a DELETE of several rows of a table with
    // foreign keys makes a table of its own, even if nothing is there to delete. A look costs less.
    static void run_if_any(Statement& find, Statement& change, LobbyId lobby);
    void write_one(const MatchForgotten& forgotten, UnixMs now);
    void write_one(const PlayersRecord& players, UnixMs now);
    void write_one(const TokenUsed& use, UnixMs now);
    void write_one(const PlayersForgotten& forgotten, UnixMs now);
    void write_one(const TokenReleased& released, UnixMs now);
    void write_one(const EventTold& told, UnixMs now);
    void write_one(const AbortOwed& owed, UnixMs now);
    void write_one(const AbortsTold& told, UnixMs now);
    void write_one(const AbortSettled& settled, UnixMs now);
    void write_one(const NumbersReserved& numbers, UnixMs now);
    void write_one(const ClockRecord& clock, UnixMs now);
    void write_one(const AccountRecord& account, UnixMs now);
    void write_one(const EventRecord& event, UnixMs now);
    void write_one(const OperatorRecord& added, UnixMs now);
    void write_one(const OperatorRemoved& removed, UnixMs now);
    void write_one(const BlockRecord& block, UnixMs now);
    void write_one(const BlockRemoved& removed, UnixMs now);
    void write_one(const HostRecord& host, UnixMs now);
    void write_one(const HostForgotten& forgotten, UnixMs now);
    void write_one(const HostProcessRecord& process, UnixMs now);
    void write_one(const HostProcessForgotten& forgotten, UnixMs now);
    // A file is of one cell: it has nobody to tell.
    void write_one(const PlayerNotice& notice, UnixMs now);
    void write_one(const NoticeTold& told, UnixMs now);

    Database& database_;
    EventWriter events_;
    std::vector<PutOff> put_off_;
    boost::unordered_flat_map<LobbyId, std::size_t, std::hash<LobbyId>> put_off_of_;  // index into put_off_

    Statement put_server_;
    Statement remove_server_;
    Statement change_match_;
    Statement put_match_;
    Statement find_old_use_;
    Statement drop_old_uses_;
    Statement find_open_list_;
    Statement end_player_list_;
    Statement keep_failed_request_;
    Statement drop_match_;
    Statement put_player_list_;
    Statement find_player_;
    Statement drop_players_;
    Statement put_player_;
    Statement drop_player_list_;
    Statement put_token_use_;
    Statement drop_token_use_;
    Statement end_event_;
    Statement put_owed_abort_;
    Statement drop_owed_aborts_;
    Statement drop_owed_abort_;
    Statement put_numbers_;
    Statement put_clock_;
    Statement put_account_;
    Statement put_operator_;
    Statement drop_operator_;
    Statement put_block_;
    Statement drop_block_;
    Statement put_host_;
    Statement drop_host_;
    Statement put_host_process_;
    Statement drop_host_process_;
};

}  // namespace muster
