import Foundation

/// The `carillon-lab` command, running as a process of its own.
final class Served {
    private let child: Child
    private var output = ""
    private var chunks: AsyncStream<[UInt8]>.Iterator
    private var exits: AsyncStream<Int32>.Iterator

    init(_ arguments: [String]) throws {
        // SwiftPM puts the command beside the test bundle.
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let command = URL(fileURLWithPath: bundle).deletingLastPathComponent().appending(path: "carillon-lab").path
        child = try Child(command, arguments)
        let (chunks, output) = AsyncStream.makeStream(of: [UInt8].self)
        let (exits, exit) = AsyncStream.makeStream(of: Int32.self)
        self.chunks = chunks.makeAsyncIterator()
        self.exits = exits.makeAsyncIterator()
        child.follow(
            input: [],
            output: { output.yield($0) },
            exit: { status in
                output.finish()
                exit.yield(status)
                exit.finish()
            }
        )
    }

    /// All it has printed, once that holds a text or the command has ended.
    func output(until text: String? = nil) async -> String {
        while text.map({ !output.contains($0) }) ?? true, let chunk = await chunks.next() {
            output += String(decoding: chunk, as: UTF8.self)
        }
        return output
    }

    /// Its exit status after a signal, 0 for none; -1 where the signal ended it. To be asked for once.
    func end(_ signal: Int32) async -> Int32 {
        if signal != 0 {
            child.signal(signal)
        }
        _ = await output()
        return await exits.next() ?? -1
    }
}
