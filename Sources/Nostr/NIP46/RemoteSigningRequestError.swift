/// Why a text is no request of NIP-46. The description is fit for the response to its sender; it quotes nothing of the text.
package enum RemoteSigningRequestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nothing that could be answered: no id.
    case notARequest
    case noMethod(id: String)
    case wrongParams(id: String)

    /// What the response to it bears; nil when there can be none.
    package var id: String? {
        switch self {
        case .notARequest: nil
        case .noMethod(let id), .wrongParams(let id): id
        }
    }

    package var description: String {
        switch self {
        case .notARequest: "expected a JSON object with an id of 1 to \(RemoteSigningRequest.idLimit) bytes"
        case .noMethod: "expected the name of a method"
        case .wrongParams: "params: expected an array of strings"
        }
    }
}
