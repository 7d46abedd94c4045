#include "agent/open_files_need.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

TEST_CASE("S-7, G-11: a limit of open files too low for the processes that may be is told with the figures") {
    RunConfig run;
    run.sdk = SdkKind::none;
    run.count = 1;
    run.count_max = 480;
    CHECK(warning_of_open_files({run}, 1024).empty());
    CHECK(warning_of_open_files({run}, 1023) ==
          "The runs may have 480 processes, which need about 1024 open files, and the limit is 1023: those beyond it "
          "fail with \"Too many open files\". Raise the hard limit (systemd: LimitNOFILE=, shell: ulimit -Hn)");
    RunConfig agones = run;
    agones.sdk = SdkKind::agones;
    CHECK(warning_of_open_files({run, agones}, 1024).find("960 processes, which need about 4864") != std::string::npos);
    CHECK(warning_of_open_files({}, 64).empty());
}

}  // namespace
}  // namespace muster
