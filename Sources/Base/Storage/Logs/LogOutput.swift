import Core
import Glibc
import JSON
import Logging
import Synchronization

/// The output of the log, with its format. One for each process; the format may change at runtime.
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
    /// Whether standard error is connected to the journal, which reads priorities at the start of lines.
    private let isJournal: Bool
    private let now: @Sendable () -> Timestamp
    private let sink = Mutex(Sink.text)

    /// `descriptor` receives text and JSON. `journalStream` is systemd's value of `JOURNAL_STREAM`, and `journalPath`
    /// the journal's socket.
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

    /// Changes the format. Returns false if there is no journal to write to; lines are then written as text.
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

    /// Returns the handler of a logger.
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
        // Under the lock, so that lines are not interleaved.
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

/// Passes a logger's events to the output.
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

/// The format of log lines.
package enum LogFormat: String, Sendable, CaseIterable {
    /// Native fields if standard error is the journal, else text.
    case auto
    case text
    /// One JSON object on each line.
    case json
    /// Native fields, to the journal's socket.
    case journald
}

/// A log event to write. Fields are sorted by name.
struct LogRecord: Sendable {
    let at: Timestamp
    let level: Logger.Level
    let component: String
    let message: String
    let fields: [(key: String, value: String)]

    /// As text: time, level, component, message, then fields as in logfmt.
    var text: String {
        let pairs = fields.map { " \($0.key)=\(Self.quoted($0.value))" }.joined()
        return "\(LogTime(at).local) \(level) [\(component)] \(Self.onOneLine(message))\(pairs)"
    }

    /// As one JSON object.
    var json: String {
        var json = JSONText()
        json.append("{\"time\":")
        json.appendQuoted(at.rfc3339)
        json.append(",\"level\":")
        json.appendQuoted(level.rawValue)
        json.append(",\"component\":")
        json.appendQuoted(component)
        json.append(",\"message\":")
        json.appendQuoted(message)
        json.append(",\"fields\":{")
        for (index, field) in fields.enumerated() {
            if index > 0 { json.append(",") }
            json.appendQuoted(field.key)
            json.append(":")
            json.appendQuoted(field.value)
        }
        json.append("}}")
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Returns the value of a field, in quotes if it would not be one word without them.
    private static func quoted(_ value: String) -> String {
        let text = onOneLine(value)
        let needsQuotes = text.isEmpty || text.contains { $0 == "\"" || $0 == "=" || $0 == "\\" || $0.isWhitespace }
        guard needsQuotes else { return text }
        return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Prevents external text from looking like a separate log line.
    private static func onOneLine(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\t": result.append(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: result.append(" ")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}

extension Logger.Level {
    /// The priority for syslog and the journal.
    var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

/// A moment in the log's text format.
private struct LogTime {
    private let moment: Timestamp

    init(_ moment: Timestamp) { self.moment = moment }

    /// As in `2026-11-22T08:00:00+0100`.
    var local: String {
        var seconds = time_t(moment.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%S%z", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A log record in the journal's format: fields in one datagram.
struct JournalEntry {
    /// Longer values are cut, because datagrams and log lines must be bounded.
    private static let longestValue = 8_192
    private static let longestEntry = 48 * 1_024
    private static let longestName = 64

    private(set) var bytes: [UInt8] = []

    init(_ record: LogRecord, identifier: String) {
        let pairs = record.fields.map { " \($0.key)=\($0.value)" }.joined()
        // By default journalctl shows only the message.
        add("MESSAGE", record.message + pairs)
        add("PRIORITY", "\(record.level.priority)")
        add("SYSLOG_IDENTIFIER", identifier)
        add("CARILLON_COMPONENT", record.component)
        add("CARILLON_EVENT", record.message)
        var names: Set = ["CARILLON_COMPONENT", "CARILLON_EVENT"]
        for (key, value) in record.fields {
            let name = Self.name(of: key)
            guard names.insert(name).inserted, bytes.count < Self.longestEntry else { continue }
            add(name, value)
        }
    }

    /// Returns uppercase letters, digits and `_`, as the journal requires.
    static func name(of key: String) -> String {
        let letters = key.uppercased().utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
            default: UInt8(ascii: "_")
            }
        }
        return String(("CARILLON_" + String(decoding: letters, as: UTF8.self)).prefix(longestName))
    }

    private mutating func add(_ name: String, _ value: String) {
        let value = Array(value.utf8.prefix(Self.longestValue))
        bytes += name.utf8
        if value.contains(UInt8(ascii: "\n")) {
            // Prefixed by its length (systemd's "Native Journal Protocol").
            bytes.append(UInt8(ascii: "\n"))
            withUnsafeBytes(of: UInt64(value.count).littleEndian) { bytes += $0 }
        } else {
            bytes.append(UInt8(ascii: "="))
        }
        bytes += value
        bytes.append(UInt8(ascii: "\n"))
    }
}

/// A datagram socket to the journal of systemd.
final class JournalSocket: Sendable {
    static let path = "/run/systemd/journal/socket"

    private let descriptor: Int32

    /// Nil if no journal listens.
    init?(path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Sends an entry without blocking. Returns false if the journal does not accept it immediately.
    func send(_ entry: JournalEntry) -> Bool {
        entry.bytes.withUnsafeBytes { bytes in
            Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                == bytes.count
        }
    }
}
