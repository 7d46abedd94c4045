#include "certs/authority.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "base/ip_address.h"

namespace muster {
namespace {

constexpr std::int64_t day_seconds = 86'400;
// Clocks differ: a new certificate is good on a machine that is late by so much.
constexpr std::int64_t head_start_seconds = 3'600;
constexpr std::int64_t authority_days = 3'650;
constexpr int serial_bits = 120;
constexpr std::size_t name_bytes_max = 64;  // of a CN
constexpr mode_t key_mode = 0600;
constexpr mode_t certificate_mode = 0644;

// An OpenSSL call that fails only for want of memory or randomness: no fault of the files.
void must(bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string("cannot ") + what + ": " + take_openssl_error());
}

// Removes what was made, unless all of it was.
class NewFiles {
public:
    NewFiles() = default;
    NewFiles(const NewFiles&) = delete;
    NewFiles& operator=(const NewFiles&) = delete;
    ~NewFiles() {
        for (const std::string& path : made_) ::unlink(path.c_str());
    }

    // Whole or not at all, whenever the process is killed: it gets its name when it is on the disk. What a killed one
    // left aside is written over.
    void write(const std::string& path, const std::string& bytes, mode_t mode) {
        const std::string aside = path + ".new";
        ::unlink(aside.c_str());
        write_aside(aside, bytes, mode);
        if (::link(aside.c_str(), path.c_str()) != 0)
            throw AuthorityError(errno == EEXIST ? path + " is there already; it is never overwritten"
                                                 : "cannot write " + path + ": " + std::strerror(errno));
        made_.push_back(path);
        ::unlink(aside.c_str());
        made_.erase(std::find(made_.begin(), made_.end(), aside));
    }
    void write_aside(const std::string& path, const std::string& bytes, mode_t mode) {
        const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file < 0) throw AuthorityError("cannot write " + path + ": " + std::strerror(errno));
        made_.push_back(path);
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        const bool good = written == static_cast<ssize_t>(bytes.size()) && ::fsync(file) == 0;
        const int why = errno;
        ::close(file);
        if (!good) throw AuthorityError("cannot write " + path + ": " + std::strerror(why));
    }
    void keep() { made_.clear(); }

private:
    std::vector<std::string> made_;
};

std::string pem_of(BIO* bio) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    return {bytes, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
    const OpenSslHandle<BIO> bio(BIO_new(BIO_s_mem()));
    must(bio && PEM_write_bio_X509(bio.get(), certificate) == 1, "write a certificate");
    return pem_of(bio.get());
}

std::string pem_of(EVP_PKEY* key) {
    const OpenSslHandle<BIO> bio(BIO_new(BIO_s_secmem()));
    must(bio && PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "write a key");
    return pem_of(bio.get());
}

OpenSslHandle<EVP_PKEY> new_key() {
    OpenSslHandle<EVP_PKEY> key(EVP_EC_gen("P-256"));
    must(key != nullptr, "make a key");
    return key;
}

void add_entry(X509_NAME* name, const char* field, std::string_view value) {
    must(X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1,
         "name a certificate");
}

void add_extension(X509* certificate, X509* issuer, int which, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str());
    const bool good = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    must(good, "describe a certificate");
}

