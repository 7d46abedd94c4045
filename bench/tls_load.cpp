// What TLS costs (S-1): heartbeats and memory of the real daemon, beside the same without TLS; and full handshakes,
// beside what the key allows and beside bare OpenSSL.
//
//   tls_load [--links N] [--idle-links N] [--rounds N] [--beats N] [--handshakes N] [--muster PATH] [--folder PATH]
//            [--check]
//
// Both daemons run all the while and take turns; a ratio is of two turns side by side, and what is printed is the
// median of all rounds with the least and the most. Everything is CPU time of the server's side, so that others on the
// machine disturb little. The links speak mutual TLS. With --check the exit code is 1 when a heartbeat over TLS costs
// more than 1.35 times a plain one, or a link at rest 12 KiB more.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

#include "base/entropy.h"
#include "frames_load.h"
#include "load_certificates.h"
#include "load_fleet.h"
#include "served_process.h"
#include "tls/client_link.h"
#include "tls/tls_link.h"

namespace {

using namespace muster;
using namespace muster::bench;

constexpr double heartbeat_ratio_max = 1.35;
constexpr double bytes_more_max = 12 * 1024;

struct Options {
    std::size_t links = 1'000;
    std::size_t idle_links = 10'000;
    int rounds = 7;
    int beats = 20;
    int handshakes = 200;
    bool check = false;
    std::filesystem::path muster;
    std::filesystem::path folder = std::filesystem::temp_directory_path();
};

double thread_us() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

struct Spread {
    double median = 0;
    double least = 0;
    double most = 0;
};

Spread spread_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {values[values.size() / 2], values.front(), values.back()};
}

// A daemon with its fleet.
struct Side {
    Side(const Options& options, std::size_t links, const LoadCertificates* certificates) : folder(options.folder) {
        std::map<std::string, std::string> environment{
            {"MUSTER_STORE_PATH", (folder.path() / "muster.db").string()},
            {"MUSTER_LIMITS_CONNECTIONS_PER_IP", std::to_string(links + 100)},
            {"MUSTER_LIMITS_ACCEPTS_PER_SECOND_IP", std::to_string(links + 100)},
            {"MUSTER_LOG_LEVEL", "warning"},
        };
        for (const char* port : {"SERVERS", "MATCHMAKERS", "PLAYERS", "HTTP"})
            environment["MUSTER_LISTEN_" + std::string(port)] = "127.0.0.1:0";
        LoadOptions load;
        load.servers = links;
        load.matchmakers = 1;
        load.allocations = 1;
        if (certificates) {
            certificates->add_to(environment);
            load.server_tls = certificates->game_server();
            load.matchmaker_tls = certificates->matchmaker();
        }
        process.emplace(std::vector<std::string>{options.muster.string(), "serve"}, environment, folder.path());
        bytes_before = process->resident_bytes();
        fleet.emplace(load);
    }
    void join() { fleet->register_all({process->port("servers"), process->port("matchmakers")}); }
    double bytes_a_link(std::size_t links) const {
        return (static_cast<double>(process->resident_bytes()) - static_cast<double>(bytes_before)) /
               static_cast<double>(links);
    }

    ScratchFolder folder;
    std::optional<ServedProcess> process;
    std::optional<LoadFleet> fleet;
    std::size_t bytes_before = 0;
};

double us_a_heartbeat(Side& side, const Options& options) {
    const auto before = side.process->cpu();
    for (int i = 0; i < options.beats; ++i) side.fleet->heartbeat_all();
    const auto used = std::chrono::duration<double, std::micro>(side.process->cpu() - before).count();
    return used / static_cast<double>(options.links) / options.beats;
}

