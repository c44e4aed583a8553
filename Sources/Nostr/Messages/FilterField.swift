/// A field of a filter (NIP-01).
package enum FilterField: Hashable, Sendable {
    case ids
    case authors
    case kinds
    case since
    case until
    case limit
    /// `#` and what follows it.
    case tag(String)

    /// `nil` for a field that NIP-01 does not know, as NIP-50's `search`, and that is passed over.
    init?(name: String) {
        switch name {
        case "ids": self = .ids
        case "authors": self = .authors
        case "kinds": self = .kinds
        case "since": self = .since
        case "until": self = .until
        case "limit": self = .limit
        case let name where name.hasPrefix("#"): self = .tag(String(name.dropFirst()))
        default: return nil
        }
    }

    /// The name in JSON; of a tag only if it is a single letter.
    var name: String {
        switch self {
        case .ids: "ids"
        case .authors: "authors"
        case .kinds: "kinds"
        case .since: "since"
        case .until: "until"
        case .limit: "limit"
        case .tag(let name): letter == nil ? "a field beginning with #" : "#\(name)"
        }
    }

    /// What NIP-01 demands of the value.
    var expectation: String {
        switch self {
        case .ids, .authors, .tag("e"), .tag("p"): "an array of strings of 64 lowercase hexadecimal digits"
        case .kinds: "an array of integers from 0 to 65535"
        case .since, .until: "an integer from 0, in seconds"
        case .limit: "an integer from 0"
        case .tag: letter == nil ? "named by a single letter" : "an array of strings"
        }
    }

    /// The letter of a tag that can be asked for.
    var letter: Character? {
        guard case .tag(let name) = self, name.utf8.count == 1, let letter = name.first, letter.isLetter else {
            return nil
        }
        return letter
    }
}
