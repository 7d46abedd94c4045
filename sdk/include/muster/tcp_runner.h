// A ready network loop for the clients: POSIX sockets and poll, one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "muster/client.h"
#include "muster/outcome.h"
#include "muster/time.h"
#include "muster/tls_credentials.h"

namespace muster::sdk {

// Drives any number of clients on the thread of run(), or on one of its own. Clients and their callbacks belong to that
// thread: another thread reaches them by post(). Before run() is called, and after it has returned, the clients belong
// to whoever holds them.
//
// A runner and its clients may be destroyed in any order: a destroyed client leaves its runner, and a destroyed runner
// closes the connections. Exceptions from callbacks and posted functions do not leave the runner; they go to
// on_error.
class TcpRunner {
public:
    // `on_error` hears why a connection could not be made or was lost, on the runner's thread.
    explicit TcpRunner(std::function<void(const Outcome&)> on_error = {});
    // Stops, and waits for the thread. From within a callback it ends the process with a message.
    ~TcpRunner();
    TcpRunner(const TcpRunner&) = delete;
    TcpRunner& operator=(const TcpRunner&) = delete;

    // `address` is "host:port": an IPv4 literal, an IPv6 literal in brackets, or a name, which is looked up at each
    // attempt to connect. Throws std::invalid_argument when it is none of these, or the client is in a runner already.
    // Both from any thread, and from callbacks.
    //
    // Several addresses with commas between, "a:11032,b:11032", are those of nodes that share a store: the next one is
    // tried as soon as one refuses, and after a connection was lost. One of them has the fleet, the others stand by.
    //
    // "muster-tls://host:port" is a link over TLS with the files that TlsOptions::of_environment() names.
    void add(Client& client, std::string_view address);
    // Over TLS. Muster's certificate must name the host of the address. Throws std::invalid_argument also when a file
    // cannot be used, or the SDK was built without TLS (MUSTER_SDK_TLS). The files are read once, here.
    void add(Client& client, std::string_view address, const TlsOptions& tls);
    // The same with files that are read already, and may be read again.
    void add(Client& client, std::string_view address, const TlsCredentials& tls);
    // Closes its connection and tells the client so: its callbacks are called before this returns, or, from within a
    // callback of the client itself, right after that.
    void remove(Client& client);

    // Returns after stop(): what was posted before is done, what the clients had to say is sent (for at most a second;
    // three while one of them is leaving()), and their connections are closed. It can then be called again.
    // invalid_call, and nothing done, when the runner runs already, be it on this thread (from within a callback) or on
    // another.
    Outcome run();
    // The same on a thread of the runner's own. system_error when there can be none.
    [[nodiscard]] Outcome start();
    // Waits until the runner has stopped. invalid_call on the runner's own thread.
    Outcome wait();

    // From any thread, and from a signal handler.
    void stop() noexcept;
    // Runs `function` on the runner's thread, in order, or after a while: at once for a delay below 0, never for one
    // that no clock can count. From any thread.
    void post(std::function<void()> function);
    void post_after(Duration delay, std::function<void()> function);
    // The same, unless the client has been destroyed by then. For a function that uses the client.
    void post(const Client& client, std::function<void()> function);
    void post_after(const Client& client, Duration delay, std::function<void()> function);

private:
    class Thread;
    const std::shared_ptr<RunnerLoop> loop_;
    const std::unique_ptr<Thread> thread_;
};

}  // namespace muster::sdk
