#include "protocol/refusal_answer.h"

#include <concepts>

#include "protocol/codec.h"
#include "protocol/messages.h"
#include "protocol/wire_reader.h"

namespace muster {

namespace {

// Reads a broken request field by field, as far as it goes, and keeps the one scalar that is asked for.
template <ByteOrder Order, ScalarField Wanted>
class FieldFinder {
public:
    FieldFinder(std::span<const std::byte> payload, std::string_view name) : reader_(payload), name_(name) {}

    template <class T>
    void operator()(std::string_view name, T& field) {
        reader_(name, field);
        if constexpr (std::same_as<T, Wanted>) {
            if (name == name_ && !reader_.fault()) found_ = field;
        }
    }

    const std::optional<Wanted>& found() const { return found_; }

private:
    wire::Reader<Order> reader_;
    std::string_view name_;
    std::optional<Wanted> found_;
};

template <class Request, ScalarField Wanted>
std::optional<Wanted> find_field(const RefusedFrame& frame, std::string_view name) {
    const auto find = [&](auto finder) {
        Request request;
        Request::layout(request, finder);
        return finder.found();
    };
    return frame.order == ByteOrder::little ? find(FieldFinder<ByteOrder::little, Wanted>(frame.payload, name))
                                            : find(FieldFinder<ByteOrder::big, Wanted>(frame.payload, name));
}

// Told the layout of a failure form, fills it: the error with our text, each id from the request's field of that name.
template <class Request>
class FailureForm {
public:
    FailureForm(const RefusedFrame& frame, std::string_view text) : frame_(frame), text_(text) {}

    void operator()(std::string_view, ErrorText& error) { error = text_; }
    template <ScalarField T>
    void operator()(std::string_view name, T& id) {
        const auto found = find_field<Request, T>(frame_, name);
        if (found) {
            id = *found;
        } else {
            complete_ = false;
        }
    }

    bool complete() const { return complete_; }

private:
    const RefusedFrame& frame_;
    std::string_view text_;
    bool complete_ = true;
};

// Appends `Reply` in its failure form if it answers the frame's message and that message's ids could be read.
template <class Reply, class... Request>
bool refused_by(MessageList<Request...>, const RefusedFrame& frame, std::string_view text,
                std::vector<std::byte>& out) {
    const auto try_request = [&]<class Asked>() {
        if (frame.code != Asked::code) return false;
        typename Reply::Refused refused;
        FailureForm<Asked> form(frame, text);
        Reply::Refused::layout(refused, form);
        if (form.complete()) encode(Reply{refused}, frame.order, out);
        return form.complete();
    };
    return (try_request.template operator()<Request>() || ...);
}

template <class... M>
bool refused_by_own_answer(MessageList<M...>, const RefusedFrame& frame, std::string_view text,
                           std::vector<std::byte>& out) {
    const auto try_answer = [&]<class Reply>() {
        if constexpr (RefusableAnswer<Reply>) return refused_by<Reply>(typename Reply::Answers{}, frame, text, out);
        return false;
    };
    return (try_answer.template operator()<M>() || ...);
}

}  // namespace

void refusal_answer(const RefusedFrame& frame, std::string_view text, std::vector<std::byte>& out) {
    switch (frame.port) {
        case Port::servers:
            if (refused_by_own_answer(ServerPortMessages{}, frame, text, out)) return;
            return encode(ServerError{.refused_code = frame.code, .error = text}, frame.order, out);
        case Port::matchmakers:
            if (refused_by_own_answer(MatchmakerPortMessages{}, frame, text, out)) return;
            return encode(MatchmakerError{.refused_code = frame.code, .error = text}, frame.order, out);
        case Port::players:
            if (refused_by_own_answer(PlayerPortMessages{}, frame, text, out)) return;
            if (frame.greeted) return encode(ServerClose{.reason = text}, frame.order, out);
            return encode(PlayerLoginResponse{Refused{text}}, frame.order, out);
    }
}

void malformed_answer(const RefusedFrame& frame, WireError kind, std::vector<std::byte>& out) {
    switch (kind) {
        case WireError::before_handshake:
            return refusal_answer(frame, text(before_handshake_refusal(frame.port)), out);
        case WireError::second_handshake:
            return refusal_answer(frame, text(second_handshake_refusal(frame.port)), out);
        default:
            return refusal_answer(frame, malformed_text(kind), out);
    }
}

Refusal before_handshake_refusal(Port port) {
    switch (port) {
        case Port::servers:
            return Refusal::server_not_registered;
        case Port::matchmakers:
            return Refusal::matchmaker_not_registered;
        case Port::players:
            break;
    }
    return Refusal::not_logged_in;
}

Refusal second_handshake_refusal(Port port) {
    switch (port) {
        case Port::servers:
            return Refusal::server_already_registered;
        case Port::matchmakers:
            return Refusal::matchmaker_already_registered;
        case Port::players:
            break;
    }
    return Refusal::already_logged_in;
}

}  // namespace muster
