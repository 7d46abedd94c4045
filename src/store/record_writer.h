// Records as rows: what each of them changes in the store's tables. The meaning is LatestState's; beyond it the past is
// kept for people to query.
#pragma once

#include "core/records.h"
#include "store/database.h"

namespace muster {

// One thread, inside a transaction of the caller. The database outlives it.
class RecordWriter {
public:
    explicit RecordWriter(Database& database);

    // `now` dates what the record itself does not date. Fails with SqliteError; the caller rolls back.
    void write(const Record& record, UnixMs now);

private:
    void write_one(const ServerRecord& server, UnixMs now);
    void write_one(const ServerRemoved& removed, UnixMs now);
    void write_one(const MatchRecord& match, UnixMs now);
    void write_one(const MatchForgotten& forgotten, UnixMs now);
    void write_one(const PlayersRecord& players, UnixMs now);
    void write_one(const TokenUsed& use, UnixMs now);
    void write_one(const PlayersForgotten& forgotten, UnixMs now);
    void write_one(const TokenReleased& released, UnixMs now);
    void write_one(const EventTold& told, UnixMs now);
    void write_one(const AbortOwed& owed, UnixMs now);
    void write_one(const AbortsTold& told, UnixMs now);
    void write_one(const NumbersReserved& numbers, UnixMs now);
    void write_one(const ClockRecord& clock, UnixMs now);
    void write_one(const AccountRecord& account, UnixMs now);
    void write_one(const EventRecord& event, UnixMs now);

    Statement put_server_;
    Statement remove_server_;
    Statement put_match_;
    Statement drop_old_uses_;
    Statement end_player_list_;
    Statement keep_failed_request_;
    Statement drop_match_;
    Statement put_player_list_;
    Statement drop_players_;
    Statement put_player_;
    Statement drop_player_list_;
    Statement put_token_use_;
    Statement drop_token_use_;
    Statement end_event_;
    Statement put_owed_abort_;
    Statement drop_owed_aborts_;
    Statement put_numbers_;
    Statement put_clock_;
    Statement put_account_;
    Statement put_event_;
};

}  // namespace muster
