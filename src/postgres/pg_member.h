// This node among the others: it beats once a second, keeps a picture of nodes and cells (N-11), and tells of changed
// operators and blocks, which hold at nodes without a cell, too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "core/cell_news.h"
#include "postgres/node_watch.h"
#include "postgres/pg_connection.h"
#include "postgres/pg_hosts.h"
#include "postgres/pg_nodes.h"

namespace muster {

struct PgMemberOptions {
    PgOptions connection{};
    NodeRow node{};
    Duration silence = std::chrono::seconds(5);
    std::function<bool(const std::string&)> has_ended{};  // whether that process certainly has; none: nobody knows
    std::function<void()> on_name_lost{};                 // once, on the member's thread: another process has our name
    // While `follows_rules`: all of them, at first before the member is made, then on its thread when some have
    // changed.
    std::function<bool()> follows_rules{};
    std::function<void(const SharedRules&)> on_rules{};
};

// What was seen last.
struct PgMemberView {
    std::vector<NodeRow> nodes{};
    std::vector<bool> alive{};  // of each
    std::vector<CellState> cells{};
    Duration latency{0};    // of the last question
    std::string problem{};  // why the engine did not answer last; empty: it did
};

// Made and ended by one thread; the tables are there. The clock outlives it.
class PgMember {
public:
    static constexpr std::chrono::seconds beat_every{1};

    // Takes the name; waits up to NameClaim::silence where somebody had it. Throws StoreError: 78 when another node of
    // that name runs, 74 when the engine cannot be reached.
    PgMember(const Clock& clock, PgMemberOptions options);
    // Says goodbye, if the engine is there.
    ~PgMember();
    PgMember(const PgMember&) = delete;
    PgMember& operator=(const PgMember&) = delete;

    // Any thread.
    // Beats and looks now: something has changed.
    void refresh();
    PgMemberView view() const;
    // Who is to have the cell when we leave; empty when there is nobody.
    std::string successor(const std::string& cell) const { return next_owner(cell, options_.node.name); }
    // Who is to have it when that node has lost it; empty: when nobody had it.
    std::string next_owner(const std::string& cell, const std::string& before) const;
    // Who is alive and prefers the cell, while we do not; empty when there is nobody.
    std::string preferred(const std::string& cell) const;

private:
    void take_name();
    void run();
    void look();
    void look_at_rules();
    std::unique_ptr<PgConnection> connect() { return connect_to_any(options_.connection, hosts_, next_host_); }

    const Clock& clock_;
    const PgMemberOptions options_;
    const std::vector<PgHost> hosts_;

    // The thread's, once it runs.
    std::unique_ptr<PgConnection> connection_;
    std::size_t next_host_ = 0;
    bool has_name_ = false;
    std::int64_t rules_seen_ = -1;  // the number of their last change

    mutable std::mutex mutex_;
    std::condition_variable end_;
    bool ends_ = false;  // guarded by mutex_, as are the next three
    bool is_asked_ = false;
    PgMemberView view_;
    NodeWatch watch_;
    std::thread thread_;  // last: it uses the others
};

}  // namespace muster
