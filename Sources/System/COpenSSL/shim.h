/* libcrypto only: TLS in this project is NIOSSL's and libcurl's business. */
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* SHA-256 in memory of the caller's. EVP allocates for each message, and costs as much again as hashing a short one. These functions are
 * deprecated, since they reach no provider (a FIPS module, say); they are in every build that Debian or Fedora ships. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline int carillon_sha256_begin(SHA256_CTX *state) { return SHA256_Init(state); }
static inline int carillon_sha256_update(SHA256_CTX *state, const void *bytes, size_t count) { return SHA256_Update(state, bytes, count); }
static inline int carillon_sha256_finish(SHA256_CTX *state, unsigned char *digest) { return SHA256_Final(digest, state); }
#pragma GCC diagnostic pop
