// The limit that api_load measures against: the least that a server of these answers can do. One thread sends the same
// bytes for each request; it looks at nothing but the request's end.
//
//   bare_http ANSWER_FILE --ports-file FILE
//
// Writes {"http":"127.0.0.1:PORT"} to the file and serves until it is killed.
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

void require(bool works, const char* what) {
    if (works) return;
    std::perror(what);
    std::exit(1);
}

int listen_on_any_port(const std::filesystem::path& ports_file) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    require(listener >= 0, "socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    require(listen(listener, 64) == 0, "listen");
    socklen_t size = sizeof address;
    require(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
    const std::filesystem::path half = ports_file.string() + ".new";
    std::ofstream(half) << "{\"http\":\"127.0.0.1:" << ntohs(address.sin_port) << "\"}\n";
    std::filesystem::rename(half, ports_file);
    return listener;
}

void send_all(int link, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(link, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4 || std::string_view(arguments[2]) != "--ports-file") {
        std::fprintf(stderr, "usage: bare_http ANSWER_FILE --ports-file FILE\n");
        return 64;
    }
    std::ifstream file(arguments[1], std::ios::binary);
    const std::string answer{std::istreambuf_iterator<char>(file), {}};
    require(!answer.empty(), arguments[1]);
    const int listener = listen_on_any_port(arguments[3]);
    const int poll = epoll_create1(0);
    const auto watch = [poll](int file_descriptor) {
        epoll_event interest{};
        interest.events = EPOLLIN;
        interest.data.fd = file_descriptor;
        require(epoll_ctl(poll, EPOLL_CTL_ADD, file_descriptor, &interest) == 0, "epoll_ctl");
    };
    watch(listener);
    for (;;) {
        std::array<epoll_event, 64> ready{};
        const int found = epoll_wait(poll, ready.data(), ready.size(), -1);
        for (int i = 0; i < found; ++i) {
            const int link = ready[static_cast<std::size_t>(i)].data.fd;
            if (link == listener) {
                watch(accept(listener, nullptr, nullptr));
                continue;
            }
            std::array<char, 4096> request{};
            const ssize_t size = recv(link, request.data(), request.size(), 0);
            if (size <= 0) {
                epoll_ctl(poll, EPOLL_CTL_DEL, link, nullptr);
            } else if (std::string_view(request.data(), static_cast<std::size_t>(size)).ends_with("\r\n\r\n")) {
                send_all(link, answer);
            }
        }
    }
}
