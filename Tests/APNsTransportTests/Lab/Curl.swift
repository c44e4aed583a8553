import Foundation
import PluginTestSupport

/// Sends a request with the curl command, an independent implementation of HTTP/2.
enum Curl {
    struct Answer {
        /// 0 without a response.
        var status: UInt32
        /// Names are in lower case.
        var headers: [String: String]
        var body: String
    }

    /// `certificate` is the path of a PEM file with a client certificate and its key.
    static func carry(
        _ request: RecordedRequest,
        trusting authority: String,
        certificate: String?
    ) async throws -> Answer {
        var arguments = ["curl", "-s", "-i", "--max-time", "20", "--http2", "--cacert", authority, request.url]
        arguments += ["-X", request.method] + (certificate.map { ["--cert", $0] } ?? [])
        arguments += request.headers.flatMap { ["-H", "\($0.key): \($0.value)"] }
        if !request.body.isEmpty { arguments += ["--data-binary", "@-"] }
        return answer(try await run(arguments, input: request.body))
    }

    private static func answer(_ text: String) -> Answer {
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let lines = parts[0].split(separator: "\r\n")
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { UInt32($0) }
        let fields = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1) }.filter { $0.count == 2 }
        return Answer(
            status: status ?? 0,
            headers: Dictionary(
                fields.map { ($0[0].lowercased(), $0[1].trimmingCharacters(in: .whitespaces)) },
                uniquingKeysWith: { $1 }
            ),
            body: parts.count > 1 ? String(parts[1]) : ""
        )
    }

    private static func run(_ arguments: [String], input: [UInt8]) async throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        let (output, source) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardInput = source
        try process.run()
        // Reads and writes block, so they must not run on the cooperative pool. The pipe ends with the process.
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                try? source.fileHandleForWriting.write(contentsOf: Data(input))
                try? source.fileHandleForWriting.close()
                let data = output.fileHandleForReading.readDataToEndOfFile()
                continuation.resume(returning: String(decoding: data, as: UTF8.self))
            }
        }
    }
}
