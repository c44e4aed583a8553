/// The answer to a ``RemoteSigningRequest`` (NIP-46).
package struct RemoteSigningResponse: Hashable, Sendable {
    /// How a request ended.
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

    /// Reads `{"id":…,"result":…,"error":…}`; nil unless it says one of the two. An error that is not empty decides, as it
    /// does for other clients.
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

    /// The text to encrypt. An error comes without a result: clients try to understand any result there is.
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
