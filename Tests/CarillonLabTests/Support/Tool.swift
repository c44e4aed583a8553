import Synchronization

/// A program run as a process of its own: the judge that is not our code.
enum Tool {
    struct Result: Sendable {
        var status: Int32
        var output: [UInt8]

        var text: String { String(decoding: output, as: UTF8.self) }
    }

    static func run(_ name: String, _ arguments: [String], input: [UInt8] = []) async throws -> Result {
        let child = try Child(name, arguments)
        let output = Output()
        let status = await withCheckedContinuation { continuation in
            child.follow(input: input, output: output.append) { continuation.resume(returning: $0) }
        }
        return Result(status: status, output: output.bytes.withLock { $0 })
    }

    private final class Output: Sendable {
        let bytes = Mutex<[UInt8]>([])

        func append(_ chunk: [UInt8]) { bytes.withLock { $0 += chunk } }
    }
}
