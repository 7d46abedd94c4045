// For tests: stands between a client and the engine, and cuts a connection after so many bytes of one direction.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace muster {

class CutProxy {
public:
    enum class Way { to_engine, to_client };

    // Listens at `<folder>/.s.PGSQL.5432` for the engine at `engine_socket`.
    CutProxy(const std::string& folder, const std::string& engine_socket);
    ~CutProxy();
    CutProxy(const CutProxy&) = delete;
    CutProxy& operator=(const CutProxy&) = delete;

    // From now on `bytes` more pass this way; then the connection that carries them is cut, once.
    void cut_after(Way way, std::size_t bytes);
    // Whether that has happened.
    bool has_cut() const { return has_cut_; }
    std::size_t passed(Way way) const { return way == Way::to_engine ? to_engine_ : to_client_; }

private:
    void serve();
    void carry(int client);
    bool forward(int from, int to, Way way);

    const std::string engine_socket_;
    int listener_ = -1;
    std::atomic<bool> ending_{false};
    std::atomic<bool> armed_{false};
    std::atomic<bool> has_cut_{false};
    std::atomic<int> way_{0};
    std::atomic<std::size_t> left_{0};
    std::atomic<std::size_t> to_engine_{0};
    std::atomic<std::size_t> to_client_{0};
    std::vector<std::thread> carriers_;
    std::thread server_;
};

}  // namespace muster
