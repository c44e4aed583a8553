/// Why a text is not a message of Nostr's protocol (NIP-01, NIP-42). The description is fit for a `NOTICE`.
package enum MessageError: Error, Hashable, Sendable, CustomStringConvertible {
    case malformed(JSONFault)
    /// With the command's name if that is a short word, else with an empty one.
    case unknownCommand(String, expected: [String])
    case wrongSubscription
    case missing(String)
    case wrongFilter(FilterField)
    case repeatedFilterField(FilterField)
    case invalidEvent(EventError)

    package var description: String {
        switch self {
        case .malformed(let fault):
            "a message must be a JSON array that begins with the name of a command: \(fault)"
        case .unknownCommand(let name, let expected):
            "unknown command\(name.isEmpty ? "" : " " + name): expected \(Self.list(expected))"
        case .wrongSubscription: "a subscription id must be a string of 1 to 64 characters"
        case .missing(let part): "the message ends too early: expected \(part)"
        case .wrongFilter(let field): "\(field.name) in a filter must be \(field.expectation)"
        case .repeatedFilterField(let field): "\(field.name) must be in a filter only once"
        case .invalidEvent(let error): error.description
        }
    }

    private static func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }
}

extension MessageError: JSONFailure {
    init(_ fault: JSONFault) {
        self = .malformed(fault)
    }
}
