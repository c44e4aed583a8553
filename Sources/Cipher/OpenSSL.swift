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
