/// A configuration that outgoing HTTP cannot start with.
package struct HTTPLanesError: Error, Equatable, CustomStringConvertible {
    private enum Code: Equatable {
        case notAnAddressBlock(String)
        case unusableRoots(String)
        case notAProxy
        case noLibcurl
    }

    private var code: Code

    static func notAnAddressBlock(_ text: String) -> Self { Self(code: .notAnAddressBlock(text)) }
    static func unusableRoots(_ file: String) -> Self { Self(code: .unusableRoots(file)) }
    static let notAProxy = Self(code: .notAProxy)
    static let noLibcurl = Self(code: .noLibcurl)

    package var description: String {
        switch code {
        case .notAnAddressBlock(let text):
            "http.allow_private: \"\(text)\" is no block of addresses; write one like 10.1.2.0/24 or fd00:1::/32, "
                + "with no bits set behind the prefix"
        case .unusableRoots(let file):
            "http.ca_file: no certificates could be read from \(file); it must be a readable PEM file"
        case .notAProxy:
            // Not what was written: it may hold a password.
            "http.proxy: write \(Proxy.form)"
        case .noLibcurl:
            "libcurl could not be initialised; install version 7.87 or newer"
        }
    }
}
