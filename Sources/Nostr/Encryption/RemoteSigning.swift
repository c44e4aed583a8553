import Cipher
import Core
import JSON

/// A client's request in a NIP-46 session: the text inside an event of kind 24133.
package struct RemoteSigningRequest: Hashable, Sendable {
    /// The maximum length of an id, which the response repeats.
    package static let idLimit = 256

    /// The response has the same id.
    package var id: String
    package var method: String
    package var params: [String]

    package init(id: String, method: String, params: [String] = []) {
        self.id = id
        self.method = method
        self.params = params
    }

    /// Reads `{"id":…,"method":…,"params":[…]}`. A `null` parameter counts as an empty string, because some clients
    /// omit one this way. Other fields are ignored.
    package init(json: String) throws(RemoteSigningRequestError) {
        guard let value = try? JSONValue(parsing: json), case .object(let object) = value,
            case .string(let id)? = object["id"], !id.isEmpty, id.utf8.count <= Self.idLimit
        else { throw .notARequest }
        guard case .string(let method)? = object["method"], !method.isEmpty else { throw .noMethod(id: id) }
        self.init(id: id, method: method)
        guard let params = object["params"] else { return }
        guard case .array(let values) = params else { throw .wrongParams(id: id) }
        for value in values {
            switch value {
            case .string(let text): self.params.append(text)
            case .null: self.params.append("")
            default: throw .wrongParams(id: id)
            }
        }
    }

    /// The text to encrypt.
    package var json: String {
        var text = JSONText(spelling: .escaped)
        text.append("{\"id\":")
        text.appendQuoted(id)
        text.append(",\"method\":")
        text.appendQuoted(method)
        text.append(",\"params\":")
        text.appendArray(params) { $0.appendQuoted($1) }
        text.append("}")
        return String(decoding: text.bytes, as: UTF8.self)
    }
}

/// An error that makes a NIP-46 request invalid. The description can be sent to the author of the request; it quotes
/// none of it.
package enum RemoteSigningRequestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no id, so no response is possible.
    case notARequest
    case noMethod(id: String)
    case wrongParams(id: String)

    /// The id for the response; nil if no response is possible.
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

/// The response to a ``RemoteSigningRequest`` (NIP-46).
package struct RemoteSigningResponse: Hashable, Sendable {
    /// The result of a request.
    package enum Outcome: Hashable, Sendable {
        case result(String)
        case error(String)
    }

    /// The id of the request.
    package var id: String
    package var outcome: Outcome

    package init(id: String, _ outcome: Outcome) {
        self.id = id
        self.outcome = outcome
    }

    /// Reads `{"id":…,"result":…,"error":…}`; nil if it has neither result nor error. A non-empty error has precedence,
    /// as in other clients.
    package init?(json: String) {
        guard let value = try? JSONValue(parsing: json), case .object(let object) = value,
            case .string(let id)? = object["id"]
        else { return nil }
        self.id = id
        if case .string(let error)? = object["error"], !error.isEmpty {
            outcome = .error(error)
        } else if case .string(let result)? = object["result"] {
            outcome = .result(result)
        } else {
            return nil
        }
    }

    /// The text to encrypt. An error has no result, because clients would try to read it.
    package var json: String {
        var text = JSONText(spelling: .escaped)
        text.append("{\"id\":")
        text.appendQuoted(id)
        switch outcome {
        case .result(let result):
            text.append(",\"result\":")
            text.appendQuoted(result)
        case .error(let error):
            text.append(",\"error\":")
            text.appendQuoted(error)
        }
        text.append("}")
        return String(decoding: text.bytes, as: UTF8.self)
    }
}

/// The URL with which a client finds a remote signer (NIP-46, "Direct connection initiated by remote-signer").
///
/// It contains a secret: never for a log.
package struct BunkerURL: Sendable, Concealed {
    package var signer: PublicKey
    /// Relays at which the signer listens.
    package var relays: [String]
    /// The first `connect` must contain it; single use.
    package var secret: String?

    package init(signer: PublicKey, relays: [String], secret: String? = nil) {
        self.signer = signer
        self.relays = relays
        self.secret = secret
    }

    /// The whole URL, secret included.
    package func reveal() -> String {
        let items = relays.map { ("relay", $0) } + (secret.map { [("secret", $0)] } ?? [])
        let query = items.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        return "bunker://\(signer.hex)" + (query.isEmpty ? "" : "?\(query)")
    }
}