bool heartbeats(const Options& options, const LoadCertificates& certificates) {
    Side plain(options, options.links, nullptr);
    Side sealed(options, options.links, &certificates);
    plain.join();
    sealed.join();
    (void)us_a_heartbeat(plain, options);
    (void)us_a_heartbeat(sealed, options);
    std::vector<double> ratios;
    std::vector<double> us_plain;
    std::vector<double> us_sealed;
    for (int round = 0; round < options.rounds; ++round) {
        us_plain.push_back(us_a_heartbeat(plain, options));
        us_sealed.push_back(us_a_heartbeat(sealed, options));
        ratios.push_back(us_sealed.back() / us_plain.back());
    }
    const Spread ratio = spread_of(ratios);
    std::printf("heartbeats     %zu links: plain %.2f us, TLS %.2f us of CPU; ratio %.2f (%.2f to %.2f), aim %.2f\n",
                options.links, spread_of(us_plain).median, spread_of(us_sealed).median, ratio.median, ratio.least,
                ratio.most, heartbeat_ratio_max);
    std::fflush(stdout);
    return ratio.median <= heartbeat_ratio_max;
}

bool memory(const Options& options, const LoadCertificates& certificates) {
    std::array<double, 2> bytes{};
    for (const bool tls : {false, true}) {
        Side side(options, options.idle_links, tls ? &certificates : nullptr);
        side.join();
        side.fleet->heartbeat_all();
        bytes[tls ? 1 : 0] = side.bytes_a_link(options.idle_links);
    }
    std::printf("memory         %zu links at rest: plain %.1f KiB, TLS %.1f KiB each; %.1f KiB more, aim %.0f KiB\n",
                options.idle_links, bytes[0] / 1024, bytes[1] / 1024, (bytes[1] - bytes[0]) / 1024,
                bytes_more_max / 1024);
    std::fflush(stdout);
    return bytes[1] - bytes[0] <= bytes_more_max;
}

using Bytes = std::vector<std::byte>;

