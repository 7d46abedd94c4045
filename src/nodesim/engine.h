// PostgreSQL with a synchronous standby, as a model: two machines, of which one is the primary. It answers late, its
// connections break, commits wait for a standby that is away, and the standby is promoted, with or without the old
// primary knowing.
//
// What is kept of PostgreSQL: a row's lock is held until the commit is confirmed, and by a connection whose client is
// gone until the engine notices; a commit that waits for its standby is seen by nobody; when somebody ends that wait,
// the commit is answered with a warning, is seen, and is lost with the primary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/virtual_clock.h"
#include "nodesim/database.h"
#include "nodesim/sabotage.h"
#include "postgres/batch_course.h"
#include "sim/agenda.h"

namespace muster::nodesim {

// What a node asks.
struct Statement {
    enum class Kind : std::uint8_t {
        look,       // reads the cell's row
        take,       // the next term for `node`, if the row's mark is still `mark` and nobody has its lock
        terminate,  // ends the connection that the row names
        renew,      // says that this connection is the owner's
        send,       // BEGIN, the fence and the records; with `commits` COMMIT, too
        commit,
        roll_back,
        settle,  // a write that returns the number of the last batch
        keep,    // one more batch, without records
        read,    // all that the cell holds
        beat,    // the node's row, and all of them
    };

    Kind kind = Kind::look;
    std::size_t cell = 0;
    CellMark mark{};  // that was seen; of a batch its term and number
    std::int64_t settled = 0;
    std::string node{};
    std::string instance{};
    bool commits = false;
    bool hands_over = false;
    std::string handed_to{};
    BatchGroup group{};
    NodeRow row{};
    UnixMs wall{};  // of the node's own clock
};

struct Reply {
    BatchReply how = BatchReply::broke;
    bool is_locked = false;  // by another transaction; `how` is refused
    CellLine line{};
    std::int64_t last = 0;  // batch
    std::shared_ptr<const RecoveredState> state{};
    std::vector<NodeRow> nodes{};
    std::vector<std::string> owners{};  // of each cell, or who is to take it
};

class EngineWatcher {
public:
    virtual ~EngineWatcher() = default;
    // A server is about to commit it; `line` is its row without it. What a stale one commits is never kept.
    virtual void logged(const Change& change, const CellLine& line, bool is_stale) = 0;
    // It can no more be lost: the standby has it, too. `before` is the row without the change.
    virtual void kept(const Change& change, const CellLine& before) = 0;
    // Whoever asks the primary sees it.
    virtual void seen(const Change& change) = 0;
};

// One thread. All it is given outlives it.
class Engine {
public:
    static constexpr std::size_t hosts = 2;
    using OnReply = std::function<void(Reply)>;

    Engine(sim::Agenda& agenda, const VirtualClock& clock, Random random, std::size_t cells, Sabotage sabotage,
           EngineWatcher& watcher);

    // What a connection attempt finds at a host.
    enum class Door : std::uint8_t { open, refused, silent };
    Door door(std::size_t host) const;
    SessionId open(std::size_t host);
    // A statement has arrived; `reply` is called when it is answered, and never when the connection has ended.
    void execute(SessionId session, const Statement& statement, OnReply reply);
    // The client's side of it is gone, as far as the engine can see.
    void closed(SessionId session);
    bool is_open(SessionId session) const;

    // Faults.
    // The primary dies and the standby is promoted after `gap`; or the old one stays, as one that does not know.
    void fail_over(Duration gap, bool stays);
    // What has stayed is shut down.
    void end_stale();
    void lose_standby(Duration by);
    // Somebody ends all waits for the standby.
    void cancel_waits();
    void calm_down();

    // What is durable.
    const Database& kept() const { return *standby_; }
    std::uint64_t failovers() const { return failovers_; }
    std::uint64_t warnings() const { return warnings_; }
    std::uint64_t terminated() const { return terminated_; }
    // Changes that were lost with a primary.
    std::uint64_t lost() const { return lost_; }

private:
    struct Waiting {
        SessionId session = 0;
        std::function<void()> go{};
    };
    struct Server {
        Server(const Database& of, std::size_t cells) : database(of), locks(cells) {}

        Database database;
        std::vector<SessionId> locks;  // who holds the row of each cell; 0: nobody
        std::map<std::size_t, std::deque<Waiting>> waiting;
        bool is_stale = false;
    };
    struct Session {
        std::size_t host = 0;
        std::optional<Change> open{};       // of a transaction that may be committed
        std::optional<std::size_t> cell{};  // whose row it has locked
        OnReply pending{};                  // while it is busy
        bool is_closing = false;            // its client is gone: it ends once it is not busy
    };
    // A commit that waits for the standby.
    struct Confirm {
        SessionId session = 0;
        Change change{};
        Reply answer{};
        std::uint64_t position = 0;
    };
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    Server& server_of(SessionId id) { return *servers_[sessions_.at(id).host]; }
    void run(SessionId id, const Statement& statement);
    void run_locked(SessionId id, const Statement& statement);
    void lock(SessionId id, const Statement& statement, std::function<void()> then);
    void take(SessionId id, const Statement& statement);
    void terminate(SessionId id, const Statement& statement);
    bool passes(const CellLine& line, const Statement& statement) const;
    void with_lock(SessionId id, std::size_t cell, std::function<void()> then);
    void release(SessionId id);
    void commit(SessionId id, Change change, Reply answer);
    void conclude(Confirm confirm, BatchReply how);
    void confirmed_up_to(std::uint64_t position);
    void answer(SessionId id, Reply answer);
    void answer(SessionId id, BatchReply how);
    // `tells`: the client hears of it.
    void end(SessionId id, bool tells);
    void end_all(std::size_t host, bool tells);

    sim::Agenda& agenda_;
    const VirtualClock& clock_;
    Random random_;
    const Sabotage sabotage_;
    EngineWatcher& watcher_;

    const std::size_t cells_;
    std::array<std::unique_ptr<Server>, hosts> servers_;
    std::size_t primary_ = 0;
    std::array<bool, hosts> is_silent_{};  // a host that is down answers nothing, instead of refusing
    std::unique_ptr<Database> standby_;
    std::deque<Change> unconfirmed_;  // what the primary has logged and the standby has not
    std::uint64_t logged_ = 0;
    std::uint64_t confirmed_ = 0;
    std::uint64_t epoch_ = 0;  // grows with each failover
    Time standby_back_{};
    std::map<SessionId, Session> sessions_;
    std::deque<Confirm> confirms_;
    SessionId last_session_ = 0;
    std::uint64_t failovers_ = 0;
    std::uint64_t warnings_ = 0;
    std::uint64_t terminated_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace muster::nodesim