void set_serial(X509* certificate) {
    BIGNUM* number = BN_new();
    const bool good = number && BN_rand(number, serial_bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
                      BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    must(good, "number a certificate");
}

std::string alternative_names(const ReachableNames& names) {
    std::string list;
    const auto add = [&list](std::string_view kind, const std::string& value) {
        if (!list.empty()) list += ',';
        list.append(kind).append(value);
    };
    for (const std::string& name : names.dns) add("DNS:", name);
    for (const std::string& number : names.ip) add("IP:", number);
    return list;
}

struct Wanted {
    std::string_view name;
    std::string_view unit;
    ReachableNames names;
    std::int64_t not_before = 0;
    std::int64_t not_after = 0;
    bool is_authority = false;
    bool answers = false;  // others connect to it
};

// Signed by `issuer` with its key; null: by itself.
OpenSslHandle<X509> new_certificate(const Wanted& wanted, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
    OpenSslHandle<X509> made(X509_new());
    must(made != nullptr, "make a certificate");
    X509* certificate = made.get();
    X509* signer = issuer ? issuer : certificate;
    X509_set_version(certificate, X509_VERSION_3);
    set_serial(certificate);
    must(ASN1_TIME_set(X509_getm_notBefore(certificate), wanted.not_before) &&
             ASN1_TIME_set(X509_getm_notAfter(certificate), wanted.not_after),
         "date a certificate");
    X509_NAME* subject = X509_get_subject_name(certificate);
    add_entry(subject, "O", "Muster");
    if (!wanted.unit.empty()) add_entry(subject, "OU", wanted.unit);
    add_entry(subject, "CN", wanted.name);
    must(
        X509_set_issuer_name(certificate, X509_get_subject_name(signer)) == 1 && X509_set_pubkey(certificate, key) == 1,
        "fill in a certificate");
    add_extension(certificate, signer, NID_basic_constraints,
                  wanted.is_authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE");
    add_extension(certificate, signer, NID_key_usage,
                  wanted.is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
    add_extension(certificate, signer, NID_subject_key_identifier, "hash");
    if (!wanted.is_authority) {
        add_extension(certificate, signer, NID_authority_key_identifier, "keyid");
        add_extension(certificate, signer, NID_ext_key_usage, wanted.answers ? "serverAuth,clientAuth" : "clientAuth");
    }
    const std::string names = alternative_names(wanted.names);
    if (!names.empty()) add_extension(certificate, signer, NID_subject_alt_name, names);
    must(X509_sign(certificate, issuer_key ? issuer_key : key, EVP_sha256()) > 0, "sign a certificate");
    return made;
}

bool is_plain_name(std::string_view name) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    return !name.empty() && name.size() <= name_bytes_max && name.front() != '.' && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), is_plain);
}

void check_names(const ReachableNames& names) {
    for (const std::string& number : names.ip) {
        if (!IpAddress::parse(number)) throw BadAuthorityArgument("--ip " + number + " is no IP address");
    }
    for (const std::string& name : names.dns) {
        // A wildcard stands for one first label.
        const std::string_view rest = std::string_view(name).substr(name.starts_with("*.") ? 2 : 0);
        if (!is_plain_name(rest) || IpAddress::parse(name))
            throw BadAuthorityArgument("--dns " + name + " is no DNS name");
    }
}

template <class T>
T or_throw(Result<T, std::string>&& read) {
    if (!read) throw AuthorityError(read.error());
    return std::move(*read);
}

// Also of a symbolic link that leads nowhere.
bool is_there(const std::string& path) {
    struct stat about{};
    return ::lstat(path.c_str(), &about) == 0;
}

// "a key of kind RSA with 2048 bits"
std::string kind_of(const EVP_PKEY& key) {
    const char* kind = EVP_PKEY_get0_type_name(&key);
    return std::string("a key of kind ") + (kind ? kind : "unknown") + " with " +
           std::to_string(EVP_PKEY_get_bits(&key)) + " bits";
}

bool is_p256(const EVP_PKEY& key) {
    std::array<char, 32> group{};
    return EVP_PKEY_is_a(&key, "EC") == 1 && EVP_PKEY_get_group_name(&key, group.data(), group.size(), nullptr) == 1 &&
           std::string_view(group.data()) == SN_X9_62_prime256v1;
}

