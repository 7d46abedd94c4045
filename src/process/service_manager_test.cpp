#include "process/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "testing/test_folder.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// A variable of the environment for as long as a test lasts.
class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { ::unsetenv(name_); }

private:
    const char* name_;
};

// The other end: what systemd would listen on.
class NotifySocket {
public:
    NotifySocket() : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path().c_str(), sizeof(address.sun_path) - 1);
        REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    }
    NotifySocket(const NotifySocket&) = delete;
    NotifySocket& operator=(const NotifySocket&) = delete;
    ~NotifySocket() { ::close(fd_); }

    std::string path() const { return (folder_.path() / "notify").string(); }

    std::string heard() const {
        char buffer[1024];
        const ssize_t size = ::recv(fd_, buffer, sizeof(buffer), 0);
        return size < 0 ? "nothing" : std::string(buffer, static_cast<std::size_t>(size));
    }

private:
    TestFolder folder_;
    int fd_;
};

}  // namespace

TEST_CASE("systemd hears ready, status, watchdog pings, reloads and stopping") {
    const NotifySocket socket;
    const Variable variable("NOTIFY_SOCKET", socket.path());
    ServiceManager manager;
    manager.ready("Serving 3 servers");
    CHECK(socket.heard() == "READY=1\nSTATUS=Serving 3 servers");
    manager.status("Draining\nREADY=1");
    CHECK(socket.heard() == "STATUS=Draining");
    manager.ping();
    CHECK(socket.heard() == "WATCHDOG=1");
    manager.reloading(Time(5ms));
    CHECK(socket.heard() == "RELOADING=1\nMONOTONIC_USEC=5000");
    manager.reloaded("Serving");
    CHECK(socket.heard() == "READY=1\nSTATUS=Serving");
    manager.stopping();
    CHECK(socket.heard() == "STOPPING=1");
    CHECK(socket.heard() == "nothing");
}

TEST_CASE("without systemd every call does nothing") {
    ServiceManager manager;
    manager.ready("Serving");
    manager.ping();
    manager.stopping();
    CHECK(manager.watchdog_interval() == std::nullopt);
}

TEST_CASE("the watchdog's interval is the one systemd asks for, when it asks us") {
    const Variable interval("WATCHDOG_USEC", "30000000");
    ServiceManager manager;
    CHECK(manager.watchdog_interval() == Duration(30s));
    const Variable other_process("WATCHDOG_PID", "1");
    CHECK(manager.watchdog_interval() == std::nullopt);
}
