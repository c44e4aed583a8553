/// The first word of what a relay says in `OK` and `CLOSED` (NIP-01, NIP-42), which tells a client's program what to do.
package enum MachineReadablePrefix: String, CaseIterable, Hashable, Sendable {
    case authRequired = "auth-required"
    case blocked
    case duplicate
    case error
    case invalid
    case mute
    case pow
    case rateLimited = "rate-limited"
    case restricted
    case unsupported

    /// The prefix that `message` begins with; `nil` if it has none, or one that is unknown.
    package init?(of message: String) {
        guard let colon = message.firstIndex(of: ":") else { return nil }
        self.init(rawValue: String(message[..<colon]))
    }

    /// `text`, which is for people, behind this prefix.
    package func message(_ text: some CustomStringConvertible) -> String {
        "\(rawValue): \(text)"
    }
}
