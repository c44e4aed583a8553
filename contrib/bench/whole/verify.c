/* What one BIP-340 verification costs here: the work per push that nobody can avoid. Parses the key each time, as for a stranger's event.
 * Usage: verify <rounds>
 * Prints: CPU nanoseconds of one verification */
#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EVENTS = 256 };

static struct { unsigned char key[32], id[32], signature[64]; } events[EVENTS];

static double cpu_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char **words) {
    long rounds = count > 1 ? atol(words[1]) : 40;
    secp256k1_context *context = secp256k1_context_create(SECP256K1_CONTEXT_NONE);
    for (int i = 0; i < EVENTS; i++) {
        unsigned char secret[32];
        secp256k1_keypair pair;
        secp256k1_xonly_pubkey key;
        memset(secret, 1, sizeof secret);
        secret[31] = (unsigned char)i;
        memset(events[i].id, i, sizeof events[i].id);
        if (!secp256k1_keypair_create(context, &pair, secret)) return 1;
        if (!secp256k1_keypair_xonly_pub(context, &key, NULL, &pair)) return 1;
        if (!secp256k1_xonly_pubkey_serialize(context, events[i].key, &key)) return 1;
        if (!secp256k1_schnorrsig_sign32(context, events[i].signature, events[i].id, &pair, NULL)) return 1;
    }
    double begin = cpu_nanoseconds();
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < EVENTS; i++) {
            secp256k1_xonly_pubkey key;
            if (!secp256k1_xonly_pubkey_parse(context, &key, events[i].key)) return 1;
            if (!secp256k1_schnorrsig_verify(context, events[i].signature, events[i].id, 32, &key)) return 1;
        }
    }
    printf("%.0f\n", (cpu_nanoseconds() - begin) / (double)(rounds * EVENTS));
    return 0;
}
