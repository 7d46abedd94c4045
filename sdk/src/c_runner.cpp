#include <chrono>
#include <memory>
#include <stdexcept>

#include "muster/tcp_runner.h"
#include "sdk/src/c_client.h"

using namespace muster::sdk;

struct muster_runner {  // NOLINT(readability-identifier-naming): the C interface's name
    explicit muster_runner(std::function<void(const Outcome&)> on_error) : runner(std::move(on_error)) {}

    TcpRunner runner;
};

muster_runner* muster_runner_new(muster_on_error on_error, void* user) {
    const auto make = [&] { return std::make_unique<muster_runner>(c_on_error(on_error, user)).release(); };
    return made_or_null(make, nullptr, 0);
}

void muster_runner_free(muster_runner* runner) {
    delete runner;
}

int muster_runner_add(muster_runner* runner, muster_client* client, const char* address) {
    const bool added = attempt([&] { runner->runner.add(client->client(), c_string(address)); });
    return added ? MUSTER_OK : MUSTER_INVALID_ARGUMENT;
}

void muster_runner_remove(muster_runner* runner, muster_client* client) {
    attempt([&] { runner->runner.remove(client->client()); });
}

void muster_runner_run(muster_runner* runner) {
    attempt([&] { runner->runner.run(); });
}

bool muster_runner_start(muster_runner* runner) {
    return attempt([&] { runner->runner.start(); });
}

void muster_runner_wait(muster_runner* runner) {
    attempt([&] { runner->runner.wait(); });
}

void muster_runner_stop(muster_runner* runner) {
    runner->runner.stop();
}

bool muster_runner_post(muster_runner* runner, void (*function)(void* user), void* user) {
    return attempt([&] { runner->runner.post([function, user] { function(user); }); });
}

bool muster_runner_post_after(muster_runner* runner, int64_t delay_us, void (*function)(void* user), void* user) {
    const std::chrono::microseconds delay(delay_us);
    return attempt([&] { runner->runner.post_after(delay, [function, user] { function(user); }); });
}
