// Reads what other cells have written for one (N-8), a few times a second while this node owns it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "core/cell_news.h"
#include "postgres/pg_connection.h"
#include "postgres/pg_hosts.h"
#include "postgres/pg_outbox.h"

namespace muster {

struct PgNewsOptions {
    PgOptions connection{};
    std::string cell{};
    bool leads = false;  // the clock, operators and blocks are this cell's own
    bool has_players = true;
};

// Made and ended by one thread; works on a thread of its own. The clock outlives it. While the engine does not answer
// there are no news.
class PgNews {
public:
    static constexpr std::chrono::milliseconds look_every{400};
    // Players who were here before a takeover are here again by then, and can be told.
    static constexpr std::chrono::milliseconds notices_after{1'500};

    // On its own thread. False: they could not be taken, and are told again.
    using OnNews = std::function<bool(CellNews&& news)>;

    PgNews(const Clock& clock, PgNewsOptions options, OnNews on_news);
    ~PgNews();
    PgNews(const PgNews&) = delete;
    PgNews& operator=(const PgNews&) = delete;

private:
    void run();
    void look(PgConnection& connection);

    const Clock& clock_;
    const PgNewsOptions options_;
    const OnNews on_news_;
    const std::vector<PgHost> hosts_;
    const Time began_;

    // The thread's.
    std::int64_t rules_seen_ = -1;  // the number of their last change
    NoticesTaken taken_;

    std::mutex mutex_;
    std::condition_variable end_;
    bool ends_ = false;   // guarded by mutex_
    std::thread thread_;  // last: it uses the others
};

}  // namespace muster
