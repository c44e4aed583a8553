import Foundation

/// The `carillon-lab` command, running as a process of its own.
final class Served {
    private let process = Process()
    private let exits: AsyncStream<Int32>
    private var output = ""
    private var chunks: AsyncStream<Data>.Iterator

    init(_ arguments: [String]) throws {
        // SwiftPM puts the command beside the test bundle.
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: bundle).deletingLastPathComponent().appending(path: "carillon-lab")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
        chunks = stream.makeAsyncIterator()
        exits = process.exits()
        try process.run()
        // A thread that blocks: `readabilityHandler` may miss the end.
        DispatchQueue.global().async {
            while case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
                continuation.yield(data)
            }
            continuation.finish()
        }
    }

    /// All it has printed, once that holds a text or the command has ended.
    func output(until text: String? = nil) async -> String {
        while text.map({ !output.contains($0) }) ?? true, let chunk = await chunks.next() {
            output += String(decoding: chunk, as: UTF8.self)
        }
        return output
    }

    /// Its exit status after a signal, 0 for none; -1 where the signal ended it.
    func end(_ signal: Int32) async -> Int32 {
        if process.isRunning {
            kill(process.processIdentifier, signal)
        }
        _ = await output()
        for await status in exits { return status }
        return -1
    }
}
