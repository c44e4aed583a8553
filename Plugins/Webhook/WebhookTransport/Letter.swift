import Cipher
import PluginKit

/// A message that is ready to go, and the ticket that waits for its end.
struct Letter: Sendable {
    /// Why there is no letter.
    enum Refusal: Error {
        /// The delivery is not to be taken on.
        case refused(Admission)
        /// There is no such message.
        case unwritable(reason: String)
    }

    let ticket: Ticket
    /// The value of `webhook-id`, the same on every attempt.
    let id: String
    let body: [UInt8]

    /// The value of `webhook-id` for a request with these: the same for the same letters.
    static func id(of letters: [Letter]) -> String {
        letters.count == 1
            ? letters[0].id : Hex.encode(SHA256.hash(Array(letters.map(\.id).joined(separator: " ").utf8)))
    }

    /// The body of a request with these.
    static func array(of letters: [Letter]) -> [UInt8] {
        Array("[".utf8) + letters.map(\.body).joined(separator: Array(",".utf8)) + Array("]".utf8)
    }
}
