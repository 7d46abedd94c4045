// An operator as there should be one: asks for health all the time, looks at lists and figures, acts with its token,
// and listens to the live events. On a thread of its own, with plain blocking sockets; what it saw is fetched by the
// judge's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "moment.h"

namespace muster::storm {

// One request, or the end of the live events.
struct OperatorSaw {
    std::string what;  // the path
    Moment asked;
    Moment at;
    int status = 0;  // 0: no answer, or a broken one
    int expected = 200;
};

class HonestOperator {
public:
    // What it saw when its live events, which had begun, came to an end.
    static constexpr const char* stream_lost = "more live events";

    HonestOperator();
    ~HonestOperator();
    HonestOperator(const HonestOperator&) = delete;
    HonestOperator& operator=(const HonestOperator&) = delete;

    // Where HTTP is; 0 while the daemon is away.
    void aim(std::uint16_t port) { port_ = port; }
    // Since the last call.
    std::vector<OperatorSaw> fetch();

private:
    void run();
    void ask(std::uint16_t port, const std::string& path);
    void act(std::uint16_t port);
    void send(std::uint16_t port, OperatorSaw one, const std::string& request);
    void listen(std::uint16_t port);
    void saw(OperatorSaw one);

    std::atomic<std::uint16_t> port_ = 0;
    std::atomic<bool> ends_ = false;
    std::mutex mutex_;
    std::vector<OperatorSaw> saw_;  // guarded by mutex_

    // The thread's own.
    int stream_ = -1;
    std::uint16_t stream_port_ = 0;
    Moment stream_began_;
    int stream_status_ = 0;  // 0 before the answer has begun

    std::thread thread_;
};

}  // namespace muster::storm
