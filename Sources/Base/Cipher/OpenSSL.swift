import COpenSSL

/// Error handling for libcrypto.
enum Library {
    /// Stops the process if libcrypto fails for a reason other than its input. Without memory, a digest or entropy, the
    /// process would produce wrong signatures or guessable keys.
    static func require(_ condition: Bool, _ operation: StaticString) {
        precondition(condition, "libcrypto failed at \(operation): no memory, no entropy or a broken installation")
    }

    /// Clears libcrypto's error queue after it refused an input. The queue belongs to the thread, and other users of
    /// the library on that thread would take these errors for theirs.
    static func clearErrors() {
        ERR_clear_error()
    }
}

/// Parameters whose names and string values are constants.
///
/// Swift passes a string to C for one call only, but a parameter keeps the pointer. With libcrypto's own constants,
/// which Swift imports as strings, the pointer would dangle.
extension OSSL_PARAM {
    static func text(_ name: StaticString, _ value: StaticString) -> OSSL_PARAM {
        OSSL_PARAM_construct_utf8_string(name.start, UnsafeMutablePointer(mutating: value.start), 0)
    }

    /// Points to `bytes`, which must outlive the parameter.
    static func octets(_ name: StaticString, _ bytes: UnsafeMutableRawBufferPointer) -> OSSL_PARAM {
        OSSL_PARAM_construct_octet_string(name.start, bytes.baseAddress, bytes.count)
    }

    /// Points to `bytes`, a number in native byte order, which must outlive the parameter.
    static func number(_ name: StaticString, _ bytes: UnsafeMutableBufferPointer<UInt8>) -> OSSL_PARAM {
        OSSL_PARAM_construct_BN(name.start, bytes.baseAddress, bytes.count)
    }

    static var end: OSSL_PARAM {
        OSSL_PARAM_construct_end()
    }
}

extension StaticString {
    fileprivate var start: UnsafePointer<CChar> {
        UnsafeRawPointer(self.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}

/// An error of a cryptographic operation. It names the expected input, never the actual bytes.
package struct CipherError: Error, Hashable, CustomStringConvertible {
    private enum Code: Hashable {
        case wrongLength(of: String, expected: String, actual: Int)
        case notOnCurve
        case invalidSecretKey
        case unreadablePEM(expected: String)
        case unreadableKey
        case unreadableCertificate
        case keyOfAnotherCertificate
        case unreadablePKCS12
        case emptyPKCS12
        case wrongPassphrase
        case notP256
        case notRSA
        case shortRSAKey(bitCount: Int)
        case authenticationFailed
        case libraryFailure(operation: String)
    }

    private let code: Code

    private init(_ code: Code) {
        self.code = code
    }

    /// An input does not have the length that the operation requires.
    package static func wrongLength(of input: String, expected: String, actual: Int) -> CipherError {
        CipherError(.wrongLength(of: input, expected: expected, actual: actual))
    }

    /// The bytes have the form of a public key, but are not a point on the curve.
    package static let notOnCurve = CipherError(.notOnCurve)

    /// A secret key is zero, or not below the order of the curve.
    package static let invalidSecretKey = CipherError(.invalidSecretKey)

    /// A PEM string has no readable key; `expected` names the accepted blocks.
    package static func unreadablePEM(expected: String) -> CipherError {
        CipherError(.unreadablePEM(expected: expected))
    }

    /// A PEM string has no readable private key, with or without a passphrase.
    package static let unreadableKey = CipherError(.unreadableKey)

    /// A PEM string has no readable certificate.
    package static let unreadableCertificate = CipherError(.unreadableCertificate)

    /// A private key does not match any of the certificates.
    package static let keyOfAnotherCertificate = CipherError(.keyOfAnotherCertificate)

    /// The bytes are not a PKCS#12 file.
    package static let unreadablePKCS12 = CipherError(.unreadablePKCS12)

    /// A PKCS#12 file lacks a certificate or its private key, or has an encryption that libcrypto does not support.
    package static let emptyPKCS12 = CipherError(.emptyPKCS12)

    /// The passphrase does not decrypt a file.
    package static let wrongPassphrase = CipherError(.wrongPassphrase)

    /// A PEM string has a key of another algorithm or curve than P-256.
    package static let notP256 = CipherError(.notP256)

    /// A PEM string has a key that is not an RSA key, or only for RSA-PSS.
    package static let notRSA = CipherError(.notRSA)

    /// An RSA key is too short to be safe.
    package static func shortRSAKey(bitCount: Int) -> CipherError {
        CipherError(.shortRSAKey(bitCount: bitCount))
    }

    /// A ciphertext does not match this key, nonce and additional data, or was changed in transit.
    package static let authenticationFailed = CipherError(.authenticationFailed)

    /// libcrypto or libsecp256k1 failed for a reason other than the input.
    package static func libraryFailure(operation: String) -> CipherError {
        CipherError(.libraryFailure(operation: operation))
    }

    package var description: String {
        switch self.code {
        case .wrongLength(let input, let expected, let actual):
            "\(input) must be \(expected) bytes, not \(actual)"
        case .notOnCurve:
            "the public key is not a point on the curve; check that it was copied whole"
        case .invalidSecretKey:
            "the secret key must be at least 1 and below the order of the curve; create another one"
        case .unreadablePEM(let expected):
            "no readable key in the PEM text; expected \(expected), without a passphrase"
        case .unreadableKey:
            "no readable private key in the PEM text; expected a PRIVATE KEY block, and its passphrase if it is encrypted"
        case .unreadableCertificate:
            "no readable certificate in the PEM text; expected a CERTIFICATE block"
        case .keyOfAnotherCertificate:
            "the private key does not match any certificate; expected a certificate with its key"
        case .unreadablePKCS12:
            "no readable PKCS#12 file; check that it was copied whole"
        case .emptyPKCS12:
            "the PKCS#12 file has no readable certificate with its private key; export both, or convert it to PEM"
        case .wrongPassphrase:
            "the passphrase does not decrypt the PKCS#12 file"
        case .notP256:
            "the PEM text has a key of another type; expected an EC key on P-256 (prime256v1)"
        case .notRSA:
            "the PEM text has a key of another type; expected an RSA key"
        case .shortRSAKey(let bitCount):
            "the RSA key has \(bitCount) bits; expected 2048 or more"
        case .authenticationFailed:
            "the ciphertext does not authenticate: wrong key, or changed in transit"
        case .libraryFailure(let operation):
            "the crypto library failed at \(operation); check its installation and the free memory"
        }
    }
}
