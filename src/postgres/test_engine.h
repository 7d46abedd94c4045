// For tests: a PostgreSQL of one's own in a scratch folder, reached over a Unix socket; gone at the end.
#pragma once

#include <cstdio>
#include <string>

#include "store/scratch_directory.h"

namespace muster {

class TestEngine {
public:
    // False when Debian's package is not there; tests that need it say so and pass.
    static bool is_installed();

    // Makes and starts it.
    TestEngine();
    ~TestEngine();
    TestEngine(const TestEngine&) = delete;
    TestEngine& operator=(const TestEngine&) = delete;

    void start(const std::string& settings = "");
    // As by kill -9 of the engine.
    void crash();

    // A database of that name, made when it is missing.
    std::string url(const std::string& database = "postgres");
    // The same through another socket folder, such as a proxy's.
    std::string url_at(const std::string& folder, const std::string& database) const;
    std::string socket_folder() const { return folder_.path().string(); }
    std::string socket_path() const { return socket_folder() + "/.s.PGSQL.5432"; }

private:
    std::string stop_command() const;
    bool run(const std::string& command) const;

    ScratchDirectory folder_;
    std::string programs_;
    std::string as_owner_;
    // Stops the engine when this process ends, however it ends.
    std::FILE* watcher_;
};

}  // namespace muster
