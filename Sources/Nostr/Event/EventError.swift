/// Why something is not a valid event (NIP-01). The description is fit to follow `invalid: ` in an answer to its
/// sender; it quotes nothing of the event.
package enum EventError: Error, Hashable, Sendable, CustomStringConvertible {
    case malformed(JSONFault)
    case notAnObject
    case missing(EventField)
    case repeated(EventField)
    case wrong(EventField)
    case wrongID
    case wrongSignature

    package var description: String {
        switch self {
        case .malformed(let fault): "the event is not well-formed JSON: \(fault)"
        case .notAnObject: "an event must be a JSON object"
        case .missing(let field): "\(field.name) is missing: expected \(field.expectation)"
        case .repeated(let field): "\(field.name) must be there only once"
        case .wrong(let field): "\(field.name) must be \(field.expectation)"
        case .wrongID: "id must be the SHA-256 of the event's canonical form"
        case .wrongSignature: "sig must be a signature of the id by pubkey"
        }
    }
}

extension EventError: JSONFailure {
    init(_ fault: JSONFault) {
        self = .malformed(fault)
    }
}
