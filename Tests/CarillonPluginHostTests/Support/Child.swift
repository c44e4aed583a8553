import CIsolation
import CarillonABI
import Glibc
import PluginProtocol
import Testing

/// A process of the program under test, and the test's ends of its sockets.
final class Child {
    /// A received frame in its own memory.
    struct Received {
        let kind: FrameKind
        let id: UInt64
        let body: [UInt8]

        /// Calls `body` with the frame.
        func read<Result>(_ body: (Frame) throws -> Result) throws -> Result {
            try self.body.withUnsafeBytes { try body(Frame(kind: kind, id: id, body: $0)) }
        }
    }

    struct SpawnError: Error { let code: Int32 }
    struct Silence: Error {}
    struct Ended: Error {}

    /// A long timeout, because the machine may be busy.
    private static let timeout: Int32 = 30_000

    let process: pid_t
    /// The threads that it names in its first frame.
    private(set) var hello = HelloMessage(deliveries: 0, questions: 0)
    private var deliveries: Side
    private var questions: Side
    private let crashes: Int32
    private let errors: Int32
    private var status: Int32?

    /// One of the two sockets.
    private struct Side: ~Copyable {
        var descriptor: Int32
        var buffer: FrameBuffer
        var waiting: [Received] = []
    }

    init() throws {
        let (deliveries, itsDeliveries) = try Self.pair()
        let (questions, itsQuestions) = try Self.pair()
        let (crashes, itsCrashes) = try Self.pair()
        let (errors, itsErrors) = try Self.pair()
        defer { for descriptor in [itsDeliveries, itsQuestions, itsCrashes, itsErrors] { close(descriptor) } }
        process = try Self.spawn([(itsErrors, 2), (itsDeliveries, 3), (itsQuestions, 4), (itsCrashes, 5)])
        self.deliveries = Side(descriptor: deliveries, buffer: FrameBuffer(taking: FrameKind.results))
        self.questions = Side(descriptor: questions, buffer: FrameBuffer(taking: FrameKind.answers))
        self.crashes = crashes
        self.errors = errors
        hello = try answer(.hello).read { try HelloMessage(reading: $0) }
    }

    deinit {
        if status == nil {
            kill(process, SIGKILL)
            _ = waitpid(process, nil, 0)
        }
        for descriptor in [deliveries.descriptor, questions.descriptor, crashes, errors] where descriptor >= 0 {
            close(descriptor)
        }
    }

    // MARK: Frames

    func ask(_ kind: FrameKind, id: UInt64, _ body: (inout FrameWriter) -> Void = { _ in }) {
        var writer = FrameWriter()
        writer.frame(kind, id: id, body)
        Self.send(writer.bytes, to: questions.descriptor)
    }

    /// Sends the frames in one piece.
    func send(_ body: (inout FrameWriter) -> Void) {
        var writer = FrameWriter()
        body(&writer)
        Self.send(writer.bytes, to: deliveries.descriptor)
    }

    func sendNoise(_ bytes: [UInt8]) { Self.send(bytes, to: questions.descriptor) }

    /// Returns the next frame over the socket of questions, which must be of that kind.
    func answer(_ kind: FrameKind, _ location: SourceLocation = #_sourceLocation) throws -> Received {
        try Self.next(&questions, kind, location)
    }

    /// Returns the next frame over the socket of deliveries, which must be of that kind.
    func result(_ kind: FrameKind, _ location: SourceLocation = #_sourceLocation) throws -> Received {
        try Self.next(&deliveries, kind, location)
    }

    /// Waits for the next frame over the socket of deliveries, of any kind.
    func result() throws -> Received { try Self.next(&deliveries) }

    // MARK: End

    func closeDeliveries() {
        close(deliveries.descriptor)
        deliveries.descriptor = -1
    }

    func closeQuestions() {
        close(questions.descriptor)
        questions.descriptor = -1
    }

    /// Waits up to a limit for the end; returns the signal that ended it, or 0, and its exit status.
    func end() -> (signal: Int32, status: Int32) {
        var turns = Self.timeout / 10
        while status == nil, turns > 0 {
            var ended: Int32 = 0
            if waitpid(process, &ended, WNOHANG) == process { status = ended }
            turns -= 1
            if status == nil { poll(nil, 0, 10) }
        }
        // It still runs: no signal has this number.
        guard let status else { return (-1, -1) }
        return (status & 0x7f, (status >> 8) & 0xff)
    }

    /// Returns the standard error of the process once it has ended.
    func errorText() -> String { String(decoding: Self.readAll(errors), as: UTF8.self) }

    /// The reports of its crash, once it has ended.
    func crashReports() -> [carillon_crash_report] {
        let bytes = Self.readAll(crashes)
        return bytes.withUnsafeBytes { bytes in
            var reports: [carillon_crash_report] = []
            var offset = 0
            while offset + MemoryLayout<carillon_crash_report>.size <= bytes.count {
                let report = bytes.loadUnaligned(fromByteOffset: offset, as: carillon_crash_report.self)
                // The names of libraries follow a report.
                let isReport = report.magic != CARILLON_CRASH_MODULES_MAGIC
                if isReport { reports.append(report) }
                offset += isReport ? MemoryLayout.size(ofValue: report) : MemoryLayout<carillon_crash_modules>.size
            }
            return reports
        }
    }

    // MARK: System calls

    private static func next(_ side: inout Side, _ kind: FrameKind, _ location: SourceLocation) throws -> Received {
        let frame = try next(&side)
        try #require(frame.kind == kind, sourceLocation: location)
        return frame
    }

    private static func next(_ side: inout Side) throws -> Received {
        while side.waiting.isEmpty {
            var poll = pollfd(fd: side.descriptor, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, timeout) > 0 else { throw Silence() }
            var room = [UInt8](repeating: 0, count: 1 << 16)
            let count = read(side.descriptor, &room, room.count)
            guard count > 0 else { throw Ended() }
            room.withUnsafeBytes { side.buffer.append(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
            var frames: [Received] = []
            try side.buffer.drain { frames.append(Received(kind: $0.kind, id: $0.id, body: Array($0.body))) }
            side.waiting = frames
        }
        return side.waiting.removeFirst()
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }

    private static func readAll(_ descriptor: Int32) -> [UInt8] {
        var all: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &room, room.count)
            guard count > 0 else { return all }
            all += room.prefix(count)
        }
    }

    /// Returns a descriptor above all numbers that the process uses for it.
    private static func raised(_ descriptor: Int32) -> Int32 {
        defer { close(descriptor) }
        return fcntl(descriptor, F_DUPFD_CLOEXEC, 10)
    }

    private static func pair() throws -> (Int32, Int32) {
        var both: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &both) == 0 else { throw SpawnError(code: errno) }
        return (raised(both[0]), raised(both[1]))
    }

    private static func spawn(_ descriptors: [(own: Int32, its: Int32)]) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (own, its) in descriptors { posix_spawn_file_actions_adddup2(&actions, own, its) }
        var process = pid_t()
        let program = try Guest.built("carillon-plugin-host")
        var arguments = [strdup(program), nil]
        var environment = [strdup("LANG=C.UTF-8"), strdup("SWIFT_BACKTRACE=enable=no"), nil]
        defer { for text in arguments + environment { free(text) } }
        let failure = posix_spawn(&process, program, &actions, nil, &arguments, &environment)
        guard failure == 0 else { throw SpawnError(code: failure) }
        return process
    }
}