// A key that is there without its certificate: only a killed command of this user leaves one, and it leaves it so.
OpenSslHandle<EVP_PKEY> left_key(const std::string& path) {
    const auto refused = [&path](const std::string& why) {
        return AuthorityError(path + " is there without its certificate, and is " + why +
                              "; move it away, and a new key is made");
    };
    struct stat about{};
    if (::lstat(path.c_str(), &about) != 0) throw AuthorityError("cannot read " + path + ": " + std::strerror(errno));
    if (!S_ISREG(about.st_mode)) throw refused("no plain file");
    if (about.st_uid != ::geteuid()) throw refused("another user's (uid " + std::to_string(about.st_uid) + ")");
    if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        throw refused(fmt::format("open to others than its owner (mode {:04o})", about.st_mode & 07777U));
    auto key = or_throw(read_key(path));
    if (!is_p256(*key)) throw refused(kind_of(*key) + ", where P-256 is wanted");
    return key;
}

// A pair of files that is to be made. A key that is there without its certificate was left by a process that was
// killed: it is used.
struct NewPair {
    NewPair(const Authority& authority, std::string_view name)
        : certificate_path(authority.file(name, ".crt")), key_path(authority.file(name, ".key")) {
        if (is_there(certificate_path))
            throw AuthorityError(certificate_path + " is there already; it is never overwritten");
        had_key = is_there(key_path);
        key = had_key ? left_key(key_path) : new_key();
    }
    // The key first: a certificate that is there has its key.
    void write(NewFiles& files, X509* certificate) const {
        if (!had_key) files.write(key_path, pem_of(key.get()), key_mode);
        files.write(certificate_path, pem_of(certificate), certificate_mode);
    }

    std::string certificate_path;
    std::string key_path;
    OpenSslHandle<EVP_PKEY> key;
    bool had_key = false;
};

// One command at a time works in a folder: two that make the same name would mix its key and its certificate.
class FolderLock {
public:
    explicit FolderLock(const std::string& folder) : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        // Whoever cannot open it is told by the first file that it wants there.
        while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    ~FolderLock() {
        if (fd_ >= 0) ::close(fd_);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    const int fd_;
};

struct Signer {
    OpenSslHandle<X509> certificate;
    OpenSslHandle<EVP_PKEY> key;
};

Signer signer_in(const Authority& authority, std::int64_t now) {
    const std::string path = authority.file("ca", ".crt");
    Signer signer{or_throw(read_certificates(path)).leaf, or_throw(read_key(authority.file("ca", ".key")))};
    const CertificateFacts facts = facts_of(*signer.certificate);
    if (!facts.is_authority) throw AuthorityError(path + " may not sign certificates");
    if (facts.not_after < now) throw AuthorityError(path + " has expired; make a new authority in another folder");
    if (X509_check_private_key(signer.certificate.get(), signer.key.get()) != 1)
        throw AuthorityError(authority.file("ca", ".key") + " does not belong to " + path);
    return signer;
}

}  // namespace

std::string Authority::file(std::string_view name, std::string_view ending) const {
    return (std::filesystem::path(folder_) / (std::string(name) + std::string(ending))).string();
}

IssuedFiles Authority::init(const ReachableNames& daemon) {
    check_names(daemon);
    if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST)
        throw AuthorityError("cannot make the folder " + folder_ + ": " + std::strerror(errno));
    const FolderLock lock(folder_);
    NewFiles files;
    // One that was killed after the authority is gone on with.
    const bool goes_on =
        is_there(file("ca", ".crt")) && is_there(file("ca", ".key")) && !is_there(file(daemon_name, ".crt"));
    if (!goes_on) {
        const NewPair pair(*this, "ca");
        const Wanted authority{.name = "Muster CA",
                               .unit = {},
                               .names = {},
                               .not_before = now_ - head_start_seconds,
                               .not_after = now_ + authority_days * day_seconds,
                               .is_authority = true};
        pair.write(files, new_certificate(authority, pair.key.get(), nullptr, nullptr).get());
    }

    ReachableNames names{{"localhost"}, {"127.0.0.1", "::1"}};
    const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& more) {
        for (const std::string& each : more) {
            if (std::find(to.begin(), to.end(), each) == to.end()) to.push_back(each);
        }
    };
    add(names.dns, daemon.dns);
    add(names.ip, daemon.ip);
    const Signer signer = signer_in(*this, now_);
    const NewPair pair(*this, daemon_name);
    const auto certificate = new_certificate({.name = daemon_name,
                                              .unit = to_string(PeerRole::node),
                                              .names = std::move(names),
                                              .not_before = now_ - head_start_seconds,
                                              .not_after = now_ + days_usual * day_seconds,
                                              .answers = true},
                                             pair.key.get(), signer.certificate.get(), signer.key.get());
    pair.write(files, certificate.get());
    files.keep();
    return {pair.certificate_path, pair.key_path, facts_of(*certificate)};
}

