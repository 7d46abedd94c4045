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
    CHECK(cut_styled(styled(Style::red, "abcdef") + "gh", 7) == "\x1b[31mabcdef\x1b[0mg\x1b[0m");
    CHECK(cut_styled(styled(Style::red, "abcdef"), 2) == "\x1b[31mab\x1b[0m");
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

}  // namespace muster
