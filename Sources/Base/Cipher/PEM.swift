import COpenSSL

/// Keys and certificates in the textual encoding of RFC 7468.
enum PEM {
    /// Reads the first private key (PKCS#8 or SEC1) in `text`; `nil` if there is none, or if it is encrypted. The
    /// caller frees it.
    static func privateKey(_ text: String) -> OpaquePointer? {
        self.read(text) { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) }
    }

    /// Reads the first private key in `text`, and decrypts it with `passphrase` if necessary; `nil` if there is none,
    /// or if the passphrase is wrong. The caller frees it.
    static func privateKey(_ text: String, passphrase: String?) -> OpaquePointer? {
        guard let passphrase else { return self.privateKey(text) }
        // Without a callback, the last argument is the passphrase.
        return passphrase.withCString { passphrase in
            self.read(text) { PEM_read_bio_PrivateKey($0, nil, nil, UnsafeMutableRawPointer(mutating: passphrase)) }
        }
    }

    /// Reads all certificates in `text`, up to the first unreadable one. The caller frees them.
    static func certificates(_ text: String) -> [OpaquePointer] {
        var text = text
        return text.withUTF8 { bytes in
            let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
            defer { BIO_free(source) }
            var certificates: [OpaquePointer] = []
            while let certificate = PEM_read_bio_X509(source, nil, refusePassphrase, nil) {
                certificates.append(certificate)
            }
            Library.clearErrors()
            return certificates
        }
    }

    /// Reads the first public key (SubjectPublicKeyInfo) in `text`; `nil` if there is none. The caller frees it.
    static func publicKey(_ text: String) -> OpaquePointer? {
        self.read(text) { PEM_read_bio_PUBKEY($0, nil, refusePassphrase, nil) }
    }

    /// Writes a private key as PKCS#8, not encrypted.
    static func write(privateKey key: OpaquePointer) -> String {
        self.write { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }

    static func write(certificate: OpaquePointer) -> String {
        self.write { PEM_write_bio_X509($0, certificate) }
    }

    /// Writes a public key as SubjectPublicKeyInfo.
    static func write(publicKey key: OpaquePointer) -> String {
        self.write { PEM_write_bio_PUBKEY($0, key) }
    }

    private static func read(_ text: String, _ parse: (OpaquePointer?) -> OpaquePointer?) -> OpaquePointer? {
        var text = text
        return text.withUTF8 { bytes in
            guard let count = Int32(exactly: bytes.count), count > 0 else { return nil }
            let source = BIO_new_mem_buf(bytes.baseAddress, count)
            defer { BIO_free(source) }
            let key = parse(source)
            Library.clearErrors()
            return key
        }
    }

    private static func write(_ print: (OpaquePointer?) -> Int32) -> String {
        let memory = BIO_new(BIO_s_mem())
        defer { BIO_free(memory) }
        Library.require(print(memory) == 1, "PEM_write_bio")
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(memory))
        defer { OPENSSL_cleanse(&bytes, bytes.count) }
        let count = BIO_read(memory, &bytes, Int32(truncatingIfNeeded: bytes.count))
        Library.require(count == bytes.count, "BIO_read")
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Refuses libcrypto's request for a passphrase, which would otherwise prompt on the terminal.
private func refusePassphrase(
    _: UnsafeMutablePointer<CChar>?,
    _: Int32,
    _: Int32,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    -1
}
