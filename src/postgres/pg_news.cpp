#include "postgres/pg_news.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/thread_name.h"
#include "postgres/pg_clock.h"
#include "postgres/pg_recovery.h"
#include "store/store.h"

namespace muster {

PgNews::PgNews(const Clock& clock, PgNewsOptions options, OnNews on_news)
    : clock_(clock),
      options_(std::move(options)),
      on_news_(std::move(on_news)),
      hosts_(pg_hosts_of(options_.connection.url).value()),
      began_(clock.now()),
      thread_([this] { run(); }) {}

PgNews::~PgNews() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    end_.notify_one();
    thread_.join();
}

void PgNews::run() {
    name_this_thread("news");
    std::unique_ptr<PgConnection> connection;
    std::size_t host = 0;
    std::unique_lock lock(mutex_);
    do {
        lock.unlock();
        try {
            if (!connection) connection = connect_to_any(options_.connection, hosts_, host);
            look(*connection);
        } catch (const PgError&) {
            connection.reset();
        } catch (const StoreError&) {
            // A row that Muster cannot have written; whoever recovers from it says so.
            connection.reset();
        }
        lock.lock();
    } while (!end_.wait_for(lock, look_every, [this] { return ends_; }));
    try {
        if (connection && !options_.leads) leave_pg_clock(*connection);
    } catch (const PgError&) {
        // The clock loses what passed since the last look.
    }
}

void PgNews::look(PgConnection& connection) {
    CellNews news;
    std::int64_t rules = rules_seen_;
    if (!options_.leads) {
        const Time asked = clock_.now();
        const auto shown = read_pg_clock(connection);
        // In the middle of the question, as far as anybody can say.
        if (shown) news.clock = {asked + (clock_.now() - asked) / 2, *shown};
        rules = shared_rules_number(connection);
        if (rules != rules_seen_) news.rules = read_pg_rules(connection);
    }
    if (options_.has_players && clock_.now() - began_ >= notices_after)
        news.notices = read_outbox(connection, options_.cell, taken_);
    NoticesTaken taken = taken_;
    for (const CellNews::Notice& one : news.notices) taken[one.from] = std::max(taken[one.from], one.number);
    if (!news.clock && !news.rules && news.notices.empty()) return;
    if (!on_news_(std::move(news))) return;
    rules_seen_ = rules;
    taken_ = std::move(taken);
}

}  // namespace muster
