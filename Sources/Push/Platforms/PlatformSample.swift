import Core
import JSON

/// An example device and configuration, for dry runs without a real one.
package struct PlatformSample: Hashable, Sendable {
    /// The token or endpoint.
    package let token: String?
    /// Registration fields, by name.
    package let fields: [(name: String, value: Value)]
    /// The block of the configuration. Objects `{"generate": …}` in it are replaced by throw-away keys.
    package let configuration: JSONValue?

    package enum Value: Hashable, Sendable {
        case text(String)
        case generated(Key)
    }

    /// Throw-away keys that the host generates.
    package enum Key: String, CaseIterable, Hashable, Sendable {
        case p256PEM = "p256-pem"
        case rsaPEM = "rsa-pem"
        /// The public key of a Web Push subscription, in base64url.
        case p256dh
        /// The secret of a Web Push subscription, in base64url.
        case auth
    }

    init(_ reader: DescriptionReader?) throws {
        let members = try reader?.members("token", "fields", "configuration")
        token = try members?["token"]?.text()
        fields =
            try members?["fields"]?.members().map { name, reader in
                if case .string(let text) = reader.value { return (name, .text(text)) }
                let generate = try reader.members("generate").required("generate", of: reader)
                return (name, .generated(try generate.choice(Key.self)))
            } ?? []
        configuration = members?["configuration"]?.value
    }

    /// Returns the configuration as JSON, with keys from `generate`; nil if there is no sample.
    package func configuration(generate: (Key) -> String) -> String? {
        configuration.map { Self.json($0, generate) }
    }

    /// Whether the sample's configuration contains throw-away keys.
    package var hasGeneratedKeys: Bool {
        var hasKeys = false
        _ = configuration.map {
            Self.json($0) { _ in
                hasKeys = true
                return ""
            }
        }
        return hasKeys
    }

    private static func json(_ value: JSONValue, _ generate: (Key) -> String) -> String {
        switch value {
        case .object(let object):
            if object.members.count == 1, case .string(let word)? = object["generate"], let key = Key(rawValue: word) {
                return JSONValue.string(generate(key)).json
            }
            let members = object.members.map { JSONValue.string($0.name).json + ":" + json($0.value, generate) }
            return "{" + members.joined(separator: ",") + "}"
        case .array(let elements): return "[" + elements.map { json($0, generate) }.joined(separator: ",") + "]"
        default: return value.json
        }
    }

    package static func == (one: Self, other: Self) -> Bool {
        one.token == other.token && one.configuration == other.configuration
            && one.fields.map(\.name) == other.fields.map(\.name)
            && one.fields.map(\.value) == other.fields.map(\.value)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(token) }
}

/// The maximum size of pushes, and how long a service stores them.
package struct PushLimits: Hashable, Sendable {
    /// The limits; the first whose headers match the request applies. Empty if unknown.
    package let payload: [Payload]
    /// Nil if unknown.
    package let lifetime: Duration?

    package struct Payload: Hashable, Sendable {
        package let limit: ByteCount
        /// Request headers that this limit applies to, by name in lower case.
        package let headers: [String: String]
        /// JSON pointers to the counted parts of the request's body: a string, or keys and strings of an object. Nil
        /// means the whole body.
        package let counts: [String]?
    }

    init(_ reader: DescriptionReader?) throws {
        let members = try reader?.members("payload", "lifetime_seconds")
        lifetime = try (members?["lifetime_seconds"]?.integer(in: 0...Int(Int32.max))).map { .seconds($0) }
        payload =
            try members?["payload"]?.list().map { reader in
                let members = try reader.members("bytes", "when_header", "counts")
                return Payload(
                    limit: ByteCount(try members.required("bytes", of: reader).integer(in: 1...Int(Int32.max))),
                    headers: try Dictionary(
                        members["when_header"]?.members().map { ($0.name, try $0.value.text()) } ?? []
                    ) { first, _ in first },
                    counts: try members["counts"]?.texts()
                )
            } ?? []
    }

    /// Returns the size of a request as the service counts it, and the limit; nil if unknown.
    package func size(
        ofBody body: [UInt8],
        headers: [(name: String, value: String)]
    ) -> (count: ByteCount, limit: ByteCount)? {
        let allowance = payload.first { allowance in
            allowance.headers.allSatisfy { name, value in headers.contains { $0.name == name && $0.value == value } }
        }
        guard let allowance else { return nil }
        guard let pointers = allowance.counts else { return (ByteCount(body.count), allowance.limit) }
        guard let json = try? JSONValue(parsing: String(decoding: body, as: UTF8.self)) else { return nil }
        let count = pointers.reduce(0) { $0 + (json.value(at: $1)?.textByteCount ?? 0) }
        return (ByteCount(count), allowance.limit)
    }
}

extension JSONValue {
    /// Returns the value at a JSON pointer into objects.
    fileprivate func value(at pointer: String) -> JSONValue? {
        pointer.split(separator: "/").map(String.init).reduce(self) { value, step in
            guard case .object(let object)? = value else { return nil }
            return object[step.replacing("~1", with: "/").replacing("~0", with: "~")]
        }
    }

    /// The bytes of a string, or of an object's keys and strings.
    fileprivate var textByteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .object(let object): object.members.reduce(0) { $0 + $1.name.utf8.count + $1.value.textByteCount }
        default: 0
        }
    }
}
