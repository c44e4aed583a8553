/// What a client asks of us within a NIP-46 session: the text inside an event of kind 24133.
package struct RemoteSigningRequest: Hashable, Sendable {
    /// Ids are at most this many bytes; they are sent back.
    package static let idLimit = 256

    /// What the response must bear as well.
    package var id: String
    package var method: String
    package var params: [String]

    package init(id: String, method: String, params: [String] = []) {
        self.id = id
        self.method = method
        self.params = params
    }

    /// Reads `{"id":…,"method":…,"params":[…]}`. A `null` among the parameters counts as an empty text, which is how some
    /// clients leave one out; other fields are passed over.
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
