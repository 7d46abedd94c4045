#include "postgres/pg_hosts.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("N-1: a URL names one host, several, or none, each with its port") {
    using Hosts = std::vector<PgHost>;
    CHECK(pg_hosts_of("postgresql://muster@db1:5433/muster").value() == Hosts{{"db1", "5433"}});
    CHECK(pg_hosts_of("postgresql://db1:1,db2:2,db3:3/muster?target_session_attrs=read-write").value() ==
          Hosts{{"db1", "1"}, {"db2", "2"}, {"db3", "3"}});
    CHECK(pg_hosts_of("postgresql:///muster?host=/run/postgresql").value() == Hosts{{"/run/postgresql", ""}});
    CHECK(pg_hosts_of("postgresql:///muster").value() == Hosts{{"", ""}});
}

TEST_CASE("N-1: a URL that does not parse, or that holds a password, is refused with the reason") {
    CHECK(pg_hosts_of("mysql://db1/muster").error() == "give a URL that begins with postgresql://");
    CHECK(pg_hosts_of("postgresql://db1:port/x").error() == "'port' is no port");
    CHECK(pg_hosts_of("postgresql://db1:65536/x").error() == "'65536' is no port");
    CHECK(pg_hosts_of("postgresql://db1:port:9/x").error().find("port") != std::string::npos);
    CHECK(pg_hosts_of("postgresql://db1/muster?no_such_option=1").error().find("no_such_option") != std::string::npos);
    const std::string refused = pg_hosts_of("postgresql://muster:hunter2@db1/muster").error();
    CHECK(refused.find("a password does not belong into the URL") == 0);
    CHECK(refused.find("hunter2") == std::string::npos);
}
