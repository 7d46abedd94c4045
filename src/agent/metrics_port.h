// Serves one text at /metrics, over plain HTTP, to whoever reaches the address.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "config/listen_address.h"
#include "net/file_descriptor.h"

namespace muster {

// One request a connection and one connection at a time, on a thread of its own: a peer that dawdles is cut off after
// two seconds, and harms nobody but other readers.
class MetricsPort {
public:
    // Fails with a sentence when the address cannot be opened.
    static Result<std::unique_ptr<MetricsPort>, std::string> open(const ListenAddress& address);
    ~MetricsPort();
    MetricsPort(const MetricsPort&) = delete;
    MetricsPort& operator=(const MetricsPort&) = delete;

    std::uint16_t port() const { return port_; }
    // What is served from now on. Any thread.
    void publish(std::string text);

private:
    MetricsPort(FileDescriptor listener, std::uint16_t port);
    void serve();
    void answer(int peer);

    const FileDescriptor listener_;
    const FileDescriptor stop_;
    const std::uint16_t port_;
    std::mutex mutex_;
    std::string text_;  // guarded by mutex_
    std::thread thread_;
};

}  // namespace muster
