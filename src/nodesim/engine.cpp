#include "nodesim/engine.h"

#include <algorithm>

namespace muster::nodesim {
namespace {

using namespace std::chrono_literals;

constexpr Duration sync_max = 4ms;
constexpr Duration read_max = 300ms;

Duration up_to(Random& random, Duration most) {
    return Duration(random.between(Duration(100us).count(), most.count()));
}

}  // namespace

Engine::Engine(sim::Agenda& agenda, const VirtualClock& clock, Random random, std::size_t cells, Sabotage sabotage,
               EngineWatcher& watcher)
    : agenda_(agenda),
      clock_(clock),
      random_(random),
      sabotage_(sabotage),
      watcher_(watcher),
      cells_(cells),
      standby_(std::make_unique<Database>(cells)) {
    servers_[primary_] = std::make_unique<Server>(*standby_, cells);
}

Engine::Door Engine::door(std::size_t host) const {
    if (servers_[host]) return Door::open;
    return is_silent_[host] ? Door::silent : Door::refused;
}

SessionId Engine::open(std::size_t host) {
    Session session;
    session.host = host;
    sessions_.emplace(++last_session_, std::move(session));
    return last_session_;
}

bool Engine::is_open(SessionId session) const {
    return sessions_.contains(session);
}

void Engine::closed(SessionId session) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    found->second.is_closing = true;
    if (!found->second.pending) end(session, false);
}

void Engine::execute(SessionId session, const Statement& statement, OnReply reply) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return reply({});
    found->second.pending = std::move(reply);
    run(session, statement);
}

void Engine::run(SessionId id, const Statement& statement) {
    Server& server = server_of(id);
    Session& session = sessions_.at(id);
    const CellLine& line = server.database.line(statement.cell);
    Reply reply;
    reply.how = BatchReply::done;
    switch (statement.kind) {
        case Statement::Kind::look:
            reply.line = line;
            return answer(id, std::move(reply));
        case Statement::Kind::take:
            return lock(id, statement, [this, id, statement] { take(id, statement); });
        case Statement::Kind::terminate:
            return terminate(id, statement);
        case Statement::Kind::commit: {
            if (!session.open) return answer(id, BatchReply::refused);
            Change change = std::move(*session.open);
            session.open.reset();
            return commit(id, std::move(change), std::move(reply));
        }
        case Statement::Kind::roll_back:
            session.open.reset();
            release(id);
            return answer(id, BatchReply::done);
        case Statement::Kind::read:
            reply.state = std::make_shared<RecoveredState>(server.database.recovered(statement.cell, clock_.wall()));
            agenda_.in(up_to(random_, read_max), [this, id, reply = std::make_shared<Reply>(std::move(reply))] {
                answer(id, std::move(*reply));
            });
            return;
        case Statement::Kind::beat: {
            Change beat{.kind = Change::Kind::node, .row = statement.row};
            for (const auto& [name, row] : server.database.nodes()) reply.nodes.push_back(row);
            for (std::size_t cell = 0; cell < cells_; ++cell) {
                const CellLine& of = server.database.line(cell);
                reply.owners.push_back(of.owner.empty() ? of.handed_to : of.owner);
            }
            return commit(id, std::move(beat), std::move(reply));
        }
        case Statement::Kind::settle:
            if (sabotage_ != Sabotage::settles_by_read) break;
            if (line.mark.term != statement.mark.term) return answer(id, BatchReply::fenced);
            reply.last = line.mark.batch;
            return answer(id, std::move(reply));
        case Statement::Kind::renew:
        case Statement::Kind::send:
        case Statement::Kind::keep:
            break;
    }
    with_lock(id, statement.cell, [this, id, statement] { run_locked(id, statement); });
}

void Engine::lock(SessionId id, const Statement& statement, std::function<void()> then) {
    Server& server = server_of(id);
    if (server.database.line(statement.cell).mark != statement.mark) return answer(id, BatchReply::fenced);
    const SessionId holder = server.locks[statement.cell];
    if (holder != 0 && holder != id) {
        Reply reply;
        reply.how = BatchReply::refused;
        reply.is_locked = true;
        return answer(id, std::move(reply));
    }
    with_lock(id, statement.cell, std::move(then));
}

