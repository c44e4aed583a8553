/// The fields every event has (NIP-01), one bit each.
package enum EventField: UInt8, CaseIterable, Hashable, Sendable {
    case id = 1
    case pubkey = 2
    case createdAt = 4
    case kind = 8
    case tags = 16
    case content = 32
    case signature = 64

    /// All bits.
    static let all: UInt8 = 127

    /// The name in JSON.
    package var name: String {
        switch self {
        case .id: "id"
        case .pubkey: "pubkey"
        case .createdAt: "created_at"
        case .kind: "kind"
        case .tags: "tags"
        case .content: "content"
        case .signature: "sig"
        }
    }

    /// What NIP-01 demands of the value.
    var expectation: String {
        switch self {
        case .id, .pubkey: "64 lowercase hexadecimal digits"
        case .createdAt: "an integer from 0 to 9223372036854775807, in seconds"
        case .kind: "an integer from 0 to 65535"
        case .tags: "an array of tags, each an array of one or more strings"
        case .content: "a string"
        case .signature: "128 lowercase hexadecimal digits"
        }
    }
}
