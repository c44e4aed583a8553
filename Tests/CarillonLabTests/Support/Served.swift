import Dispatch
import Foundation
import Glibc
import Synchronization

/// A running process of the `carillon-lab` command.
final class Served {
    private let child: Child
    private var output = ""
    private var chunks: AsyncStream<[UInt8]>.Iterator
    private var exits: AsyncStream<Int32>.Iterator

    init(_ arguments: [String]) throws {
        // SwiftPM puts the command next to the test bundle.
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

    /// Returns all output, once it contains `text` or the command has ended.
    func output(until text: String? = nil) async -> String {
        while text.map({ !output.contains($0) }) ?? true, let chunk = await chunks.next() {
            output += String(decoding: chunk, as: UTF8.self)
        }
        return output
    }

    /// Returns its exit status after a signal, 0 for none; -1 if the signal ended it. Call it once.
    func end(_ signal: Int32) async -> Int32 {
        if signal != 0 {
            child.signal(signal)
        }
        _ = await output()
        return await exits.next() ?? -1
    }
}

/// A child process with one pipe to it and one from it.
///
/// It does not use Foundation's `Process`. If many tests open and close descriptors at a time, `run` sometimes reads
/// memory that it does not own, and its waiting may miss the exit.
struct Child: Sendable {
    struct NotStarted: Error {
        var errno: Int32
    }

    private let id: pid_t
    private let input: Int32
    private let output: Int32

    /// `command` is looked up in PATH if it has no slash.
    init(_ command: String, _ arguments: [String]) throws {
        let toChild = try Self.pipe()
        let fromChild = try Self.pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild.reading, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, fromChild.writing, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, fromChild.writing, STDERR_FILENO)
        // The child must not inherit the sockets of labs.
        for descriptor in 3..<Self.descriptors {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        // Dispatch's threads, on which a test may run, block the signals that end the child.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let words = ([command] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        let error = posix_spawnp(&id, command, &actions, &attributes, words, environ)
        close(toChild.reading)
        close(fromChild.writing)
        guard error == 0 else {
            close(toChild.writing)
            close(fromChild.reading)
            throw NotStarted(errno: error)
        }
        self.id = id
        input = toChild.writing
        output = fromChild.reading
    }

    /// Writes the input and closes it, passes on the output, and then the exit status; -1 after a signal.
    ///
    /// Call it once. It occupies a thread until the child exits.
    func follow(
        input bytes: [UInt8],
        output take: @escaping @Sendable ([UInt8]) -> Void,
        exit: @escaping @Sendable (Int32) -> Void
    ) {
        DispatchQueue.global().async {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send($0) }
                guard count > 0 else { break }
                rest = rest.dropFirst(count)
            }
            close(input)
            while case let chunk = read(), !chunk.isEmpty { take(chunk) }
            close(output)
            exit(wait())
        }
    }

    func signal(_ number: Int32) {
        kill(id, number)
    }

    /// More descriptors than a test ever has open.
    private static let descriptors: Int32 = 4_096

    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else { throw NotStarted(errno: errno) }
        return (ends[0], ends[1])
    }

    private func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        while true {
            let count = Glibc.write(input, bytes.baseAddress, bytes.count)
            guard count < 0, errno == EINTR else { return count }
        }
    }

    private func read() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(output, &bytes, bytes.count)
            if count >= 0 { return Array(bytes.prefix(count)) }
            guard errno == EINTR else { return [] }
        }
    }

    private func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            guard errno == EINTR else { return -1 }
        }
        // The same as the macros of <sys/wait.h>, which Swift does not import.
        return status & 0x7f == 0 ? status >> 8 & 0xff : -1
    }
}

/// Runs a program that is not our code in a separate process, to verify results.
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

/// A file that exists as long as a test.
enum TemporaryFile {
    static func with<Result>(_ bytes: [UInt8], _ body: (String) async throws -> Result) async throws -> Result {
        let path = NSTemporaryDirectory() + "/lab-test-" + UUID().uuidString
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }
}