void Engine::take(SessionId id, const Statement& statement) {
    const CellLine& line = server_of(id).database.line(statement.cell);
    Change change{.kind = Change::Kind::take,
                  .cell = statement.cell,
                  .node = statement.node,
                  .instance = statement.instance,
                  .session = id,
                  .wall = statement.wall};
    Reply reply;
    reply.line.mark = {line.mark.term + 1, line.mark.batch};
    reply.line.settled = line.settled;
    commit(id, std::move(change), std::move(reply));
}

void Engine::terminate(SessionId id, const Statement& statement) {
    const CellLine& line = server_of(id).database.line(statement.cell);
    const SessionId holder = line.session;
    const auto found = sessions_.find(holder);
    const bool is_here = found != sessions_.end() && found->second.host == sessions_.at(id).host && holder != id;
    // Whoever has taken the cell meanwhile is left alone.
    if (is_here && line.mark == statement.mark && sabotage_ != Sabotage::leaves_lock) {
        ++terminated_;
        end(holder, true);
    }
    answer(id, BatchReply::done);
}

bool Engine::passes(const CellLine& line, const Statement& statement) const {
    if (statement.kind == Statement::Kind::renew && line.instance != statement.instance) return false;
    const bool is_late = statement.kind == Statement::Kind::keep && line.settled != statement.settled;
    if (is_late) return false;
    if (statement.kind != Statement::Kind::send) return line.mark.term == statement.mark.term;
    if (sabotage_ == Sabotage::no_fence) return true;
    if (line.settled != statement.settled && sabotage_ != Sabotage::takes_late_batch) return false;
    return line.mark.term == statement.mark.term && line.mark.batch + 1 == statement.mark.batch;
}

void Engine::run_locked(SessionId id, const Statement& statement) {
    const CellLine& line = server_of(id).database.line(statement.cell);
    if (!passes(line, statement)) {
        Reply refusal;
        refusal.how = BatchReply::fenced;
        refusal.line = line;
        release(id);
        return answer(id, std::move(refusal));
    }
    Change change{.cell = statement.cell,
                  .node = statement.node,
                  .handed_to = statement.handed_to,
                  .session = id,
                  .mark = statement.mark,
                  .hands_over = statement.hands_over,
                  .group = statement.group,
                  .wall = statement.wall};
    Reply reply;
    reply.last = line.mark.batch;
    switch (statement.kind) {
        case Statement::Kind::send:
            change.kind = Change::Kind::batch;
            if (statement.commits) break;
            sessions_.at(id).open = std::move(change);
            return answer(id, BatchReply::done);
        case Statement::Kind::renew:
            change.kind = Change::Kind::renew;
            break;
        case Statement::Kind::keep:
            change.kind = Change::Kind::keep;
            break;
        default:
            change.kind = Change::Kind::settle;
            reply.line.settled = line.settled + 1;
            break;
    }
    commit(id, std::move(change), std::move(reply));
}

// Nobody who waits for a row's lock notices that its client is gone.
void Engine::with_lock(SessionId id, std::size_t cell, std::function<void()> then) {
    Server& server = server_of(id);
    SessionId& holder = server.locks[cell];
    if (holder != 0 && holder != id) {
        server.waiting[cell].push_back({id, std::move(then)});
        return;
    }
    holder = id;
    sessions_.at(id).cell = cell;
    then();
}

void Engine::release(SessionId id) {
    Session& session = sessions_.at(id);
    if (!session.cell) return;
    const std::size_t cell = *session.cell;
    session.cell.reset();
    Server& server = server_of(id);
    server.locks[cell] = 0;
    auto& queue = server.waiting[cell];
    while (!queue.empty() && server.locks[cell] == 0) {
        const Waiting next = std::move(queue.front());
        queue.pop_front();
        if (is_open(next.session)) with_lock(next.session, cell, next.go);
    }
}

void Engine::commit(SessionId id, Change change, Reply answer) {
    Confirm confirm{id, std::move(change), std::move(answer), never};
    const Server& server = server_of(id);
    watcher_.logged(confirm.change, server.database.line(confirm.change.cell), server.is_stale);
    if (!server.is_stale) {
        confirm.position = ++logged_;
        unconfirmed_.push_back(confirm.change);
        if (clock_.now() >= standby_back_) {
            agenda_.in(up_to(random_, sync_max), [this, epoch = epoch_, position = confirm.position] {
                if (epoch == epoch_ && clock_.now() >= standby_back_) confirmed_up_to(position);
            });
        }
    }
    confirms_.push_back(std::move(confirm));
}

