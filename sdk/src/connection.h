// One client's socket: opened, fed and closed as the client wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <poll.h>

#include "muster/client.h"
#include "muster/time.h"
#include "sdk/src/callbacks.h"
#include "sdk/src/name_lookup.h"
#include "sdk/src/tcp_address.h"
#include "sdk/src/tls_client.h"
#include "sdk/src/wake_pipe.h"

namespace muster::sdk {

// The runner's thread only. Never blocks.
class Connection {
public:
    static constexpr std::chrono::seconds connect_max{5};  // for each address of a name
    static constexpr std::chrono::seconds flush_max{1};  // of what is left when the client wants no connection any more

    // All but the addresses outlive the connection. There is at least one; each attempt begins with the one after the
    // last, and goes on to the next as soon as one refuses.
    // `tls` null: without TLS.
    Connection(Client& client, std::vector<TcpAddress> addresses, std::shared_ptr<const WakePipe> wake,
               const OnError& on_error, std::shared_ptr<const TlsSource> tls);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    const Client& client() const { return client_; }

    void tick(Time now) { client_.tick(now); }
    // Opens, sends and closes as the client wants it.
    void turn(Time now);
    std::optional<Time> next_turn() const;

    // What to wait for; its fd is -1 when there is nothing.
    pollfd interest() const;
    // What poll() found.
    void ready(short events, Time now);

    // Whether the client has nothing left to send.
    bool flushed() const {
        return (stage_ != Stage::open && stage_ != Stage::securing) || unsent_.size() == unsent_from_;
    }
    // Closes the socket and tells the client; `why` is empty when it wanted it so.
    void lose(Time now, const std::string& why = {});

private:
    enum class Stage : std::uint8_t { none, looking_up, connecting, securing, open };

    void look_up(Time now);
    void connect_next(Time now);
    bool look_up_next(Time now);
    const TcpAddress& address() const { return addresses_[at_]; }
    void connected(Time now);
    void opened(Time now);
    void read(Time now);
    void take(std::span<const std::byte> received, Time now);
    void take_sealed(std::span<const std::byte> received, Time now);
    void write(Time now);
    bool fill_unsent();
    void close_when_flushed(Time now);
    void close_socket();
    void tell_failure(ErrorCode code, const std::string& why);
    std::string of_peer(const std::string& what) const;

    Client& client_;
    const std::vector<TcpAddress> addresses_;
    std::size_t at_ = 0;     // which of them
    std::size_t tried_ = 0;  // in this attempt, without this one
    const std::shared_ptr<const WakePipe> wake_;
    const OnError& on_error_;

    Stage stage_ = Stage::none;
    int fd_ = -1;
    std::optional<NameLookup> lookup_;
    std::vector<SocketAddress> targets_;                 // not tried yet, next one last
    int last_error_ = 0;                                 // of the target tried last
    std::optional<Time> give_up_at_;                     // connecting, securing, or flushing before a close
    const std::shared_ptr<const TlsSource> tls_source_;  // null: without TLS
    std::shared_ptr<const TlsSettings> tls_settings_;    // of tls_
    std::unique_ptr<TlsClient> tls_;                     // of this connection, or of the last one
    std::string tls_host_;                               // whom it speaks to
    std::vector<std::byte> unsent_;                      // sealed, with TLS
    std::size_t unsent_from_ = 0;
    bool is_heard_ = false;  // Muster has said something on this connection
};

}  // namespace muster::sdk
