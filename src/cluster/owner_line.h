// Asks the owners of cells by way of the relay, for whoever serves HTTP.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "cluster/relayed_request.h"
#include "http/http_message.h"
#include "relay/cell_routes.h"
#include "relay/relay_thread.h"

namespace muster {

// Any thread. Feeds that are open hold it, too.
class OwnerLine {
public:
    using OnAnswer = std::function<void(std::optional<HttpResponse>)>;

    // Null: there is no way to an owner. The relay outlives its time here.
    void set_relay(RelayThread* relay) {
        const std::lock_guard lock(mutex_);
        relay_ = relay;
    }

    // `on_answer` gets nothing when there is no owner, or it was lost.
    void ask(const HttpRequest& request, OnAnswer on_answer, CellNumber cell = 0) {
        const std::lock_guard lock(mutex_);
        if (!relay_) return on_answer(std::nullopt);
        relay_->ask(
            packed_request(request),
            [on_answer = std::move(on_answer)](const std::optional<std::string>& answer) {
                on_answer(answer ? unpacked_response(*answer) : std::nullopt);
            },
            cell);
    }

private:
    std::mutex mutex_;
    RelayThread* relay_ = nullptr;  // guarded by mutex_
};

}  // namespace muster
