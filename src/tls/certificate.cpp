#include "tls/certificate.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include <fcntl.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "base/ip_address.h"

namespace muster {
namespace {

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;

std::string text_of(const ASN1_STRING* value) {
    if (!value) return {};
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, value);
    if (size < 0) return {};
    std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
    OPENSSL_free(utf8);
    return text;
}

std::string entry_of(const X509_NAME* name, int which) {
    const int at = X509_NAME_get_index_by_NID(name, which, -1);
    return at < 0 ? std::string() : text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
}

std::int64_t seconds_of(const ASN1_TIME* time) {
    std::tm parts{};
    return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<std::int64_t>(timegm(&parts)) : 0;
}

std::string ip_text(const ASN1_OCTET_STRING* value) {
    const unsigned char* bytes = ASN1_STRING_get0_data(value);
    if (ASN1_STRING_length(value) == 4) return IpAddress::v4({bytes[0], bytes[1], bytes[2], bytes[3]}).to_string();
    if (ASN1_STRING_length(value) != 16) return {};
    std::array<std::uint8_t, 16> all{};
    std::memcpy(all.data(), bytes, all.size());
    return IpAddress::v6(all).to_string();
}

void add_alternative_names(const X509& certificate, CertificateFacts& facts) {
    auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr));
    if (!names) return;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_DNS) facts.dns_names.push_back(text_of(name->d.dNSName));
        if (name->type == GEN_IPADD) facts.ip_numbers.push_back(ip_text(name->d.iPAddress));
    }
    GENERAL_NAMES_free(names);
}

Failure<std::string> cannot_read(const std::string& path, const std::string& why) {
    return Failure<std::string>("cannot read " + path + ": " + why);
}

OpenSslHandle<BIO> memory_of(const std::string& bytes) {
    OpenSslHandle<BIO> bio(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
    if (!bio) throw std::bad_alloc();
    return bio;
}

// A key with a pass phrase is not asked for one: nobody is there to answer.
int no_pass_phrase(char*, int, int, void*) {
    return -1;
}

}  // namespace

CertificateFacts facts_of(const X509& certificate) {
    CertificateFacts facts;
    const X509_NAME* subject = X509_get_subject_name(&certificate);
    facts.name = entry_of(subject, NID_commonName);
    facts.unit = entry_of(subject, NID_organizationalUnitName);
    facts.issuer = entry_of(X509_get_issuer_name(&certificate), NID_commonName);
    facts.serial = serial_text(certificate);
    facts.not_before = seconds_of(X509_get0_notBefore(&certificate));
    facts.not_after = seconds_of(X509_get0_notAfter(&certificate));
    facts.is_authority = X509_check_ca(const_cast<X509*>(&certificate)) == 1;
    add_alternative_names(certificate, facts);
    return facts;
}

std::string serial_text(const X509& certificate) {
    BIGNUM* number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(&certificate), nullptr);
    if (!number) throw std::bad_alloc();
    char* hex = BN_bn2hex(number);
    BN_free(number);
    if (!hex) throw std::bad_alloc();
    const std::optional<std::string> text = parse_serial(hex);
    OPENSSL_free(hex);
    return text.value_or("0");
}

std::optional<std::string> parse_serial(std::string_view text) {
    std::string digits;
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    for (const char each : text) {
        if (each == ':' || each == ' ') continue;
        const bool lower = each >= 'a' && each <= 'f';
        if (!lower && !(each >= 'A' && each <= 'F') && !(each >= '0' && each <= '9')) return std::nullopt;
        digits += lower ? static_cast<char>(each - 'a' + 'A') : each;
    }
    if (digits.empty()) return std::nullopt;
    const std::size_t first = digits.find_first_not_of('0');
    return first == std::string::npos ? "0" : digits.substr(first);
}

Result<std::string, std::string> read_small_file(const std::string& path) {
    // Not blocking, so that a pipe without a writer cannot hold anybody up.
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return cannot_read(path, std::strerror(errno));
    struct stat about{};
    std::string bytes;
    std::string failure;
    if (::fstat(file, &about) != 0) {
        failure = std::strerror(errno);
    } else if (!S_ISREG(about.st_mode)) {
        failure = "not a plain file";
    } else if (about.st_size > static_cast<off_t>(file_bytes_max)) {
        failure = "the file is too large";
    } else {
        bytes.resize(static_cast<std::size_t>(about.st_size));
        std::size_t size = 0;
        while (size < bytes.size()) {
            const ssize_t got = ::read(file, bytes.data() + size, bytes.size() - size);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) failure = std::strerror(errno);
            if (got <= 0) break;
            size += static_cast<std::size_t>(got);
        }
        bytes.resize(size);
    }
    ::close(file);
    if (!failure.empty()) return cannot_read(path, failure);
    return bytes;
}

Result<CertificateChain, std::string> read_certificates(const std::string& path) {
    auto bytes = read_small_file(path);
    if (!bytes) return Failure<std::string>(std::move(bytes.error()));
    const auto bio = memory_of(*bytes);
    CertificateChain chain;
    chain.leaf.reset(PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr));
    if (!chain.leaf) {
        const bool none = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
        const std::string why = take_openssl_error();
        return cannot_read(path, none ? "there is no certificate in it (PEM)" : why);
    }
    while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr)) chain.others.emplace_back(next);
    ERR_clear_error();  // what follows the last one
    return chain;
}

Result<OpenSslHandle<EVP_PKEY>, std::string> read_key(const std::string& path) {
    auto bytes = read_small_file(path);
    if (!bytes) return Failure<std::string>(std::move(bytes.error()));
    OpenSslHandle<EVP_PKEY> key(PEM_read_bio_PrivateKey(memory_of(*bytes).get(), nullptr, no_pass_phrase, nullptr));
    explicit_bzero(bytes->data(), bytes->size());
    if (key) return key;
    ERR_clear_error();
    return cannot_read(path, "there is no private key in it that can be used without a pass phrase (PEM)");
}

std::string warning_of_key_mode(const std::string& path) {
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) return {};  // whoever reads it is told
    const mode_t too_much = about.st_uid == 0 ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
    if ((about.st_mode & too_much) == 0) return {};
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%04o", about.st_mode & 07777U);
    return path + " is open to others than its owner (mode " + mode.data() + "); use chmod 600";
}

}  // namespace muster
