extension LabError {
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
