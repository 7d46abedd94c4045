// What TcpRunner does on its thread: turns its clients, waits for their sockets, runs what was posted.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <poll.h>

#include "muster/client.h"
#include "muster/time.h"
#include "sdk/src/callbacks.h"
#include "sdk/src/connection.h"
#include "sdk/src/tls_client.h"
#include "sdk/src/wake_pipe.h"

namespace muster::sdk {

// A pass holds pass_ all the time but while it waits, so that other threads can add and remove clients in between. It
// is recursive: callbacks do the same from within.
class RunnerLoop : public std::enable_shared_from_this<RunnerLoop> {
public:
    explicit RunnerLoop(OnError on_error) : on_error_(std::move(on_error)) {}

    // Any thread.
    // `tls` null: without TLS.
    void add(Client& client, std::string_view address, std::shared_ptr<const TlsSource> tls);
    void remove(Client& client);
    // The client dies: nothing is told to it any more, and nothing is run for it.
    void let_go(Client& client) noexcept;
    // The runner dies: its clients are in no runner any more.
    void let_all_go() noexcept;

    void stop() noexcept;
    void post(Duration delay, std::function<void()> function);
    void post(const Client& client, Duration delay, std::function<void()> function);

    // One thread at a time. Returns after stop().
    void run() noexcept;

private:
    struct Member {
        Client* client = nullptr;                  // none: it has left, and the next pass forgets it
        std::unique_ptr<Connection> connection{};  // there while the client is
        bool called = false;                       // just now: callbacks of the client may be running
        bool leaving = false;                      // it is removed once it is not called any more
    };
    struct Posted {
        std::function<void()> function{};
        std::optional<std::weak_ptr<const char>> needed{};  // not run when this is gone
    };

    static Time now() { return std::chrono::steady_clock::now(); }
    static Time after(Duration delay);
    static int timeout_ms(std::optional<Time> next);

    void turn() noexcept;
    void wait_for_work(std::optional<Time> until, std::unique_lock<std::recursive_mutex>& pass) noexcept;
    void finish(std::unique_lock<std::recursive_mutex>& pass) noexcept;
    template <class Visit>
    void each_connection(Time time, Visit visit) noexcept;
    template <class Visit>
    void visit_member(Member& member, Time time, Visit visit) noexcept;
    void run_posted(Time time) noexcept;
    std::optional<Time> next_posted();
    void push(Time due, Posted posted);
    Member* find(const Client& client);

    const OnError on_error_;

    // Guarded by pass_.
    std::recursive_mutex pass_;
    std::vector<std::unique_ptr<Member>> members_;  // grows at the end; shrinks at the start of a pass only

    // The runner's thread.
    std::vector<pollfd> waiting_;  // the wake pipe, then each member; lends its memory to the next wait

    // Any thread.
    const std::shared_ptr<const WakePipe> wake_ = std::make_shared<const WakePipe>();
    std::atomic<bool> stopping_{false};
    std::mutex posted_mutex_;
    std::multimap<Time, Posted> posted_;  // guarded by posted_mutex_
};

}  // namespace muster::sdk
