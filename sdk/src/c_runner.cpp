#include <memory>

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
    if (!client) return MUSTER_INVALID_ARGUMENT;
    const auto add = [&](muster_runner& it) { it.runner.add(client->client(), c_string(address)); };
    return attempt_on(runner, add) ? MUSTER_OK : MUSTER_INVALID_ARGUMENT;
}

int muster_runner_add_tls(muster_runner* runner, muster_client* client, const char* address, const char* ca_file,
                          const char* certificate_file, const char* key_file) {
    if (!client) return MUSTER_INVALID_ARGUMENT;
    const auto add = [&](muster_runner& it) {
        const auto text = [](const char* given) { return std::string(given ? given : ""); };
        const TlsOptions tls{text(ca_file), text(certificate_file), text(key_file)};
        it.runner.add(client->client(), c_string(address), tls);
    };
    return attempt_on(runner, add) ? MUSTER_OK : MUSTER_INVALID_ARGUMENT;
}

int muster_runner_remove(muster_runner* runner, muster_client* client) {
    if (!client) return MUSTER_INVALID_ARGUMENT;
    const auto remove = [&](muster_runner& it) { it.runner.remove(client->client()); };
    return attempt_on(runner, remove) ? MUSTER_OK : MUSTER_INVALID_ARGUMENT;
}

int muster_runner_run(muster_runner* runner) {
    return runner ? static_cast<int>(runner->runner.run().code) : MUSTER_INVALID_ARGUMENT;
}

int muster_runner_start(muster_runner* runner) {
    return runner ? static_cast<int>(runner->runner.start().code) : MUSTER_INVALID_ARGUMENT;
}

int muster_runner_wait(muster_runner* runner) {
    return runner ? static_cast<int>(runner->runner.wait().code) : MUSTER_INVALID_ARGUMENT;
}

void muster_runner_stop(muster_runner* runner) {
    if (runner) runner->runner.stop();
}

bool muster_runner_post(muster_runner* runner, void (*function)(void* user), void* user) {
    return muster_runner_post_after(runner, 0, function, user);
}

bool muster_runner_post_after(muster_runner* runner, int64_t delay_us, void (*function)(void* user), void* user) {
    if (!function) return false;
    const auto posted = [function, user] { function(user); };
    return attempt_on(runner, [&](muster_runner& it) { it.runner.post_after(c_duration(delay_us), posted); });
}