IssuedFiles Authority::issue(std::string_view name, PeerRole role, const ReachableNames& names, std::int64_t days) {
    if (!is_plain_name(name) || name == "ca" || name == daemon_name)
        throw BadAuthorityArgument("a name has 1 to 64 of A-Z a-z 0-9 - _ . and is neither \"ca\" nor \"" +
                                   std::string(daemon_name) + "\"; it begins with no . or -");
    if (days < 1 || days > days_max)
        throw BadAuthorityArgument("--days wants a number from 1 to " + std::to_string(days_max));
    check_names(names);
    const FolderLock lock(folder_);
    const Signer signer = signer_in(*this, now_);
    const NewPair pair(*this, name);
    const auto certificate = new_certificate({.name = name,
                                              .unit = to_string(role),
                                              .names = names,
                                              .not_before = now_ - head_start_seconds,
                                              .not_after = now_ + days * day_seconds,
                                              .answers = role == PeerRole::node},
                                             pair.key.get(), signer.certificate.get(), signer.key.get());
    NewFiles files;
    pair.write(files, certificate.get());
    files.keep();
    return {pair.certificate_path, pair.key_path, facts_of(*certificate)};
}

IssuedFiles Authority::renew(std::string_view name) {
    if (!is_plain_name(name)) throw BadAuthorityArgument("renew wants the name of a certificate in " + folder_);
    if (name == "ca")
        throw BadAuthorityArgument(
            "an authority is not renewed; make a new one in another folder, and give peers both");
    const FolderLock lock(folder_);
    const Signer signer = signer_in(*this, now_);
    const std::string path = file(name, ".crt");
    const auto old = or_throw(read_certificates(path)).leaf;
    const auto key = or_throw(read_key(file(name, ".key")));
    const CertificateFacts facts = facts_of(*old);
    if (X509_check_private_key(old.get(), key.get()) != 1)
        throw AuthorityError(file(name, ".key") + " does not belong to " + path);
    if (X509_verify(old.get(), X509_get0_pubkey(signer.certificate.get())) != 1)
        throw AuthorityError(path + " is not of the authority in " + folder_);
    const std::int64_t valid_for = facts.not_after - facts.not_before - head_start_seconds;
    const bool answers = facts.role() == PeerRole::node;
    const auto certificate = new_certificate({.name = facts.name,
                                              .unit = facts.unit,
                                              .names = {facts.dns_names, facts.ip_numbers},
                                              .not_before = now_ - head_start_seconds,
                                              .not_after = now_ + valid_for,
                                              .answers = answers},
                                             key.get(), signer.certificate.get(), signer.key.get());
    // A reader finds the old one or the new one, whole.
    const std::string aside = path + ".new";
    NewFiles files;
    ::unlink(aside.c_str());
    files.write_aside(aside, pem_of(certificate.get()), certificate_mode);
    if (::rename(aside.c_str(), path.c_str()) != 0)
        throw AuthorityError("cannot replace " + path + ": " + std::strerror(errno));
    files.keep();
    return {path, file(name, ".key"), facts_of(*certificate)};
}

}  // namespace muster
