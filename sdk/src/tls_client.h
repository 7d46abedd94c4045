// The TLS of one connection, as the SDK needs it. Built without MUSTER_SDK_TLS, there is none to be had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "muster/outcome.h"
#include "muster/tls_credentials.h"

namespace muster::sdk {

// What the files of TlsOptions held. Any thread.
struct TlsSettings;
// Throws std::invalid_argument, which says what is wrong with which file.
std::shared_ptr<const TlsSettings> read_tls_settings(const TlsOptions& options);

// The settings of connections to come. Any thread.
class TlsSource {
public:
    // Throws as read_tls_settings() does.
    explicit TlsSource(TlsOptions options) : options_(std::move(options)), latest_(read_tls_settings(options_)) {}

    std::shared_ptr<const TlsSettings> latest() const {
        const std::lock_guard lock(mutex_);
        return latest_;
    }
    // Throws as read_tls_settings() does; the latest stay what they were.
    void reload() {
        auto read = read_tls_settings(options_);
        const std::lock_guard lock(mutex_);
        latest_.swap(read);
    }

private:
    const TlsOptions options_;
    mutable std::mutex mutex_;
    std::shared_ptr<const TlsSettings> latest_;  // guarded by mutex_
};

// Bytes of Muster go in, plain bytes and bytes for Muster come out. One thread. Calls that take `out` append to it.
class TlsClient {
public:
    enum class State : std::uint8_t { handshaking, open, ended, failed };

    // Must be followed by begin(). The peer's certificate must name `host`. `before`, which may be null, is the last
    // one to the same host: its session may shorten the handshake.
    TlsClient(const std::shared_ptr<const TlsSettings>& settings, const std::string& host, const TlsClient* before);
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;
    ~TlsClient();

    State state() const;
    void begin(std::vector<std::byte>& out);
    // The plain bytes, valid until the next call.
    std::span<const std::byte> receive(std::span<const std::byte> sealed, std::vector<std::byte>& out);
    // False when it fails by it.
    bool send(std::span<const std::byte> plain, std::vector<std::byte>& out);
    void close(std::vector<std::byte>& out);

    // Once failed: what the user of the SDK is told.
    Outcome failure() const;

private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace muster::sdk
