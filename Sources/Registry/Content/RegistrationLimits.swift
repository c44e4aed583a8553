/// How large the parts of a registration may be, in bytes of UTF-8 or in entries.
enum RegistrationLimits {
    static let content = 16 * 1024
    /// A content of that size, padded, sealed and in base 64 (NIP-44).
    static let payload = 22_000
    /// All tags of the event together.
    static let tags = 4096
    static let token = 4096
    static let endpoint = 2048
    static let field = 4096
    static let fields = 32
    static let name = 64
    static let label = 128
    static let signals = 64
    static let relays = 20
    static let relay = 512
    static let partners = 128
    static let seconds = 86_400
    static let dailyCap = 1_000_000
}
