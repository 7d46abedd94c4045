// The module that the agent loads: a gRPC server for each process, all on gRPC's own few threads.
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include "agones/grpc/grpc_messages.h"
#include "agones/grpc_door.h"
#include "base/system_clock.h"
#include "loopback/pace.h"

namespace muster::agones {
namespace {

constexpr int message_bytes_max = 64 * 1024;
constexpr int streams_max = 64;  // of one connection
// What the connections of one process may hold in buffers.
constexpr std::size_t buffers_bytes_max = 8 * 1024 * 1024;

grpc::Status to_status(const Refused& refused) {
    return {static_cast<grpc::StatusCode>(refused.code), refused.message};
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
    std::vector<grpc::Slice> slices;
    std::string bytes;
    if (!buffer.Dump(&slices).ok()) return bytes;
    for (const auto& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return bytes;
}

grpc::ByteBuffer to_buffer(const Answer& answer) {
    const grpc::Slice slice(grpc_bytes(answer));
    return {&slice, 1};
}

// What the calls of one process share. Any thread.
struct Shared {
    std::shared_ptr<SdkCalls> calls;
    SystemClock clock;
    std::mutex mutex;
    Pace pace{Pace::Limits{}};

    Duration turn() {
        const std::scoped_lock lock(mutex);
        return pace.take(clock.now());
    }
};

// A call with one answer, or the stream of pings: every message of the peer waits for its turn, is handled, and only
// then the next is read.
class Calling final : public grpc::ServerGenericBidiReactor {
public:
    Calling(std::shared_ptr<Shared> shared, const GrpcMethod& method) : shared_(std::move(shared)), method_(method) {
        StartRead(&read_);
    }

    void OnReadDone(bool ok) override {
        if (!ok) {
            // The peer has said all: right for pings, too early for anything else.
            if (method_.kind == GrpcMethod::Kind::health) return finish_with(Empty{});
            return Finish({grpc::StatusCode::INVALID_ARGUMENT, "no request"});
        }
        const Duration delay = shared_->turn();
        if (delay <= Duration{0}) return handle();
        alarm_.Set(
            std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(delay),
            [this](bool) { handle(); });
    }

    void OnDone() override { delete this; }

private:
    void handle() {
        const auto call = method_.decode(bytes_of(read_));
        if (!call) return Finish({grpc::StatusCode::INVALID_ARGUMENT, "the message is not what the method takes"});
        const Reply reply = shared_->calls->call(*call);
        if (!reply) return Finish(to_status(reply.error()));
        if (method_.kind == GrpcMethod::Kind::health) return StartRead(&read_);
        finish_with(*reply);
    }

    void finish_with(const Answer& answer) {
        write_ = to_buffer(answer);
        StartWriteAndFinish(&write_, {}, grpc::Status::OK);
    }

    const std::shared_ptr<Shared> shared_;
    const GrpcMethod& method_;
    grpc::ByteBuffer read_;
    grpc::ByteBuffer write_;
    grpc::Alarm alarm_;
};

// The stream of a watcher: one object at a time, as the peer reads them.
class Watching final : public grpc::ServerGenericBidiReactor {
public:
    explicit Watching(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
        handle_->reactor = this;
        StartRead(&read_);
    }

    void OnReadDone(bool ok) override {
        auto watch = shared_->calls->watch();
        const std::scoped_lock lock(handle_->mutex);
        if (finished_) return;
        if (cancelled_ || !ok || !watch) {
            finished_ = true;
            return Finish(watch ? grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no request")
                                : to_status(watch.error()));
        }
        watch_ = std::move(*watch);
        // The watch may outlive this call.
        watch_->on_news([handle = handle_] {
            const std::scoped_lock news_lock(handle->mutex);
            if (handle->reactor) handle->reactor->pump();
        });
        pump();
    }

    void OnWriteDone(bool ok) override {
        const std::scoped_lock lock(handle_->mutex);
        writing_ = false;
        if (!ok || cancelled_) return finish();
        pump();
    }

    void OnCancel() override {
        const std::scoped_lock lock(handle_->mutex);
        cancelled_ = true;
        if (!writing_) finish();  // else once the write has come back
    }

    void OnDone() override {
        {
            const std::scoped_lock lock(handle_->mutex);
            handle_->reactor = nullptr;
        }
        if (watch_) watch_->on_news(nullptr);
        delete this;
    }

private:
    struct Handle {
        std::mutex mutex;
        Watching* reactor = nullptr;  // none once the call is over
    };

    // Under the lock, as finish().
    void pump() {
        if (writing_ || finished_ || !watch_) return;
        const auto server = watch_->next();
        if (!server) return;
        writing_ = true;
        write_ = to_buffer(*server);
        StartWrite(&write_);
    }

    void finish() {
        if (!std::exchange(finished_, true)) Finish(grpc::Status::CANCELLED);
    }

    const std::shared_ptr<Shared> shared_;
    const std::shared_ptr<Handle> handle_ = std::make_shared<Handle>();
    std::shared_ptr<Watch> watch_;
    grpc::ByteBuffer read_;
    grpc::ByteBuffer write_;
    bool writing_ = false;
    bool cancelled_ = false;
    bool finished_ = false;
};

class Refusing final : public grpc::ServerGenericBidiReactor {
public:
    explicit Refusing(const std::string& method) {
        Finish({grpc::StatusCode::UNIMPLEMENTED, "no such method: " + method});
    }
    void OnDone() override { delete this; }
};

class Port final : public GrpcPort, private grpc::CallbackGenericService {
public:
    explicit Port(std::shared_ptr<SdkCalls> calls) : shared_(std::make_shared<Shared>()) {
        shared_->calls = std::move(calls);
        grpc::ResourceQuota quota("muster-agones");
        quota.Resize(buffers_bytes_max);
        grpc::ServerBuilder builder;
        builder.RegisterCallbackGenericService(this);
        builder.SetResourceQuota(quota);
        builder.SetMaxReceiveMessageSize(message_bytes_max);
        builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, streams_max);
        builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 * 1024);
        // Clients keep idle connections alive with pings of their own.
        builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
        builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
        server_ = builder.BuildAndStart();
    }

    ~Port() override { server_->Shutdown(std::chrono::system_clock::now()); }

    void take(int fd) override { grpc::AddInsecureChannelFromFd(server_.get(), fd); }

private:
    grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
        const GrpcMethod* method = grpc_method(context->method());
        if (!method) return new Refusing(context->method());
        if (method->kind == GrpcMethod::Kind::watch) return new Watching(shared_);
        return new Calling(shared_, *method);
    }

    const std::shared_ptr<Shared> shared_;
    std::unique_ptr<grpc::Server> server_;
};

class Door final : public GrpcDoor {
public:
    Door() {
        // A process that sends garbage must not fill the agent's log.
        gpr_set_log_function([](gpr_log_func_args*) {});
        google::protobuf::SetLogHandler(nullptr);
    }
    std::unique_ptr<GrpcPort> open(std::shared_ptr<SdkCalls> calls) override {
        return std::make_unique<Port>(std::move(calls));
    }
};

}  // namespace
}  // namespace muster::agones

extern "C" muster::agones::GrpcDoor* muster_agones_grpc_door() {
    static muster::agones::Door door;
    return &door;
}
