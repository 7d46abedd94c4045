// Many connections of one thread, as a load needs them: frames in, frames out.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "protocol/codec.h"
#include "protocol/port.h"
#include "tls/tls_link.h"

namespace muster::bench {

// What happens to a link. With TLS it is opened() when the handshake is over. One that could not be opened is closed()
// without having been opened().
class PeerEvents {
public:
    virtual ~PeerEvents() = default;
    virtual void opened(std::size_t link) = 0;
    virtual void frame(std::size_t link, Code code, std::span<const std::byte> payload) = 0;
    virtual void closed(std::size_t link) = 0;
};

// Our end of a link: which of the loopback's addresses it comes from, how it writes numbers, and whether it speaks TLS.
struct PeerEnd {
    std::uint32_t address = 0x7F00'0001;
    ByteOrder order = ByteOrder::little;
    std::shared_ptr<const TlsClientContext> tls{};  // null: plain bytes
    bool resumes = false;                           // shows the ticket of its last link
};

// One thread. Links are numbered from 0; each can be opened again after it was closed.
class PeerLinks {
public:
    PeerLinks(std::size_t count, PeerEvents& events);
    ~PeerLinks();
    PeerLinks(const PeerLinks&) = delete;
    PeerLinks& operator=(const PeerLinks&) = delete;

    // Begins to connect to 127.0.0.1:`port`. The link must be closed. Throws std::runtime_error when there is no
    // socket. Not from inside an event of the same link.
    void open(std::size_t link, std::uint16_t port, PeerEnd end = {});

    // Leaves at the end of the turn; dropped when the link is closed.
    template <Message M>
    void send(std::size_t link, const M& message) {
        Link& to = links_[link];
        if (to.socket < 0) return;
        encode(message, to.end.order, to.out);
        if (!to.listed) unsent_.push_back(link);
        to.listed = true;
    }

    // How many of the links with TLS that are open were resumed by a ticket.
    std::size_t resumed() const { return resumed_; }

    // By a reset, so that no port number is held up for a minute. No closed() comes.
    void cut(std::size_t link);

    // Leaves what arrives unread, or reads again; a link that is opened anew is read.
    void leave_unread(std::size_t link, bool unread);

    // Sends what waits, waits for at most `wait` until something happens, and tells all of it.
    void turn(std::chrono::nanoseconds wait);

private:
    struct Link {
        int socket = -1;
        bool connecting = false;
        bool listed = false;  // among unsent_
        bool unread = false;
        PeerEnd end;
        std::vector<std::byte> in;
        std::vector<std::byte> out;
        std::unique_ptr<TlsLink> tls;
        OpenSslHandle<SSL_SESSION> session;
        std::vector<std::byte> sealed;  // what TLS made of `out`, and its own
    };

    void flush(std::size_t number);
    void read(std::size_t number, bool ends);
    bool unseal(std::size_t number, std::span<const std::byte> received);
    static void seal(Link& link);
    static void send_some(Link& link, std::vector<std::byte>& bytes);
    bool hand_on(std::size_t number);
    void lose(std::size_t number);

    PeerEvents& told_;
    int poll_ = -1;
    std::vector<Link> links_;
    std::vector<std::size_t> unsent_;
    std::vector<std::size_t> flushing_;
    std::vector<epoll_event> events_;
    std::vector<std::byte> plain_;
    std::size_t resumed_ = 0;
};

}  // namespace muster::bench
