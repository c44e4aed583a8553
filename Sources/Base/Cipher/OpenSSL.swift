import COpenSSL

/// How failures of libcrypto are met.
enum Library {
    /// Stops the process when libcrypto cannot do what no input can make it refuse: without memory, a digest or
    /// entropy, going on would mean wrong signatures or guessable keys.
    static func require(_ condition: Bool, _ operation: StaticString) {
        precondition(condition, "libcrypto failed at \(operation): no memory, no entropy or a broken installation")
    }

    /// Forgets what libcrypto noted about a refused input: its queue belongs to the thread, and other users of
    /// the library on that thread would take the note for theirs.
    static func clearErrors() {
        ERR_clear_error()
    }
}

/// Parameters whose names, and values that are names, are constants of the program.
///
/// A Swift string lends C its characters for one call only, and a parameter keeps the pointer: built with
/// libcrypto's own constants, which Swift imports as strings, it would point to where its name has been.
extension OSSL_PARAM {
    static func text(_ name: StaticString, _ value: StaticString) -> OSSL_PARAM {
        OSSL_PARAM_construct_utf8_string(name.start, UnsafeMutablePointer(mutating: value.start), 0)
    }

    /// Points to `bytes`, which must outlive the parameter.
    static func octets(_ name: StaticString, _ bytes: UnsafeMutableRawBufferPointer) -> OSSL_PARAM {
        OSSL_PARAM_construct_octet_string(name.start, bytes.baseAddress, bytes.count)
    }

    /// Points to `bytes`, a number in the byte order of this machine, which must outlive the parameter.
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

/// Why a cryptographic operation was refused. Says what was expected, never what the bytes were.
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

    /// An input has another number of bytes than the operation is defined for.
    package static func wrongLength(of input: String, expected: String, actual: Int) -> CipherError {
        CipherError(.wrongLength(of: input, expected: expected, actual: actual))
    }

    /// The bytes have the form of a public key, but name no point of the curve.
    package static let notOnCurve = CipherError(.notOnCurve)

    /// A secret key is zero, or not below the order of the curve.
    package static let invalidSecretKey = CipherError(.invalidSecretKey)

    /// A PEM text holds no key that could be read; `expected` names the blocks that would have been.
    package static func unreadablePEM(expected: String) -> CipherError {
        CipherError(.unreadablePEM(expected: expected))
    }

    /// A PEM text holds no private key that could be read, with or without a passphrase.
    package static let unreadableKey = CipherError(.unreadableKey)

    /// A PEM text holds no certificate that could be read.
    package static let unreadableCertificate = CipherError(.unreadableCertificate)

    /// A private key and certificates do not belong together.
    package static let keyOfAnotherCertificate = CipherError(.keyOfAnotherCertificate)

    /// The bytes are no PKCS#12 file.
    package static let unreadablePKCS12 = CipherError(.unreadablePKCS12)

    /// A PKCS#12 file lacks a certificate or its private key, or is encrypted in a way that libcrypto does not know.
    package static let emptyPKCS12 = CipherError(.emptyPKCS12)

    /// The passphrase is not the one that a file is encrypted with.
    package static let wrongPassphrase = CipherError(.wrongPassphrase)

    /// A PEM text holds a key, but of another algorithm or curve than P-256.
    package static let notP256 = CipherError(.notP256)

    /// A PEM text holds a key, but no RSA key, or one that is for RSA-PSS only.
    package static let notRSA = CipherError(.notRSA)

    /// An RSA key is shorter than is safe.
    package static func shortRSAKey(bitCount: Int) -> CipherError {
        CipherError(.shortRSAKey(bitCount: bitCount))
    }

    /// A ciphertext does not belong to this key, nonce and additional data, or was changed on its way.
    package static let authenticationFailed = CipherError(.authenticationFailed)

    /// libcrypto or libsecp256k1 refused an operation for no reason that lies in the input.
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
            "the secret key must lie between 1 and the order of the curve; create another one"
        case .unreadablePEM(let expected):
            "no readable key in the PEM text; expected \(expected), without a passphrase"
        case .unreadableKey:
            "no readable private key in the PEM text; expected a PRIVATE KEY block, and its passphrase if it is encrypted"
        case .unreadableCertificate:
            "no readable certificate in the PEM text; expected a CERTIFICATE block"
        case .keyOfAnotherCertificate:
            "the private key belongs to none of the certificates; expected a certificate and its own key"
        case .unreadablePKCS12:
            "no readable PKCS#12 file; check that it was copied whole"
        case .emptyPKCS12:
            "the PKCS#12 file holds no readable certificate with its private key; export both, or convert it to PEM"
        case .wrongPassphrase:
            "the passphrase does not open the PKCS#12 file"
        case .notP256:
            "the PEM text holds a key of another kind; expected an EC key on P-256 (prime256v1)"
        case .notRSA:
            "the PEM text holds a key of another kind; expected an RSA key"
        case .shortRSAKey(let bitCount):
            "the RSA key has \(bitCount) bits; expected 2048 or more"
        case .authenticationFailed:
            "the ciphertext does not authenticate: wrong key, or changed on its way"
        case .libraryFailure(let operation):
            "the crypto library failed at \(operation); check its installation and the free memory"
        }
    }
}
