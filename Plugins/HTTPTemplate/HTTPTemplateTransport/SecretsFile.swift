import PluginKit

/// Secrets of services that stand in a file of their own: lines `SERVICE.NAME=SECRET`, and comments that begin with #.
struct SecretsFile: Sendable {
    private var secrets: [String: [String: String]] = [:]

    /// Throws for a line of another form. No error holds a secret.
    init(_ block: JSONObject) throws(PluginError) {
        guard let file = try block.file("secrets_file", expected: "the path of a file with secrets") else { return }
        for (index, line) in try file.text().split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .enumerated()
        {
            guard !line.allSatisfy(\.isWhitespace), !line.hasPrefix("#") else { continue }
            let parts = line.split(separator: "=", maxSplits: 1)
            let names = parts.first?.split(separator: ".", omittingEmptySubsequences: false) ?? []
            guard parts.count == 2, names.count == 2, names.allSatisfy({ !$0.isEmpty }) else {
                throw PluginError(
                    "secrets_file: expected SERVICE.NAME=SECRET in line \(index + 1) of \(file.path), as in "
                        + "pushover.token=abc123"
                )
            }
            secrets[String(names[0]), default: [:]][String(names[1])] = String(parts[1])
        }
    }

    /// Throws for a secret of a service that is none of `services`, which is a slip of the pen.
    func requireServices(_ services: [String]) throws(PluginError) {
        guard let other = secrets.keys.sorted().first(where: { !services.contains($0) }) else { return }
        throw PluginError(
            "secrets_file: expected secrets of \(services.sorted().joined(separator: ", ")), found \(other)"
        )
    }

    func secrets(of service: String) -> [String: String] { secrets[service] ?? [:] }
}
