#include "postgres/pg_member.h"

#include <utility>

#include <fmt/format.h>

#include "base/thread_name.h"
#include "postgres/name_claim.h"
#include "postgres/pg_recovery.h"
#include "store/store.h"
#include "store/store_fault.h"

namespace muster {
namespace {

constexpr std::chrono::milliseconds look_at_name_every{250};
constexpr int forget_every_beats = 60;

std::vector<PgHost> hosts_of(const std::string& url) {
    auto hosts = pg_hosts_of(url);
    if (!hosts) throw StoreError(exit_config, "store.url: " + hosts.error());
    return std::move(*hosts);
}

}  // namespace

PgMember::PgMember(const Clock& clock, PgMemberOptions options)
    : clock_(clock), options_(std::move(options)), hosts_(hosts_of(options_.connection.url)), watch_(options_.silence) {
    try {
        connection_ = connect();
        take_name();
        look();
        look_at_rules();
    } catch (const PgError& error) {
        throw StoreError(exit_io, fmt::format("the database cannot be reached: {}", error.what()));
    }
    thread_ = std::thread([this] { run(); });
}

PgMember::~PgMember() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    end_.notify_one();
    thread_.join();
    try {
        if (connection_ && has_name_) leave_pg_nodes(*connection_, options_.node);
    } catch (const PgError&) {
        // The others find out by its silence.
    }
}

void PgMember::take_name() {
    NameClaim claim;
    for (;;) {
        const Time asked = clock_.now();
        const auto row = find_pg_node(*connection_, options_.node.name);
        const bool is_us = row && row->instance == options_.node.instance;
        const bool has_ended = row && (is_us || (options_.has_ended && options_.has_ended(row->instance)));
        switch (claim.seen(asked, row, has_ended)) {
            case NameClaim::Verdict::free:
                join_pg_nodes(*connection_, options_.node);
                has_name_ = true;
                return;
            case NameClaim::Verdict::taken:
                throw StoreError(exit_config, fmt::format("another node named {} runs already, at {}; give this one "
                                                          "another name by cluster.node",
                                                          options_.node.name, row->address));
            case NameClaim::Verdict::unknown:
                std::this_thread::sleep_for(look_at_name_every);
        }
    }
}

void PgMember::run() {
    name_this_thread("cluster");
    for (int beats = 0;; ++beats) {
        {
            std::unique_lock lock(mutex_);
            end_.wait_for(lock, beat_every, [this] { return ends_ || is_asked_; });
            if (ends_) return;
            is_asked_ = false;
        }
        try {
            if (!connection_) connection_ = connect();
            if (has_name_ && !beat_pg_node(*connection_, options_.node)) {
                has_name_ = false;
                if (options_.on_name_lost) options_.on_name_lost();
            }
            if (beats % forget_every_beats == 0) forget_pg_nodes(*connection_);
            look();
            look_at_rules();
        } catch (const PgError& error) {
            connection_.reset();
            const std::lock_guard lock(mutex_);
            view_.problem = error.what();
        }
    }
}

void PgMember::look() {
    const Time asked = clock_.now();
    PgMemberView seen;
    seen.nodes = read_pg_nodes(*connection_);
    seen.latency = clock_.now() - asked;
    seen.cells = read_pg_cells(*connection_);
    const std::lock_guard lock(mutex_);
    watch_.seen(asked, seen.nodes);
    for (const NodeRow& node : seen.nodes) seen.alive.push_back(watch_.is_alive(node.name));
    view_ = std::move(seen);
}

void PgMember::look_at_rules() {
    if (!options_.follows_rules || !options_.follows_rules()) {
        rules_seen_ = -1;
        return;
    }
    const std::int64_t number = shared_rules_number(*connection_);
    if (number == rules_seen_) return;
    try {
        options_.on_rules(read_pg_rules(*connection_));
    } catch (const StoreError&) {
        // A row that Muster cannot have written; whoever recovers from it says so.
    }
    rules_seen_ = number;
}

void PgMember::refresh() {
    {
        const std::lock_guard lock(mutex_);
        is_asked_ = true;
    }
    end_.notify_one();
}

PgMemberView PgMember::view() const {
    const std::lock_guard lock(mutex_);
    return view_;
}

std::string PgMember::next_owner(const std::string& cell, const std::string& before) const {
    const std::lock_guard lock(mutex_);
    CellCounts counts;
    for (const CellState& state : view_.cells)
        if (state.name != cell) ++counts[state.owner.empty() ? state.handed_to : state.owner];
    return successor_of(before, cell, view_.nodes, watch_, counts);
}

std::string PgMember::preferred(const std::string& cell) const {
    const std::lock_guard lock(mutex_);
    return preferred_over(options_.node.name, cell, view_.nodes, watch_);
}

}  // namespace muster
