#include "runtime/mailbox.h"

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"

using namespace muster;

namespace {

struct Chat {
    static constexpr std::string_view name = "chat";
    std::string text;
};

struct MailboxFixture {
    VirtualClock clock;
    Wakeup wakeup{clock};
    std::vector<std::string> heard;
    Mailbox<Chat> mailbox{"players", 3, wakeup, [this](const Pass&, Chat& chat) {
                              if (chat.text == "bad") throw std::runtime_error(chat.text);
                              heard.push_back(std::move(chat.text));
                          }};
};

}  // namespace

TEST_CASE_FIXTURE(MailboxFixture, "B-1: what is posted is handled in order, once, after the next refill") {
    CHECK_FALSE(mailbox.refill());
    CHECK(mailbox.post({"1"}));
    CHECK(mailbox.post({"2"}));
    CHECK(mailbox.depth() == 2);
    CHECK_FALSE(mailbox.handle_next({}));  // not brought in yet
    CHECK(mailbox.refill());
    CHECK(mailbox.depth() == 2);
    CHECK(mailbox.handle_next({}));
    CHECK(mailbox.depth() == 1);
    CHECK(mailbox.post({"3"}));
    CHECK(mailbox.refill());  // the rest of the first batch comes first
    CHECK(mailbox.handle_next({}));
    CHECK_FALSE(mailbox.handle_next({}));
    CHECK(mailbox.refill());
    CHECK(mailbox.handle_next({}));
    CHECK_FALSE(mailbox.refill());
    CHECK(heard == std::vector<std::string>{"1", "2", "3"});
    CHECK(mailbox.depth() == 0);
}

TEST_CASE_FIXTURE(MailboxFixture, "B-1: a full mailbox refuses and leaves the message with its sender") {
    for (const char* text : {"1", "2", "3"}) CHECK(mailbox.post({text}));
    Chat fourth{"4"};
    CHECK_FALSE(mailbox.post(std::move(fourth)));
    CHECK(fourth.text == "4");  // NOLINT(bugprone-use-after-move): a refused message stays with its producer
}

TEST_CASE_FIXTURE(MailboxFixture, "B-1: a batch goes in as far as it fits, in order") {
    std::vector<Chat> batch{{"1"}, {"2"}, {"3"}, {"4"}};
    CHECK(mailbox.post(std::span(batch)) == 3);
    CHECK(mailbox.post(std::span(batch).subspan(3)) == 0);
    CHECK(mailbox.refill());
    while (mailbox.handle_next({})) continue;
    CHECK(heard == std::vector<std::string>{"1", "2", "3"});
    CHECK(batch[3].text == "4");
}

TEST_CASE_FIXTURE(MailboxFixture, "L-5: a message whose handler throws counts as handled") {
    CHECK(mailbox.post({"bad"}));
    CHECK(mailbox.post({"good"}));
    CHECK(mailbox.refill());
    CHECK_THROWS(mailbox.handle_next({}));
    CHECK(mailbox.handle_next({}));
    CHECK(heard == std::vector<std::string>{"good"});
}

TEST_CASE_FIXTURE(MailboxFixture, "L-4: a message type with a name is known by it, others by their mailbox") {
    CHECK(mailbox.name() == "players");
    CHECK(mailbox.last_handled() == "chat");
    const Mailbox<std::unique_ptr<int>> plain("numbers", 1, wakeup, [](const Pass&, std::unique_ptr<int>&) {});
    CHECK(plain.last_handled() == "numbers");
}
