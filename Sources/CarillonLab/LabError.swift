/// Why the lab could not do something.
public struct LabError: Error, Sendable, Hashable, CustomStringConvertible {
    private enum Code: Sendable, Hashable {
        case timedOut
        case closed
        case invalid
        case system
    }

    private let code: Code
    /// For people. Programs look at ``isTimeout`` and ``isClosed``.
    public let description: String

    /// Too few requests arrived before the timeout.
    public var isTimeout: Bool { code == .timedOut }

    /// The lab was shut down while the caller waited.
    public var isClosed: Bool { code == .closed }

    static func timedOut(_ description: String) -> LabError { LabError(code: .timedOut, description: description) }

    static let closed = LabError(code: .closed, description: "The lab was shut down.")

    /// An argument is invalid. The description says what was expected.
    static func invalid(_ description: String) -> LabError { LabError(code: .invalid, description: description) }

    /// A file, a socket or a system library failed.
    static func system(_ description: String) -> LabError { LabError(code: .system, description: description) }

    /// Describes a decoding error in a sentence that names the key.
    static func explain(_ error: DecodingError) -> String {
        func place(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
            let path = (context.codingPath + (key.map { [$0] } ?? [])).map(\.stringValue).joined(separator: ".")
            return path.isEmpty ? "the value" : "\"\(path)\""
        }
        return switch error {
        case .keyNotFound(let key, let context): "\(place(context, key)) is missing"
        case .typeMismatch(let type, let context): "\(place(context)) is not a \(type)"
        case .valueNotFound(let type, let context): "\(place(context)) is null, expected \(type)"
        case .dataCorrupted(let context): "\(place(context)): \(context.debugDescription)"
        @unknown default: "not readable"
        }
    }
}

extension KeyedDecodingContainer {
    /// An error that says which value was expected.
    func invalid(_ key: Key, _ expected: String) -> DecodingError {
        .dataCorruptedError(forKey: key, in: self, debugDescription: expected)
    }
}
