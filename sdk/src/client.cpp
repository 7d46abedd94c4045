#include "muster/client.h"

#include "sdk/src/runner_loop.h"

namespace muster::sdk {

Client::Client() : alive_(std::make_shared<const char>('\0')) {}

Client::~Client() {
    leave_runner();
}

void Client::failed(std::string_view, const Outcome&) {}

void Client::leave_runner() noexcept {
    if (const auto runner = runner_.lock()) runner->let_go(*this);
    alive_.reset();
}

}  // namespace muster::sdk
