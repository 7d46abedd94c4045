#include "protocol/reference.h"

#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "protocol/error_texts.h"
#include "protocol/frame_example.h"
#include "protocol/messages.h"
#include "protocol/payload_text.h"
#include "protocol/refusal_answer.h"
#include "protocol/wire_error.h"

namespace muster {

namespace {

constexpr std::string_view opening = R"(# The wire protocol

This page is made from the declarations in `src/protocol` by `muster protocol > docs/PROTOCOL.md`. Do not edit it.

## Frames

Three TCP ports carry frames:

| bytes | what |
| --- | --- |
| 2 | `length`, u16: counts everything after itself, so 2 is the least |
| 2 | `code`, u16: which message this is |
| length − 2 | the payload: the message's fields one after the other, without gaps |

A frame may arrive in pieces, and many may arrive at once. A payload must be used up exactly by its fields.
An answer leaves as soon as it is known and names what it answers. On one link, answers that name the same lobby leave
in the order asked, and a lobby's events never leave before its 0x2003.
)";

constexpr std::string_view types = R"(
## Types

| type | what |
| --- | --- |
| i8 i16 i32 i64 | signed numbers in two's complement, of 1, 2, 4 and 8 bytes |
| u8 u16 u32 | unsigned numbers of 1, 2 and 4 bytes |
| f32 | an IEEE 754 number of 4 bytes |
| string(N) | u16 count of bytes, at most N, then that much UTF-8 without a terminator |
| i8 n, name: n × T | a list: the count, then that many T; a negative count is a fault |
| (1 or 0) | a flag; any other value is a fault |
| (1 a, 2 b) | one of the values named; any other is a fault |
| i8 1, … · or · i8 0, … | an answer in its good form, or in its failure form |

Times that end in `_ms` are milliseconds since 1970 UTC; those in `_us` are microseconds of the sender's own clock.
)";

struct Fault {
    WireError kind;
    std::string_view about;
};
constexpr std::array faults{
    Fault{WireError::bad_length, "a length under 2"},
    Fault{WireError::too_large, "a length over the port's limit; found before anything is buffered"},
    Fault{WireError::truncated, "the payload ends inside a field"},
    Fault{WireError::trailing_bytes, "the payload goes on after its last field"},
    Fault{WireError::string_too_long, "a string over its limit"},
    Fault{WireError::invalid_utf8, "a string that is not UTF-8"},
    Fault{WireError::bad_value, "a flag other than 0 or 1, a negative count, a value that is not named"},
    Fault{WireError::unknown_code, "no message of this port"},
    Fault{WireError::wrong_direction, "a message of this port that only the other side sends"},
    Fault{WireError::before_handshake, "anything before the handshake or login"},
    Fault{WireError::second_handshake, "a handshake or login after one succeeded"},
};
static_assert(faults.size() == wire_errors.size());

constexpr std::string_view fault_answers = R"(
A faulty frame changes nothing, is answered once, is counted in `muster_protocol_errors_total{port,kind}`, and its link
is closed; other links are not disturbed. The answer is the failure form of the message's own answer where it has one
and its ids could be read. Else it is the port's own: NET_CHAT_SV_ERROR, NET_CHAT_MGR_ERROR, MSG_SERVER_CLOSE, and
before a login the failed MSG_LOGIN. Its text is `Malformed message: <kind>`; for the last two kinds it is
)";

constexpr std::string_view limits = R"(
## Limits

Each is a key of the config, section `limits`: the largest `length`, the deadline of a handshake, the deadline of a
frame (from its first byte), connections per address and per port, messages per second per connection and port, and
unsent bytes per connection. A reader that falls behind is dropped, never buffered without bound.
)";

class Page {
public:
    void add(std::string_view text) { out_ += text; }
    template <class... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    }
    std::string finish() { return std::move(out_); }

private:
    std::string out_;
};

// Server and matchmaker codes are known by their hexadecimal form, player codes by their decimal one.
std::string code_text(Port port, Code code) {
    return port == Port::players ? fmt::format("{}", code) : fmt::format("0x{:04X}", code);
}

std::string size_text(Extent size) {
    if (size.least == size.most) return fmt::format("{}", size.least);
    return fmt::format("{}–{}", size.least, size.most);
}

template <class... Request>
std::string answers_text(Port port, MessageList<Request...>) {
    std::string codes;
    ((codes += (codes.empty() ? "" : ", ") + code_text(port, Request::code)), ...);
    return fmt::format(" (Answers {}.)", codes);
}

void add_ports(Page& page) {
    page.add("\n## Ports and byte order\n\n");
    page.add("The byte order holds for lengths, codes and all fields.\n\n");
    page.add(
        "| port | peers | default address | byte order | largest length taken |\n| --- | --- | --- | --- | --- |\n");
    struct Row {
        Port port;
        std::string_view peers, address, note;
    };
    for (const Row& row : {Row{Port::servers, "game servers", "127.0.0.1:11032", ""},
                           Row{Port::matchmakers, "matchmakers", "127.0.0.1:11033", ""},
                           Row{Port::players, "players", "127.0.0.1:11031", ", or as `players.byte_order` says"}}) {
        page.add("| {} | {} | {} | {}-endian{} | {} |\n", to_string(row.port), row.peers, row.address,
                 to_string(default_byte_order(row.port)), row.note, default_length_max(row.port));
    }
}

void add_faults(Page& page) {
    page.add("\n## Faults\n\n| kind | what |\n| --- | --- |\n");
    for (const Fault& fault : faults) page.add("| {} | {} |\n", to_string(fault.kind), fault.about);
    page.add(fault_answers);
    page.add("\n| port | before_handshake | second_handshake |\n| --- | --- | --- |\n");
    for (const Port port : ports) {
        page.add("| {} | {} | {} |\n", to_string(port), text(before_handshake_refusal(port)),
                 text(second_handshake_refusal(port)));
    }
}

