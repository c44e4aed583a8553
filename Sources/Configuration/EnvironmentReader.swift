import YAMLReading

/// Reads environment variables; notes every mistake under the variable's name. One that is empty counts as missing.
struct EnvironmentReader {
    private let environment: [String: String]
    private(set) var mistakes: [Diagnostic] = []

    init(_ environment: [String: String]) {
        self.environment = environment
    }

    subscript(name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The variable's text; notes what it is for when it is missing.
    mutating func require(_ name: String, _ purpose: String) -> String {
        if let text = self[name] { return text }
        mistakes.append(Diagnostic(file: name, message: "this environment variable is missing: \(purpose)"))
        return ""
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
        guard let text = self[name] else { return nil }
        if let number = Int(text), range.contains(number) { return number }
        mistakes.append(
            Diagnostic(file: name, message: "expected a whole number from \(range.lowerBound) to \(range.upperBound)")
        )
        return nil
    }
}
