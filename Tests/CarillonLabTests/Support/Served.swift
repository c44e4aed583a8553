import Foundation

/// The `carillon-lab` command, running as a process of its own.
final class Served {
    private let process = Process()
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
        pipe.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
                continuation.finish()
            } else {
                continuation.yield(data)
            }
        }
        try process.run()
    }

    /// All it has printed, once that holds a text or the command has ended.
    func output(until text: String? = nil) async -> String {
        while text.map({ !output.contains($0) }) ?? true, let chunk = await chunks.next() {
            output += String(decoding: chunk, as: UTF8.self)
        }
        return output
    }

    /// Its exit status after a signal.
    func end(_ signal: Int32) async -> Int32 {
        kill(process.processIdentifier, signal)
        _ = await output()
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -1
    }
}
