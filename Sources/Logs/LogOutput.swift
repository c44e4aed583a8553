import Glibc
import Logging
import Synchronization
import Units

/// Where the log goes, and how it looks there. One for the process; its format may change while it runs.
package final class LogOutput: Sendable {
    private enum Sink: Sendable {
        case text
        case json
        case journal(JournalSocket)
    }

    private static let identifier = "carillon"

    package let levels: LogLevels
    private let descriptor: Int32
    private let journalPath: String
    /// Whether standard error leads to the journal, which reads priorities at the beginning of lines.
    private let isJournal: Bool
    private let now: @Sendable () -> Timestamp
    private let sink = Mutex(Sink.text)

    /// `descriptor` takes text and JSON. `journalStream` is what systemd says of the streams that it made
    /// (`JOURNAL_STREAM`), `journalPath` where the journal listens.
    package init(
        levels: LogLevels,
        descriptor: Int32 = STDERR_FILENO,
        journalStream: String?,
        journalPath: String? = nil,
        now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
        self.levels = levels
        self.descriptor = descriptor
        self.journalPath = journalPath ?? JournalSocket.path
        self.now = now
        var status = stat()
        isJournal = fstat(descriptor, &status) == 0 && journalStream == "\(status.st_dev):\(status.st_ino)"
    }

    /// Changes the format. Returns false where there is no journal to write to; lines go out as text then.
    @discardableResult
    package func use(_ format: LogFormat) -> Bool {
        var isThere = true
        let new: Sink
        switch format {
        case .text: new = .text
        case .json: new = .json
        case .auto where !isJournal: new = .text
        case .auto, .journald:
            if let socket = JournalSocket(path: journalPath) {
                new = .journal(socket)
            } else {
                new = .text
                isThere = false
            }
        }
        sink.withLock { $0 = new }
        return isThere
    }

    /// The handler of a logger of that name.
    package func handler(label: String) -> any LogHandler { RouterLogHandler(output: self) }

    fileprivate func write(_ event: LogEvent, _ metadata: Logger.Metadata) {
        let component = event.source
        guard levels.isLogged(event.level, by: component) else { return }
        let record = LogRecord(
            at: now(),
            level: event.level,
            component: component,
            message: "\(event.message)",
            fields: metadata.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }
        )
        // Under the lock, so that lines stay whole.
        sink.withLock { sink in
            switch sink {
            case .json: print(record.json, record.level)
            case .journal(let socket) where socket.send(JournalEntry(record, identifier: Self.identifier)): break
            case .text, .journal: print(record.text, record.level)
            }
        }
    }

    private func print(_ line: String, _ level: Logger.Level) {
        let bytes = Array(((isJournal ? "<\(level.priority)>" : "") + line + "\n").utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + written }, bytes.count - written)
            }
            if count > 0 {
                written += count
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                guard poll(&waiting, 1, 1_000) > 0 else { return }
            } else if errno != EINTR {
                return
            }
        }
    }
}

/// A logger's way to the output.
private struct RouterLogHandler: LogHandler {
    let output: LogOutput
    var metadata: Logger.Metadata = [:]

    init(output: LogOutput) { self.output = output }

    /// The output decides for each component.
    var logLevel: Logger.Level {
        get { output.levels.lowest }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        if let own = event.metadata { fields.merge(own) { $1 } }
        if let error = event.error { fields["error.message"] = "\(error)" }
        output.write(event, fields)
    }
}
