#include "nodesim/engine_line.h"

#include <utility>

#include "base/check.h"

namespace muster::nodesim {
namespace {

using namespace std::chrono_literals;

// By which the engine finds out that nobody is there any more.
constexpr Duration keepalive_min = 10s;
constexpr Duration keepalive_max = 60s;
// So long a statement may be held up on its way, on a connection that its sender has given up.
constexpr Duration held_max = 1s;
constexpr double held_chance = 0.5;

}  // namespace

struct EngineLine::State : std::enable_shared_from_this<State> {
    State(Engine& to, Machine& of) : engine(to), machine(of) {}

    Engine& engine;
    Machine& machine;
    std::size_t host = 0;
    SessionId session = 0;
    std::uint64_t serial = 0;  // of what was asked last
    Engine::OnReply pending{};
    Duration held{0};  // of what was asked last; the connection's end comes behind it

    Duration between(Duration least, Duration most) {
        return Duration(machine.random().between(least.count(), most.count()));
    }
    Duration delay() {
        const LineConditions& line = machine.line;
        if (machine.random().chance(line.stall)) return between(1ms, line.stall_max);
        return between(100us, line.latency_max);
    }

    // A reply is on the node's side of the network.
    void arrive(std::uint64_t of, Reply reply) {
        machine.later(0ms, [state = weak_from_this(), of, reply = std::make_shared<Reply>(std::move(reply))] {
            if (const auto here = state.lock()) here->hear(of, std::move(*reply));
        });
    }
    void hear(std::uint64_t of, Reply reply) {
        if (of != serial || !pending) return;
        if (reply.how == BatchReply::broke) close(true);
        const Engine::OnReply told = std::exchange(pending, {});
        told(std::move(reply));
    }
    void close(bool tells) {
        if (session == 0) return;
        const bool arrives = tells && machine.reaches_engine;
        const Duration after = held + (arrives ? delay() : between(keepalive_min, keepalive_max));
        machine.agenda().in(after, [&to = engine, closed = session] { to.closed(closed); });
        session = 0;
    }
    void send(const Statement& statement) {
        const std::uint64_t mine = serial;
        machine.agenda().in(delay() + held, [state = shared_from_this(), mine, to = session,
                                             asked = std::make_shared<Statement>(statement)] {
            state->engine.execute(to, *asked, [state, mine](Reply reply) { state->answered(mine, std::move(reply)); });
        });
    }
    // The engine has answered. On its side.
    void answered(std::uint64_t of, Reply reply) {
        if (!machine.hears_engine) return;
        machine.agenda().in(delay(), [state = weak_from_this(), of, reply = std::make_shared<Reply>(std::move(reply))] {
            if (const auto here = state.lock()) here->arrive(of, std::move(*reply));
        });
    }
    void give_up_after(Duration limit) {
        machine.later(limit, [state = weak_from_this(), of = serial] {
            if (const auto here = state.lock()) here->hear(of, {});
        });
    }
    void try_host(std::size_t tried, const std::function<void(bool)>& done) {
        if (tried == Engine::hosts) return done(false);
        ++serial;
        pending = [state = weak_from_this(), tried, done](const Reply& reply) {
            const auto here = state.lock();
            if (!here) return;
            if (reply.how == BatchReply::done) return done(true);
            ++here->host;
            here->try_host(tried + 1, done);
        };
        give_up_after(connect_limit);
        if (!machine.reaches_engine) return;
        machine.agenda().in(delay(), [state = shared_from_this(), mine = serial, at = host % Engine::hosts] {
            const Engine::Door door = state->engine.door(at);
            if (door == Engine::Door::silent) return;
            Reply reply;
            if (door == Engine::Door::open) {
                const SessionId opened = state->engine.open(at);
                if (mine != state->serial) return state->engine.closed(opened);
                state->session = opened;
                reply.how = BatchReply::done;
            }
            state->answered(mine, std::move(reply));
        });
    }
};

EngineLine::EngineLine(Engine& engine, Machine& machine) : state_(std::make_shared<State>(engine, machine)) {}

bool EngineLine::is_connected() const {
    return state_->session != 0 && !state_->pending;
}

bool EngineLine::is_idle() const {
    return !state_->pending;
}

void EngineLine::connect(const std::function<void(bool)>& done) {
    drop();
    state_->try_host(0, done);
}

void EngineLine::try_other_host() {
    ++state_->host;
}

void EngineLine::ask(const Statement& statement, Engine::OnReply reply) {
    MUSTER_CHECK(is_connected(), "one statement at a time, on a connection");
    ++state_->serial;
    state_->pending = std::move(reply);
    state_->give_up_after(statement_limit);
    state_->held = Duration{0};
    if (state_->machine.random().chance(state_->machine.line.breaks)) {
        if (state_->machine.random().chance(held_chance)) state_->held = state_->between(Duration{0}, held_max);
        // At any point of the statement's way, there or back.
        state_->machine.agenda().in(state_->between(Duration{0}, 60ms),
                                    [state = state_, mine = state_->serial] { state->arrive(mine, {}); });
    }
    if (state_->machine.reaches_engine) state_->send(statement);
}

void EngineLine::drop() {
    ++state_->serial;
    state_->pending = nullptr;
    state_->close(true);
}

void EngineLine::vanish() {
    ++state_->serial;
    state_->pending = nullptr;
    state_->close(false);
}

void EngineLine::reset() {
    if (state_->pending) state_->arrive(state_->serial, {});
}

}  // namespace muster::nodesim
