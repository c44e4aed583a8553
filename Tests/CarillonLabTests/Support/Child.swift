import Dispatch
import Glibc

/// A process of its own, with one pipe to it and one from it.
///
/// Not Foundation's `Process`: where many tests open and close descriptors at a time, its `run` now and then reads memory that
/// is not its own, and its waiting may miss the exit.
struct Child: Sendable {
    struct NotStarted: Error {
        var errno: Int32
    }

    private let id: pid_t
    private let input: Int32
    private let output: Int32

    /// `command` is looked up in PATH where it has no slash.
    init(_ command: String, _ arguments: [String]) throws {
        let toChild = try Self.pipe()
        let fromChild = try Self.pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild.reading, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, fromChild.writing, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, fromChild.writing, STDERR_FILENO)
        // The sockets of labs stay with the labs.
        for descriptor in 3..<Self.descriptors {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        // Dispatch's threads, on which a test may run, block the signals that are to end the child.
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

    /// Ends its input and hands over what it writes, until it has ended; then its exit status, -1 after a signal.
    ///
    /// To be called once; blocks a thread of its own.
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

    /// One more than a test ever has open.
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
        // What the macros of <sys/wait.h> do, which Swift does not import.
        return status & 0x7f == 0 ? status >> 8 & 0xff : -1
    }
}
