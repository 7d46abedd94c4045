#include "cli/terminal.h"

#include <doctest/doctest.h>

#include "cli/text_table.h"

namespace muster {

TEST_CASE("fault 45: what others named cannot drive the terminal, and is otherwise as it was") {
    CHECK(safe_text("Ann-1 Änn 名前 🙂") == "Ann-1 Änn 名前 🙂");
    CHECK(safe_text("\x1b[2J") == "\\x1b[2J");
    CHECK(safe_text(std::string_view("a\0b\r\n\x7f", 6)) == "a\\x00b\\x0d\\x0a\\x7f");
    CHECK(safe_text("\xc2\x9b") == "\\x9b");                // the one-byte form of ESC [
    CHECK(safe_text("\xe2\x80\xae.exe") == "\\u202e.exe");  // turns what follows
    CHECK(safe_text("\xff\xc3") == "\\xff\\xc3");
}

TEST_CASE("columns are counted and cut by what is seen") {
    CHECK(shown_width("abc") == 3);
    CHECK(shown_width("Änn") == 3);
    CHECK(shown_width("名前") == 4);
    CHECK(cut_to("Änn", 2) == "Än");
    CHECK(cut_to("名前", 3) == "名");
    CHECK(cut_to("abc", 3) == "abc");
    CHECK(cut_marked("abc", 3) == "abc");
    CHECK(cut_marked("abcd", 3) == "ab…");
    CHECK(cut_marked("名前名", 4) == "名…");
    CHECK(cut_marked("abc", 0).empty());
    CHECK(cut_styled(styled(Style::red, "abcdef") + "gh", 8) == "\x1b[31mabcdef\x1b[0mgh\x1b[0m");
    CHECK(cut_styled(styled(Style::red, "abcdef") + "gh", 7) == "\x1b[31mabcdef\x1b[0m\x1b[0m…");
    CHECK(cut_styled(styled(Style::red, "abcdef"), 2) == "\x1b[31ma\x1b[0m…");
    CHECK(cut_styled("abc", 0) == "\x1b[0m");
}

TEST_CASE("a table is aligned by what is seen and has no blanks at its ends") {
    TextTable table({{"NAME"}, {"LOAD", Column::Align::right}, {"NOTE"}});
    table.add({{"名前"}, {"7"}, {}});
    table.add({{"Bo"}, {"1234567", Style::red}, {"x"}});
    CHECK(table.to_text(false) ==
          "NAME     LOAD  NOTE\n"
          "名前        7\n"
          "Bo    1234567  x\n");
    CHECK(table.lines(true)[2] == "Bo    \x1b[31m1234567\x1b[0m  x");
}

TEST_CASE("O-3: a table that is too wide loses the columns that matter least first, and never those that stay") {
    TextTable table({{"NAME"}, {"CPU", Column::Align::right, 1}, {"RTT", Column::Align::right, 2}, {"FAILED"}});
    table.add({{"one"}, {"7 %"}, {"2 ms"}, {"3"}});
    CHECK(table.lines(false)[0] == "NAME  CPU   RTT  FAILED");
    CHECK(table.lines(false, 23)[0] == "NAME  CPU   RTT  FAILED");
    CHECK(table.lines(false, 22)[0] == "NAME   RTT  FAILED");
    CHECK(table.lines(false, 22)[1] == "one   2 ms  3");
    CHECK(table.lines(false, 17)[0] == "NAME  FAILED");
    CHECK(table.lines(false, 3)[0] == "NAME  FAILED");
}

TEST_CASE("text wraps at its blanks") {
    CHECK(wrapped("one two three", 7) == std::vector<std::string>{"one two", "three"});
    CHECK(wrapped("one two three", 6) == std::vector<std::string>{"one", "two", "three"});
    CHECK(wrapped("unbreakable it", 4) == std::vector<std::string>{"unbreakable", "it"});
    CHECK(wrapped("", 4).empty());
}

}  // namespace muster
