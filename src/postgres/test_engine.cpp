#include "postgres/test_engine.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

namespace muster {
namespace {

// Where Debian keeps the newest version's programs; empty when there is none.
std::string programs_folder() {
    const std::filesystem::path all = "/usr/lib/postgresql";
    std::string newest;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(all, error)) {
        const auto bin = entry.path() / "bin";
        if (std::filesystem::exists(bin / "initdb")) newest = std::max(newest, bin.string());
    }
    return newest;
}

}  // namespace

bool TestEngine::is_installed() {
    return !programs_folder().empty();
}

TestEngine::TestEngine() : programs_(programs_folder()) {
    // The engine refuses to be root's.
    if (geteuid() == 0) {
        as_owner_ = "runuser -u postgres -- ";
        if (!run(fmt::format("chown postgres {} && chmod 711 {}", folder_.path().string(), folder_.path().string())))
            throw std::runtime_error("cannot give the folder to postgres");
    }
    if (!run(fmt::format("cd / && {}{}/initdb -D {}/data -U muster -A trust --no-sync -E UTF8 --locale=C", as_owner_,
                         programs_, folder_.path().string())))
        throw std::runtime_error("cannot make a database for the test");
    // The watcher hears the end of this pipe. It is nobody's child and in no group, so that it is not ended with us.
    // The engine may still be starting then.
    const std::string watch = fmt::format(
        "exec 3<&0; setsid sh -c 'cat <&3; for i in $(seq 30); do [ -d {0} ] && ! ({1}) && sleep 1 || break; done; "
        "rm -rf {0}' >/dev/null 2>&1 &",
        folder_.path().string(), stop_command());
    watcher_ = popen(watch.c_str(), "we");
    if (watcher_ == nullptr) throw std::runtime_error("cannot watch over the database for the test");
    start();
}

TestEngine::~TestEngine() {
    crash();
    pclose(watcher_);
}

void TestEngine::start(const std::string& settings) {
    const std::string folder = folder_.path().string();
    if (!run(fmt::format("cd / && {}{}/pg_ctl -D {}/data -l {}/log -w -t 60 start -o \"-c listen_addresses= "
                         "-c unix_socket_directories={} -c shared_buffers=16MB -c max_connections=20 {}\"",
                         as_owner_, programs_, folder, folder, folder, settings)))
        throw std::runtime_error("cannot start the database for the test");
}

void TestEngine::crash() {
    static_cast<void>(run(stop_command()));
}

std::string TestEngine::url(const std::string& database) {
    if (database != "postgres")
        static_cast<void>(
            run(fmt::format("psql -h {} -U muster -d postgres -c 'CREATE DATABASE {}'", socket_folder(), database)));
    return url_at(socket_folder(), database);
}

std::string TestEngine::url_at(const std::string& folder, const std::string& database) const {
    return fmt::format("postgresql:///{}?host={}&user=muster", database, folder);
}

std::string TestEngine::stop_command() const {
    return fmt::format("cd / && {}{}/pg_ctl -D {}/data -m immediate stop", as_owner_, programs_,
                       folder_.path().string());
}

bool TestEngine::run(const std::string& command) const {
    return std::system((command + " >/dev/null 2>&1 </dev/null").c_str()) == 0;
}

}  // namespace muster
