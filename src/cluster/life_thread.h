// The HTTP thread for those that do not live as long as it: their work is dropped once they are gone.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/time.h"
#include "http/http_server.h"

namespace muster {

// As HttpThread. end() is for the HTTP thread.
class LifeThread final : public HttpThread {
public:
    explicit LifeThread(std::shared_ptr<HttpThread> thread) : thread_(std::move(thread)) {}

    void post(std::function<void()> work) override { thread_->post(while_alive(std::move(work))); }
    void after(Duration delay, std::function<void()> work) override {
        thread_->after(delay, while_alive(std::move(work)));
    }
    void in_turn(std::function<void()> work) override { thread_->in_turn(while_alive(std::move(work))); }

    // Nothing that was given here runs any more.
    void end() { *is_alive_ = false; }

private:
    std::function<void()> while_alive(std::function<void()> work) const {
        return [is_alive = is_alive_, work = std::move(work)] {
            if (*is_alive) work();
        };
    }

    const std::shared_ptr<HttpThread> thread_;
    const std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace muster