// What one handshake costs the server. Where a session is shown it must be a short one; `session` is the next one
// afterwards, if there is one.
double us_of_ours(const std::shared_ptr<const TlsServerContext>& context, const TlsClientContext& with,
                  OpenSslHandle<SSL_SESSION>& session) {
    const OpenSslHandle<SSL> client = new_client_link(with, "127.0.0.1");
    SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    const bool returns = session != nullptr;
    if (returns) SSL_set_session(client.get(), session.get());
    double used = 0;
    Bytes plain(64 * 1024 + TlsLink::plain_extra);
    Bytes out;
    std::unique_ptr<TlsLink> server;
    for (int flight = 0; flight < 2; ++flight) {
        SSL_do_handshake(client.get());
        char* data = nullptr;
        const auto size = static_cast<std::size_t>(BIO_get_mem_data(SSL_get_wbio(client.get()), &data));
        const double before = thread_us();
        if (!server) server = std::make_unique<TlsLink>(context);
        server->receive(std::as_bytes(std::span(data, size)), plain, out);
        used += thread_us() - before;
        (void)BIO_reset(SSL_get_wbio(client.get()));
        BIO_write(SSL_get_rbio(client.get()), out.data(), static_cast<int>(out.size()));
        out.clear();
    }
    if (server->state() != TlsLink::State::open || server->was_resumed() != returns)
        throw std::runtime_error("a handshake failed");
    char nothing = 0;
    SSL_read(client.get(), &nothing, 1);  // the ticket
    session.reset(SSL_get1_session(client.get()));
    SSL_set_shutdown(client.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    return used;
}

double us_of_bare(SSL_CTX& context, const TlsClientContext& with) {
    const OpenSslHandle<SSL> client = new_client_link(with, "127.0.0.1");
    BIO* ours = nullptr;
    BIO* theirs = nullptr;
    BIO_new_bio_pair(&ours, 1 << 16, &theirs, 1 << 16);
    SSL_set_bio(client.get(), theirs, theirs);
    OpenSslHandle<SSL> server;
    double used = 0;
    for (int flight = 0; flight < 2; ++flight) {
        SSL_do_handshake(client.get());
        const double before = thread_us();
        if (!server) {
            server.reset(SSL_new(&context));
            SSL_set_bio(server.get(), ours, ours);
            SSL_set_accept_state(server.get());
        }
        SSL_do_handshake(server.get());
        used += thread_us() - before;
    }
    if (SSL_is_init_finished(server.get()) != 1) throw std::runtime_error("a bare handshake failed");
    return used;
}

struct KeyRelease {
    void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// What no handshake can do without, measured as `openssl speed` does it.
struct KeyUs {
    double sign = 0;   // one signature of the server's key
    double agree = 0;  // a new X25519 key, and one agreement
};

KeyUs us_of_key(EVP_PKEY& key, EVP_PKEY& other) {
    const std::array<unsigned char, 32> digest{};
    std::array<unsigned char, 256> signature{};
    std::array<unsigned char, 32> secret{};
    const std::unique_ptr<EVP_PKEY_CTX, KeyRelease> signing(EVP_PKEY_CTX_new(&key, nullptr));
    EVP_PKEY_sign_init(signing.get());
    const std::unique_ptr<EVP_PKEY_CTX, KeyRelease> agreeing(EVP_PKEY_CTX_new(&other, nullptr));
    EVP_PKEY_derive_init(agreeing.get());
    EVP_PKEY_derive_set_peer(agreeing.get(), &other);
    const std::unique_ptr<EVP_PKEY_CTX, KeyRelease> making(EVP_PKEY_CTX_new_id(EVP_PKEY_X25519, nullptr));
    EVP_PKEY_keygen_init(making.get());
    KeyUs used;
    const double before = thread_us();
    std::size_t size = signature.size();
    const bool has_signed = EVP_PKEY_sign(signing.get(), signature.data(), &size, digest.data(), digest.size()) == 1;
    const double between = thread_us();
    EVP_PKEY* made = nullptr;
    size = secret.size();
    const bool has_agreed =
        EVP_PKEY_keygen(making.get(), &made) == 1 && EVP_PKEY_derive(agreeing.get(), secret.data(), &size) == 1;
    used.sign = between - before;
    used.agree = thread_us() - between;
    EVP_PKEY_free(made);
    if (!has_signed || !has_agreed) throw std::runtime_error("the key cannot be used");
    return used;
}

// The same with a certificate of the client, and when that client comes back by its ticket.
void mutual_handshakes(const Options& options, const LoadCertificates& certificates) {
    SystemEntropy entropy;
    auto material = TlsMaterial::read({certificates.certificate(), certificates.key(), certificates.authority(), ""});
    if (!material) throw std::runtime_error(material.error());
    auto context = TlsServerContext::make(*material, "servers", PeerRole::server, TlsServerContext::Proof::needed,
                                          std::make_shared<TicketKeys>(entropy, std::time(nullptr)));
    if (!context) throw std::runtime_error(context.error());
    std::vector<double> full;
    std::vector<double> resumed;
    for (int round = 0; round < options.rounds; ++round) {
        double us_full = 0;
        double us_resumed = 0;
        for (int i = 0; i < options.handshakes; ++i) {
            OpenSslHandle<SSL_SESSION> session;
            us_full += us_of_ours(*context, *certificates.game_server(), session);
            us_resumed += us_of_ours(*context, *certificates.game_server(), session);
        }
        full.push_back(us_full / options.handshakes);
        resumed.push_back(us_resumed / options.handshakes);
    }
    const Spread one = spread_of(full);
    const Spread other = spread_of(resumed);
    std::printf(
        "               with the client's certificate %.0f us (%.0f to %.0f), and by its ticket %.0f (%.0f to %.0f)\n",
        one.median, one.least, one.most, other.median, other.least, other.most);
    std::fflush(stdout);
}

void handshakes(const Options& options, const LoadCertificates& certificates) {
    SystemEntropy entropy;
    auto material = TlsMaterial::read({certificates.certificate(), certificates.key(), "", ""});
    auto key = read_key(certificates.key());
    if (!material || !key) throw std::runtime_error("the certificates cannot be read");
    const auto tickets = std::make_shared<TicketKeys>(entropy, std::time(nullptr));
    auto context = TlsServerContext::make(*material, "servers", std::nullopt, TlsServerContext::Proof::needed, tickets);
    if (!context) throw std::runtime_error(context.error());
    const OpenSslHandle<SSL_CTX> bare(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate_chain_file(bare.get(), certificates.certificate().c_str());
    SSL_CTX_use_PrivateKey(bare.get(), key->get());
    SSL_CTX_set_num_tickets(bare.get(), 1);
    const OpenSslHandle<EVP_PKEY> other(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
    std::vector<double> to_sign;
    std::vector<double> to_key;
    std::vector<double> to_bare;
    std::vector<double> each;
    for (int round = 0; round < options.rounds; ++round) {
        double ours = 0;
        double theirs = 0;
        KeyUs alone;
        for (int i = 0; i < options.handshakes; ++i) {
            OpenSslHandle<SSL_SESSION> none;
            ours += us_of_ours(*context, *certificates.game_server(), none);
            theirs += us_of_bare(*bare, *certificates.game_server());
            const KeyUs one = us_of_key(**key, *other);
            alone.sign += one.sign;
            alone.agree += one.agree;
        }
        each.push_back(ours / options.handshakes);
        to_sign.push_back(alone.sign / ours);
        to_key.push_back((alone.sign + alone.agree) / ours);
        to_bare.push_back(theirs / ours);
    }
    const auto show = [](const char* of, const std::vector<double>& ratios) {
        const Spread ratio = spread_of(ratios);
        std::printf("               %.2f (%.2f to %.2f) of %s\n", ratio.median, ratio.least, ratio.most, of);
    };
    std::printf("handshakes     full, %.0f us of CPU, %.0f a second on one core\n", spread_of(each).median,
                1e6 / spread_of(each).median);
    show("the rate of the key's signatures alone, which no handshake reaches: it also agrees on a key", to_sign);
    show("the rate of signature, new key and agreement, which is what the keys allow; aim 0.80", to_key);
    show("the rate of bare OpenSSL's handshakes", to_bare);
    std::fflush(stdout);
}

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (flag == "--check") {
            options.check = true;
            continue;
        }
        if (++i >= argc) return std::nullopt;
        const std::string value = argv[i];
        if (flag == "--links") {
            options.links = std::stoul(value);
        } else if (flag == "--idle-links") {
            options.idle_links = std::stoul(value);
        } else if (flag == "--rounds") {
            options.rounds = std::stoi(value);
        } else if (flag == "--beats") {
            options.beats = std::stoi(value);
        } else if (flag == "--handshakes") {
            options.handshakes = std::stoi(value);
        } else if (flag == "--muster") {
            options.muster = value;
        } else if (flag == "--folder") {
            options.folder = value;
        } else {
            return std::nullopt;
        }
    }
    if (options.links == 0 || options.rounds < 1 || options.beats < 1 || options.handshakes < 1) return std::nullopt;
    return options;
}

}  // namespace

int main(int argc, char** argv) try {
    auto options = parse(argc, argv);
    if (!options) {
        std::fprintf(stderr,
                     "usage: tls_load [--links N] [--idle-links N] [--rounds N] [--beats N] [--handshakes N]\n"
                     "                [--muster PATH] [--folder PATH] [--check]\n");
        return 64;
    }
    if (options->muster.empty())
        options->muster = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "muster";
    raise_file_limit(2 * options->links + options->idle_links + 100);
    const ScratchFolder folder(options->folder);
    const LoadCertificates certificates(folder.path());
    handshakes(*options, certificates);
    mutual_handshakes(*options, certificates);
    bool good = heartbeats(*options, certificates);
    if (options->idle_links > 0) good = memory(*options, certificates) && good;
    if (options->check && !good) std::printf("MISSED: what TLS may cost\n");
    return options->check && !good ? 1 : 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "tls_load: %s\n", error.what());
    return 1;
}
