import Nostr
import Notifications

/// Reads what operators write on a command line or in a request.
enum OperatorWords {
    static func event(_ text: String) throws(OperationFailure) -> EventID {
        let text = text.hasPrefix("nostr:") ? String(text.dropFirst(6)) : text
        guard let id = EventID(hex: text) ?? NIP19.eventID(note: text) ?? NIP19.eventID(nevent: text) else {
            throw .invalid("expected an event's id: 64 lowercase hex digits, note1… or nevent1…")
        }
        return id
    }

    /// `name` is what the key was given as.
    static func key(_ text: String, _ name: String) throws(OperationFailure) -> PublicKey {
        guard let key = PublicKey(hex: text) ?? NIP19.publicKey(npub: text) else {
            throw .invalid("\(name): expected 64 lowercase hex digits or npub1…")
        }
        return key
    }

    static func mode(_ text: String) throws(OperationFailure) -> Mode {
        guard let mode = Mode(name: text) else {
            throw .invalid("mode: expected one of \(Mode.allCases.map(\.name).joined(separator: ", "))")
        }
        return mode
    }
}