template <Port At>
void add_messages(Page& page, std::string_view title) {
    page.add("\n## {}\n\n", title);
    page.add("In is from the peer to Muster. Bytes are those of the payload.\n\n");
    page.add("| code | name | direction | payload | bytes | about |\n| --- | --- | --- | --- | --- | --- |\n");
    MessagesOf<At>::for_each([&]<class M>() {
        std::string about(M::about);
        if constexpr (Answer<M>) about += answers_text(At, typename M::Answers{});
        page.add("| {} | {} | {} | {} | {} | {} |\n", code_text(At, M::code), M::name, to_string(M::direction),
                 payload_text<M>(), size_text(extent<M>()), about);
    });
}

template <Message M>
void add_example(Page& page, std::string_view title, const M& message) {
    page.add("\n{}\n\n```\n{}```\n", title, frame_example(message, default_byte_order(M::port)));
}

void add_server_examples(Page& page) {
    page.add("\n### Examples\n");
    add_example(page, "Server 42 has 3 matches, 45.2 % CPU and 62.8 % memory in use:",
                ServerHeartbeat{ServerId{42}, 3, 45.2F, 62.8F});
    add_example(page, "The answer, good:", ServerHeartbeatAck{ServerHeartbeatAck::Accepted{UnixMs{1'705'123'456'789}}});
    add_example(page, "and refused:", ServerHeartbeatAck{Refused{text(Refusal::server_not_registered)}});
}

void add_matchmaker_examples(Page& page) {
    page.add("\n### Examples\n");
    add_example(page, "A match for lobby 12345: Campaign Normal, All Pick, USE, ten players rated 1650:",
                AllocationRequest{LobbyId{12345}, 6, 0, RegionId{0}, 10, 1650});
    add_example(page,
                "Refused:", AllocationResponse{LobbyRefused{LobbyId{12345}, text(Refusal::no_servers_available)}});
    add_example(page, "The players of that lobby:", MatchPlayers{LobbyId{12345}, {{AccountId{7}, AccountId{8}}}});
}

void add_player_examples(Page& page) {
    page.add("\nCodes {}–{} from a player are the game's own, with any payload: they count as activity.\n",
             game_code_first, game_code_last);
    page.add("\n### Examples\n");
    add_example(page, "It is half past:", TimeChange{TimeUnit::minute, 30});
    add_example(page, "It is Tuesday, 14:30:", TimeUpdate{3, 14, 30});
    add_example(page, "A login:", PlayerLogin{"Zoë", "v1.Wm_Dqw.7.1705123456.c2lnbmF0dXJl", ""});
}

template <class Which>
void add_texts(Page& page, std::string_view title, Which last) {
    page.add("\n## {}\n\n| text | metric label |\n| --- | --- |\n", title);
    for (int i = 0; i <= static_cast<int>(last); ++i)
        page.add("| {} | {} |\n", text(static_cast<Which>(i)), label(static_cast<Which>(i)));
}

void add_texts(Page& page) {
    add_texts(page, "Error texts", last_refusal);
    add_texts(page, "Error texts of hosts", last_host_refusal);
    add_texts(page, "Reasons of closes and lost matches", last_reason);
}

template <class... Request>
void describe_answers(JsonFields& out, MessageList<Request...>) {
    out.begin_list("answers");
    (out.integer({}, Request::code), ...);
    out.end_list();
}

template <class Which>
void describe_texts(JsonFields& out, std::string_view name, Which last) {
    out.begin_list(name);
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        out.begin_object({});
        out.text("text", text(static_cast<Which>(i)));
        out.text("label", label(static_cast<Which>(i)));
        out.end_object();
    }
    out.end_list();
}

template <Port At>
void describe_port(JsonFields& out) {
    out.begin_object(to_string(At));
    out.text("byte_order", to_string(default_byte_order(At)));
    out.integer("length_max", default_length_max(At));
    out.begin_list("messages");
    MessagesOf<At>::for_each([&]<class M>() {
        out.begin_object({});
        out.integer("code", M::code);
        out.text("name", M::name);
        out.text("direction", to_string(M::direction));
        out.text("payload", payload_text<M>());
        out.integer("bytes_min", static_cast<std::int64_t>(extent<M>().least));
        out.integer("bytes_max", static_cast<std::int64_t>(extent<M>().most));
        out.text("about", M::about);
        if constexpr (Answer<M>) describe_answers(out, typename M::Answers{});
        out.end_object();
    });
    out.end_list();
    out.end_object();
}

}  // namespace

std::string protocol_json() {
    JsonFields out;
    out.begin_object("ports");
    describe_port<Port::servers>(out);
    describe_port<Port::matchmakers>(out);
    describe_port<Port::players>(out);
    out.end_object();
    describe_texts(out, "refusals", last_refusal);
    describe_texts(out, "host_refusals", last_host_refusal);
    describe_texts(out, "reasons", last_reason);
    return out.finish();
}

std::string protocol_reference() {
    Page page;
    page.add(opening);
    add_ports(page);
    page.add(types);
    add_faults(page);
    page.add(limits);
    add_messages<Port::servers>(page, "Server port: game server and Muster");
    add_server_examples(page);
    add_messages<Port::matchmakers>(page, "Matchmaker port: matchmaker and Muster");
    add_matchmaker_examples(page);
    add_messages<Port::players>(page, "Player port: player and Muster");
    add_player_examples(page);
    add_texts(page);
    return page.finish();
}

}  // namespace muster
