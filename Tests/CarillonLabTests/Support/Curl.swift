import Foundation

/// A request made with the curl command, and its response.
struct Curl {
    struct Answer {
        /// curl's own exit status.
        var exit: Int32
        var status: Int?
        /// Names are in lower case.
        var headers: [String: String]
        var body: String

        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
        }

        var reason: String? { json["reason"] as? String }
    }

    /// Sends several requests over one connection if it stays open.
    static func run(_ requests: [[String]], input: [UInt8] = []) async throws -> [Answer] {
        let arguments = requests.map { ["-s", "-i", "--max-time", "20"] + $0 }.joined(separator: ["--next"])
        let result = try await Tool.run("curl", Array(arguments), input: input)
        var rest = result.text[...]
        var answers: [Answer] = []
        while rest.hasPrefix("HTTP/"), let end = rest.firstRange(of: "\r\n\r\n") {
            let lines = rest[..<end.lowerBound].split(separator: "\r\n")
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
            }
            rest = rest[end.upperBound...]
            let bodyEnd = rest.firstRange(of: "HTTP/")?.lowerBound ?? rest.endIndex
            let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            answers.append(
                Answer(exit: result.status, status: status, headers: headers, body: String(rest[..<bodyEnd]))
            )
            rest = rest[bodyEnd...]
        }
        return answers.isEmpty ? [Answer(exit: result.status, status: nil, headers: [:], body: result.text)] : answers
    }

    static func run(_ arguments: String..., input: [UInt8] = []) async throws -> Answer {
        try await run([arguments], input: input)[0]
    }
}
