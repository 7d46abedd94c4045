// Attackers on the HTTP port.
#include <array>
#include <deque>
#include <string_view>

#include <fmt/core.h>

#include "attack.h"
#include "raw_socket.h"

namespace muster::storm {
namespace {

// Holds as many connections as it can get: idle after an answer, in the middle of a header, or with an answer unread.
class Hog final : public Attack {
public:
    using Attack::Attack;

    std::string step(const Target& target, Moment at) override {
        constexpr std::size_t most = 600;
        for (std::size_t i = due(at, 600); i > 0; --i) {
            if (links_.size() < most) {
                links_.push_back({RawSocket(address_, target.ports.http), static_cast<int>(random_.below(3)), false});
                if (links_.back().manner == 2) links_.back().socket.read_slowly();
                continue;
            }
            next_ = (next_ + 1) % links_.size();
            Link& link = links_[next_];
            if (!link.socket.open())
                link = {RawSocket(address_, target.ports.http), static_cast<int>(random_.below(3)), false};
            speak(link);
        }
        // Those that were opened just now could not speak at once.
        for (std::size_t n = 0; n < 20 && !links_.empty(); ++n) {
            next_ = (next_ + 1) % links_.size();
            if (!links_[next_].begun) speak(links_[next_]);
        }
        return {};
    }

private:
    struct Link {
        RawSocket socket;
        int manner = 0;
        bool begun = false;
    };

    static void speak(Link& link) {
        constexpr std::string_view idle = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        constexpr std::string_view header = "GET /api/v1/servers HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
        constexpr std::string_view events =
            "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
            "GET /api/v1/players?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n";
        if (!link.begun) {
            const std::array words{idle, header, events};
            link.begun = link.socket.send(words[static_cast<std::size_t>(link.manner)]) > 0;
        } else if (link.manner == 1) {
            link.socket.send("x");
        } else if (link.manner == 0) {
            link.socket.receive();
        }
    }

    std::deque<Link> links_;
    std::size_t next_ = 0;
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
