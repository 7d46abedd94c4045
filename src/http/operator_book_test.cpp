#include "http/operator_book.h"

#include <doctest/doctest.h>

#include "base/entropy.h"
#include "http/operator_token.h"

using namespace muster;

namespace {

OperatorRecord record_of(std::string name, Role role, std::string_view token) {
    return {std::move(name), role, hash_of_token(token), "admin (127.0.0.1)", UnixMs{1}};
}

}  // namespace

TEST_CASE("S-5: a token is random and long, and its hash is SHA-256") {
    SystemEntropy entropy;
    const std::string token = make_operator_token(entropy);
    CHECK(token.starts_with("muster_"));
    CHECK(token.size() == 7 + 64);
    CHECK(token != make_operator_token(entropy));
    CHECK(hash_of_token("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("S-5: the book knows who holds a token from the moment it is durable, until the operator is removed") {
    OperatorBook book;
    book.begin_with({record_of("alice", Role::operate, "a")});
    CHECK(book.holder_of("a").value().name == "alice");
    CHECK(book.holder_of("a").value().role == Role::operate);
    CHECK_FALSE(book.holder_of("b").has_value());
    CHECK_FALSE(book.holder_of("").has_value());
    CHECK_FALSE(book.holder_of(hash_of_token("a")).has_value());  // the hash opens nothing

    book.note(record_of("bob", Role::viewer, "b"));
    CHECK(book.holder_of("b").value().name == "bob");
    CHECK(book.all().size() == 2);
    book.note(OperatorRemoved{"alice"});
    CHECK_FALSE(book.holder_of("a").has_value());
    CHECK(book.all().size() == 1);
}
