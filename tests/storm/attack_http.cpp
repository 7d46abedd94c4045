// Attackers on the HTTP port.
#include <sys/resource.h>

#include <algorithm>
#include <deque>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "attack.h"
#include "raw_socket.h"

namespace muster::storm {
namespace {

// More than the daemon serves in all, as far as our own descriptors go.
std::size_t connections_most() {
    constexpr rlim_t wanted = 1'300;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return static_cast<std::size_t>(std::min<rlim_t>(wanted, limit.rlim_cur / 3));
}

// Takes every connection that it can get, keeps it, and opens another one at once for each that it loses. Most of them
// are always in the middle of a request and finish it in time, so that they never rest; the others send a header
// without end, or leave their answers unread.
class Hog final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        std::size_t may_open = due(at, 2'000);
        for (Link& link : links_) {
            if (!link.socket.open()) {
                if (may_open == 0) continue;
                --may_open;
                link = opened(target.ports.http);
            }
            if (at >= link.speaks) speak(link, at);
        }
        return {};
    }

private:
    enum class Manner : std::uint8_t { in_request, in_header, unread };
    struct Link {
        RawSocket socket;
        Manner manner = Manner::in_request;
        bool begun = false;
        Moment speaks{};
    };

    Link opened(std::uint16_t port) {
        Link link{RawSocket(address_, port)};
        constexpr double others = 0.15;
        if (random_.chance(others)) link.manner = Manner::in_header;
        if (random_.chance(others)) link.manner = Manner::unread;
        if (link.manner == Manner::unread) link.socket.read_slowly();
        return link;
    }

    void speak(Link& link, Moment at) {
        constexpr std::string_view request = "GET /api/v1/clock HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
        constexpr std::string_view rest_and_next = "x\r\n\r\nGET /api/v1/clock HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
        constexpr std::string_view events =
            "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
            "GET /api/v1/players?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n";
        if (!link.begun) {
            link.begun = link.socket.send(link.manner == Manner::unread ? events : request) > 0;
        } else if (link.manner == Manner::in_request) {
            link.socket.receive();
            link.socket.send(rest_and_next);
        } else if (link.manner == Manner::in_header) {
            link.socket.send("x");
        }
        // A request that pauses for a second makes room for another connection.
        if (link.begun) link.speaks = at + Span(random_.between(Span(200ms).count(), Span(500ms).count()));
    }

    std::vector<Link> links_{connections_most()};
};

// What is no request: noise, headers without end, bodies that lie about their size, many at once.
class Garble final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        for (std::size_t i = due(at, 200); i > 0; --i) {
            if (links_.size() >= 30) links_.pop_front();
            links_.push_back({RawSocket(address_, target.ports.http), text()});
        }
        for (Link& link : links_) {
            link.left.erase(0, link.socket.send(link.left));
            link.socket.receive();
        }
        return {};
    }

private:
    struct Link {
        RawSocket socket;
        std::string left;
    };

    std::string text() {
        switch (random_.below(6)) {
            case 0: {
                std::string noise(1 + random_.below(2'000), '\0');
                for (char& each : noise) each = static_cast<char>(random_.below(256));
                return noise;
            }
            case 1:
                return "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(40'000, 'a');
            case 2:
                return "POST /api/v1/matches HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n{";
            case 3:
                return "POST /api/v1/clock HTTP/1.1\r\nHost: evil.example\r\nTransfer-Encoding: "
                       "chunked\r\n\r\nFFFFFFFF\r\n";
            case 4: {
                std::string many;
                for (int i = 0; i < 50; ++i)
                    many += "GET /api/v1/matches?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n";
                return many;
            }
            default:
                return fmt::format("GET /api/v1/events?after={}&limit=-1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                   random_.next());
        }
    }

    std::deque<Link> links_;
};

}  // namespace

std::unique_ptr<Attack> make_http_attack(AttackKind kind, std::uint32_t address, std::uint64_t seed) {
    if (kind == AttackKind::hostile_http) return std::make_unique<Hog>(address, seed);
    if (kind == AttackKind::garbled_http) return std::make_unique<Garble>(address, seed);
    return nullptr;
}

}  // namespace muster::storm
