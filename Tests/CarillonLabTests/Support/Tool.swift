import Foundation

/// A program run as a process of its own: the judge that is not our code.
enum Tool {
    struct Result: Sendable {
        var status: Int32
        var output: [UInt8]

        var text: String { String(decoding: output, as: UTF8.self) }
    }

    static func run(_ name: String, _ arguments: [String], input: [UInt8] = []) async throws -> Result {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name] + arguments
        let output = Pipe()
        let source = Pipe()
        process.standardOutput = output
        process.standardError = output
        process.standardInput = source
        return try await withCheckedThrowingContinuation { continuation in
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
                return
            }
            // Reading and waiting block: not on a thread of the cooperative pool.
            DispatchQueue.global().async {
                try? source.fileHandleForWriting.write(contentsOf: Data(input))
                try? source.fileHandleForWriting.close()
                let data = output.fileHandleForReading.readDataToEndOfFile()
                process.waitUntilExit()
                continuation.resume(returning: Result(status: process.terminationStatus, output: Array(data)))
            }
        }
    }
}
