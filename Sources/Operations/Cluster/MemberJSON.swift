import Foundation

/// What members say to each other, as JSON.
enum MemberJSON {
    static func bytes(_ value: some Encodable) -> [UInt8] {
        // Nothing in here is a number without a spelling in JSON, which is all that can fail.
        (try? JSONEncoder().encode(value)).map(Array.init) ?? []
    }

    /// Nil: the bytes, which may be anything, are nothing of the kind.
    static func read<Value: Decodable>(_ bytes: some Collection<UInt8>, as type: Value.Type) -> Value? {
        try? JSONDecoder().decode(Value.self, from: Data(bytes))
    }
}