void Engine::confirmed_up_to(std::uint64_t position) {
    while (confirmed_ < position) {
        const Change change = std::move(unconfirmed_.front());
        unconfirmed_.pop_front();
        ++confirmed_;
        watcher_.kept(change, standby_->line(change.cell));
        standby_->apply(change);
    }
    for (;;) {
        const auto next =
            std::ranges::find_if(confirms_, [&](const Confirm& each) { return each.position <= confirmed_; });
        if (next == confirms_.end()) return;
        Confirm confirm = std::move(*next);
        confirms_.erase(next);
        conclude(std::move(confirm), BatchReply::done);
    }
}

// From now on it is seen, and its lock is free.
void Engine::conclude(Confirm confirm, BatchReply how) {
    Server& server = server_of(confirm.session);
    server.database.apply(confirm.change);
    if (!server.is_stale) watcher_.seen(confirm.change);
    release(confirm.session);
    if (how == BatchReply::broke || !is_open(confirm.session)) return;
    confirm.answer.how = how;
    answer(confirm.session, std::move(confirm.answer));
}

void Engine::answer(SessionId id, BatchReply how) {
    Reply reply;
    reply.how = how;
    answer(id, std::move(reply));
}

void Engine::answer(SessionId id, Reply answer) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    const OnReply reply = std::exchange(found->second.pending, {});
    if (found->second.is_closing)
        end(id, false);
    else
        reply(std::move(answer));
}

// What it was about to commit is undone; what it has committed and waits for stays.
void Engine::end(SessionId id, bool tells) {
    const OnReply reply = std::exchange(sessions_.at(id).pending, {});
    const auto waits = std::ranges::find_if(confirms_, [id](const Confirm& confirm) { return confirm.session == id; });
    if (waits != confirms_.end()) {
        Confirm confirm = std::move(*waits);
        confirms_.erase(waits);
        conclude(std::move(confirm), BatchReply::broke);
    }
    release(id);
    sessions_.erase(id);
    if (tells && reply) reply({});
}

void Engine::end_all(std::size_t host, bool tells) {
    std::vector<std::pair<SessionId, OnReply>> told;
    for (auto& [id, session] : sessions_)
        if (session.host == host) told.emplace_back(id, std::move(session.pending));
    std::erase_if(confirms_, [&](const Confirm& confirm) { return sessions_.at(confirm.session).host == host; });
    std::erase_if(sessions_, [&](const auto& entry) { return entry.second.host == host; });
    servers_[host].reset();
    for (const auto& [id, reply] : told)
        if (tells && reply) reply({});
}

void Engine::fail_over(Duration gap, bool stays) {
    if (!servers_[primary_]) return;  // one is under way
    end_stale();
    ++epoch_;
    ++failovers_;
    lost_ += unconfirmed_.size();
    unconfirmed_.clear();
    confirmed_ = logged_;
    standby_back_ = clock_.now();
    const std::size_t old = std::exchange(primary_, 1 - primary_);
    is_silent_[old] = random_.chance(0.5);
    if (stays) {
        servers_[old]->is_stale = true;
        for (Confirm& confirm : confirms_) confirm.position = never;
    } else {
        end_all(old, !is_silent_[old]);
    }
    is_silent_[primary_] = false;
    agenda_.in(gap, [this] { servers_[primary_] = std::make_unique<Server>(*standby_, cells_); });
}

void Engine::end_stale() {
    const std::size_t other = 1 - primary_;
    if (servers_[other]) end_all(other, random_.chance(0.5));
}

void Engine::lose_standby(Duration by) {
    standby_back_ = std::max(standby_back_, clock_.now() + by);
    agenda_.at(standby_back_, [this, epoch = epoch_] {
        if (epoch == epoch_ && clock_.now() >= standby_back_) confirmed_up_to(logged_);
    });
}

void Engine::cancel_waits() {
    std::deque<Confirm> ended;
    ended.swap(confirms_);
    for (Confirm& confirm : ended) {
        if (!is_open(confirm.session)) continue;
        ++warnings_;
        conclude(std::move(confirm), BatchReply::warned);
    }
}

void Engine::calm_down() {
    end_stale();
    is_silent_ = {};
    standby_back_ = clock_.now();
    confirmed_up_to(logged_);
}

}  // namespace muster::nodesim
