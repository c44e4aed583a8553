import COpenSSL

/// scrypt (RFC 7914): makes a key of a passphrase, slowly and with much memory, so that guessing is dear.
package enum Scrypt {
    /// The cost: N is two to the power of `logN`, and r and p are 8 and 1. Takes 2^(logN + 10) bytes of memory.
    package static let costs: ClosedRange<UInt8> = 10...20

    /// A key of 32 bytes. Throws when `logN` lies outside ``costs``.
    package static func key(passphrase: [UInt8], salt: [UInt8], logN: UInt8) throws -> [UInt8] {
        guard costs.contains(logN) else {
            throw CipherError.wrongLength(of: "scrypt's cost", expected: "10 to 20", actual: Int(logN))
        }
        // libcrypto needs a pointer also where there is nothing.
        let password = passphrase.map { CChar(bitPattern: $0) } + [0]
        var key = [UInt8](repeating: 0, count: 32)
        // A little more than the algorithm's 128 * N * r.
        let memory = (UInt64(1) << (UInt64(logN) + 10)) + (1 << 20)
        let status = EVP_PBE_scrypt(
            password,
            passphrase.count,
            salt,
            salt.count,
            1 << UInt64(logN),
            8,
            1,
            memory,
            &key,
            key.count
        )
        guard status == 1 else {
            Library.clearErrors()
            throw CipherError.libraryFailure(operation: "scrypt")
        }
        return key
    }
}
