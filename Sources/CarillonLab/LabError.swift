/// Why the lab could not do what was asked.
public struct LabError: Error, Sendable, Hashable, CustomStringConvertible {
    private enum Code: Sendable, Hashable {
        case timedOut
        case closed
        case invalid
        case system
    }

    private let code: Code
    /// In words for people; programs look at ``isTimeout`` and ``isClosed``.
    public let description: String

    /// Fewer requests than were waited for had come when the time was over.
    public var isTimeout: Bool { code == .timedOut }

    /// The lab was shut down while somebody waited.
    public var isClosed: Bool { code == .closed }

    static func timedOut(_ description: String) -> LabError { LabError(code: .timedOut, description: description) }

    static let closed = LabError(code: .closed, description: "The lab was shut down.")

    /// Something given to the lab does not hold; the description says what was expected.
    static func invalid(_ description: String) -> LabError { LabError(code: .invalid, description: description) }

    /// A file, a socket or a library of the system refused.
    static func system(_ description: String) -> LabError { LabError(code: .system, description: description) }

    /// A decoding error in a sentence that names the key.
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
