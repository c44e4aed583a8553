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
        let exits = process.exits()
        try process.run()
        // Reading and writing block: not on a thread of the cooperative pool.
        let data = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                try? source.fileHandleForWriting.write(contentsOf: Data(input))
                try? source.fileHandleForWriting.close()
                continuation.resume(returning: output.fileHandleForReading.readDataToEndOfFile())
            }
        }
        for await status in exits {
            return Result(status: status, output: Array(data))
        }
        throw CancellationError()
    }
}

extension Process {
    /// The exit status, -1 after a signal; to be asked for before it runs.
    ///
    /// `waitUntilExit` turns a run loop on the thread it blocks, and away from the main thread may miss the exit.
    func exits() -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        terminationHandler = { process in
            continuation.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
            continuation.finish()
        }
        return stream
    }
}
